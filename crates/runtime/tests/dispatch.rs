//! Running the calls of one reply, one by one and in parallel.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Drive, Nothing, Size, clerk, output_of, replies};
use sommelier_protocol::ToolUse;
use sommelier_runtime::script::{calls, say};
use sommelier_runtime::tool::{CallContext, Failure, ToolFailure, dispatch, dispatch_parallel, in_parallel};
use sommelier_runtime::{Agent, Definition, Tool, ToolOutput, tool_args};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex};
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

fn uses<'a>(name: &str, arguments: impl IntoIterator<Item = &'a str>) -> Vec<ToolUse> {
    let arguments = arguments.into_iter().enumerate();
    arguments.map(|(at, arguments)| ToolUse::scripted(format!("tu_{at}"), name, arguments)).collect()
}

fn agent(tool: Tool) -> Definition {
    Agent::new("clerk", "").tools([tool]).build().unwrap()
}

/// A tool that waits until as many calls of it have ended as its argument says.
fn in_turn() -> Tool {
    let (ended, changed) = (Mutex::new(0), Condvar::new());
    Tool::new("wait", "Waits for its turn.", move |Place { place }: Place, _: &CallContext<'_>| {
        let (mut ended, waited) =
            changed.wait_timeout_while(ended.lock().unwrap(), PATIENCE, |ended| *ended != place).unwrap();
        *ended += 1;
        changed.notify_all();
        if waited.timed_out() { Err(Failure::new("timeout", "nobody else ran")) } else { Ok(place) }
    })
}

