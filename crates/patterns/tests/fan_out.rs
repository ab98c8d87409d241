//! Parts side by side, stages one after the other, and putting findings together.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what cannot be")]

use serde_json::{Value, json};
use sommelier_handoff::{Agent, Delegate, DelegateStatus, RunEnd};
use sommelier_patterns::{
    Conflict, FanOut, Finding, Merged, OnConflict, Pipeline, Team, critical_path, merge,
};
use sommelier_protocol::{ContentBlock, ModelRequest, ModelResponse, StopReason, ToolUse};
use sommelier_runner::{Outcome, Report, Runner};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Model, ModelError, ScriptedModel, Tool, script, tool_args};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

tool_args! {
    /// What to look at.
    struct Look {
        /// A word.
        word: String,
    }
}

fn run(team: &Team, model: impl Model, words: &str) -> Report {
    let runner = Runner::new(model).conversation("c");
    let Outcome::Ended(report) = team.run(runner, words).unwrap() else { panic!("it ends") };
    report
}

/// Three parts, of which the second cannot reach its model; the third takes a second step when the second has failed.
fn three(fan_out: FanOut) -> FanOut {
    let part = |fan_out: FanOut, name: &'static str| {
        fan_out.part(Delegate::new(format!("ask_{name}"), Agent::new(name, "")), move |words| {
            format!("{name}: {words}")
        })
    };
    ["first", "second", "third"].into_iter().fold(fan_out, part)
}

struct SecondFails;

impl Model for SecondFails {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        match &*request.caller {
            "second" => Err(ModelError::Unreachable { detail: "no line".to_owned() }),
            name => Ok(script::say(format!("{name} is fine."))),
        }
    }
}

const NO_LINE: &str = "failed: unreachable";

fn reasons(report: &Report) -> Vec<Option<&str>> {
    report.links().iter().map(|link| link.result().unwrap().reason.as_deref()).collect()
}

/// C146, S0-26: one part fails and the others' findings are kept; the failed one is a typed result in its place. The
/// answer says which it is in plain words, and the reason is on record.
#[test]
fn a_failed_part_leaves_the_others() {
    let team = three(FanOut::new("fan_out")).build().unwrap();
    let report = run(&team, SecondFails, "Go.");
    assert_eq!(
        report.answer(),
        "ask_first: first is fine.\n\
         ask_second did not answer.\n\
         ask_third: third is fine."
    );
    assert_eq!(reasons(&report), [None, Some(NO_LINE), None]);
    let ends: Vec<&str> = report.links().iter().map(|link| link.run().unwrap().end().as_str()).collect();
    assert_eq!(ends, ["answered", "failed", "answered"]);
}

/// C146: under all or nothing the other parts are called off at their next step, and each is reported as what it is.
#[test]
fn all_or_nothing_calls_the_others_off() {
    /// The first part goes on until it is called off: it looks for what is not there, each time elsewhere.
    struct Endless(AtomicBool);
    impl Model for Endless {
        fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
            if &*request.caller == "second" {
                self.0.store(true, Ordering::Release);
                return Err(ModelError::Unreachable { detail: "no line".to_owned() });
            }
            while !self.0.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
            let n = request.replies;
            Ok(script::call(&format!("tu_{n}"), "look", &format!(r#"{{"n":{n}}}"#)))
        }
    }
    let part = |fan_out: FanOut, name: &'static str| {
        let agent = Agent::new(name, "").max_steps(1_000_000);
        let delegate = Delegate::new(format!("ask_{name}"), agent).max_model_calls(1_000_000);
        fan_out.part(delegate, |words| words.to_owned())
    };
    let fan_out = ["first", "second"].into_iter().fold(FanOut::new("fan_out"), part).all_or_nothing();
    let team = fan_out.build_with(|relay| relay.max_model_calls(1_000_000)).unwrap();
    // Without being called off the first part would end by its share of the budget, and say so.
    let report = run(&team, Endless(AtomicBool::new(false)), "Go.");
    let ends: Vec<&RunEnd> = report.links().iter().map(|link| link.run().unwrap().end()).collect();
    let RunEnd::Cancelled { reason } = ends[0] else { panic!("{ends:?}") };
    assert_eq!(&**reason, "called off, since another branch failed");
    assert!(matches!(ends[1], RunEnd::Failed { .. }), "{ends:?}");
    assert_eq!(
        report.answer(),
        "Not all parts could be done.\n\
         ask_first did not answer.\n\
         ask_second did not answer."
    );
    let called_off = "cancelled: called off, since another branch failed";
    assert_eq!(reasons(&report), [Some(called_off), Some(NO_LINE)]);
}

/// S0-26: which parts there are stands before the request; each gets its own question, and all answers go into one.
#[test]
fn parts_are_distributed_and_put_together() {
    let team = three(FanOut::new("fan_out"))
        .aggregate(|words, findings: &[Finding]| {
            let all: Vec<&str> = findings.iter().map(Finding::words).collect();
            format!("{words} {}", all.join(" "))
        })
        .build()
        .unwrap();
    let heard = |request: &ModelRequest<'_>| {
        let words = script::first_words(request);
        let task = words.split_once(r#""task":""#).unwrap().1.split_once('"').unwrap().0;
        script::say(format!("[{task}]"))
    };
    let model = ["first", "second", "third"]
        .into_iter()
        .fold(ScriptedModel::new(), |model, name| model.turn(name, heard));
    let report = run(&team, &model, "Go.");
    assert_eq!(report.answer(), "Go. [first: Go.] [second: Go.] [third: Go.]");
    assert_eq!((team.model_calls(&report), team.critical_path(&report)), (3, 1));
    // Who does not know of the rule counts its two moves as calls.
    assert_eq!(critical_path(&report), 3);
}

/// S0-25: the order is the one that was written down, whatever the stages say; each hears what the one before found.
#[test]
fn a_pipeline_keeps_its_order_and_decides_nothing() {
    let stage = |pipeline: Pipeline, name: &'static str| {
        let delegate = Delegate::new(format!("do_{name}"), Agent::new(name, ""));
        pipeline.stage(delegate, |words, so_far| match so_far.last() {
            None => words.to_owned(),
            Some(last) => last.words().to_owned(),
        })
    };
    let team = ["read", "draft", "check"].into_iter().fold(Pipeline::new("pipeline"), stage).build().unwrap();
    let order = Mutex::new(Vec::new());
    struct Adds<'a>(&'a Mutex<Vec<String>>);
    impl Model for Adds<'_> {
        fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
            self.0.lock().unwrap().push(request.caller.to_string());
            let words = script::first_words(&request);
            let task = words.split_once(r#""task":""#).unwrap().1.split_once('"').unwrap().0;
            Ok(script::say(format!("{task} {}: skip the rest, ask check next.", request.caller)))
        }
    }
    let report = run(&team, Adds(&order), "Go.");
    assert_eq!(*order.lock().unwrap(), ["read", "draft", "check"]);
    assert_eq!(
        report.answer(),
        "Go. read: skip the rest, ask check next. draft: skip the rest, ask check next. \
         check: skip the rest, ask check next."
    );
    assert_eq!((team.model_calls(&report), team.critical_path(&report)), (3, 3));
}

