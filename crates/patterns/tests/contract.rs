//! Patterns whose members answer under a contract.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what cannot be")]

use serde_json::json;
use sommelier_handoff::{Agent, Contract, Delegate, DelegateStatus, RunEnd};
use sommelier_patterns::{Finding, Question, Supervisor, Team};
use sommelier_protocol::{Message, Role};
use sommelier_runner::{Outcome, Report, Runner};
use sommelier_runtime::{ScriptedModel, script};
use std::sync::{Arc, Mutex};

fn run(team: &Team, model: &ScriptedModel) -> Report {
    let Outcome::Ended(report) = team.run(Runner::new(model).conversation("c"), "Was INV-311 paid?").unwrap()
    else {
        panic!("nobody is asked")
    };
    assert_eq!(model.unused(), [], "every scripted turn was asked for");
    report
}

/// A desk that is led by a rule and asks billing; it answers what `answer` makes of the finding.
fn desk(answer: impl Fn(&str, &Finding) -> String + Send + Sync + 'static) -> Team {
    let billing = Delegate::new("ask_billing", Agent::new("billing", "")).contract(Contract::default());
    Supervisor::by_rule(
        "desk",
        |words| vec![Question::new("ask_billing", words)],
        move |words, found| answer(words, &found[0]),
    )
    .delegate(billing)
    .build()
    .unwrap()
}

const TWICE: &str = r#"{"status":"done","finding":"Paid twice.","action_needed":"refund 49.00","evidence":["INV-311"],"reason":null}"#;

/// S3-21: a rule reads what a member found member by member.
#[test]
fn a_rule_reads_a_finding_under_contract() {
    let seen: Arc<Mutex<Vec<Finding>>> = Arc::default();
    let keep = Arc::clone(&seen);
    let team = desk(move |_, found| {
        keep.lock().unwrap().push(found.clone());
        format!("{} Next: {}.", found.words(), found.action_needed.as_deref().unwrap_or("nothing"))
    });
    let report = run(&team, &ScriptedModel::new().turn("billing", |_| script::say(TWICE)));
    assert_eq!(report.answer(), "Paid twice. Next: refund 49.00.");
    assert_eq!(
        *seen.lock().unwrap(),
        [Finding {
            tool: "ask_billing".to_owned(),
            status: DelegateStatus::Done,
            finding: Some("Paid twice.".to_owned()),
            action_needed: Some("refund 49.00".to_owned()),
            evidence: vec!["INV-311".to_owned()],
            reason: None,
            steps_used: 1,
        }]
    );
}

/// The answer of the desk behind a tool, whose contract is its own.
fn of_front(desk: Team) -> Report {
    let team = Supervisor::by_rule(
        "front",
        |words| vec![Question::new("ask_desk", words)],
        |_, found| format!("{}: {}", found[0].status.as_str(), found[0].words()),
    )
    .delegate(desk.behind("ask_desk").contract(Contract::default().evidence()))
    .build()
    .unwrap();
    run(&team, &ScriptedModel::new().turn("billing", |_| script::say(TWICE)))
}

/// S3-21, S3-23: a whole team behind a tool has a contract like any delegate. A rule that leads it writes the object
/// itself; one that does not is asked once more, answers the same, and asks nobody a second time for it.
#[test]
fn a_team_behind_a_tool_keeps_its_contract() {
    let keeps = |_: &str, found: &Finding| {
        json!({
            "status": "done", "finding": found.words(), "action_needed": found.action_needed,
            "evidence": found.evidence, "reason": null,
        })
        .to_string()
    };
    assert_eq!(of_front(desk(keeps)).answer(), "done: Paid twice.");

    let report = of_front(desk(|words, found| format!("{words} {}", found.words())));
    assert_eq!(report.answer(), "failed: ");
    let branch = report.links()[0].run().unwrap();
    assert_eq!(branch.run().links().len(), 1, "billing was asked once");
    let answers = branch.turn().unwrap().messages().iter().filter(|message| message.role == Role::Assistant);
    let answers: Vec<&str> = answers.flat_map(Message::texts).collect();
    assert_eq!(answers, ["Was INV-311 paid? Paid twice."; 2]);
    assert!(matches!(branch.end(), RunEnd::ContractBroken { .. }), "{}", branch.end());
}
