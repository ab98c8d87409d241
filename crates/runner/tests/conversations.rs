//! A conversation over several messages of the user.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Watched, calls, ended, hands_to, relay, runner, says, script, story_of, team, trail};
use sommelier_handoff::{Agent, EntryPolicy, Guards, Relay, RunEnd};
use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runner::{Outcome, RunError, Runner};
use sommelier_runtime::{Model, ModelError, ScriptedModel, script as scripted};
use std::collections::BTreeSet;

const PAIR: &str = "booking_agent -> policy_agent, policy_agent -> booking_agent";

/// R13: the user goes on with the agent that answered, in that agent's own conversation.
#[test]
fn the_users_next_message_goes_to_the_agent_that_answered() {
    let model = script([
        ("booking_agent", hands_to("policy_agent")),
        ("policy_agent", says("6500 cents.")),
        ("policy_agent", says("Within 24 hours.")),
    ]);
    let watched = Watched::new(&model);
    let (runner, relay) = (runner(&watched), relay(PAIR));
    let report = ended(runner.run(&relay, "What if I do not come?"));
    let report = ended(runner.go_on(&relay, report.into_done(), "And when is it free?"));
    assert_eq!((report.answer(), report.last_agent()), ("Within 24 hours.", "policy_agent"));
    assert_eq!(watched.order(), "booking_agent policy_agent policy_agent");
    let story = story_of(&report, "policy_agent");
    assert_eq!(
        story[1..],
        ["assistant: 6500 cents.", "user: And when is it free?", "assistant: Within 24 hours."]
    );
    assert_eq!((report.model_calls(), report.hops().count(), model.unused()), (3, 1, vec![]));
}

/// R13: or it goes to the entry each time, whose conversation goes on too.
#[test]
fn the_users_next_message_goes_to_the_entry_if_so_set() {
    let model = script([
        ("booking_agent", hands_to("policy_agent")),
        ("policy_agent", says("6500 cents.")),
        ("booking_agent", says("Gladly.")),
    ]);
    let relay = team(PAIR).entry_policy(EntryPolicy::Entry).build().unwrap();
    let runner = runner(&model);
    let report = ended(runner.run(&relay, "What if I do not come?"));
    let report = ended(runner.go_on(&relay, report.into_done(), "Book it."));
    assert_eq!((report.answer(), report.last_agent()), ("Gladly.", "booking_agent"));
    assert_eq!(story_of(&report, "booking_agent").len(), 4);
}

/// R13: hops and pairs count anew with each message of the user; the trail keeps them all.
#[test]
fn hops_count_anew_when_the_user_speaks() {
    let model = script([
        ("booking_agent", hands_to("policy_agent")),
        ("policy_agent", says("Yes.")),
        ("policy_agent", hands_to("booking_agent")),
        ("booking_agent", says("Booked.")),
        ("booking_agent", hands_to("policy_agent")),
        ("policy_agent", says("No.")),
        ("policy_agent", hands_to("booking_agent")),
        ("booking_agent", hands_to("policy_agent")),
    ]);
    let relay = team(PAIR).guards(Guards::default().max_handoffs(1)).build().unwrap();
    let runner = runner(&model);
    let mut report = ended(runner.run(&relay, "1"));
    for text in ["2", "3"] {
        assert_eq!(report.end(), &RunEnd::Answered);
        report = ended(runner.go_on(&relay, report.into_done(), text));
    }
    assert_eq!((report.answer(), report.end()), ("No.", &RunEnd::Answered));
    let report = ended(runner.go_on(&relay, report.into_done(), "4"));
    assert!(matches!(report.end(), RunEnd::HopLimit { .. }), "{:?}", report.end());
    assert_eq!(
        trail(report.done().run().trail().hops()),
        [
            "booking_agent -> policy_agent: taken 1",
            "policy_agent -> booking_agent: taken 2",
            "booking_agent -> policy_agent: taken 3",
            "policy_agent -> booking_agent: taken 4",
            "booking_agent -> policy_agent: handoff_limit_exceeded",
        ]
    );
}