#[test]
fn outputs_stand_in_the_order_of_the_calls_whichever_ends_first() {
    let backwards: Vec<String> = (0..8).rev().map(|place| format!(r#"{{"place":{place}}}"#)).collect();
    let calls = uses("wait", backwards.iter().map(String::as_str));
    let outputs = dispatch_parallel(&agent(in_turn()), calls.iter().enumerate(), "test/1");
    assert_eq!(outputs, (0..8).rev().map(|place: u32| ToolOutput::ok(place.to_string())).collect::<Vec<_>>());
}

/// Run one by one, the first call would wait for the others until its patience ends.
#[test]
fn parallel_calls_run_at_the_same_time() {
    let (here, changed) = (Mutex::new(0), Condvar::new());
    let meet = Tool::new("meet", "Waits for all.", move |_: Nothing, _: &CallContext<'_>| {
        let mut here = here.lock().unwrap();
        *here += 1;
        changed.notify_all();
        let (_here, waited) = changed.wait_timeout_while(here, PATIENCE, |here| *here < 32).unwrap();
        if waited.timed_out() { Err(Failure::new("timeout", "nobody else came")) } else { Ok("met") }
    });
    let calls = uses("meet", ["{}"; 32]);
    let outputs = dispatch_parallel(&agent(meet), calls.iter().enumerate(), "test/1");
    assert_eq!(outputs, vec![ToolOutput::ok(r#""met""#); 32]);
}

#[test]
fn one_by_one_and_in_parallel_come_to_the_same() {
    let agent = clerk().build().unwrap();
    let calls = [
        ToolUse::scripted("a", "add", r#"{"a":2,"b":3}"#),
        ToolUse::scripted("b", "boom", "{}"),
        ToolUse::scripted("c", "add", r#"{"a":9223372036854775807,"b":1}"#),
        ToolUse::scripted("d", "gone", "{}"),
        ToolUse::scripted("e", "blob", r#"{"bytes":300000}"#),
    ];
    let expected = [
        ToolOutput::ok("5"),
        ToolOutput::error(
            "panic",
            r#"{"error":"panic","tool":"boom","detail":"the tool failed inside; whether it had an effect is not known"}"#,
        ),
        ToolOutput::error("overflow", r#"{"error":"overflow","detail":"the sum is too large"}"#),
        ToolOutput::error(
            "unknown_tool",
            r#"{"error":"unknown_tool","agent":"clerk","tool":"gone","available":["add","blob","boom","tick"]}"#,
        ),
        ToolOutput::ok(format!(
            r#"{{"note":"result_too_large","detail":"the call worked; its result is too large to be told","bytes":300002,"most":262144,"beginning":"\"{}"}}"#,
            "x".repeat(1022)
        )),
    ];
    assert_eq!(dispatch(&agent, calls.iter().enumerate(), "test/1"), expected);
    assert_eq!(dispatch_parallel(&agent, calls.iter().enumerate(), "test/1"), expected);
    assert_eq!(dispatch_parallel(&agent, [], "test/1"), []);
}

#[test]
fn a_panic_is_one_error_result_and_the_turn_goes_on() {
    let three = calls([("a", "tick", "{}"), ("b", "boom", "{}"), ("c", "tick", "{}")]);
    let (agent, model) = (clerk().build().unwrap(), replies([three, say("One failed.")]));
    let run = Drive::new(&agent, &model).start("go");
    let results: Vec<bool> = run.turn.messages()[2].tool_results().map(|result| result.is_error()).collect();
    assert_eq!((results, run.turn.answer().as_deref()), (vec![false, true, false], Some("One failed.")));
}

/// Whatever is done for a call, such as asking a gate, may panic: alone or beside others, it costs only its
/// own output.
#[test]
fn work_that_panics_costs_its_own_output_only() {
    let work = |item: &u32| if *item == 1 { panic!("boom") } else { ToolOutput::ok(item.to_string()) };
    let codes = |items: &[u32]| {
        let outputs = in_parallel(items, work);
        outputs.into_iter().map(|output| output.error.unwrap_or(output.content)).collect::<Vec<_>>()
    };
    assert_eq!(codes(&[0, 1, 2]), ["0".into(), "panic".into(), "2".into()]);
    assert_eq!(codes(&[1]), ["panic".into()]);
    assert_eq!(codes(&[]), []);
}

/// A tool that tells the key of its call.
fn key() -> Tool {
    Tool::new("key", "Tells its key.", |_: Nothing, context: &CallContext<'_>| {
        Ok::<_, Failure>(context.idempotency_key.to_owned())
    })
}

#[test]
fn keys_are_unique_per_call_and_the_same_when_repeated() {
    let (agent, calls) = (agent(key()), uses("key", ["{}"; 3]));
    let keys = |scope: &str| dispatch(&agent, calls.iter().enumerate(), scope);
    assert_eq!(keys("c/1"), [r#""c/1/0""#, r#""c/1/1""#, r#""c/1/2""#].map(ToolOutput::ok));
    assert_eq!(keys("c/1"), dispatch_parallel(&agent, calls.iter().enumerate(), "c/1"));
    let all: BTreeSet<Box<str>> =
        ["c/1", "c/2", "d/1"].iter().flat_map(|scope| keys(scope)).map(|output| output.content).collect();
    assert_eq!(all.len(), 9);
}

#[test]
fn a_call_keeps_its_key_when_others_of_its_reply_are_left_out() {
    let (agent, calls) = (agent(key()), uses("key", ["{}"; 3]));
    let last_only = dispatch(&agent, calls.iter().enumerate().skip(2), "c/1");
    assert_eq!(last_only, [ToolOutput::ok(r#""c/1/2""#)]);
}

#[test]
fn a_model_sets_no_key() {
    let output = output_of(&agent(key()), "key", r#"{"idempotency_key":"mine"}"#);
    let told = r#"{"error":"invalid_arguments","detail":"unknown field `idempotency_key`, there are no fields at line 1 column 18","schema":{"type":"object","properties":{},"required":[],"additionalProperties":false}}"#;
    assert_eq!(output, ToolOutput::error("invalid_arguments", told));
}

#[test]
fn a_result_without_a_json_form_has_worked_all_the_same() {
    let odd = Tool::new("odd", "Has no JSON.", |_: Nothing, _: &CallContext<'_>| {
        Ok::<_, Failure>(BTreeMap::from([(vec![1], 1)]))
    });
    let told = r#"{"note":"result_has_no_json","detail":"the call worked; its result has no JSON form and cannot be told","why":"key must be a string"}"#;
    assert_eq!(output_of(&agent(odd), "odd", "{}"), ToolOutput::ok(told));
}

#[test]
fn an_error_of_a_tool_keeps_its_own_members() {
    #[derive(serde::Serialize)]
    struct Taken {
        error: &'static str,
        free_at: [u32; 2],
    }

    impl ToolFailure for Taken {
        fn code(&self) -> &str {
            self.error
        }
    }

    let book = Tool::new("book", "Books.", |Size { bytes }: Size, _: &CallContext<'_>| match bytes {
        0 => Ok("booked"),
        _ => Err(Taken { error: "slot_taken", free_at: [11, 12] }),
    });
    let output = output_of(&agent(book), "book", r#"{"bytes":1}"#);
    assert_eq!(output, ToolOutput::error("slot_taken", r#"{"error":"slot_taken","free_at":[11,12]}"#));
}
