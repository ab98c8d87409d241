//! The running case, as far as several lessons share it: what is asked, and the decisions that are the same in each.
//!
//! Lesson 05 shows the same decisions at length.

use reservo::{Cents, facts};
use sommelier_handoff::HANDOFF_TO_SPECIALIST;
use sommelier_protocol::ModelResponse;
use sommelier_runtime::{ScriptedModel, script};

/// What the customer asks.
pub const REQUEST: &str = "Quote Focus pro 3h. And what happens if I don't show up?";
/// What booking_agent makes of the second half.
pub const TASK: &str = "What happens if the customer does not show up for the booking?";

/// booking_agent's call for the quote.
pub fn quote(id: &str) -> ModelResponse {
    script::call(id, "get_quote", r#"{"room":"Focus","plan":"pro","hours":3}"#)
}

/// booking_agent's handoff, with this context.
pub fn hand_over(id: &str, context: &str) -> ModelResponse {
    let package = format!(r#"{{"specialist":"policy_agent","task":"{TASK}","context":{context}}}"#);
    script::call(id, HANDOFF_TO_SPECIALIST, &package)
}

/// Adds policy_agent's two turns: it searches, and answers from the document and the price that it was given. A price
/// that it was not given it does not guess.
pub fn policy_desk(model: ScriptedModel) -> ScriptedModel {
    model
        .turn("policy_agent", |_| {
            script::call("tu_1", "search_docs", r#"{"query":"customer does not show up"}"#)
        })
        .turn("policy_agent", |request| {
            let words = script::first_words(request);
            let quoted = number(words, "quoted_cents").or_else(|| number(words, "total_cents"));
            let Some(charge) = facts::no_show(&first_document(&script::last_result(request))) else {
                return script::say("The documents do not say what a no-show costs.");
            };
            match quoted.and_then(|quoted| Some((quoted, charge.of(Cents(quoted))?.0))) {
                Some((quoted, cents)) => script::say(format!(
                    "The quote is {quoted} cents. If you do not show up, you are charged {cents} cents: the whole \
                     quote and the fee [POL-NOSHOW]."
                )),
                None => script::say(format!(
                    "A no-show costs {} % of the quote and {} fee [POL-NOSHOW]. I was not told the quote.",
                    charge.percent, charge.fee_cents
                )),
            }
        })
}

/// The number after the last member of this name in a text of JSON, also where that JSON stands in a string.
///
/// ```
/// use examples_kit::case::number;
///
/// assert_eq!(number(r#"{"total_cents":4000} {"total_cents":6000}"#, "total_cents"), Some(6000));
/// assert_eq!(number(r#"{"content":"{\"total_cents\":6000}"}"#, "total_cents"), Some(6000));
/// assert_eq!(number("6000 total_cents", "total_cents"), None);
/// ```
pub fn number(text: &str, name: &str) -> Option<i64> {
    let (_, after) = text.rsplit_once(name)?;
    let value = after.trim_start_matches('\\').strip_prefix("\":")?;
    let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    value[..end].parse().ok()
}

/// The text of the best document in a result of search_docs.
fn first_document(hits: &str) -> String {
    let hits: serde_json::Value = serde_json::from_str(hits).unwrap_or_default();
    hits[0]["text"].as_str().unwrap_or_default().to_owned()
}
