//! Whether every number of a run's answer has a ground, over all agents of the house.

use reservo::civil::DateTime;
use reservo::{DEMO_NOW, SPECIALISTS, grounding};
use sommelier_handoff::Done;

/// The numbers of the answer that have no ground.
pub(crate) fn ungrounded(done: &Done, user_text: &str, now: DateTime) -> Vec<String> {
    let turns = SPECIALISTS.iter().filter_map(|specialist| done.run().idle(specialist.name));
    let conversations = turns.map(|turn| turn.messages());
    grounding::ungrounded(&done.answer().unwrap_or_default(), user_text, now, conversations)
}

#[test]
fn the_check_itself_finds_an_invented_number() {
    let house = reservo::demo();
    let text = "Quote Focus pro 3h. And what happens if I don't show up?";
    let relay = crate::driver::relay(house, text);
    let done = crate::driver::drive(&relay, text, true, |step| step);
    assert_eq!(ungrounded(&done, text, DEMO_NOW), Vec::<String>::new());
    let lying = crate::driver::drive_with(
        &relay,
        text,
        true,
        |request| match sommelier_runtime::Model::complete(&reservo::OfflineRules, request).unwrap() {
            reply if reply.words().is_empty() => reply,
            _ => sommelier_runtime::script::say("A no-show costs 50 %, 3001 cents."),
        },
        |step| step,
    );
    assert_eq!(ungrounded(&lying, text, DEMO_NOW), ["50", "3001"]);
}
