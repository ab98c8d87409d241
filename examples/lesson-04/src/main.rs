//! Lesson 04: the pseudo-tool, the interrupted loop, and the format error. Run it with `cargo xtask lesson 04`.
//!
//! To the model `handoff_to_specialist` is a tool like any other. No function stands behind it: the loop
//! recognises the call, stops, and answers it itself, so that the sender's conversation stays legal.
//! Then the executed failure: what happens when a whole history is put where a task and its data belong.

use examples_kit::{Claim, Flags, HopRow, Lesson, RefusalRow, Shown, excerpt, wrapped};
use reservo::{Entry, demo, specialists};
use sommelier_handoff::{Guards, HANDOFF_TO_SPECIALIST, RunEnd};
use sommelier_protocol::{ModelRequest, ModelResponse, RawJson, sequence};
use sommelier_runner::{Gate, HandoffRun, Runner, Stopped, run_agent_with_handoff};
use sommelier_runtime::{Model, ScriptedModel, script};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

const REQUEST: &str = "Quote Focus pro 3h. And what happens if I don't show up?";
const PACKAGE: &str = r#"{"specialist":"policy_agent","task":"What happens if the customer does not show up for the booking?","context":{"quoted_cents":6000}}"#;

fn main() -> ExitCode {
    let title = "the pseudo-tool, the interrupted loop, and the format error";
    Lesson { number: "04", title, flags: &[] }.run(show)
}

/// A script of three turns: it quotes, hands over, and would go on if anybody asked it to.
fn decisions(handoff: impl Fn(&ModelRequest<'_>) -> ModelResponse + Send + Sync + 'static) -> ScriptedModel {
    ScriptedModel::new()
        .turn("booking_agent", |_| {
            script::call("tu_1", "get_quote", r#"{"room":"Focus","plan":"pro","hours":3}"#)
        })
        .turn("booking_agent", handoff)
        .turn("booking_agent", |_| script::say("Nobody should ever hear this."))
}

/// The wish to hand over the whole conversation as context: the anti-pattern.
fn with_history(request: &ModelRequest<'_>) -> ModelResponse {
    let history = serde_json::to_string(&request.messages).unwrap_or_default();
    let arguments = format!(
        r#"{{"specialist":"policy_agent","task":"Answer the customer.","context":{{"history":{history}}}}}"#
    );
    script::call("tu_2", HANDOFF_TO_SPECIALIST, &arguments)
}

#[derive(serde::Serialize)]
struct Json {
    model: String,
    schema: RawJson,
    model_calls: u32,
    hops: Vec<HopRow>,
    closing_result: String,
    unasked_turns: usize,
    refusals: Vec<RefusalRow>,
}

fn show(_: &Flags) -> Result<Shown<Json>, Box<dyn Error>> {
    let house = Arc::new(demo());
    let relay = specialists::relay(&house, Entry::Booking).build()?;
    let booking = relay.agent("booking_agent").ok_or("there is no booking_agent")?;
    let pseudo = booking.definitions().iter().find(|tool| tool.name.as_str() == HANDOFF_TO_SPECIALIST);
    let schema = pseudo.ok_or("booking_agent has no pseudo-tool")?.input_schema.clone();

    let model = decisions(|_| script::call("tu_2", HANDOFF_TO_SPECIALIST, PACKAGE));
    let gate = Gate::deny_all("this lesson books and cancels nothing");
    let runner = Runner::new(&model).gate(gate).conversation("lesson-04");
    let handed = run_agent_with_handoff(&runner, &relay, "booking_agent", REQUEST)?;
    let closing = handed.messages.last().and_then(|last| last.tool_results().last());
    let closing = closing.map(|result| result.words()).unwrap_or_default();

    // The same agent hands over its history, under guards that stop at the first refusal.
    let loud = specialists::relay(&house, Entry::Booking).guards(Guards::default().stop_on_any_refusal());
    let runner = Runner::new(decisions(with_history)).conversation("lesson-04-history");
    let dumped = run_agent_with_handoff(&runner, &loud.build()?, "booking_agent", REQUEST)?;
    let refused = dumped.hops.first().and_then(RefusalRow::of).ok_or("the history was not refused")?;
    let history = dumped.hops.first().and_then(|hop| hop.package.as_ref()).ok_or("there is no package")?;

    let Stopped::HandedOff { to, package } = &handed.stopped else {
        return Err(format!("nothing was handed over: {:?}", handed.stopped).into());
    };
    let label = model.label().unwrap_or_default();
    let text = format!(
        "Decisions: {label}, a script of three turns. Everything else is executed.\nThe gate denies book and cancel.\n\n\
         1. What the model is told. {HANDOFF_TO_SPECIALIST} is a tool in its list; its arguments:\n{}\n\n\
         2. The loop stops at the second turn's call. What crosses to {to}, {} bytes:\n{}\n   \
         The loop answers the call itself, so that the conversation stays legal:\n   {closing}\n   \
         The third turn is never asked for.\n\n\
         3. The failure: the second turn puts the conversation into the context, {} bytes of package:\n{}\n{}\n",
        below(&excerpt(schema.get(), MOST)),
        package.bytes(),
        below(&package.to_json()),
        history.bytes(),
        below(&excerpt(&history.to_json(), MOST)),
        below(&format!("{}: {}", refused.error, refused.detail)),
    );
    let json = Json {
        model: label.to_owned(),
        schema,
        model_calls: handed.model_calls,
        hops: handed.hops.iter().map(HopRow::of).collect(),
        closing_result: closing,
        unasked_turns: model.unused().len(),
        refusals: vec![refused],
    };
    Ok(Shown { text, claims: claims(&handed, to.as_str(), &model, &dumped), json })
}

/// As many characters are shown of what is long.
const MOST: usize = 160;

/// Words below a heading, as wide as a terminal.
fn below(words: &str) -> String {
    wrapped(&format!("   {words}"), 5)
}

fn claims(handed: &HandoffRun, to: &str, model: &ScriptedModel, dumped: &HandoffRun) -> Vec<Claim> {
    let refused = dumped.hops.iter().filter_map(RefusalRow::of);
    let places = refused.filter(|refusal| refusal.detail.contains("`context.history.0` holds a message"));
    let loud = matches!(&dumped.stopped, Stopped::Stopped { reason: RunEnd::HandoffRefused { .. } });
    vec![
        Claim::equal(
            "the loop stops at the handoff call, and policy_agent is to take over",
            to,
            "policy_agent",
        ),
        Claim::equal("the sender's model is called twice and never again", handed.model_calls, 2),
        Claim::equal("its third turn was never asked for", model.unused(), vec![("booking_agent", 3)]),
        Claim::equal(
            "the closed conversation breaks no rule",
            sequence::check_messages(&handed.messages),
            vec![],
        ),
        Claim::equal("a history in the package is refused, with its place", places.count(), 1),
        Claim::that("and under loud guards the run ends there", loud),
    ]
}
