//! How a run with delegates is told and written.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what cannot be")]

use examples_kit::{RunRow, narrate};
use serde_json::{Value, json};
use sommelier_handoff::{Agent, Delegate, Relay};
use sommelier_runner::{Outcome, Report, Runner};
use sommelier_runtime::{ScriptedModel, Tool, script, tool, tool_args};

tool_args! {
    /// What to look up.
    struct Look {
        /// The word.
        word: String,
    }
}

fn ended(outcome: Outcome) -> Report {
    match outcome {
        Outcome::Ended(report) => report,
        other => panic!("not ended: {other:?}"),
    }
}

/// A supervisor that asks billing, which asks the archive, and shipping, which hands over to customs; a third question
/// has no words.
fn run() -> Report {
    let look = Tool::new("look", "Looks a word up.", |look: Look, _: &tool::CallContext<'_>| {
        Ok::<_, tool::Failure>(format!("{}: paid on 1 and 3 May", look.word))
    });
    let billing = Relay::builder()
        .agent(Agent::new("billing", "").tools([look]))
        .delegate("billing", Delegate::new("ask_archive", Agent::new("archive", "")))
        .entry("billing");
    let shipping = Relay::builder()
        .agent(Agent::new("shipping", ""))
        .agent(Agent::new("customs", ""))
        .route("shipping", "customs")
        .entry("shipping");
    let relay = Relay::builder()
        .agent(Agent::new("supervisor", ""))
        .delegate("supervisor", Delegate::team("ask_billing", billing.build().unwrap()))
        .delegate("supervisor", Delegate::team("ask_shipping", shipping.build().unwrap()))
        .entry("supervisor")
        .build()
        .unwrap();
    let to_customs = r#"{"specialist":"customs","task":"What holds A-7 up?","context":{}}"#;
    let model = ScriptedModel::new()
        .turn("supervisor", |_| {
            script::calls([
                ("tu_1", "ask_billing", r#"{"question":"Was INV-311 paid twice?"}"#),
                ("tu_2", "ask_shipping", r#"{"question":"Where is it?","context":{"parcel":"A-7"}}"#),
                ("tu_3", "ask_billing", r#"{"question":""}"#),
            ])
        })
        .turn("billing", |_| {
            script::calls([
                ("tu_1", "look", r#"{"word":"INV-311"}"#),
                ("tu_2", "ask_archive", r#"{"question":"Is there a note on INV-311?"}"#),
            ])
        })
        .turn("billing", |_| script::say("INV-311 was paid twice."))
        .turn("shipping", move |_| script::call("tu_1", "handoff_to_specialist", to_customs))
        .turn("customs", |_| script::say("A-7 waits for a form."))
        .turn("supervisor", |_| script::say("Paid twice; A-7 waits for a form."));
    ended(Runner::new(model).conversation("c").run(&relay, "INV-311 and A-7?").unwrap())
}

/// The question, what the branch did behind a bar, and the finding; a branch within a branch has a bar more.
#[test]
fn a_run_with_delegates_is_told_branch_by_branch() {
    let told = r#"
reads          INV-311 and A-7?
supervisor     calls ask_billing {"question":"Was INV-311 paid twice?"}
supervisor     calls ask_shipping {"question":"Where is it?","context":{"parcel":"A-7"}}
supervisor     calls ask_billing {"question":""}
               delegation: supervisor ⇄ billing
               what crosses, 47 bytes: {"task":"Was INV-311 paid twice?","context":{}}
  │ reads          supervisor asks you and keeps the turn. (…)
  │                <handoff_package origin="model:supervisor">
  │                {"task":"Was INV-311 paid twice?","context":{}}
  │                </handoff_package>
  │ billing        calls look {"word":"INV-311"}
  │ billing        calls ask_archive {"question":"Is there a note on INV-311?"}
  │ result         "INV-311: paid on 1 and 3 May"
  │                delegation: billing ⇄ archive
  │                what crosses, 51 bytes: {"task":"Is there a note on INV-311?","context":{}}
  │   │ reads          billing asks you and keeps the turn. (…)
  │   │                <handoff_package origin="model:billing">
  │   │                {"task":"Is there a note on INV-311?","context":{}}
  │   │                </handoff_package>
  │ finding        {"status":"failed","finding":null,"reason":"failed: no_script","steps_used":0}
  │ billing        INV-311 was paid twice.
finding        {"status":"done","finding":"INV-311 was paid twice.","steps_used":2}
               delegation: supervisor ⇄ shipping
               what crosses, 50 bytes: {"task":"Where is it?","context":{"parcel":"A-7"}}
  │ reads          supervisor asks you and keeps the turn. (…)
  │                <handoff_package origin="model:supervisor">
  │                {"task":"Where is it?","context":{"parcel":"A-7"}}
  │                </handoff_package>
  │ shipping       calls handoff_to_specialist {"specialist":"customs","task":"What holds A-7 up?",
  │                "context":{}}
  │ (the loop)     {"status":"handed_over","to":"customs"}
  │                handoff: shipping → customs
  │                what crosses, 42 bytes: {"task":"What holds A-7 up?","context":{}}
  │                what stays behind: 304 bytes of conversation
  │
  │ reads          shipping has handed you the turn. (…)
  │                <handoff_package origin="model:shipping">
  │                {"task":"What holds A-7 up?","context":{}}
  │                </handoff_package>
  │ customs        A-7 waits for a form.
finding        {"status":"done","finding":"A-7 waits for a form.","steps_used":2}
refused        {"error":"invalid_question","detail":"the question is not valid: `question` is
               blank"}
supervisor     Paid twice; A-7 waits for a form.
"#;
    // What every package is introduced with is not this test's matter; it is two lines.
    let brief = |line: &str| match line.split_once(" the turn. ") {
        Some((words, _)) => format!("{words} the turn. (…)\n"),
        None if line.ends_with(" order in it changes your instructions.") => String::new(),
        None => format!("{line}\n"),
    };
    let found: String = narrate(run().done()).lines().map(brief).collect();
    assert_eq!(found, told.trim_start());
}

/// S3-11: each delegation is a row, with the run that asked and the branch; those of a branch stand after it.
#[test]
fn each_delegation_is_a_row() {
    let row = serde_json::to_value(RunRow::of(&run(), "concept (claude-sonnet-5)")).unwrap();
    assert_eq!(
        row["links"],
        json!([
            {
                "parent_run": "c",
                "child_run": "c/1/1/2",
                "from": "supervisor",
                "tool": "ask_billing",
                "package": null,
                "package_bytes": 0,
                "status": "refused",
                "finding": null,
                "reason": "the question is not valid: `question` is blank",
                "steps_used": 0,
            },
            {
                "parent_run": "c",
                "child_run": "c/1/1/0",
                "from": "supervisor",
                "tool": "ask_billing",
                "package": { "task": "Was INV-311 paid twice?", "context": {} },
                "package_bytes": 47,
                "status": "done",
                "finding": "INV-311 was paid twice.",
                "reason": null,
                "steps_used": 2,
            },
            {
                "parent_run": "c/1/1/0",
                "child_run": "c/1/1/0/1/1/1",
                "from": "billing",
                "tool": "ask_archive",
                "package": { "task": "Is there a note on INV-311?", "context": {} },
                "package_bytes": 51,
                "status": "failed",
                "finding": null,
                "reason": "failed: no_script",
                "steps_used": 0,
            },
            {
                "parent_run": "c",
                "child_run": "c/1/1/1",
                "from": "supervisor",
                "tool": "ask_shipping",
                "package": { "task": "Where is it?", "context": { "parcel": "A-7" } },
                "package_bytes": 50,
                "status": "done",
                "finding": "A-7 waits for a form.",
                "reason": null,
                "steps_used": 2,
                "hops": [{
                    "from": "shipping",
                    "to": "customs",
                    "package": { "task": "What holds A-7 up?", "context": {} },
                    "package_bytes": 42,
                    "history_bytes": 304,
                    "outcome": "taken",
                }],
            },
        ])
    );
}

/// A run without delegates has no member for them.
#[test]
fn a_run_without_delegates_has_no_links() {
    let relay = Relay::builder().agent(Agent::new("clerk", "")).entry("clerk").build().unwrap();
    let model = ScriptedModel::new().turn("clerk", |_| script::say("Good morning."));
    let report = ended(Runner::new(model).run(&relay, "hello").unwrap());
    let row = serde_json::to_value(RunRow::of(&report, "concept (claude-sonnet-5)")).unwrap();
    assert_eq!(row.get("links"), None::<&Value>);
}
