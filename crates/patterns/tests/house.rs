//! The patterns over the specialists of a house, decided by rules that need no network.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what cannot be")]

use reservo::{OfflineRules, SPECIALISTS, demo, specialists::specialist};
use sommelier_patterns::{FanOut, Question, Supervisor, Team};
use sommelier_runner::{Outcome, Report, Runner};
use std::sync::Arc;

fn run(team: &Team, words: &str) -> Report {
    let runner = Runner::new(OfflineRules).conversation("c");
    let Outcome::Ended(report) = team.run(runner, words).unwrap() else { panic!("it ends") };
    report
}

/// S0-08, S0-26, S0-28, 5.4-L08: a comparison and the policy on cancelling are known to be independent before anybody
/// works. Both parts run side by side, and only the longer one has to be waited for.
#[test]
fn a_comparison_and_a_policy_are_a_fan_out() {
    let house = Arc::new(demo());
    let part = |name| specialist(name).unwrap().delegate(&house);
    let team = FanOut::new("fan_out")
        .part(part("pricing_agent"), |_| "Compare pro prices for 4 hours.".to_owned())
        .part(part("policy_agent"), |_| "What is the cancellation policy?".to_owned())
        .build()
        .unwrap();
    let report = run(&team, "Compare pro prices for 4h and tell me the cancellation policy");
    for told in ["ask_pricing: ", "8000 cents", "12800 cents", "20800 cents", "ask_policy: ", "POL-CANCEL"] {
        assert!(report.answer().contains(told), "{told}: {}", report.answer());
    }
    assert_eq!((team.model_calls(&report), team.critical_path(&report)), (4, 2));
}

/// S0-11, S0-12: every specialist of the table can be asked by a supervisor, and answers from its own tools.
#[test]
fn every_specialist_can_be_asked() {
    let house = Arc::new(demo());
    let questions = [
        ("ask_booking", "Quote Focus pro for 3 hours.", "6000 cents"),
        ("ask_policy", "What happens if I do not show up?", "POL-NOSHOW"),
        ("ask_pricing", "Which room for 6 people is cheapest for 3 hours?", "Studio"),
    ];
    let supervisor = Supervisor::by_rule(
        "supervisor",
        move |_| questions.iter().map(|(tool, question, _)| Question::new(*tool, *question)).collect(),
        |_, findings| findings.iter().map(|found| found.words()).collect::<Vec<_>>().join("\n"),
    );
    let all = SPECIALISTS.iter().fold(supervisor, |all, one| all.delegate(one.delegate(&house)));
    let report = run(&all.build().unwrap(), "Tell me everything.");
    for (link, (tool, _, told)) in report.links().iter().zip(questions) {
        let finding = link.result().unwrap().finding.as_deref().unwrap_or_default();
        assert!(link.tool.as_str() == tool && finding.contains(told), "{tool}: {finding}");
    }
    assert_eq!(report.links().len(), 3);
}
