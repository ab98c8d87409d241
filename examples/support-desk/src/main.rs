//! A support desk: triage reads a query, a specialist answers it. Run it with `cargo xtask example support-desk`.
//!
//! Three queries are put to the desk, then every way to fail is provoked. Who is at the desk and who may hand over to
//! whom is in `desk.rs`, what decides in `rules.rs`, the failures in `failures.rs`.

use examples_kit::{Claim, Example, Flag, Flags, Shown};
use serde::Serialize;
use sommelier_handoff::{Done, HandoffPackage};
use sommelier_runner::Outcome;
use std::error::Error;
use std::process::ExitCode;
use support_desk::desk::{MAX_HANDOFFS, guards};
use support_desk::failures::{self, Failure};
use support_desk::intent::{Reading, classify_intent};
use support_desk::{Desk, DeskRules, Told};

const QUERIES: [&str; 3] = [
    "I was charged twice this month. I'm on the pro plan.",
    "The app crashes at login with Google.",
    "Hello there!",
];

const FLAGS: [Flag; 1] = [("cap", "N", "another number of handoffs between two messages, 4 to 8")];

fn main() -> ExitCode {
    Example { name: "support-desk", title: "triage, two specialists, and every way to fail", flags: &FLAGS }
        .run(show)
}

#[derive(Serialize)]
struct Query {
    query: &'static str,
    #[serde(flatten)]
    reading: Reading,
    #[serde(flatten)]
    told: Told,
}

#[derive(Serialize)]
struct Json {
    model: &'static str,
    queries: Vec<Query>,
    failures: Vec<Failure>,
}

/// Puts the queries to the desk, all in one conversation: each begins at triage.
fn demo(desk: &Desk<'_>) -> Result<(Vec<Query>, Done), Box<dyn Error>> {
    let mut earlier: Option<Done> = None;
    let mut queries = Vec::new();
    for query in QUERIES {
        let outcome = desk.ask(earlier.take(), query)?;
        queries.push(Query { query, reading: classify_intent(query), told: Told::of(&outcome) });
        let Outcome::Ended(report) = outcome else { return Err(format!("{query}: it waits").into()) };
        earlier = Some(report.into_done());
    }
    Ok((queries, earlier.ok_or("there are no queries")?))
}

fn show(flags: &Flags) -> Result<Shown<Json>, Box<dyn Error>> {
    let cap = flags.number("cap", 4..=8)?.and_then(|cap| u32::try_from(cap).ok()).unwrap_or(MAX_HANDOFFS);
    let desk = Desk::with("support-desk", guards().max_handoffs(cap), DeskRules)?;
    let (queries, done) = demo(&desk)?;
    let failures = failures::all(cap)?;
    let first = done.run().trail().taken().next().and_then(|hop| hop.package.as_ref());
    let text = format!(
        "Decisions: {}; the mistakes are scripted, concept (claude-sonnet-5). Everything else is executed.\n\n\
         Who may hand over to whom:\n\n{}\n{}What crossed at the first handoff:\n{}\n\n\
         Every way to fail, provoked:\n\n{}",
        DeskRules::LABEL,
        desk.relay.routes(),
        queries.iter().map(told).collect::<String>(),
        first.map(HandoffPackage::to_json).unwrap_or_default(),
        failures.iter().map(|failure| format!("{failure}\n\n")).collect::<String>().trim_end(),
    ) + "\n";
    let claims = claims(&queries, &failures, cap);
    Ok(Shown { text, claims, json: Json { model: DeskRules::LABEL, queries, failures } })
}

fn told(Query { query, reading, told }: &Query) -> String {
    let word = reading.word.as_deref().unwrap_or_default();
    let log: String = told.log.iter().map(|hop| format!("          {hop}\n")).collect();
    format!(
        "query     {query}\nread as   {:?}, by {word:?}\nagent     {}\nanswer    {}\nhandoffs  {} so far\n{log}\n",
        reading.intent, told.agent, told.answer, told.handoffs
    )
}

fn claims(queries: &[Query], failures: &[Failure], cap: u32) -> Vec<Claim> {
    let agents: Vec<_> = queries.iter().map(|query| (&*query.told.agent, query.told.handoffs)).collect();
    let is_whole = |told: &Told| !told.answer.is_empty() && told.log.len() == told.handoffs as usize;
    let caught: Vec<_> = failures
        .iter()
        .map(|it| (it.mode, &*it.caught_by, it.told.split(':').next().unwrap_or_default(), &*it.after.end))
        .collect();
    let asked =
        failures.iter().filter_map(|it| Some((it.escalated.as_ref()?.log.len() as u32, it.after.handoffs)));
    let expected = vec![
        ("context dumping", "guard package", "invalid_package", "answered"),
        ("orphaned task", "the end of the run", "unresolved", "unresolved"),
        ("orphaned task", "the trail's open hops", "failed", "answered"),
        ("circular handoff", "guard pair, then a person", "repeated_pair", "taken_over"),
        ("circular handoff", "guard cap, then a person", "handoff_limit_exceeded", "taken_over"),
        ("lost constraints", "guard package", "invalid_package", "answered"),
        ("stale artifact", "guard package", "invalid_package", "answered"),
        ("skipped validation", "loading", "not a saved step", "answered"),
        ("target not ready", "guard ready", "target_not_ready", "answered"),
    ];
    vec![
        Claim::equal(
            "each query is answered by its desk, the greeting by triage without a handoff",
            agents,
            vec![("billing_agent", 1), ("technical_agent", 2), ("triage_agent", 2)],
        ),
        Claim::that(
            "each result tells agent, answer and every handoff so far, the greeting's too",
            queries.iter().all(|query| is_whole(&query.told)),
        ),
        Claim::equal("each failure is caught, and where", caught, expected),
        Claim::equal(
            "a person sees every hop of a circle, and no agent gets it after that",
            asked.collect(),
            vec![(3, 3), (cap, cap)],
        ),
    ]
}
