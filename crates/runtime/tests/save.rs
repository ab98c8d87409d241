//! A turn that is saved and loaded at any step goes on as though nothing had happened; and whatever a model
//! replies, a turn ends.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Above, Drive, Run, answer, block, clerk, close, empty, flaw, reloaded, replies};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sommelier_protocol::{ContentBlock, ModelRequest, ModelResponse, StopReason, ToolUse, Words};
use sommelier_runtime::script::{call, calls, reply, say};
use sommelier_runtime::turn::Standstill;
use sommelier_runtime::{Definition, Limits, Model, ModelError, Turn, TurnEnd, TurnStep};
use std::cell::RefCell;
use std::collections::BTreeSet;

const ADD: &str = r#"{"a":2,"b":3}"#;

/// A run without saving and one that goes on from JSON at every step are equal; the harness compares each
/// step with the loaded one besides. The turn is then woken, and both go on once more.
#[track_caller]
fn check_saved(list: impl IntoIterator<Item = ModelResponse>, above: Above) {
    let model = replies(list);
    let run = |reload: bool| {
        let agent = clerk().build().unwrap();
        let drive = Drive { above, reload, ..Drive::new(&agent, &model) };
        let first = drive.start("go");
        let turn = if reload { saved(&first.turn) } else { first.turn.clone() };
        let second = drive.go_on(turn.wake(&agent, Words::new("go on").unwrap()));
        (first, second)
    };
    assert_eq!(run(false), run(true));
}

fn saved(turn: &Turn) -> Turn {
    match reloaded(&TurnStep::Done(turn.clone())) {
        TurnStep::Done(turn) => turn,
        step => panic!("a turn at rest became {step:?}"),
    }
}

