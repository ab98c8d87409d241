//! Lesson 06: every guard, triggered. Run it with `cargo xtask lesson 06`.
//!
//! A model transfers nothing: the loop reads a call and decides. So a handoff that must not happen is stopped
//! by code, in a fixed order of guards, each with a typed error that says what would be right. Here all of
//! them are set to stop loudly; in daily use what a model can mend is told to it instead.

use examples_kit::{Claim, Flags, Lesson, RefusalRow, Shown};
use sommelier_handoff::{Agent, Guards, HANDOFF_TO_SPECIALIST, Relay, RelayBuilder, Route, Step};
use sommelier_protocol::ToolName;
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

/// booking and policy may hand over to each other, and booking to pricing; nobody leads from pricing.
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

/// A script in which each of these agents hands over to the other, again and again.
fn ping_pong() -> ScriptedModel {
    let pairs = [("booking_agent", "policy_agent"), ("policy_agent", "booking_agent")];
    pairs.into_iter().cycle().take(12).fold(ScriptedModel::new(), |model, (from, to)| {
        model.turn(from, move |request| handoff(&format!("tu_{}", request.replies), to))
    })
}

fn handoff(id: &str, to: &str) -> sommelier_protocol::ModelResponse {
    let package = format!(r#"{{"specialist":"{to}","task":"Please take this over.","context":{{}}}}"#);
    script::call(id, HANDOFF_TO_SPECIALIST, &package)
}

/// Runs a case and gives its report and how many scripted turns were used by receivers.
fn run(relay: &Relay, model: &ScriptedModel, name: &str, is_ready: bool) -> Result<Report, Box<dyn Error>> {
    let mut step = relay.start(name, "Please help me.")?;
    if !is_ready {
        step = Step::switch_off(step, AgentName::new("policy_agent")?, ToolName::new("search_docs")?);
    }
    match Runner::new(model).drive(relay, step)? {
        Outcome::Ended(report) => Ok(report),
        other => Err(format!("the run did not end: {other:?}").into()),
    }
}

#[derive(serde::Serialize)]
struct Case {
    case: &'static str,
    receivers_run: usize,
    end: &'static str,
    refusal: RefusalRow,
}

fn show(_: &Flags) -> Result<Shown<Json>, Box<dyn Error>> {
    let loud = Guards::default().stop_on_any_refusal();
    let relay = desk(loud.clone()).build()?;
    let unpaired = desk(loud.allow_repeated_pairs()).build()?;
    let wish = |package: &'static str| {
        ScriptedModel::new()
            .turn("booking_agent", move |_| script::call("tu_1", HANDOFF_TO_SPECIALIST, package))
    };
    let blank = wish(r#"{"specialist":"policy_agent","task":" ","context":{}}"#);
    let to = |to: &'static str| ScriptedModel::new().turn("booking_agent", move |_| handoff("tu_1", to));
    let no_way = ScriptedModel::new()
        .turn("booking_agent", |_| handoff("tu_1", "policy_agent"))
        .turn("policy_agent", |_| handoff("tu_1", "pricing_agent"));
    let runs = [
        ("a specialist that does not exist", &relay, to("polcy_agent"), true),
        ("itself", &relay, to("booking_agent"), true),
        ("somebody without a route", &relay, no_way, true),
        ("a package without a task", &relay, blank, true),
        ("a receiver whose tool was switched off", &relay, to("policy_agent"), false),
        ("ping-pong, stopped by the pair", &relay, ping_pong(), true),
        ("ping-pong without that guard, stopped by the cap", &unpaired, ping_pong(), true),
    ];
    let mut cases = Vec::new();
    for (name, relay, model, is_ready) in &runs {
        let report = run(relay, model, name, *is_ready)?;
        let refusal = report.done().run().trail().hops().iter().find_map(RefusalRow::of);
        cases.push(Case {
            case: name,
            receivers_run: report.hops().count(),
            end: report.end().as_str(),
            refusal: refusal.ok_or_else(|| format!("nothing was refused: {name}"))?,
        });
    }
    let label = ping_pong().label().unwrap_or_default().to_owned();
    let text =
        cases.iter().fold(format!("Decisions: {label}. Everything else is executed.\n\n"), |text, case| {
            format!(
                "{text}{}\n  refused by {}, after {} handoff(s) taken; the run ends as {}\n  {}: {}\n\n",
                case.case,
                case.refusal.guard,
                case.receivers_run,
                case.end,
                case.refusal.error,
                case.refusal.detail
            )
        });
    Ok(Shown { text, claims: claims(&cases), json: Json { model: label, cases } })
}

#[derive(serde::Serialize)]
struct Json {
    model: String,
    cases: Vec<Case>,
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
    let loud = cases.iter().all(|case| matches!(case.end, "handoff_refused" | "hop_limit"));
    vec![
        Claim::equal("each guard refuses with its own error, after so many receivers ran", found, expected),
        Claim::that("each run ends loudly", loud),
        Claim::equal(
            "only the cap ends as the hop limit",
            cases.iter().filter(|case| case.end == "hop_limit").count(),
            1,
        ),
        Claim::that(
            "the nearest name is told, and not chosen",
            cases.iter().any(|case| case.refusal.detail.contains("nearest is policy_agent")),
        ),
    ]
}
