//! The decisions that models would make, each a function of what the agent has before it.

use serde_json::{Value, json};
use sommelier_handoff::HANDOFF_TO_SPECIALIST;
use sommelier_protocol::{Message, ModelRequest, ModelResponse, ToolResult, ToolUse};
use sommelier_runtime::{ScriptedModel, script};

/// The same decision for each of an agent's next turns.
pub(crate) fn turns(
    model: ScriptedModel,
    agent: &str,
    turns: u32,
    decide: impl Fn(&ModelRequest<'_>) -> ModelResponse + Clone + Send + Sync + 'static,
) -> ScriptedModel {
    (0..turns).fold(model, |model, _| model.turn(agent, decide.clone()))
}

/// Billing: it looks the invoice up, once more where that failed, and says what was found.
pub(crate) fn bill(request: &ModelRequest<'_>) -> ModelResponse {
    let found: Value = serde_json::from_str(&script::last_result(request)).unwrap_or_default();
    match (found["id"].as_str(), found["amount"].as_f64()) {
        (Some(invoice), Some(amount)) => script::say(match found["times_paid"].as_u64() {
            Some(2) => format!("{invoice} was paid twice; next: refund {amount:.2}."),
            Some(times) => format!("{invoice} was paid {times} time(s); there is nothing to refund."),
            None => {
                format!("{invoice} is about {amount:.2}; the archive does not say how often it was paid.")
            }
        }),
        _ => look_up(request, "get_invoice", "invoice_id", "INV-"),
    }
}

/// Billing, asked once more after it has answered: it still has what it found.
pub(crate) fn bill_again(request: &ModelRequest<'_>) -> ModelResponse {
    let found: Value = serde_json::from_str(&script::last_result(request)).unwrap_or_default();
    let amount = found["amount"].as_f64().unwrap_or_default();
    script::say(format!("The {amount:.2} go back the way they came when the refund has been approved."))
}

/// Shipping: it tracks the parcel and says where it is.
pub(crate) fn ship(request: &ModelRequest<'_>) -> ModelResponse {
    let found: Value = serde_json::from_str(&script::last_result(request)).unwrap_or_default();
    match (found["id"].as_str(), found["status"].as_str(), found["eta"].as_str()) {
        (Some(parcel), Some(status), Some(eta)) => {
            script::say(format!("{parcel} is {status}, expected on {eta}."))
        }
        _ => look_up(request, "track_parcel", "parcel_id", "A-"),
    }
}

/// A call of a desk's tool with the id that stands in what the desk was asked.
fn look_up(request: &ModelRequest<'_>, tool: &str, argument: &str, prefix: &str) -> ModelResponse {
    let words = script::first_words(request);
    let id = words.find(prefix).map_or("", |start| {
        let id = &words[start..];
        let end = id[prefix.len()..].find(|c: char| !c.is_ascii_digit());
        &id[..end.map_or(id.len(), |end| prefix.len() + end)]
    });
    script::call(&call_id(request), tool, &json!({ argument: id }).to_string())
}

/// The supervisor's questions, in one message.
pub(crate) fn ask(questions: &'static [(&'static str, &'static str)]) -> ModelResponse {
    let arguments: Vec<String> =
        questions.iter().map(|(_, question)| json!({ "question": question }).to_string()).collect();
    let calls = questions.iter().zip(&arguments);
    script::calls(calls.map(|((tool, _), arguments)| (*tool, *tool, arguments.as_str())))
}

/// The supervisor's answer: a sentence for each question, what was found or that there is nothing.
pub(crate) fn joint(request: &ModelRequest<'_>) -> ModelResponse {
    let calls: Vec<&ToolUse> = request.messages.iter().flat_map(Message::tool_uses).collect();
    let results: Vec<&ToolResult> = request.messages.iter().flat_map(Message::tool_results).collect();
    let sentence = |call: &&ToolUse| {
        let desk = match call.name() {
            "ask_billing" => "Billing",
            _ => "Shipping",
        };
        let result = results.iter().find(|result| result.tool_use_id() == call.id());
        let told = result.map(|result| result.words()).unwrap_or_default();
        let told: Value = serde_json::from_str(&told).unwrap_or_default();
        match (told["finding"].as_str(), told["error"].as_str()) {
            (Some(finding), _) => finding.to_owned(),
            (None, Some(error)) => format!("{desk} could not be asked ({error})."),
            (None, None) => format!("{desk} is unavailable."),
        }
    };
    script::say(calls.iter().map(sentence).collect::<Vec<_>>().join(" "))
}

/// A transfer: the receiver and the summary.
pub(crate) fn transfer_to(request: &ModelRequest<'_>, agent: &str, summary: &str) -> ModelResponse {
    // Written by hand, so that its members stand in the order in which they are read.
    let package = format!(r#"{{"specialist":"{agent}","task":{},"context":{{}}}}"#, json!(summary));
    script::call(&call_id(request), HANDOFF_TO_SPECIALIST, &package)
}

fn call_id(request: &ModelRequest<'_>) -> String {
    format!("tu_{}", request.replies + 1)
}
