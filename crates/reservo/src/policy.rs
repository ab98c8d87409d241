//! The policies of the house: data with fields, from which the six documents are written.
//!
//! The text of a document follows the data, so that a changed fee is a changed document; [`facts`](crate::facts) reads
//! the numbers back from the text alone.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::money::Cents;

/// All policies.
///
/// ```
/// use reservo::policy::DocId;
/// use reservo::{Cents, PolicyLibrary};
///
/// let mut library = PolicyLibrary::standard();
/// library.no_show.fee_cents = Cents(700);
/// assert!(library.document(DocId::NoShow).text.ends_with("Charge: 100 % of the quote plus 700 cents fee."));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyLibrary {
    /// What happens when nobody comes.
    pub no_show: NoShowPolicy,
    /// What is given back after cancelling.
    pub cancel: CancelPolicy,
    /// How it is given back.
    pub refund: RefundPolicy,
    /// Moving a booking to another time.
    pub change: ChangePolicy,
    /// When the house is open.
    pub hours: OpeningHours,
    /// When a booking is paid.
    pub payment: PaymentPolicy,
}

/// What happens when nobody comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoShowPolicy {
    /// Minutes after the start at which the room is given free.
    pub release_after_minutes: u32,
    /// Percent of the quote that is charged.
    pub charge_percent: u32,
    /// What is charged on top.
    pub fee_cents: Cents,
}

/// What is given back after cancelling: the first tier, from the longest notice down, whose notice is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelPolicy {
    /// The tiers, longest notice first.
    pub tiers: Vec<CancelTier>,
    /// Percent of the price given back with less notice than every tier asks.
    pub otherwise_percent: u32,
}

/// One step of the cancellation policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelTier {
    /// Hours before the start, exactly so many or more.
    pub notice_hours: u32,
    /// Percent of the price given back.
    pub refund_percent: u32,
}

impl CancelPolicy {
    /// Percent of the price given back when there are `minutes` to the start.
    ///
    /// ```
    /// let policy = reservo::PolicyLibrary::standard().cancel;
    /// assert_eq!(policy.refund_percent(24 * 60), 100);
    /// assert_eq!(policy.refund_percent(24 * 60 - 1), 50);
    /// assert_eq!(policy.refund_percent(2 * 60 - 1), 0);
    /// ```
    pub fn refund_percent(&self, minutes: i64) -> u32 {
        self.tiers
            .iter()
            .find(|tier| minutes >= i64::from(tier.notice_hours) * 60)
            .map_or(self.otherwise_percent, |tier| tier.refund_percent)
    }
}

/// How a refund is paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefundPolicy {
    /// Business days until the money is back.
    pub business_days: u32,
}

/// Moving a booking to another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangePolicy {
    /// How many moves are free of charge.
    pub free_moves: u32,
    /// Hours before the start, exactly so many or more.
    pub notice_hours: u32,
}

/// When the house is open, every day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpeningHours {
    /// The hour at which it opens, 0 to 23.
    pub opens: u8,
    /// The hour at which it closes, 1 to 24.
    pub closes: u8,
}

impl fmt::Display for OpeningHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "daily from {:02}:00 to {:02}:00", self.opens, self.closes)
    }
}

/// When a booking is paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaymentPolicy {
    /// At the moment it is booked.
    WhenBooked,
    /// At the start of the booking.
    AtStart,
}

/// The id of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum DocId {
    /// Cancelling.
    #[serde(rename = "POL-CANCEL")]
    Cancel,
    /// Moving a booking.
    #[serde(rename = "POL-CHANGE")]
    Change,
    /// Opening hours.
    #[serde(rename = "POL-HOURS")]
    Hours,
    /// Not coming.
    #[serde(rename = "POL-NOSHOW")]
    NoShow,
    /// Paying.
    #[serde(rename = "POL-PAYMENT")]
    Payment,
    /// Being refunded.
    #[serde(rename = "POL-REFUND")]
    Refund,
}

impl DocId {
    /// Every id, in the order of its text.
    pub const ALL: [Self; 6] =
        [Self::Cancel, Self::Change, Self::Hours, Self::NoShow, Self::Payment, Self::Refund];

