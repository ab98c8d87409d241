//! The running case: a quote, the limit of what the booking desk knows, a handoff, and an answer that rests on
//! what was handed over.

mod harness;

use harness::{REQUEST, TASK, Watched, decisions, desk, ended, house, runner, story_of, trail};
use reservo::tools::{booking_tools, policy_tools};
use sommelier_handoff::{Agent, HANDOFF_TO_SPECIALIST, Relay, RunEnd};
use sommelier_protocol::{ContentBlock, ModelResponse, StopReason, ToolUse};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{ScriptedModel, Tool, script};

const PACKAGE: &str = r#"{"task":"What happens if the customer does not show up for the booking?","context":{"quoted_cents":6000}}"#;

fn answer(fee: i64, rate: i64) -> String {
    let model = decisions();
    let report = ended(runner(&model).run(&desk(&house(fee, rate)), REQUEST));
    assert_eq!(model.unused(), []);
    report.answer().to_owned()
}

/// S0-L05: quote, limit, handoff, and an answer that serves both halves of the request.
#[test]
fn the_whole_case_runs_end_to_end() {
    let model = decisions();
    let watched = Watched::new(&model);
    let report = ended(runner(&watched).conversation("c").run(&desk(&house(500, 2000)), REQUEST));

    assert_eq!(report.end(), &RunEnd::Answered);
    assert_eq!(report.answer(), "Quoted: 6000. A no-show is charged 6500 [POL-NOSHOW].");
    assert_eq!(report.last_agent(), "policy_agent");
    assert_eq!(watched.order(), "booking_agent booking_agent policy_agent policy_agent");
    assert_eq!((report.model_calls(), report.tool_calls()), (4, 2));
    assert_eq!(trail(report.hops()), ["booking_agent -> policy_agent: taken 1"]);
    assert_eq!(report.refusals().count(), 0);
    assert_eq!(model.unused(), []);

    let quote = r#"{"room":"Focus","plan":"pro","hours":3,"rate_cents_per_hour":2000,"total_cents":6000}"#;
    assert_eq!(
        story_of(&report, "booking_agent"),
        [
            format!("user: {REQUEST}"),
            r#"assistant: get_quote#tu_1{"room":"Focus","plan":"pro","hours":3}"#.to_owned(),
            format!("user: tu_1={quote}"),
            format!(
                r#"assistant: handoff_to_specialist#tu_2{{"specialist":"policy_agent",{}"#,
                PACKAGE.strip_prefix('{').unwrap()
            ),
            r#"user: tu_2={"status":"handed_over","to":"policy_agent"}"#.to_owned(),
        ]
    );
}

/// S0-L05: what crosses is the task and the one value that it needs.
#[test]
fn a_package_of_105_bytes_is_all_that_crosses() {
    let report = ended(runner(decisions()).run(&desk(&house(500, 2000)), REQUEST));
    let hops: Vec<_> = report.hops().collect();
    let [hop] = hops.as_slice() else { panic!("one hop") };
    let package = hop.package.as_ref().unwrap();
    assert_eq!((package.to_json().as_str(), package.task()), (PACKAGE, TASK));
    assert_eq!((hop.package_bytes, PACKAGE.len()), (105, 105));
    assert!(3 * hop.package_bytes <= hop.history_bytes, "{} bytes stay behind", hop.history_bytes);
}

/// S0-L05: the fee comes from the document that was found, and from nowhere else.
#[test]
fn another_fee_in_the_document_is_another_answer() {
    assert_eq!(answer(700, 2000), "Quoted: 6000. A no-show is charged 6700 [POL-NOSHOW].");
}

/// S0-L05: the price comes from the house, crosses in the package, and is the ground of the charge.
#[test]
fn another_price_of_the_room_is_another_answer() {
    assert_eq!(answer(500, 2100), "Quoted: 6300. A no-show is charged 6800 [POL-NOSHOW].");
}

const MARKER: &str = "ZANZIBAR";

/// A reply of marked words and one call under a marked id.
fn marked(tool: &str, arguments: &str) -> ModelResponse {
    let call = ToolUse::scripted(format!("{MARKER}_{tool}"), tool, arguments);
    script::reply(vec![ContentBlock::text(MARKER), call.into()], StopReason::ToolUse)
}

/// 5.4-L04: a marker in every message of the sender, and in its instructions, is in no request of the receiver.
#[test]
fn nothing_of_the_sender_but_the_package_is_in_a_request_of_the_receiver() {
    let house = house(500, 2000);
    let note = Tool::new("note", MARKER, |_: harness::Nothing, _: &CallContext<'_>| {
        Ok::<_, Failure>(format!("{MARKER} is noted"))
    });
    let booking = Agent::new("booking_agent", format!("You book. {MARKER}")).tools(booking_tools(&house));
    let policy = Agent::new("policy_agent", "You answer.").tools(policy_tools(&house));
    let builder = Relay::builder().agent(booking.tools([note])).agent(policy).entry("booking_agent");
    let relay = builder.route("booking_agent", "policy_agent").build().unwrap();

    let handoff = PACKAGE.replacen('{', r#"{"specialist":"policy_agent","#, 1);
    let model = Watched::new(
        ScriptedModel::new()
            .turn("booking_agent", |_| marked("note", "{}"))
            .turn("booking_agent", |_| marked("get_quote", r#"{"room":"ZANZIBAR","plan":"pro","hours":3}"#))
            .turn("booking_agent", move |_| marked(HANDOFF_TO_SPECIALIST, &handoff))
            .turn("policy_agent", |_| script::call("tu_1", "search_docs", r#"{"query":"does not show up"}"#))
            .turn("policy_agent", |_| script::say("6500 cents.")),
    );
    let report = ended(runner(&model).run(&relay, &format!("{REQUEST} {MARKER}")));
    assert_eq!(report.answer(), "6500 cents.");

    let marked_of = |agent: &str| -> Vec<bool> {
        let asked = model.asked().into_iter().filter(|(caller, _)| caller == agent);
        asked.map(|(_, request)| request.contains(MARKER)).collect()
    };
    assert_eq!(marked_of("booking_agent"), [true; 3]);
    assert_eq!(marked_of("policy_agent"), [false; 2]);
    let messages = story_of(&report, "booking_agent");
    assert_eq!(messages.len(), 7);
    assert!(messages.iter().all(|message| message.contains(MARKER)), "{messages:#?}");
}