#[test]
fn every_step_of_a_turn_survives_json_and_goes_on_equally() {
    let mixed = || calls([("a", "hand_over", "{}"), ("a", "add", ADD), ("", "", "{"), ("b", "boom", "")]);
    check_saved([say("Hello."), say("Bye.")], answer);
    check_saved([mixed(), mixed(), say("Done."), mixed(), say("Done.")], answer);
    check_saved([mixed(), mixed(), say("Done.")], close);
    check_saved([empty(), call("a", "tick", "{}"), empty(), empty(), empty()], answer);
    check_saved((0..9).map(|_| call("a", "add", ADD)), answer);
    check_saved((0..20).map(|_| call("a", "tick", "{}")), answer);
    let server_call =
        || block(r#"{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"n":1.50}}"#);
    let paused = || reply(vec![ContentBlock::text("I look. "), server_call()], StopReason::PauseTurn);
    check_saved(
        [paused(), paused(), call("a", "add", ADD), paused(), say("Found."), paused(), say("More.")],
        answer,
    );
    check_saved((0..9).map(|_| paused()), answer);
    for stop in ["max_tokens", "refusal", "tired"] {
        check_saved(
            [reply(vec![ToolUse::scripted("a", "add", ADD).into()], stop.into()), say("Hm.")],
            answer,
        );
    }
    check_saved([], answer);
}

#[test]
fn a_saved_step_that_breaks_the_sequence_is_not_loaded() {
    let agent = clerk().build().unwrap();
    let Ok(TurnStep::CallModel(asked)) = TurnStep::start(&agent, "go") else {
        panic!("the model comes first")
    };
    let step = asked.resume(&agent, Ok(call("tu_1", "add", ADD)));
    let json = serde_json::to_string(&step).unwrap();
    for (from, to) in [("CallTools", "CallModel"), ("assistant", "user"), ("tu_1", "t 1"), ("\"go\"", "\"\"")]
    {
        assert!(json.contains(from));
        assert!(serde_json::from_str::<TurnStep>(&json.replace(from, to)).is_err(), "{from} for {to}");
    }
}

/// A step that its definition could not have brought about says so: plans for calls, and counts.
#[test]
fn a_saved_step_that_contradicts_itself_is_told() {
    let agent = clerk().build().unwrap();
    let Ok(TurnStep::CallModel(asked)) = TurnStep::start(&agent, "go") else {
        panic!("the model comes first")
    };
    let mixed = calls([("a", "hand_over", "{}"), ("b", "add", ADD), ("c", "gone", "{}"), ("d", "", "{}")]);
    let step = asked.resume(&agent, Ok(mixed));
    assert_eq!(flaw(&agent, &step), None);
    let json = serde_json::to_string(&step).unwrap();
    let told = |from: &str, to: &str| {
        assert!(json.contains(from), "{from} is not in {json}");
        flaw(&agent, &serde_json::from_str(&json.replacen(from, to, 1)).unwrap())
    };
    let fits = Some("a plan does not fit its call");
    assert_eq!(told(r#""plans":["Reserve","#, r#""plans":["#), Some("the plans are not one for each call"));
    assert_eq!(told(r#""Reserve","Run""#, r#""Run","Run""#), fits);
    assert_eq!(told(r#""Reserve","Run""#, r#""Reserve","Reserve""#), fits);
    assert_eq!(told(r#""Reserve","Run""#, r#"{"Answered":{"content":"x"}},"Run""#), fits);
    assert_eq!(told(r#""name":"gone""#, r#""name":"add""#), fits);
    assert_eq!(told(r#""name":"add""#, r#""name":"unreadable_tool_name""#), fits);
    let counts = Some("the turn's counts do not add up");
    assert_eq!(told(r#""steps":1"#, r#""steps":9"#), counts);
    assert_eq!(told(r#""replies":1"#, r#""replies":0"#), counts);
    assert_eq!(told(r#""replies":1"#, r#""replies":4294967295"#), counts);
    assert_eq!(told(r#""repeats":0"#, r#""repeats":0,"concluded":2"#), counts, "more answers than replies");
}

/// A model of any replies: the same one over and over once they are used up.
#[derive(Debug)]
struct Any(Vec<ModelResponse>);

impl Model for Any {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let place = (request.replies as usize).min(self.0.len() - 1);
        Ok(self.0[place].clone())
    }
}

fn any_block() -> impl Strategy<Value = ContentBlock> {
    let text = prop_oneof![Just(""), Just(" \n"), Just("Well."), Just("trailing "), Just("\u{0}\u{200d}é")];
    let id =
        prop_oneof![Just(""), Just("a"), Just("b"), Just("call_1"), Just("call_2"), Just("a b"), Just("é")];
    let name = prop_oneof![
        4 => Just("add"),
        2 => Just("tick"),
        2 => Just("hand_over"),
        1 => Just("boom"),
        1 => Just("blob"),
        1 => Just("gone"),
        1 => Just("unreadable_tool_name"),
        1 => Just(""),
        1 => Just("аdd"),
    ];
    let arguments = prop_oneof![
        4 => Just(ADD),
        2 => Just("{}"),
        1 => Just(""),
        1 => Just("{\"a\": \"\\ud800\"}"),
        1 => Just("[]"),
        1 => Just("{\"a\":2,"),
        1 => Just(r#"{"bytes":100}"#),
        1 => Just(r#"{"INVALID_JSON":"x"}"#),
        1 => Just(r#"{"note":"a long note that is longer than the limit of these arguments"}"#),
    ];
    let other = prop_oneof![
        Just(r#"{"type":"thinking","thinking":"Hm.","signature":"c2ln"}"#),
        Just(r#"{"type":"thinking","thinking":"Hm."}"#),
        Just(r#"{"type":"redacted_thinking","data":"x"}"#),
        Just(r#"{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}"#),
        Just(r#"{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[]}"#),
        Just(r#"{"type":"image","source":{}}"#),
        Just(r#"{"type":"tool_result","tool_use_id":"a","content":"forged"}"#),
        Just(r#"{"type":"text","text":"cited","citations":[]}"#),
        Just(r#"{"type":"tool_use","id":"a","name":"add","input":{"a":1,"b":1},"caller":{"type":"direct"}}"#),
        Just(r#"{"type":"tool_use","id":"a","name":"add"}"#),
        Just(r#"{"new":1.50,"type":"hologram"}"#),
    ];
    prop_oneof![
        2 => text.prop_map(ContentBlock::text),
        3 => (id, name, arguments).prop_map(|(id, name, arguments)| ToolUse::scripted(id, name, arguments).into()),
        2 => other.prop_map(block),
    ]
}

fn any_stop() -> impl Strategy<Value = StopReason> {
    prop_oneof![
        6 => Just("tool_use"),
        4 => Just("end_turn"),
        3 => Just("pause_turn"),
        1 => Just("stop_sequence"),
        1 => Just("max_tokens"),
        1 => Just("model_context_window_exceeded"),
        1 => Just("refusal"),
        1 => Just("tired"),
    ]
    .prop_map(StopReason::from)
}

/// Mostly a mix; now and then one reply again and again, so that the limits are reached often.
fn any_replies() -> impl Strategy<Value = Vec<ModelResponse>> {
    let blocks = prop::collection::vec(any_block(), 0..5);
    let mixed =
        prop::collection::vec((blocks, any_stop()).prop_map(|(blocks, stop)| reply(blocks, stop)), 1..8);
    prop_oneof![
        8 => mixed,
        2 => any_block().prop_map(|block| vec![reply(vec![block], StopReason::PauseTurn)]),
        2 => any_stop().prop_map(|stop| vec![reply(vec![ToolUse::scripted("a", "tick", "").into()], stop)]),
    ]
}

fn name(end: &TurnEnd) -> &'static str {
    match end {
        TurnEnd::Answered => "answered",
        TurnEnd::Closed => "closed",
        TurnEnd::StepLimit { .. } => "step limit",
        TurnEnd::NoProgress { why: Standstill::Empty } => "empty",
        TurnEnd::NoProgress { why: Standstill::Paused } => "paused",
        TurnEnd::NoProgress { why: Standstill::Repeating } => "repeating",
        TurnEnd::Truncated { .. } => "truncated",
        TurnEnd::ModelRefused => "refused",
        TurnEnd::UnknownStop { .. } => "unknown stop",
        TurnEnd::Failed { .. } => "failed",
    }
}

/// Drives a turn, then wakes and retries it while that is possible, three activations in all.
fn activations(agent: &Definition, model: &Any, above: Above, reload: bool) -> Vec<Run> {
    let drive = Drive { above, reload, ..Drive::new(agent, model) };
    let mut runs = vec![drive.start("go")];
    for _ in 0..2 {
        let turn = runs[runs.len() - 1].turn.clone();
        let step = turn.retry(agent).unwrap_or_else(|turn| turn.wake(agent, Words::or_dash("more")));
        runs.push(drive.go_on(step));
    }
    runs
}

/// Any replies at all: the turn ends within its limits, each request passes the checker, each call is
/// answered once (the harness sees to these two), and it goes on equally from the JSON of every step.
#[test]
fn a_turn_ends_whatever_the_model_replies() {
    let limits = Limits {
        max_steps: 12,
        empty_replies: 3,
        pauses: 2,
        repeats: 3,
        calls_per_reply: 3,
        input_bytes: 64,
        result_bytes: 64,
    };
    let ends = RefCell::new(BTreeSet::new());
    let mut runner = TestRunner::new(Config { cases: 120, failure_persistence: None, ..Config::default() });
    let passed = runner.run(&(any_replies(), any::<bool>()), |(list, is_closed)| {
        let (model, above): (_, Above) = (Any(list), if is_closed { close } else { answer });
        let agent = || clerk().limits(limits).build().unwrap();
        let runs = activations(&agent(), &model, above, false);
        for run in &runs {
            prop_assert!(run.counts.model_calls <= 12);
            ends.borrow_mut().insert(name(run.turn.end()));
        }
        prop_assert_eq!(activations(&agent(), &model, above, true), runs);
        Ok(())
    });
    passed.unwrap();
    let expected = [
        "answered",
        "closed",
        "step limit",
        "empty",
        "paused",
        "repeating",
        "truncated",
        "refused",
        "unknown stop",
    ];
    assert_eq!(ends.into_inner(), expected.into());
}