    /// The id as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "POL-CANCEL",
            Self::Change => "POL-CHANGE",
            Self::Hours => "POL-HOURS",
            Self::NoShow => "POL-NOSHOW",
            Self::Payment => "POL-PAYMENT",
            Self::Refund => "POL-REFUND",
        }
    }
}

impl fmt::Display for DocId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A policy as it is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyDocument {
    /// Its id.
    pub doc_id: DocId,
    /// Its title.
    pub title: String,
    /// Its text; every number of the policy stands in it in digits.
    pub text: String,
}

impl PolicyLibrary {
    /// The policies the house opened with.
    pub fn standard() -> Self {
        Self {
            no_show: NoShowPolicy { release_after_minutes: 15, charge_percent: 100, fee_cents: Cents(500) },
            cancel: CancelPolicy {
                tiers: vec![
                    CancelTier { notice_hours: 24, refund_percent: 100 },
                    CancelTier { notice_hours: 2, refund_percent: 50 },
                ],
                otherwise_percent: 0,
            },
            refund: RefundPolicy { business_days: 5 },
            change: ChangePolicy { free_moves: 1, notice_hours: 24 },
            hours: OpeningHours { opens: 8, closes: 20 },
            payment: PaymentPolicy::WhenBooked,
        }
    }

    /// One document.
    pub fn document(&self, doc_id: DocId) -> PolicyDocument {
        let (title, text) = match doc_id {
            DocId::Cancel => ("Cancellation", self.cancel.to_string()),
            DocId::Change => ("Changing a booking", self.change.to_string()),
            DocId::Hours => ("Opening hours", self.hours_text()),
            DocId::NoShow => ("No-show", self.no_show.to_string()),
            DocId::Payment => ("Payment", self.payment.to_string()),
            DocId::Refund => ("Refunds", self.refund.to_string()),
        };
        PolicyDocument { doc_id, title: title.to_owned(), text }
    }

    /// Every document, in the order of the ids.
    pub fn documents(&self) -> Vec<PolicyDocument> {
        DocId::ALL.into_iter().map(|doc_id| self.document(doc_id)).collect()
    }

    fn hours_text(&self) -> String {
        let OpeningHours { opens, closes } = self.hours;
        format!(
            "Opening hours: {}. A booking starts at {opens:02}:00 or later and ends by {closes:02}:00, on full hours.",
            self.hours
        )
    }
}

impl Default for PolicyLibrary {
    fn default() -> Self {
        Self::standard()
    }
}

impl fmt::Display for NoShowPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { release_after_minutes, charge_percent, fee_cents } = self;
        write!(
            f,
            "If nobody shows up, the room is released {release_after_minutes} minutes after the start of the booking. \
             Charge: {charge_percent} % of the quote plus {fee_cents} fee."
        )
    }
}

impl fmt::Display for CancelPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, rest)) = self.tiers.split_first() else {
            return write!(f, "Cancelled at any time before the start: {} % refund.", self.otherwise_percent);
        };
        write!(
            f,
            "Cancelled {} hours or more before the start: {} % refund.",
            first.notice_hours, first.refund_percent
        )?;
        let mut above = first.notice_hours;
        for tier in rest {
            write!(
                f,
                " {} hours to under {above} hours before: {} % refund.",
                tier.notice_hours, tier.refund_percent
            )?;
            above = tier.notice_hours;
        }
        write!(f, " Under {above} hours before: {} % refund.", self.otherwise_percent)
    }
}

impl fmt::Display for RefundPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "A refund goes back to the payment method that was used for the booking. \
             The money arrives within {} business days.",
            self.business_days
        )
    }
}

impl fmt::Display for ChangePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Moves of a booking to another time that are free of charge: {}, when made {} hours or more before the start.",
            self.free_moves, self.notice_hours
        )
    }
}

impl fmt::Display for PaymentPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("The full price is charged to the payment method of the customer ")?;
        f.write_str(match self {
            Self::WhenBooked => "at the moment the room is booked.",
            Self::AtStart => "when the booking starts, not when it is made.",
        })
    }
}
