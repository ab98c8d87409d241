//! The tools of one reply: at the same time, in order, and whatever happens an output for each.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Nothing, agent, calls, ended, runner, says, script, story_of};
use sommelier_handoff::{ASK_HUMAN, Answer, Relay, Step};
use sommelier_protocol::{ToolName, ToolUse};
use sommelier_runner::{Gate, Mailbox, Outcome, RunError, dispatch_parallel};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Agent, AgentName, Limits, Tool, ToolOutput, tool_args};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Longer than any test machine needs, so that a failure is a failed test and not one that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

tool_args! {
    /// A place in a queue.
    struct Place {
        /// How many end before.
        place: u32,
    }
}

tool_args! {
    /// How much is wanted.
    struct Size {
        /// How many bytes.
        bytes: u32,
    }
}

/// A tool that waits until as many calls of it have ended as its argument says.
fn in_turn() -> Tool {
    let (ended, changed) = (Mutex::new(0), Condvar::new());
    Tool::new("wait", "Waits for its turn.", move |Place { place }: Place, _: &CallContext<'_>| {
        let waiting = ended.lock().unwrap();
        let (mut ended, waited) =
            changed.wait_timeout_while(waiting, PATIENCE, |ended| *ended != place).unwrap();
        *ended += 1;
        changed.notify_all();
        if waited.timed_out() { Err(Failure::new("timeout", "nobody else ran")) } else { Ok(place) }
    })
}

fn clerk(tools: impl IntoIterator<Item = Tool>) -> Agent {
    Agent::new("clerk", "").tools(tools)
}

