//! Stories from the records of journals, wherever these end, and of records that do not follow.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod harness;

use harness::{delegates, held, hostile, people, running_case};
use sommelier_handoff::{Agent, Delegate, Divergence, HANDOFF_TO_SPECIALIST, Relay, Route};
use sommelier_report::{Finding, Passage, Source, Story, What, html};
use sommelier_runner::journal::Event;
use sommelier_runtime::{ScriptedModel, script};

/// When each event happened, where, and of what kind it is.
fn kinds(story: &Story) -> Vec<(u64, String, String)> {
    let kind = |what: &What| serde_json::to_value(what).unwrap()["kind"].as_str().unwrap().to_owned();
    let path = |run: usize| story.runs[run].path.clone();
    story.events.iter().map(|event| (event.at_us, path(event.run), kind(&event.what))).collect()
}

/// A process may have been killed anywhere: what is on record by then is told, and nothing is missed.
#[test]
fn every_beginning_of_a_run_is_a_story() {
    for run in [running_case(), delegates(), people(), hostile()] {
        let whole = run.story();
        for count in 0..=run.records.len() {
            let story = Story::of_run(&run.relay, run.name, &run.records[..count]).unwrap();
            assert_eq!(story.source, Source::Journal { records: count, told: count });
            assert_eq!(story.remarks, [""; 0]);
            // What has happened is not changed by what comes later.
            assert_eq!(kinds(&story), kinds(&whole)[..story.events.len()]);
            assert!(html::page(&story).ends_with("</html>\n"));
        }
    }
}

/// What comes behind a record that does not follow is not told, and that is said.
#[test]
fn a_record_that_does_not_follow_ends_the_story() {
    let mut run = running_case();
    let event = &run.records[9].event;
    let other = Event::new(event.kind(), event.version() + 1, event.at(), event.body()).unwrap();
    run.records[9].event = other;
    let story = run.story();
    assert_eq!(story.source, Source::Journal { records: 22, told: 9 });
    let remark = "Record 10 does not follow, so the story ends there: version 2 of model_responded is not known to this release.";
    assert_eq!(story.remarks, [remark]);
}

/// Nothing of a run of another definition can be told.
#[test]
fn a_run_of_another_definition_is_refused() {
    let (run, other) = (running_case(), people());
    let told = Story::of_run(&other.relay, run.name, &run.records);
    assert!(matches!(told, Err(Divergence::OtherDefinition(_))), "{told:?}");
}

/// The turn comes back on a route that returns, and what follows is the sender's.
#[test]
fn a_turn_that_comes_back_is_told() {
    let relay = Relay::builder()
        .agent(Agent::new("clerk", ""))
        .agent(Agent::new("till", ""))
        .entry("clerk")
        .route_with(Route::new("clerk", "till").returns())
        .build()
        .unwrap();
    let order = r#"{"specialist":"till","task":"Count.","context":{}}"#;
    let model = ScriptedModel::new()
        .turn("clerk", move |_| script::call("tu_1", HANDOFF_TO_SPECIALIST, order))
        .turn("till", |_| script::say("Twelve."))
        .turn("clerk", |_| script::say("It is twelve."));
    let story = held(relay, model, "c", &["Count it."], &[]).story();
    let name = |part: usize| story.part(part).to_owned();
    let said: Vec<String> = story
        .events
        .iter()
        .map(|event| match &event.what {
            What::Said { to, .. } => format!("to {}", name(*to)),
            What::Replied { agent, .. } => format!("{} replies", name(*agent)),
            What::HandedOver { hop } => format!("to {}", story.hops[*hop].to_name),
            What::CameBack { from, to } => format!("{} back to {}", name(*from), name(*to)),
            What::Ended { agent, .. } => format!("{} ends", name(agent.unwrap())),
            other => panic!("{other:?}"),
        })
        .collect();
    let order = [
        "to clerk",
        "clerk replies",
        "to till",
        "till replies",
        "till back to clerk",
        "clerk replies",
        "clerk ends",
    ];
    assert_eq!(said, order);
    assert_eq!(story.hops[0].outcome, Passage::Taken);
    assert_eq!(
        (story.relays[0].ways[0].taken, &*story.relays[0].ways[0].notes),
        (1, &["returns".to_owned()][..])
    );
}

/// Branches that go on side by side are told apart, whichever is faster.
#[test]
fn branches_side_by_side_are_told_apart() {
    let desk = |name: &str| Delegate::new(format!("ask_{name}"), Agent::new(name, ""));
    let relay = Relay::builder()
        .agent(Agent::new("supervisor", ""))
        .delegate("supervisor", desk("one"))
        .delegate("supervisor", desk("two"))
        .entry("supervisor")
        .build()
        .unwrap();
    let model = ScriptedModel::new()
        .turn("supervisor", |_| {
            script::calls([
                ("tu_1", "ask_one", r#"{"question":"1?"}"#),
                ("tu_2", "ask_two", r#"{"question":"2?"}"#),
            ])
        })
        .turn("supervisor", |_| script::say("Both."))
        .turn("one", |_| script::say("One."))
        .turn("two", |_| script::say("Two."));
    let story = held(relay, model, "c", &["Ask both."], &[]).story();
    let found: Vec<(&str, &str)> = story
        .questions
        .iter()
        .map(|question| match &question.outcome {
            Finding::Returned { finding, .. } => {
                (story.part(question.to.unwrap()), finding.as_deref().unwrap())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(found, [("one", "One."), ("two", "Two.")]);
    let returned = story.events.iter().filter(|event| matches!(event.what, What::Returned { .. })).count();
    assert_eq!(returned, 2);
}
