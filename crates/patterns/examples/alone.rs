//! Only the patterns: two desks asked at once, and one after the other, with nothing of the house of the examples.
//!
//! Run it with `cargo run -p sommelier-patterns --example alone`.

use sommelier_patterns::handoff::{Agent, Delegate};
use sommelier_patterns::runner::{Outcome, Runner};
use sommelier_patterns::runtime::{ScriptedModel, script};
use sommelier_patterns::{FanOut, Finding, Pipeline, Team};
use std::error::Error;

#[cfg_attr(test, test)]
fn main() -> Result<(), Box<dyn Error>> {
    let desk =
        |name: &str| Delegate::new(format!("ask_{name}"), Agent::new(name, format!("You are {name}.")));
    let model = ScriptedModel::new()
        .turn("kitchen", |_| script::say("Turbot today."))
        .turn("cellar", |_| script::say("A Chablis."));

    // Both at once: neither needs the other's finding.
    let at_once = FanOut::new("waiter")
        .part(desk("kitchen"), |_| "What is there today?".to_owned())
        .part(desk("cellar"), |_| "Which white is open?".to_owned())
        .aggregate(|_, findings| findings.iter().map(Finding::words).collect::<Vec<_>>().join(" "))
        .build()?;
    assert_eq!(run(&at_once, &model)?, ("Turbot today. A Chablis.".to_owned(), 2, 1));

    // One after the other: the cellar is asked about what the kitchen has.
    let in_turn = Pipeline::new("waiter")
        .stage(desk("kitchen"), |_, _| "What is there today?".to_owned())
        .stage(desk("cellar"), |_, found| format!("Which white goes with this? {}", found[0].words()))
        .build()?;
    assert_eq!(run(&in_turn, &model)?, ("A Chablis.".to_owned(), 2, 2));
    Ok(())
}

/// The answer, the model calls, and how many of them had to wait for each other.
fn run(team: &Team, model: &ScriptedModel) -> Result<(String, u32, u32), Box<dyn Error>> {
    let Outcome::Ended(report) = team.run(Runner::new(model), "What do you recommend?")? else {
        return Err("the run waits for somebody".into());
    };
    let (calls, path) = (team.model_calls(&report), team.critical_path(&report));
    println!("{} ({calls} model calls, {path} in a row)", report.answer());
    for link in report.links() {
        let result = link.result().ok_or("a branch has a result")?;
        println!("  {} asked {} by {}: {}", link.from, link.id, link.tool, result.status.as_str());
    }
    Ok((report.answer().to_owned(), calls, path))
}
