//! A model that needs no network: rules that read a request and say what is to be done.
//!
//! It knows what a model knows and nothing else: the instructions, the tools on offer, and the messages. Which tools
//! are there tells it its trade; the line `Now:` of the instructions tells it the time. It does **not** know who calls,
//! how often it was called, the price list, the documents or the bookings.
//!
//! It remembers nothing. Each call reads the newest words that it is to work on (the user's, or a package), lists what
//! they ask, looks up among its own calls since then what is done, and does what is next:
//!
//! ```text
//!  words ──read──▶ items ──▶ a call that only looks      all of them in one reply
//!                        ──▶ a call with an effect       one in a reply, in the order of the text
//!                        ──▶ a need of another trade     one handoff, with the findings so far
//!                        ──▶ the answer
//! ```
//!
//! What it cannot read it quotes and says so. It states no number that is not in a tool's result, in the user's words or
//! in its package, unless one of two rules derives it: percent of a quote plus a fee, and percent of a quote.

mod booking;
mod desk;
mod handoff;
mod phrase;
mod policy;
mod pricing;
mod seen;

use sommelier_protocol::{ContentBlock, ModelRequest, ModelResponse, StopReason, ToolUse};
use sommelier_runtime::{Model, ModelError};

use seen::Seen;

/// The offline model of the house.
///
/// ```
/// use reservo::{OfflineRules, demo, entry, specialists};
/// use sommelier_handoff::Step;
/// use sommelier_runtime::Model;
/// use std::sync::Arc;
///
/// let text = "Quote Focus pro for 3 hours";
/// let relay = specialists::relay(&Arc::new(demo()), entry(text)).build()?;
/// let Ok(Step::CallModel(step)) = relay.start("c-1", text) else { panic!() };
/// let reply = OfflineRules.complete(step.request(&relay))?;
/// let call = reply.content.iter().find_map(|block| block.as_tool_use());
/// assert_eq!(call.map(|call| call.name()), Some("get_quote"));
/// assert_eq!(OfflineRules.label(), Some(OfflineRules::NAME));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfflineRules;

impl OfflineRules {
    /// The model's name and label.
    pub const NAME: &'static str = "offline-rules";
}

impl Model for OfflineRules {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let seen = Seen::of(&request);
        Ok(match desk::next(&seen) {
            Move::Call(calls) => {
                let calls = calls.iter().enumerate().map(|(place, call)| {
                    let id = format!("call_{}", seen.calls_so_far + place + 1);
                    ContentBlock::from(ToolUse::scripted(id, call.name, &call.arguments))
                });
                ModelResponse::new(Self::NAME, calls.collect(), StopReason::ToolUse)
            }
            Move::Say(text) => {
                ModelResponse::new(Self::NAME, vec![ContentBlock::text(text)], StopReason::EndTurn)
            }
        })
    }

    fn provider(&self) -> &str {
        "reservo"
    }

    fn name(&self) -> Option<&str> {
        Some(Self::NAME)
    }

    fn label(&self) -> Option<&str> {
        Some(Self::NAME)
    }
}

/// What the model does next.
enum Move {
    Call(Vec<Call>),
    Say(String),
}

/// A call that the model makes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    name: &'static str,
    /// As JSON.
    arguments: String,
    /// Whether it changes something in the house.
    has_effect: bool,
}

impl Call {
    /// A call that only looks.
    fn look(name: &'static str, arguments: String) -> Self {
        Self { name, arguments, has_effect: false }
    }

    /// A call that changes something.
    fn act(name: &'static str, arguments: String) -> Self {
        Self { name, arguments, has_effect: true }
    }
}

/// How far one thing that was asked has come.
enum Progress {
    /// This call is to be made for it.
    Call(Call),
    /// It is settled, well or not.
    Told(Told),
}

/// What there is to say about one thing that was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Told {
    text: String,
    /// The price that it found.
    price: Option<Price>,
    /// The price of what a comparison found; it counts only where something speaks of that.
    found: Option<Price>,
    /// What it needs from the trade that compares prices.
    alternative: Option<Wanted>,
}

impl Told {
    fn say(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// A price that a tool has told.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Price {
    /// What it is the price of.
    of: String,
    total_cents: crate::Cents,
}

/// A comparison as it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Wanted {
    hours: Option<i64>,
    rooms: Vec<crate::Room>,
    plans: Vec<crate::Plan>,
    /// Only these rooms on these plans, if any are named.
    pairs: Vec<(crate::Room, crate::Plan)>,
    min_seats: Option<u32>,
    exclude: Vec<crate::Room>,
    condition: Option<crate::reader::Condition>,
}