/// S0-14: the calls end in the reverse of their order, so they must have run at the same time; the outputs stand
/// in the order of the calls all the same.
#[test]
fn calls_run_at_the_same_time_and_their_outputs_stand_in_order() {
    let definition = clerk([in_turn()]).build().unwrap();
    let calls: Vec<ToolUse> = (0..16)
        .map(|n| ToolUse::scripted(format!("tu_{n}"), "wait", &format!(r#"{{"place":{}}}"#, 15 - n)))
        .collect();
    let outputs = dispatch_parallel(&definition, calls.iter().enumerate(), "test/1", &Gate::default());
    let expected: Vec<ToolOutput> =
        (0..16).rev().map(|place: u32| ToolOutput::ok(place.to_string())).collect();
    assert_eq!(outputs, expected);
}

/// S0-14: in a run too, the calls of one reply run at the same time and are answered in their order.
#[test]
fn a_run_answers_the_calls_of_a_reply_in_order() {
    let relay = Relay::builder().agent(clerk([in_turn()])).entry("clerk").build().unwrap();
    let wanted = [r#"{"place":2}"#, r#"{"place":1}"#, r#"{"place":0}"#].map(|arguments| ("wait", arguments));
    let model = script([("clerk", calls(wanted)), ("clerk", says("Done."))]);
    let report = ended(runner(&model).run(&relay, "hello"));
    assert_eq!(story_of(&report, "clerk")[2], "user: tu_1_0=2 | tu_1_1=1 | tu_1_2=0");
}

/// A panic is the output of its own call and of no other.
#[test]
fn a_panic_is_one_error() {
    let boom = Tool::new("boom", "Breaks.", |_: Nothing, _: &CallContext<'_>| -> Result<(), Failure> {
        panic!("boom")
    });
    let definition = agent("clerk").tools([boom]).build().unwrap();
    let calls = [
        ToolUse::scripted("a", "look", r#"{"word":"tea"}"#),
        ToolUse::scripted("b", "boom", "{}"),
        ToolUse::scripted("c", "fail", "{}"),
    ];
    let told = r#"{"error":"panic","tool":"boom","detail":"the tool failed inside; whether it had an effect is not known"}"#;
    let failed = r#"{"error":"no_luck","detail":"it does not work today"}"#;
    let outputs =
        [ToolOutput::ok(r#""tea""#), ToolOutput::error("panic", told), ToolOutput::error("no_luck", failed)];
    assert_eq!(dispatch_parallel(&definition, calls.iter().enumerate(), "test/1", &Gate::default()), outputs);
    // One call needs no thread, and its panic is caught all the same.
    let alone = dispatch_parallel(&definition, [(1, &calls[1])], "test/1", &Gate::default());
    assert_eq!(alone, [ToolOutput::error("panic", told)]);
}

/// Of a result that is too large both sizes are told, and the run goes on.
#[test]
fn a_result_that_is_too_large_is_told() {
    let blob = Tool::new("blob", "Gives much.", |size: Size, _: &CallContext<'_>| {
        Ok::<_, Failure>("x".repeat(size.bytes as usize))
    });
    let limits = Limits { result_bytes: 10, ..Limits::default() };
    let relay = Relay::builder().agent(clerk([blob]).limits(limits)).entry("clerk").build().unwrap();
    let wanted = [("blob", r#"{"bytes":8}"#), ("blob", r#"{"bytes":9}"#)];
    let model = script([("clerk", calls(wanted)), ("clerk", says("Done."))]);
    let report = ended(runner(&model).run(&relay, "hello"));
    assert_eq!(
        story_of(&report, "clerk")[2],
        r#"user: tu_1_0="xxxxxxxx" | tu_1_1={"note":"result_too_large","detail":"the call worked; its result is too large to be told","bytes":11,"most":10}"#
    );
}

/// The key of a call is made of the reply and of the call's place in it, whether it runs alone or beside others.
#[test]
fn keys_are_those_of_the_reply_and_the_place() {
    let key = Tool::new("key", "Tells its key.", |_: Nothing, context: &CallContext<'_>| {
        Ok::<_, Failure>(context.idempotency_key.to_owned())
    });
    let relay = Relay::builder().agent(agent("clerk").tools([key])).entry("clerk").build().unwrap();
    let model = script([
        ("clerk", calls([("key", "{}"), ("fail", "{}"), ("key", "{}")])),
        ("clerk", calls([("key", "{}")])),
        ("clerk", says("Done.")),
    ]);
    let report = ended(runner(&model).conversation("c").run(&relay, "hello"));
    let told = story_of(&report, "clerk");
    assert_eq!(
        (told[2].as_str(), told[4].as_str()),
        (
            concat!(
                r#"user: tu_1_0="c/1/1/0" | tu_1_1!{"error":"no_luck","detail":"it does not work today"} | "#,
                r#"tu_1_2="c/1/1/2""#
            ),
            r#"user: tu_2_0="c/1/2/0""#
        )
    );
}

/// A tool that is switched off does not run; the model is told, and the other calls of the reply run.
#[test]
fn a_tool_that_is_switched_off_does_not_run() {
    let runs = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&runs);
    let count = Tool::new("count", "Counts.", move |_: Nothing, _: &CallContext<'_>| {
        Ok::<_, Failure>(counter.fetch_add(1, Ordering::Relaxed))
    });
    let relay = Relay::builder().agent(agent("clerk").tools([count])).entry("clerk").build().unwrap();
    let model = script([
        ("clerk", calls([("count", "{}"), ("look", r#"{"word":"tea"}"#)])),
        ("clerk", calls([("count", "{}")])),
        ("clerk", says("Done.")),
    ]);
    let off = (AgentName::new("clerk").unwrap(), ToolName::new("count").unwrap());
    let step = relay.start("c", "hello").unwrap().switch_off(off.0, off.1);
    let report = ended(runner(&model).drive(&relay, step));
    let told = story_of(&report, "clerk");
    let switched_off = r#"{"error":"tool_switched_off","detail":"count is switched off for now"}"#;
    assert_eq!(told[2], format!(r#"user: tu_1_0!{switched_off} | tu_1_1="tea""#));
    assert_eq!(told[4], format!("user: tu_2_0!{switched_off}"));
    assert_eq!((runs.load(Ordering::Relaxed), report.tool_calls()), (0, 1));
}

/// A step of another relay is its caller's fault, whatever it is a step of and by whichever function it comes: nothing runs,
/// no model is asked, and the run comes back as it was.
#[test]
fn a_step_of_another_relay_is_handed_back() {
    let relay = Relay::builder().agent(agent("clerk")).entry("clerk").may_ask_human("clerk").build().unwrap();
    let other = Relay::builder().agent(agent("porter")).entry("porter").build().unwrap();
    let model =
        script([("clerk", calls([(ASK_HUMAN, r#"{"question":"Who?"}"#)])), ("clerk", says("Thank you."))]);
    let runner = runner(&model).conversation("c");
    let handed_back = |outcome: Result<Outcome, RunError>, step: &Step| match outcome.unwrap_err() {
        RunError::OtherRelay { parked } => assert_eq!(parked.step(), step),
        wrong => panic!("{wrong}"),
    };
    let Outcome::Waiting(waiting) = runner.run(&relay, "hello").unwrap() else { panic!("clerk asks") };
    let step = waiting.step().clone();
    let (id, ann) = ("c/1/1/0", Answer::Say { text: "Ann.".into() });
    handed_back(runner.answer(&other, waiting.clone(), id, ann.clone()), &step);
    handed_back(runner.drive(&other, step.clone()), &step);
    handed_back(runner.drive_with(&other, step.clone(), &Mailbox::new()), &step);
    let done = ended(runner.answer(&relay, waiting, id, ann)).into_done();
    handed_back(runner.go_on(&other, done.clone(), "And then?"), &Step::Done(done));
}
