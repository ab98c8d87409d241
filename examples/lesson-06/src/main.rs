//! Lesson 06: every guard, triggered. Run it with `cargo xtask lesson 06`.
//!
//! A model transfers nothing: the loop reads a call and decides. So a handoff that must not happen is stopped
//! by code, in a fixed order of guards, each with a typed error that says what would be right. Here all of
//! them are set to stop loudly; in daily use what a model can mend is told to it instead.

use examples_kit::{Claim, Flags, Lesson, RefusalRow, Shown, wrapped};
use sommelier_handoff::{Agent, Guards, HANDOFF_TO_SPECIALIST, Relay, RelayBuilder, Route};
use sommelier_protocol::{ModelResponse, ToolName};
use sommelier_runner::{Outcome, Report, Runner};
use sommelier_runtime::{AgentName, Model, ScriptedModel, Tool, script, tool, tool_args};
use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    Lesson { number: "06", title: "every guard, triggered", flags: &[] }.run(show)
}

tool_args! {
    /// What to look for.
    pub struct Search {
        /// The question.
        pub query: String,
    }
}

/// booking and policy may hand over to each other, and booking to pricing; no route leads from policy to pricing.
fn desk(guards: Guards) -> RelayBuilder {
    let search = Tool::new("search_docs", "Finds documents.", |search: Search, _: &tool::CallContext<'_>| {
        Ok::<_, tool::Failure>(format!("nothing on {}", search.query))
    });
    Relay::builder()
        .agent(Agent::new("booking_agent", "You quote and book."))
        .agent(Agent::new("policy_agent", "You answer from the documents.").tools([search]))
        .agent(Agent::new("pricing_agent", "You compare prices."))
        .entry("booking_agent")
        .route_with(Route::new("booking_agent", "policy_agent").requires(["search_docs"]))
        .route("policy_agent", "booking_agent")
        .route("booking_agent", "pricing_agent")
        .guards(guards)
}

fn handoff(id: &str, to: &str, task: &str) -> ModelResponse {
    let arguments = format!(r#"{{"specialist":"{to}","task":"{task}","context":{{}}}}"#);
    script::call(id, HANDOFF_TO_SPECIALIST, &arguments)
}

/// A script in which booking_agent hands over to `to`.
fn hands_to(to: &'static str, task: &'static str) -> ScriptedModel {
    ScriptedModel::new().turn("booking_agent", move |_| handoff("tu_1", to, task))
}

/// A script in which the two hand over to each other, again and again.
fn ping_pong() -> ScriptedModel {
    let pairs = [("booking_agent", "policy_agent"), ("policy_agent", "booking_agent")];
    pairs.into_iter().cycle().take(12).fold(ScriptedModel::new(), |model, (from, to)| {
        model.turn(from, move |request| handoff(&format!("tu_{}", request.replies), to, "Take this over."))
    })
}

fn run(relay: &Relay, model: &ScriptedModel, name: &str, is_ready: bool) -> Result<Report, Box<dyn Error>> {
    let mut step = relay.start(name, "Please help me.")?;
    if !is_ready {
        step = step.switch_off(AgentName::new("policy_agent")?, ToolName::new("search_docs")?);
    }
    match Runner::new(model).drive(relay, step)? {
        Outcome::Ended(report) => Ok(report),
        other => Err(format!("the run did not end: {other:?}").into()),
    }
}

#[derive(serde::Serialize)]
struct Case {
    case: &'static str,
    /// Receivers that had the turn before the refusal.
    receivers_run: usize,
    end: &'static str,
    refusal: RefusalRow,
}

#[derive(serde::Serialize)]
struct Json {
    model: String,
    cases: Vec<Case>,
}

fn show(_: &Flags) -> Result<Shown<Json>, Box<dyn Error>> {
    let loud = Guards::default().stop_on_any_refusal();
    let relay = desk(loud.clone()).build()?;
    let unpaired = desk(loud.allow_repeated_pairs()).build()?;
    let to_policy = || hands_to("policy_agent", "Answer the customer.");
    let onwards =
        to_policy().turn("policy_agent", |_| handoff("tu_1", "pricing_agent", "Compare the prices."));
    let runs = [
        ("booking_agent → polcy_agent, who does not exist", &relay, hands_to("polcy_agent", "Answer."), true),
        ("booking_agent → booking_agent, itself", &relay, hands_to("booking_agent", "Answer."), true),
        ("policy_agent → pricing_agent, without a route", &relay, onwards, true),
        ("booking_agent → policy_agent, with a blank task", &relay, hands_to("policy_agent", " "), true),
        ("booking_agent → policy_agent, whose search_docs is switched off", &relay, to_policy(), false),
        ("ping-pong, stopped by the pair", &relay, ping_pong(), true),
        ("ping-pong without that guard, stopped by the cap", &unpaired, ping_pong(), true),
    ];
    let mut cases = Vec::new();
    for (case, relay, model, is_ready) in &runs {
        let report = run(relay, model, case, *is_ready)?;
        let refusal = report.done().run().trail().hops().iter().find_map(RefusalRow::of);
        let refusal = refusal.ok_or_else(|| format!("nothing was refused: {case}"))?;
        cases.push(Case { case, receivers_run: report.hops().count(), end: report.end().as_str(), refusal });
    }
    let model = ping_pong().label().unwrap_or_default().to_owned();
    let told = cases.iter().map(|Case { case, receivers_run, end, refusal }| {
        let (guard, error, detail) = (refusal.guard, refusal.error, &refusal.detail);
        let why = wrapped(&format!("  {error}: {detail}"), 4);
        format!("{case}\n  guard {guard}, receivers run before it: {receivers_run}; the run ends as {end}\n{why}\n")
    });
    let text = format!(
        "Decisions: {model}. Everything else is executed. No tool here needs a gate.\n\n{}",
        told.collect::<Vec<_>>().join("\n")
    );
    Ok(Shown { text, claims: claims(&cases), json: Json { model, cases } })
}

fn claims(cases: &[Case]) -> Vec<Claim> {
    let found: Vec<(&str, usize)> =
        cases.iter().map(|case| (case.refusal.error, case.receivers_run)).collect();
    let expected = vec![
        ("unknown_specialist", 0),
        ("self_handoff", 0),
        ("no_route", 1),
        ("invalid_package", 0),
        ("target_not_ready", 0),
        ("repeated_pair", 2),
        ("handoff_limit_exceeded", 5),
    ];
    let at_the_cap: Vec<bool> = cases.iter().map(|case| case.end == "hop_limit").collect();
    let nearest = cases[0].refusal.detail.contains("nearest is policy_agent");
    vec![
        Claim::equal("each guard refuses with its own error, after so many receivers ran", found, expected),
        Claim::equal(
            "only the cap ends as the hop limit",
            at_the_cap,
            [[false; 6].as_slice(), &[true]].concat(),
        ),
        Claim::that("the nearest name is told, and not chosen", nearest),
    ]
}