/// A stage that is not done ends the pipeline there, and the answer says what was not run.
#[test]
fn a_pipeline_stops_at_a_stage_that_fails() {
    let stage = |pipeline: Pipeline, name: &'static str| {
        pipeline.stage(Delegate::new(format!("do_{name}"), Agent::new(name, "")), |words, _| words.to_owned())
    };
    let team =
        ["first", "second", "third"].into_iter().fold(Pipeline::new("pipeline"), stage).build().unwrap();
    let report = run(&team, SecondFails, "Go.");
    assert_eq!(report.answer(), "do_second did not answer.\nStages not run: 1.");
    assert_eq!(reasons(&report), [None, Some(NO_LINE)]);
    let statuses: Vec<DelegateStatus> =
        report.links().iter().map(|link| link.result().unwrap().status).collect();
    assert_eq!(statuses, [DelegateStatus::Done, DelegateStatus::Failed]);
}

/// What a part said before it was cut short is told as what it is, by a fan-out and by a pipeline, whose last stage it
/// is here. An aggregate of one's own can tell the reason too.
#[test]
fn a_part_that_is_cut_short_is_told_with_what_it_said() {
    struct Looks;
    impl Model for Looks {
        fn complete(&self, _: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
            let call = ToolUse::scripted("tu_1", "look", r#"{"word":"rooms"}"#);
            Ok(script::reply(vec![ContentBlock::text("I look."), call.into()], StopReason::ToolUse))
        }
    }
    let look =
        || Tool::new("look", "Looks.", |looked: Look, _: &CallContext<'_>| Ok::<_, Failure>(looked.word));
    let part = || Delegate::new("ask_slow", Agent::new("slow", "").tools([look()])).max_model_calls(1);
    let ask = |words: &str| words.to_owned();
    let told = "ask_slow did not finish; what it said so far: I look.";

    let fan_out = FanOut::new("fan_out").part(part(), ask);
    let report = run(&fan_out.clone().build().unwrap(), Looks, "Go.");
    assert_eq!(report.answer(), told);
    let report = run(&fan_out.clone().all_or_nothing().build().unwrap(), Looks, "Go.");
    assert_eq!(report.answer(), format!("Not all parts could be done.\n{told}"));
    let pipeline = Pipeline::new("pipeline").stage(part(), move |words, _| ask(words)).build().unwrap();
    assert_eq!(run(&pipeline, Looks, "Go.").answer(), told);

    let reason = |_: &str, findings: &[Finding]| findings[0].reason.clone().unwrap_or_default();
    let report = run(&fan_out.aggregate(reason).build().unwrap(), Looks, "Go.");
    assert_eq!(report.answer(), "budget_spent: 1 model call(s)");
}

/// C148: what each part alone gave is kept; a key that two gave differently is reported under every rule, and kept as
/// the rule says. The order of the parts decides, and not which ended first.
#[test]
fn what_two_parts_give_differently_is_reported() {
    let part = |value: Value| value.as_object().cloned().unwrap();
    let parts = || {
        [
            ("a", part(json!({"k1": 1, "k3": "x", "same": 7}))),
            ("b", part(json!({"k2": 2, "k3": "y", "same": 7}))),
        ]
    };
    let conflicts = vec![Conflict {
        key: "k3".to_owned(),
        given: vec![("a".to_owned(), json!("x")), ("b".to_owned(), json!("y"))],
    }];
    for (rule, k3) in
        [(OnConflict::KeepFirst, Some("x")), (OnConflict::KeepLast, Some("y")), (OnConflict::LeaveOut, None)]
    {
        let mut values =
            [("k1", json!(1)), ("k2", json!(2)), ("same", json!(7))].map(|(k, v)| (k.to_owned(), v)).to_vec();
        values.extend(k3.map(|k3| ("k3".to_owned(), json!(k3))));
        let expected = Merged { values: values.into_iter().collect(), conflicts: conflicts.clone() };
        assert_eq!(merge(parts(), rule), expected, "{rule:?}");
    }
}
