//! Stories from the records of journals, wherever these end, and of records that do not follow.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod harness;

use harness::{Look, delegates, held, hostile, look, pay, people, running_case};
use sommelier_handoff::{Agent, Budget, Delegate, Divergence, HANDOFF_TO_SPECIALIST, Relay, Route};
use sommelier_report::{Finding, Passage, Source, Spent, Story, What, html};
use sommelier_runner::journal::Event;
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{ScriptedModel, Tool, script};

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

/// Where somebody has set the clock back, times say less than they seem to. A little is no news.
#[test]
fn a_clock_that_went_back_is_told() {
    let remarks = |back: u64| {
        let mut run = running_case();
        for record in &mut run.records[9..] {
            let event = &record.event;
            record.event =
                Event::new(event.kind(), event.version(), event.at() - back, event.body()).unwrap();
        }
        run.story().remarks
    };
    let day = "The clock went back by 1 d 0 h before record 10, so times from before and after it cannot be compared.";
    assert_eq!(remarks(86_400_000 + 600_000), [day]);
    assert_eq!(remarks(400), [""; 0]);
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

/// S1-39: what is left behind is told piece by piece, of a sender who was refused as of one who was not, and nothing is missing.
#[test]
fn the_pieces_of_what_is_left_behind_add_up() {
    for run in [running_case(), delegates(), people(), hostile()] {
        for hop in run.story().hops {
            let sum: u64 = hop.left_behind.iter().map(|piece| piece.bytes).sum();
            assert_eq!(sum, hop.history_bytes, "{}: {hop:?}", run.name);
            assert!(hop.left_behind.len() > 1, "{hop:?}");
        }
    }
}

/// A piece says which tools it has the results of: those that the reply before it calls, in the order of the results.
#[test]
fn a_result_that_stays_behind_says_of_which_tool() {
    let find =
        Tool::new("find", "Finds a word.", |look: Look, _: &CallContext<'_>| Ok::<_, Failure>(look.word))
            .read_only();
    let relay = Relay::builder()
        .agent(Agent::new("clerk", "").tools([look(), find]))
        .agent(Agent::new("till", ""))
        .entry("clerk")
        .route("clerk", "till")
        .build()
        .unwrap();
    let word = r#"{"word":"Ada"}"#;
    let model = ScriptedModel::new()
        .turn("clerk", move |_| script::calls([("tu_1", "find", word), ("tu_2", "look", word)]))
        // A service may give an id once more.
        .turn("clerk", move |_| script::call("tu_1", "look", word))
        .turn("clerk", |_| {
            let package = r#"{"specialist":"till","task":"Count.","context":{}}"#;
            script::call("tu_1", HANDOFF_TO_SPECIALIST, package)
        })
        .turn("till", |_| script::say("Twelve."));
    let story = held(relay, model, "c", &["Count it."], &[]).story();
    let told: Vec<&str> = story.hops[0].left_behind.iter().map(|piece| &*piece.what).collect();
    let pieces = [
        "what it was told",
        "reply that calls find, look",
        "results of find, look",
        "reply that calls look",
        "result of look",
        "the brackets of the list and the commas in it",
    ];
    assert_eq!(told, pieces);
}

/// Of a conversation of hundreds of messages the first and the last are told, and what lies between in one sum.
#[test]
fn of_a_long_conversation_both_ends_are_told() {
    let relay = Relay::builder()
        .agent(Agent::new("clerk", "").tools([look()]).max_steps(50))
        .agent(Agent::new("till", ""))
        .entry("clerk")
        .route("clerk", "till")
        .build()
        .unwrap();
    let mut model = ScriptedModel::new();
    for n in 100..140 {
        let word = format!(r#"{{"word":"{n}"}}"#);
        model = model.turn("clerk", move |_| script::call(&format!("tu_{n}"), "look", &word));
    }
    let package = |to: &str| format!(r#"{{"specialist":"{to}","task":"Count.","context":{{}}}}"#);
    let (nobody, till) = (package("nobody"), package("till"));
    let model = model
        .turn("clerk", move |_| script::call("tu_2", HANDOFF_TO_SPECIALIST, &nobody))
        .turn("clerk", move |_| script::call("tu_3", HANDOFF_TO_SPECIALIST, &till))
        .turn("till", |_| script::say("Twelve."));
    let story = held(relay, model, "c", &["Count it."], &[]).story();
    let told: Vec<(bool, usize, &str)> = story
        .hops
        .iter()
        .map(|hop| {
            let sum: u64 = hop.left_behind.iter().map(|piece| piece.bytes).sum();
            (sum == hop.history_bytes, hop.left_behind.len(), &*hop.left_behind[20].what)
        })
        .collect();
    assert_eq!(told, [(true, 42, "41 messages between"), (true, 42, "43 messages between")]);
}

/// What each branch was given of its asker's budget is told beside what it used, while it is open as well.
#[test]
fn a_branch_is_told_with_its_own_budget() {
    let customs = Agent::new("customs", "").tools([look(), pay()]);
    let shipping = Relay::builder()
        .agent(Agent::new("shipping", ""))
        .delegate("shipping", Delegate::new("ask_customs", customs).max_model_calls(5))
        .entry("shipping")
        .build()
        .unwrap();
    let relay = Relay::builder()
        .agent(Agent::new("supervisor", ""))
        .delegate("supervisor", Delegate::team("ask_shipping", shipping).max_model_calls(9))
        .entry("supervisor")
        .budget(Budget::new(60).tool_calls(6))
        .build()
        .unwrap();
    let asks = |tool: &'static str| {
        ScriptedModel::new()
            .turn("supervisor", |_| script::call("tu_1", "ask_shipping", r#"{"question":"1?"}"#))
            .turn("shipping", |_| script::call("tu_1", "ask_customs", r#"{"question":"2?"}"#))
            .turn("customs", |_| script::call("tu_1", "look", r#"{"word":"C 23"}"#))
            .turn("customs", move |_| script::call("tu_2", tool, r#"{"word":"C 24"}"#))
            .turn("customs", |_| script::say("C 23."))
            .turn("shipping", |_| script::say("It waits for C 23."))
            .turn("supervisor", |_| script::say("For C 23."))
    };
    let told = |tool| -> (String, Vec<Option<usize>>, Vec<String>) {
        let story = held(relay.clone(), asks(tool), "c", &["Where is it?"], &[]).story();
        let of = |spent: &Spent| format!("{} of {} {}", spent.used, spent.allowed.unwrap(), spent.measure);
        let used =
            story.runs[1..].iter().map(|run| run.budget[..2].iter().map(of).collect::<Vec<_>>().join(", "));
        let used = used.collect();
        (story.outcome.status, story.runs.iter().map(|run| run.within).collect(), used)
    };
    let within = vec![None, Some(0), Some(1)];
    let ended = ["5 of 9 model calls, 2 of 6 tool calls", "3 of 5 model calls, 2 of 6 tool calls"];
    assert_eq!(told("look"), ("answered".into(), within.clone(), ended.map(String::from).to_vec()));
    // A person is asked in the branch of the branch.
    let open = ["3 of 9 model calls, 1 of 6 tool calls", "2 of 5 model calls, 1 of 6 tool calls"];
    assert_eq!(told("pay"), ("waiting".into(), within, open.map(String::from).to_vec()));
}
