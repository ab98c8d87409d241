//! The running case: what is asked, and the decisions that a model would make.
//!
//! [`Script`] is all of them, as a model. Lesson 05 shows them at length; other lessons take parts.

use sommelier_handoff::HANDOFF_TO_SPECIALIST;
use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runtime::{Model, ModelError, ScriptedModel, script};

use crate::{Cents, facts};

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

/// All four decisions: two of booking_agent, two of policy_agent. The price and the charge stand in none of them: they are read
/// from what tools say and from the package.
///
/// ```
/// use reservo::{Entry, case, demo, specialists};
/// use sommelier_runner::{Outcome, Runner};
/// use std::sync::Arc;
///
/// let relay = specialists::relay(&Arc::new(demo()), Entry::Booking).build()?;
/// let decisions = case::decisions();
/// let Outcome::Ended(report) = Runner::new(&decisions).run(&relay, case::REQUEST)? else { panic!() };
/// assert!(report.answer().starts_with("The quote is 6000 cents. If you do not show up, you are charged 6500 cents"));
/// assert_eq!(decisions.unused(), []);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decisions() -> ScriptedModel {
    let booking = ScriptedModel::new().turn("booking_agent", |_| quote("tu_1"));
    policy_desk(booking.turn("booking_agent", |request| {
        let quoted = number(&script::last_result(request), "total_cents").unwrap_or_default();
        hand_over("tu_2", &format!(r#"{{"quoted_cents":{quoted}}}"#))
    }))
}

/// The [decisions] for [`REQUEST`], and for no other words: asked anything else it has no turn, where the decisions by
/// themselves would quote Focus for three hours whatever was asked.
///
/// ```
/// use reservo::case::Script;
/// use reservo::{Entry, demo, specialists};
/// use sommelier_runner::{Outcome, Runner};
/// use std::sync::Arc;
///
/// let relay = specialists::relay(&Arc::new(demo()), Entry::Booking).build()?;
/// let outcome = Runner::new(Script::default()).run(&relay, "Quote Studio basic 2h")?;
/// let Outcome::Ended(report) = outcome else { panic!() };
/// assert_eq!(report.end().to_string(), "failed: the script has no turn 1 for booking_agent (it has 0)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Script(ScriptedModel);

impl Default for Script {
    fn default() -> Self {
        Self(decisions())
    }
}

impl Model for Script {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let words = script::first_words(&request);
        if words.contains(REQUEST) || words.contains(TASK) {
            return self.0.complete(request);
        }
        let turn = request.replies.saturating_add(1);
        Err(ModelError::NoScript { agent: request.caller.into_owned(), turn, known: 0 })
    }

    fn label(&self) -> Option<&str> {
        self.0.label()
    }
}

/// The number after the last member of this name in a text of JSON, also where that JSON stands in a string.
///
/// ```
/// use reservo::case::number;
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
