//! Reads the numbers of a policy back from the *text* of its document.
//!
//! Nothing here sees the data that the text was written from: a changed fee in the text is a changed answer, and a text
//! that does not state a number, or states it twice differently, gives `None`.

use crate::money::Cents;
use crate::policy::{CancelPolicy, CancelTier, ChangePolicy, OpeningHours, PaymentPolicy};

/// What a no-show costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoShowCharge {
    /// Percent of the quote.
    pub percent: u32,
    /// What comes on top.
    pub fee_cents: Cents,
}

impl NoShowCharge {
    /// The charge for a booking that was quoted at `quoted`; `None` if it does not fit.
    ///
    /// ```
    /// use reservo::{Cents, facts::NoShowCharge};
    ///
    /// let charge = NoShowCharge { percent: 100, fee_cents: Cents(500) };
    /// assert_eq!(charge.of(Cents(6000)), Some(Cents(6500)));
    /// ```
    pub fn of(self, quoted: Cents) -> Option<Cents> {
        quoted.checked_percent(self.percent)?.checked_add(self.fee_cents)
    }
}

/// What the text says a no-show costs.
///
/// ```
/// use reservo::{Cents, facts};
///
/// let charge = facts::no_show("Charge: 100 % of the quote plus 700 cents fee.").unwrap();
/// assert_eq!(charge.of(Cents(6000)), Some(Cents(6700)));
/// assert_eq!(facts::no_show("A no-show is charged."), None);
/// ```
pub fn no_show(text: &str) -> Option<NoShowCharge> {
    let text = text.to_lowercase();
    let words = words(&text);
    Some(NoShowCharge {
        percent: only(numbers_before(&words, &["%", "percent"]))?,
        fee_cents: Cents(only(numbers_before(&words, &["cents", "cent"]))?),
    })
}

/// The minutes after the start at which the text says that the room is released.
pub fn release_minutes(text: &str) -> Option<u32> {
    let text = text.to_lowercase();
    only(numbers_before(&words(&text), &["minutes", "minute", "min"]))
}

/// The tiers that the text says a cancellation falls into.
///
/// ```
/// use reservo::{PolicyLibrary, facts, policy::DocId};
///
/// let library = PolicyLibrary::standard();
/// assert_eq!(facts::cancellation(&library.document(DocId::Cancel).text), Some(library.cancel));
/// ```
pub fn cancellation(text: &str) -> Option<CancelPolicy> {
    let text = text.to_lowercase();
    let words = words(&text);
    let mut tiers = Vec::new();
    let mut otherwise_percent = None;
    for (at, percent) in numbers_at::<u32>(&words, &["%", "percent"]) {
        // The notice stands between the percentage before and this one.
        let since = tiers.last().map_or(0, |(end, _)| *end);
        let notice = &words[since..at];
        let hours: Vec<u32> = numbers_before(notice, &["hours", "hour", "h"]).collect();
        let under = notice.contains(&"under") || notice.contains(&"less");
        match hours[..] {
            [notice_hours] if !under => {
                tiers.push((at + 1, CancelTier { notice_hours, refund_percent: percent }));
            }
            [notice_hours, _] if under => {
                tiers.push((at + 1, CancelTier { notice_hours, refund_percent: percent }));
            }
            [last] if under && tiers.last().is_some_and(|(_, tier)| tier.notice_hours == last) => {
                otherwise_percent = Some(percent);
            }
            [] if tiers.is_empty() && notice.contains(&"any") => otherwise_percent = Some(percent),
            _ => return None,
        }
    }
    let tiers: Vec<CancelTier> = tiers.into_iter().map(|(_, tier)| tier).collect();
    let falling = tiers.windows(2).all(|pair| pair[0].notice_hours > pair[1].notice_hours);
    falling.then_some(CancelPolicy { tiers, otherwise_percent: otherwise_percent? })
}

/// The business days that the text says a refund takes.
pub fn refund_days(text: &str) -> Option<u32> {
    let text = text.to_lowercase();
    let words = words(&text);
    only(
        words
            .windows(3)
            .filter(|three| three[1] == "business" && matches!(three[2], "days" | "day"))
            .filter_map(|three| three[0].parse().ok()),
    )
}

/// How many moves the text says are free, and with how much notice.
pub fn change(text: &str) -> Option<ChangePolicy> {
    let text = text.to_lowercase();
    let words = words(&text);
    let free_moves = only(
        words
            .windows(3)
            .filter(|three| three[0] == "of" && three[1] == "charge")
            .filter_map(|three| three[2].parse().ok()),
    )?;
    Some(ChangePolicy { free_moves, notice_hours: only(numbers_before(&words, &["hours", "hour", "h"]))? })
}

/// When the text says that the house is open.
///
/// ```
/// use reservo::{facts, policy::OpeningHours};
///
/// assert_eq!(facts::opening_hours("Open daily from 09:00 to 18:00."), Some(OpeningHours { opens: 9, closes: 18 }));
/// ```
pub fn opening_hours(text: &str) -> Option<OpeningHours> {
    let text = text.to_lowercase();
    let words = words(&text);
    only(words.windows(4).filter(|four| four[0] == "from" && four[2] == "to").filter_map(|four| {
        let hour = |word: &str| word.strip_suffix(":00")?.parse().ok();
        Some(OpeningHours { opens: hour(four[1])?, closes: hour(four[3])? })
    }))
}

/// When the text says that a booking is paid.
pub fn payment(text: &str) -> Option<PaymentPolicy> {
    let text = text.to_lowercase();
    let words = words(&text);
    if !words.contains(&"charged") {
        return None;
    }
    match (words.contains(&"booked"), words.contains(&"starts")) {
        (true, false) => Some(PaymentPolicy::WhenBooked),
        (false, true) => Some(PaymentPolicy::AtStart),
        _ => None,
    }
}

/// Words without the punctuation around them; a percent sign is a word of its own.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace()
        .flat_map(|word| match word.trim_end_matches(['.', ',', ';', ':', ')']).strip_suffix('%') {
            Some(number) => [number, "%"],
            None => [word, ""],
        })
        .map(|word| word.trim_matches(['.', ',', ';', ':', '(', ')']))
        .filter(|word| !word.is_empty())
        .collect()
}

/// The numbers that stand before one of the units, with the index of the unit.
fn numbers_at<'a, T: std::str::FromStr>(
    words: &'a [&str],
    units: &'a [&str],
) -> impl Iterator<Item = (usize, T)> + 'a {
    words
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| units.contains(&pair[1]))
        .filter_map(|(at, pair)| Some((at + 1, pair[0].parse().ok()?)))
}

fn numbers_before<'a, T: std::str::FromStr + 'a>(
    words: &'a [&str],
    units: &'a [&str],
) -> impl Iterator<Item = T> + 'a {
    numbers_at(words, units).map(|(_, number)| number)
}

/// The one value that all items agree on.
fn only<T: PartialEq>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.all(|item| item == first).then_some(first)
}
