//! Which desk a request is taken to first.

use std::fmt;

use serde::Serialize;

use crate::demo::DEMO_NOW;
use crate::reader::read;
use crate::words::sentences;

/// The desk that takes a request first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "&'static str")]
#[non_exhaustive]
pub enum Entry {
    /// Quotes, books, cancels.
    Booking,
    /// Knows the policies.
    Policy,
    /// Compares prices.
    Pricing,
}

impl Entry {
    /// Every desk.
    pub const ALL: [Self; 3] = [Self::Booking, Self::Policy, Self::Pricing];

    /// The name of the agent at the desk.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Booking => "booking_agent",
            Self::Policy => "policy_agent",
            Self::Pricing => "pricing_agent",
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Entry> for &'static str {
    fn from(entry: Entry) -> Self {
        entry.name()
    }
}

/// Takes a request to a desk, by the first rule that fits:
///
/// 1. it has the word "quote", or asks to quote, book or cancel: booking;
/// 2. it asks to compare prices: pricing;
/// 3. it asks about the rules: policy;
/// 4. anything else: booking.
///
/// ```
/// use reservo::{Entry, entry};
///
/// assert_eq!(entry("Quote Focus pro 3h, and what happens if I don't show up?"), Entry::Booking);
/// assert_eq!(entry("Compare pro prices for 4h and tell me the cancellation policy"), Entry::Pricing);
/// assert_eq!(entry("What happens if I don't show up?").name(), "policy_agent");
/// assert_eq!(entry("?"), Entry::Booking);
/// ```
pub fn entry(text: &str) -> Entry {
    let says_quote = sentences(text)
        .iter()
        .flat_map(|sentence| &sentence.words)
        .any(|word| matches!(word.text.as_str(), "quote" | "quotes" | "quotation"));
    if says_quote {
        return Entry::Booking;
    }
    // Only dates depend on the time, and no date decides a desk.
    let asked: Vec<Entry> = read(text, DEMO_NOW).parts.iter().filter_map(|part| part.intent.desk()).collect();
    let first = [Entry::Booking, Entry::Pricing, Entry::Policy].into_iter().find(|desk| asked.contains(desk));
    first.unwrap_or(Entry::Booking)
}
