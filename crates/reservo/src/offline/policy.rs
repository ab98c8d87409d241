//! The trade that knows the documents.

use super::phrase::{json, list, quoted};
use super::seen::{Outcome, Seen};
use super::{Call, Price, Progress, Told};
use crate::facts;
use crate::policy::DocId;
use crate::reader::Topic;
use crate::search::Hit;

/// A question about the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) topic: Topic,
    /// The question, complete in itself.
    pub(super) words: String,
}

impl Question {
    /// A question on a topic, in words that say no more than the topic; for an unknown topic the user's own.
    pub(super) fn on(topic: Topic, user_words: &str) -> Self {
        let words = match topic {
            Topic::NoShow => "What happens if the customer does not show up for the booking?".to_owned(),
            Topic::Cancellation => "What is the cancellation policy?".to_owned(),
            Topic::Refund => "How long does a refund take?".to_owned(),
            Topic::Change => "Can a booking be moved to another time?".to_owned(),
            Topic::OpeningHours => "When is the house open?".to_owned(),
            Topic::Payment => "When is a booking paid?".to_owned(),
            Topic::Other => format!("{}?", quoted(user_words).trim_matches(['"', '…'])),
        };
        Self { topic, words }
    }

    /// Whether the answer is a sum where a price is known.
    pub(super) fn is_on_price(&self) -> bool {
        self.topic.rests_on_price()
    }

    /// Whether the answer may refer to a price.
    pub(super) fn is_on_money(&self) -> bool {
        self.is_on_price() || matches!(self.topic, Topic::Refund | Topic::Payment)
    }
}

/// Answers one question from the documents alone.
pub(super) fn answer(question: &Question, prices: &[Price], seen: &Seen<'_>) -> Progress {
    let arguments = format!(r#"{{"query":{}}}"#, json(&question.words));
    let told = |text: String| Progress::Told(Told::say(text));
    match seen.outcome::<Vec<Hit>>("search_docs", &arguments) {
        None => Progress::Call(Call::look("search_docs", arguments)),
        Some(Outcome::Failed(failure)) => {
            told(format!("I could not search the documents: {}.", failure.message()))
        }
        Some(Outcome::Worked(hits)) => told(match hits.first() {
            None => format!(
                "The documents do not say anything about {}. They speak of no-shows, cancelling, refunds, changes, \
                 opening hours and payment.",
                quoted(&question.words)
            ),
            Some(hit) if question.topic == Topic::Other => format!(
                "The documents do not answer {} by name; the closest is {}: {}",
                quoted(&question.words),
                hit.doc_id,
                hit.text
            ),
            Some(hit) => from_document(hit, prices),
        }),
    }
}

/// What the text says, and what that is for the prices known.
fn from_document(hit: &Hit, prices: &[Price]) -> String {
    let text = hit.text.trim_end_matches('.');
    let mut answer = format!("{text} ({}).", hit.doc_id);
    let sums = match hit.doc_id {
        DocId::NoShow => facts::no_show(&hit.text).map(|charge| {
            let sum = |price: &Price| Some(format!("{}{}", charge.of(price.total_cents)?, for_what(price)));
            let sums: Vec<String> = prices.iter().filter_map(sum).collect();
            (!sums.is_empty()).then(|| format!(" Not showing up costs {}.", list(&sums, "and")))
        }),
        DocId::Cancel => facts::cancellation(&hit.text).map(|rule| {
            let sums: Vec<String> = prices
                .iter()
                .filter_map(|price| {
                    let part = |percent: u32| price.total_cents.checked_percent(percent);
                    let mut tiers = Vec::new();
                    for tier in &rule.tiers {
                        tiers.push(format!(
                            "{} back with {} hours or more",
                            part(tier.refund_percent)?,
                            tier.notice_hours
                        ));
                    }
                    tiers.push(format!("{} with less", part(rule.otherwise_percent)?));
                    Some(format!(" Of {}{}: {}.", price.total_cents, for_what(price), tiers.join(", ")))
                })
                .collect();
            (!sums.is_empty()).then(|| sums.concat())
        }),
        _ => None,
    };
    if let Some(sums) = sums.flatten() {
        answer.push_str(&sums);
    }
    answer
}

fn for_what(price: &Price) -> String {
    if price.of.is_empty() { String::new() } else { format!(" for {}", price.of) }
}
