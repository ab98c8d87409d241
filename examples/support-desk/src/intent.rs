//! What a customer's words are about.

use serde::Serialize;

/// What a query is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// Money: refunds, invoices, payments, charges.
    Billing,
    /// Something does not work; also whatever no word decides.
    Technical,
    /// A greeting, thanks or a farewell: nothing is to be done.
    Closing,
}

/// A query as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// What it is about.
    pub intent: Intent,
    /// The word that decided, in lower case; `None` when none did.
    pub word: Option<String>,
}

/// A stem, and the endings with which it is one of our words.
type Stem = (&'static str, &'static [&'static str]);

const BILLING: &[Stem] = &[
    ("refund", &["", "s", "ed", "ing", "able"]),
    ("invoic", &["e", "es", "ed", "ing"]),
    ("payment", &["", "s"]),
    ("charg", &["e", "es", "ed", "ing"]),
];

const TECHNICAL: &[Stem] = &[
    ("error", &["", "s"]),
    ("bug", &["", "s", "gy"]),
    ("crash", &["", "es", "ed", "ing"]),
    ("500", &[""]),
    ("login", &["", "s"]),
];

const CLOSING: &[Stem] = &[("hello", &[""]), ("thank", &["", "s"]), ("bye", &[""]), ("goodbye", &[""])];

/// Reads what a query is about: words of billing decide first, then those of technical matters, then those of a closing;
/// without any of them it is technical.
///
/// It goes by whole words and their stems, so "charged" is a charge and "othello" greets nobody.
///
/// ```
/// use support_desk::intent::{Intent, classify_intent};
///
/// assert_eq!(classify_intent("Hello, I was charged twice.").intent, Intent::Billing);
/// assert_eq!(classify_intent("We play Othello and the board is black.").intent, Intent::Technical);
/// ```
pub fn classify_intent(text: &str) -> Reading {
    let text = text.to_lowercase();
    let order = [Intent::Billing, Intent::Technical, Intent::Closing];
    let found = order.into_iter().find_map(|intent| deciding_word(&text, intent).map(|word| (intent, word)));
    match found {
        Some((intent, word)) => Reading { intent, word: Some(word.to_owned()) },
        None => Reading { intent: Intent::Technical, word: None },
    }
}

/// Whether a text has a word of this kind, whatever else it has.
pub fn speaks_of(text: &str, intent: Intent) -> bool {
    deciding_word(&text.to_lowercase(), intent).is_some()
}

fn deciding_word(text: &str, intent: Intent) -> Option<&str> {
    let stems = match intent {
        Intent::Billing => BILLING,
        Intent::Technical => TECHNICAL,
        Intent::Closing => CLOSING,
    };
    text.split(|c: char| !c.is_alphanumeric()).find(|word| is_one_of(word, stems))
}

fn is_one_of(word: &str, stems: &[Stem]) -> bool {
    stems.iter().any(|(stem, endings)| word.strip_prefix(stem).is_some_and(|rest| endings.contains(&rest)))
}
