//! The job, and the decisions on it: the same in every way of doing it, but for how support ends its part.

use serde_json::{Value, json};
use sommelier_handoff::Agent;
use sommelier_protocol::{Message, ModelRequest, ModelResponse};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{ScriptedModel, Tool, script, tool_args};

/// What the customer asks.
pub(crate) const REQUEST: &str = "May I pass on my contract C-12 to another company, and what would it cost?";
/// What every way has to come to.
pub(crate) const ANSWER: &str = "Yes [clause 7]. It costs 48 euros: 10 percent of the monthly rent of 480.";
/// Something that support has read, and that nobody needs for this job.
pub(crate) const TENANT: &str = "Lovelace Looms";
pub(crate) const SUPPORT: &str = "support";
pub(crate) const LEGAL: &str = "legal_agent";

tool_args! {
    /// Which contract.
    struct Contract {
        /// Its id, such as C-12.
        contract: String,
    }
}

tool_args! {
    /// Which page.
    struct Page {
        /// Its number, from 1.
        page: u32,
    }
}

tool_args! {
    /// Which clause.
    struct Clause {
        /// What it is about.
        about: String,
    }
}

/// Support, which reads contracts and the notes on them. The usual limit of eight replies is too low for many `steps`.
pub(crate) fn support(steps: u32) -> Agent {
    let get_contract = |wanted: Contract, _: &CallContext<'_>| match wanted.contract.as_str() {
        "C-12" => {
            Ok(json!({"contract": "C-12", "tenant": TENANT, "monthly_rent": 480, "ends": "2027-06-30"}))
        }
        other => Err(Failure::new("unknown_contract", format!("there is no contract {other}"))),
    };
    let read_notes = |wanted: Page, _: &CallContext<'_>| {
        let note = "Called about the heating; the engineer came the same day.";
        Ok::<Value, Failure>(json!({"page": wanted.page, "note": note}))
    };
    Agent::new(
        SUPPORT,
        "You know the customers and their contracts. What the terms allow is for legal to say.",
    )
    .max_steps(steps + 2)
    .tools([
        Tool::new("get_contract", "Gets a contract.", get_contract),
        Tool::new("read_notes", "Reads a page of the notes on a contract.", read_notes),
    ])
}

/// Legal, which knows the terms and no contract.
pub(crate) fn legal() -> Agent {
    let get_clause = |_: Clause, _: &CallContext<'_>| {
        let text = "A contract may be passed on. The charge is 10 percent of the monthly rent.";
        Ok::<Value, Failure>(json!({"clause": 7, "text": text}))
    };
    Agent::new(LEGAL, "You say what the terms allow and what it costs.")
        .purpose("What the terms of a contract allow.")
        .tools([Tool::new("get_clause", "Finds the clause on a matter.", get_clause)])
}

/// The script: support reads `steps` pages of notes, then the contract, and `end`s its part; legal finds the clause and
/// answers.
pub(crate) fn decisions(
    steps: u32,
    end: impl Fn(&ModelRequest<'_>) -> ModelResponse + Send + Sync + 'static,
) -> ScriptedModel {
    (1..=steps)
        .fold(ScriptedModel::new(), |model, page| {
            model.turn(SUPPORT, move |request| {
                script::call(&call_id(request), "read_notes", &json!({ "page": page }).to_string())
            })
        })
        .turn(SUPPORT, |request| script::call(&call_id(request), "get_contract", r#"{"contract":"C-12"}"#))
        .turn(SUPPORT, end)
        .turn(LEGAL, |request| {
            script::call(&call_id(request), "get_clause", r#"{"about":"passing a contract on"}"#)
        })
        .turn(LEGAL, |request| {
            let clause: Value = serde_json::from_str(&script::last_result(request)).unwrap_or_default();
            let text = clause["text"].as_str().unwrap_or_default();
            match (rent(&request.messages), number_before(text, " percent")) {
                (Some(rent), Some(percent)) => script::say(format!(
                    "Yes [clause {}]. It costs {} euros: {percent} percent of the monthly rent of {rent}.",
                    clause["clause"],
                    rent * percent / 100
                )),
                _ => script::say(format!("Yes [clause {}]. I was not told the rent.", clause["clause"])),
            }
        })
}

/// The rent that the contract's result tells, for whoever writes it on.
pub(crate) fn rent_found(request: &ModelRequest<'_>) -> i64 {
    rent(&request.messages).unwrap_or_default()
}

/// The monthly rent, wherever and in whichever form it stands in what an agent has before it.
fn rent(messages: &[Message]) -> Option<i64> {
    let text = serde_json::to_string(messages).ok()?;
    let after = text.split("monthly").skip(1).map(|after| after.trim_start_matches(['_', ' ']));
    let near = after.filter_map(|after| after.strip_prefix("rent"));
    let digits = near.filter_map(|after| {
        let gap = after.find(|c: char| c.is_ascii_digit()).filter(|gap| *gap <= 4)?;
        let number = &after[gap..];
        number[..number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len())].parse().ok()
    });
    digits.last()
}

fn number_before(text: &str, unit: &str) -> Option<i64> {
    let (before, _) = text.split_once(unit)?;
    before.rsplit(' ').next()?.parse().ok()
}

/// The id of the call in a reply. In a conversation that two share, both have to count on.
pub(crate) fn call_id(request: &ModelRequest<'_>) -> String {
    format!("{}_{}", request.caller.chars().next().unwrap_or('t'), request.replies + 1)
}
