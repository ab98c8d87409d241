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

/// What a desk has found.
struct Found {
    says: String,
    /// What it recommends.
    next: Option<String>,
    /// The id that its tool brought.
    id: String,
}

impl Found {
    fn of_invoice(request: &ModelRequest<'_>) -> Option<Self> {
        let found = last_found(request);
        let (id, amount) = (found["id"].as_str()?.to_owned(), found["amount"].as_f64()?);
        let (says, next) = match found["times_paid"].as_u64() {
            Some(2) => (format!("{id} was paid twice"), Some(format!("refund {amount:.2}"))),
            Some(times) => (format!("{id} was paid {times} time(s); there is nothing to refund"), None),
            None => {
                (format!("{id} is about {amount:.2}; the archive does not say how often it was paid"), None)
            }
        };
        Some(Self { says, next, id })
    }

    fn of_parcel(request: &ModelRequest<'_>) -> Option<Self> {
        let found = last_found(request);
        let [id, status, eta] = ["id", "status", "eta"].map(|member| found[member].as_str());
        let (id, status, eta) = (id?.to_owned(), status?, eta?);
        Some(Self { says: format!("{id} is {status}, expected on {eta}"), next: None, id })
    }

    /// In words, as to a customer.
    fn in_words(&self) -> ModelResponse {
        script::say(sentence(&self.says, self.next.as_deref()))
    }

    /// As a contract wants it.
    fn stated(&self) -> ModelResponse {
        let (finding, next, id) = (json!(sentence(&self.says, None)), json!(self.next), json!(self.id));
        // Written by hand, so that its members stand in the order in which they are read.
        script::say(format!(
            r#"{{"status":"done","finding":{finding},"action_needed":{next},"evidence":[{id}],"reason":null}}"#
        ))
    }
}

/// What was found and what comes next, in a sentence.
fn sentence(says: &str, next: Option<&str>) -> String {
    let next = next.map(|next| format!("; next: {next}")).unwrap_or_default();
    format!("{}{next}.", says.trim_end_matches('.'))
}

fn last_found(request: &ModelRequest<'_>) -> Value {
    serde_json::from_str(&script::last_result(request)).unwrap_or_default()
}

/// Billing: it looks the invoice up, once more where that failed, and says in words what was found.
pub(crate) fn bill(request: &ModelRequest<'_>) -> ModelResponse {
    Found::of_invoice(request).map_or_else(|| get_invoice(request), |found| found.in_words())
}

/// Billing, whose answer has a contract to keep.
pub(crate) fn bill_stated(request: &ModelRequest<'_>) -> ModelResponse {
    Found::of_invoice(request).map_or_else(|| get_invoice(request), |found| found.stated())
}

/// Billing, asked once more after it has answered: it still has what it found.
pub(crate) fn bill_again(request: &ModelRequest<'_>) -> ModelResponse {
    let amount = last_found(request)["amount"].as_f64().unwrap_or_default();
    script::say(format!("The {amount:.2} go back the way they came when the refund has been approved."))
}

/// Shipping: it tracks the parcel and says in words where it is.
pub(crate) fn ship(request: &ModelRequest<'_>) -> ModelResponse {
    Found::of_parcel(request).map_or_else(|| track_parcel(request), |found| found.in_words())
}

/// Shipping, whose answer has a contract to keep.
pub(crate) fn ship_stated(request: &ModelRequest<'_>) -> ModelResponse {
    Found::of_parcel(request).map_or_else(|| track_parcel(request), |found| found.stated())
}

fn get_invoice(request: &ModelRequest<'_>) -> ModelResponse {
    look_up(request, "get_invoice", "invoice_id", "INV-")
}

fn track_parcel(request: &ModelRequest<'_>) -> ModelResponse {
    look_up(request, "track_parcel", "parcel_id", "A-")
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

/// The supervisor's answer: a sentence for each question, what was found and is recommended, or that there is nothing.
pub(crate) fn joint(request: &ModelRequest<'_>) -> ModelResponse {
    let calls: Vec<&ToolUse> = request.messages.iter().flat_map(Message::tool_uses).collect();
    let results: Vec<&ToolResult> = request.messages.iter().flat_map(Message::tool_results).collect();
    let told = |call: &&ToolUse| {
        let desk = match call.name() {
            "ask_billing" => "Billing",
            _ => "Shipping",
        };
        let result = results.iter().find(|result| result.tool_use_id() == call.id());
        let told = result.map(|result| result.words()).unwrap_or_default();
        let told: Value = serde_json::from_str(&told).unwrap_or_default();
        let is_broken = told["reason"].as_str().is_some_and(|reason| reason.starts_with("contract_broken"));
        match (told["finding"].as_str(), told["error"].as_str()) {
            (Some(finding), _) => sentence(finding, told["action_needed"].as_str()),
            (None, Some(error)) => format!("{desk} could not be asked ({error})."),
            (None, None) if is_broken => format!("{desk}'s answer cannot be used."),
            (None, None) => format!("{desk} is unavailable."),
        }
    };
    script::say(calls.iter().map(told).collect::<Vec<_>>().join(" "))
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
