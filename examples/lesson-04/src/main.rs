//! Lesson 04: the pseudo-tool, the interrupted loop, and the format error. Run it with `cargo xtask lesson 04`.
//!
//! To the model `handoff_to_specialist` is a tool like any other. No function stands behind it: the loop
//! recognises the call, stops, and answers it itself, so that the sender's conversation stays legal.
//! Then the executed failure: what happens when a whole history is put where a task belongs.

use examples_kit::{Claim, Flags, HopRow, Lesson, RefusalRow, Shown, excerpt};
use reservo::{Entry, demo, specialists};
use sommelier_handoff::{Guards, HANDOFF_TO_SPECIALIST, Relay, RunEnd};
use sommelier_protocol::{Message, ModelRequest, ModelResponse, sequence};
use sommelier_runner::{HandoffRun, Runner, Stopped, run_agent_with_handoff};
use sommelier_runtime::{Model, ScriptedModel, script};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

const REQUEST: &str = "Quote Focus pro 3h. And what happens if I don't show up?";
const PACKAGE: &str = r#"{"specialist":"policy_agent","task":"What happens if the customer does not show up for the booking?","context":{"quoted_cents":6000}}"#;

fn main() -> ExitCode {
    let lesson = Lesson {
        number: "04",
        title: "the pseudo-tool, the interrupted loop, and the format error",
        flags: &[],
    };
    lesson.run(show)
}

/// A script that quotes, hands over, and would go on if anybody asked it to.
fn decisions(handoff: impl Fn(&ModelRequest<'_>) -> ModelResponse + Send + Sync + 'static) -> ScriptedModel {
    ScriptedModel::new()
        .turn("booking_agent", |_| {
            script::call("tu_1", "get_quote", r#"{"room":"Focus","plan":"pro","hours":3}"#)
        })
        .turn("booking_agent", handoff)
        .turn("booking_agent", |_| script::say("Nobody should ever hear this."))
}

/// The wish to hand over with the whole conversation as its context: the anti-pattern.
fn with_history(request: &ModelRequest<'_>) -> ModelResponse {
    let history = serde_json::to_string(&request.messages).unwrap_or_default();
    let package = format!(
        r#"{{"specialist":"policy_agent","task":"Answer the customer.","context":{{"history":{history}}}}}"#
    );
    script::call("tu_2", HANDOFF_TO_SPECIALIST, &package)
}

#[derive(serde::Serialize)]
struct Json {
    model: String,
    schema: serde_json::Value,
    model_calls: u32,
    hops: Vec<HopRow>,
    closing_result: String,
    unasked_turns: usize,
    refusals: Vec<RefusalRow>,
}

fn show(_: &Flags) -> Result<Shown<Json>, Box<dyn Error>> {
    let house = Arc::new(demo());
    let relay = specialists::relay(&house, Entry::Booking).build()?;
    let schema = schema(&relay)?;

    let model = decisions(|_| script::call("tu_2", HANDOFF_TO_SPECIALIST, PACKAGE));
    let runner = Runner::new(&model).conversation("lesson-04");
    let handed = run_agent_with_handoff(&runner, &relay, "booking_agent", REQUEST)?;
    let closing = closing_result(&handed.messages);

    // The same agent hands over its history, under guards that stop at the first refusal.
    let loud =
        specialists::relay(&house, Entry::Booking).guards(Guards::default().stop_on_any_refusal()).build()?;
    let dumping = decisions(with_history);
    let runner = Runner::new(&dumping).conversation("lesson-04-history");
    let dumped = run_agent_with_handoff(&runner, &loud, "booking_agent", REQUEST)?;

    let label = model.label().unwrap_or_default();
    let refusals: Vec<RefusalRow> = dumped.hops.iter().filter_map(RefusalRow::of).collect();
    let refused = refusals.first().map(|refusal| refusal.detail.clone()).unwrap_or_default();
    let text = format!(
        "Decisions: {label}. Everything else is executed.\n\n\
         1. What the model is told: {HANDOFF_TO_SPECIALIST} is in its list of tools.\n{}\n\n\
         2. The loop stops at the call. The receiver: {}. What crosses:\n{}\n\
         The call is answered by the loop itself, so the conversation stays legal:\n{closing}\n\
         The script's third turn was never asked for.\n\n\
         3. The failure: the conversation itself as context.\n{}: {refused}\n",
        excerpt(&schema.to_string(), 300),
        receiver(&handed),
        package(&handed),
        "refused",
    );
    Ok(Shown {
        text,
        claims: claims(&handed, &model, &dumped),
        json: Json {
            model: label.to_owned(),
            schema,
            model_calls: handed.model_calls,
            hops: handed.hops.iter().map(HopRow::of).collect(),
            closing_result: closing,
            unasked_turns: model.unused().len(),
            refusals,
        },
    })
}

fn claims(handed: &HandoffRun, model: &ScriptedModel, dumped: &HandoffRun) -> Vec<Claim> {
    let history_in_context =
        dumped.hops.iter().filter_map(RefusalRow::of).any(|row| row.detail.contains("context.history"));
    vec![
        Claim::equal(
            "the loop stops at the handoff call: policy_agent is to take over",
            receiver(handed),
            "policy_agent".into(),
        ),
        Claim::equal("the sender's model is called twice and never again", handed.model_calls, 2),
        Claim::equal("its third turn was never asked for", model.unused(), vec![("booking_agent", 3)]),
        Claim::equal(
            "the closed conversation breaks no rule",
            sequence::check_messages(&handed.messages),
            vec![],
        ),
        Claim::that("a history in the package is refused, with its place", history_in_context),
        Claim::that(
            "and under loud guards the run ends there",
            matches!(&dumped.stopped, Stopped::Stopped { reason: RunEnd::HandoffRefused { .. } }),
        ),
    ]
}

fn schema(relay: &Relay) -> Result<serde_json::Value, Box<dyn Error>> {
    let agent = relay.agent("booking_agent").ok_or("no booking_agent")?;
    let definition = agent.definitions().iter().find(|tool| tool.name.as_str() == HANDOFF_TO_SPECIALIST);
    Ok(definition.ok_or("no pseudo-tool")?.input_schema.read()?)
}

fn receiver(run: &HandoffRun) -> String {
    match &run.stopped {
        Stopped::HandedOff { to, .. } => to.to_string(),
        other => format!("nobody: {other:?}"),
    }
}

fn package(run: &HandoffRun) -> String {
    match &run.stopped {
        Stopped::HandedOff { package, .. } => format!("{} ({} bytes)", package.to_json(), package.bytes()),
        _ => String::new(),
    }
}

fn closing_result(messages: &[Message]) -> String {
    messages
        .last()
        .and_then(|last| last.tool_results().last())
        .map(|result| result.words())
        .unwrap_or_default()
}