/// The keys of effects begin with the name of the conversation, so nobody has one that another has.
#[test]
fn conversations_without_a_name_get_one_each() {
    let relay = relay(PAIR);
    let named =
        |runner: &Runner<'_>| ended(runner.run(&relay, "hello")).done().run().conversation().to_owned();
    let still = || script([("booking_agent", says("Yes."))]);
    let (one, other) = (runner(still()), runner(still()));
    let names: BTreeSet<String> = std::iter::repeat_n([&one, &other], 50).flatten().map(named).collect();
    assert_eq!(names.len(), 100, "{names:?}");
    let set = runner(still()).conversation("mine");
    assert_eq!([named(&set), named(&set)], ["mine", "mine"]);
}

/// A run that ended badly can be gone on with all the same.
#[test]
fn a_conversation_goes_on_after_a_run_that_failed() {
    let model =
        script([("booking_agent", calls([("look", r#"{"word":"tea"}"#)])), ("booking_agent", says("Tea."))]);
    let relay = relay(PAIR);
    let failed = ended(runner(ScriptedModel::new()).run(&relay, "hello"));
    assert_eq!((failed.answer(), failed.end().as_str(), failed.model_calls()), ("", "failed", 0));
    let report = ended(runner(&model).go_on(&relay, failed.into_done(), "Are you there?"));
    assert_eq!((report.answer(), report.model_calls()), ("Tea.", 2));
}

/// Words that are none are the caller's fault; nothing is asked.
#[test]
fn blank_words_are_the_callers_fault() {
    let model = script([("booking_agent", says("Yes.")), ("booking_agent", says("Never said."))]);
    let (runner, relay) = (runner(&model), relay(PAIR));
    assert!(matches!(runner.run(&relay, " \n\t"), Err(RunError::Blank(_))));
    let done = ended(runner.run(&relay, "hello")).into_done();
    assert!(matches!(runner.go_on(&relay, done, ""), Err(RunError::Blank(_))));
    assert_eq!(model.unused(), [("booking_agent", 2)]);
}

/// Each agent may have a model of its own.
#[test]
fn an_agent_is_asked_through_its_own_model() {
    let booking = script([("booking_agent", hands_to("policy_agent"))]);
    let policy = script([("policy_agent", says("6500 cents."))]);
    let runner = runner(&booking).model_of("policy_agent", &policy);
    assert_eq!(ended(runner.run(&relay(PAIR), "hello")).answer(), "6500 cents.");
    assert_eq!((booking.unused(), policy.unused()), (vec![], vec![]));
}

/// The clock is the one that was given: it is on each hop.
#[test]
fn the_clock_is_the_one_that_was_given() {
    let model = script([("booking_agent", hands_to("policy_agent")), ("policy_agent", says("Yes."))]);
    let report = ended(runner(&model).clock(|| 1_800_000_000_000).run(&relay(PAIR), "hello"));
    assert_eq!(report.hops().map(|hop| hop.at).collect::<Vec<_>>(), [1_800_000_000_000]);
}

/// A model's adapter that panics costs the call and not the conversation: the run ends as failed and can go on.
#[test]
fn a_model_that_panics_loses_nothing() {
    struct Breaks;

    impl Model for Breaks {
        fn complete(&self, _: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
            panic!("the adapter is broken")
        }
    }

    let relay = Relay::builder().agent(Agent::new("clerk", "")).entry("clerk").build().unwrap();
    let Outcome::Ended(report) = Runner::new(Breaks).run(&relay, "hello").unwrap() else { panic!("it ends") };
    assert_eq!(report.end(), &RunEnd::Failed { error: ModelError::Panicked });
    let step = report.into_done().retry(&relay).unwrap();
    let model = ScriptedModel::new().turn("clerk", |_| scripted::say("Good morning."));
    let Outcome::Ended(report) = Runner::new(model).drive(&relay, step).unwrap() else { panic!("it ends") };
    assert_eq!(report.answer(), "Good morning.");
}
