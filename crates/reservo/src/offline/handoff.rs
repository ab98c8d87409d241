//! What is handed over, and to whom.

use serde_json::Map;
use sommelier_handoff::{HANDOFF_TO_SPECIALIST, HandoffPackage, PackagePolicy};

use super::phrase::{json, printable};
use super::policy::Question;
use super::{Call, Price, Wanted};
use crate::Entry;

/// What is left for other trades.
#[derive(Default)]
pub(super) struct Rest {
    /// Orders in the user's own words, for the trade that books.
    pub(super) orders: Vec<String>,
    pub(super) comparisons: Vec<Wanted>,
    pub(super) questions: Vec<Question>,
}

impl Rest {
    /// The trade whose work comes first: what is booked may be compared, and the rules may be about its price.
    pub(super) fn next_desk(&self, receivers: &[Entry]) -> Option<Entry> {
        [
            (Entry::Booking, self.orders.is_empty()),
            (Entry::Pricing, self.comparisons.is_empty()),
            (Entry::Policy, self.questions.is_empty()),
        ]
        .into_iter()
        .find(|(desk, is_empty)| !is_empty && receivers.contains(desk))
        .map(|(desk, _)| desk)
    }

    /// All that is left, in words that say it without the conversation.
    pub(super) fn task(&self) -> String {
        let orders = self.orders.iter().map(|order| ended(order));
        let comparisons = self.comparisons.iter().map(Wanted::task);
        let questions = self.questions.iter().map(|question| question.words.clone());
        orders.chain(comparisons).chain(questions).collect::<Vec<_>>().join(" ")
    }
}

fn ended(order: &str) -> String {
    if order.ends_with(['.', '?', '!']) { order.to_owned() } else { format!("{order}.") }
}

/// What the receiver needs to know of the work so far.
pub(super) struct Findings {
    /// What there is to tell the user, done or not.
    pub(super) told: Vec<String>,
    /// The prices that the questions left may refer to.
    pub(super) prices: Vec<Price>,
    /// How many prices were told.
    pub(super) priced: usize,
}

/// The call that hands over the rest with the findings; `None` if it does not fit into a package.
pub(super) fn call(to: Entry, rest: &Rest, findings: &Findings) -> Option<Call> {
    let mut context = Map::new();
    if let ([wanted], Entry::Pricing) = (&rest.comparisons[..], to) {
        context = wanted.context();
    }
    if rest.questions.iter().any(Question::is_on_money) {
        match &findings.prices[..] {
            [] => {}
            [price] if findings.priced == 1 => {
                context.insert("quoted_cents".to_owned(), price.total_cents.0.into());
            }
            several => {
                context.insert("quotes".to_owned(), serde_json::to_value(several).unwrap_or_default());
            }
        }
    }
    // A price that stands in the context alone needs no words.
    let is_bare_quote =
        to == Entry::Policy && findings.told.len() == 1 && context.contains_key("quoted_cents");
    let told = if is_bare_quote && findings.is_one_quote() { &[][..] } else { &findings.told[..] };
    let mut package = HandoffPackage::new(printable(&rest.task()));
    for (key, value) in context {
        package = package.context(&key, &value).ok()?;
    }
    for step in told {
        package = package.completed_step(step.as_str());
    }
    if !package.validate(&PackagePolicy::default()).is_empty() {
        return None;
    }
    let package = package.to_json();
    let members = package.strip_prefix('{')?;
    Some(Call::look(HANDOFF_TO_SPECIALIST, format!(r#"{{"specialist":{},{members}"#, json(to.name()))))
}

impl Findings {
    /// Whether all there is to tell is the price of one room.
    fn is_one_quote(&self) -> bool {
        match (&self.told[..], &self.prices[..]) {
            ([told], [price]) => *told == quote_line(price),
            _ => false,
        }
    }
}

/// How a quote is told.
pub(super) fn quote_line(price: &Price) -> String {
    if price.of.is_empty() {
        return format!("The quote is {}.", price.total_cents);
    }
    format!("{} costs {}.", price.of, price.total_cents)
}

/// The prices that a package tells.
pub(super) fn prices(package: &HandoffPackage) -> Vec<Price> {
    let quoted = package.context_value("quoted_cents").and_then(|value| value.as_i64());
    let quoted = quoted
        .filter(|cents| (0..=1_000_000_000).contains(cents))
        .map(|cents| Price { of: String::new(), total_cents: crate::Cents(cents) });
    let several = package.context_value("quotes").map(ToString::to_string);
    let several: Option<Vec<Price>> = several.and_then(|text| serde_json::from_str(&text).ok());
    quoted.into_iter().chain(several.unwrap_or_default()).collect()
}
