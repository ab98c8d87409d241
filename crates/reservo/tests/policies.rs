//! The documents: their text follows the data, and the numbers can be read back from the text alone.

use proptest::prelude::*;
use reservo::facts::{self, NoShowCharge};
use reservo::policy::{
    CancelPolicy, CancelTier, ChangePolicy, DocId, NoShowPolicy, OpeningHours, PaymentPolicy,
};
use reservo::{Cents, PolicyLibrary};

#[test]
fn the_documents_are_these() {
    let texts: Vec<(String, String)> = PolicyLibrary::standard()
        .documents()
        .into_iter()
        .map(|document| (document.doc_id.to_string(), document.text))
        .collect();
    let expected = [
        (
            "POL-CANCEL",
            "Cancelled 24 hours or more before the start: 100 % refund. 2 hours to under 24 hours before: 50 % refund. \
             Under 2 hours before: 0 % refund.",
        ),
        (
            "POL-CHANGE",
            "Moves of a booking to another time that are free of charge: 1, when made 24 hours or more before the start.",
        ),
        (
            "POL-HOURS",
            "Opening hours: daily from 08:00 to 20:00. A booking starts at 08:00 or later and ends by 20:00, on full hours.",
        ),
        (
            "POL-NOSHOW",
            "If nobody shows up, the room is released 15 minutes after the start of the booking. \
             Charge: 100 % of the quote plus 500 cents fee.",
        ),
        (
            "POL-PAYMENT",
            "The full price is charged to the payment method of the customer at the moment the room is booked.",
        ),
        (
            "POL-REFUND",
            "A refund goes back to the payment method that was used for the booking. The money arrives within 5 business days.",
        ),
    ];
    assert_eq!(texts, expected.map(|(id, text)| (id.to_owned(), text.to_owned())));
    assert!(texts.iter().all(|(_, text)| (90..=180).contains(&text.len())));
}

#[test]
fn the_facts_are_read_from_the_text() {
    let library = PolicyLibrary::standard();
    let text = |doc_id| library.document(doc_id).text;
    let charge = facts::no_show(&text(DocId::NoShow)).unwrap();
    assert_eq!(charge, NoShowCharge { percent: 100, fee_cents: Cents(500) });
    assert_eq!(charge.of(Cents(6000)), Some(Cents(6500)));
    assert_eq!(facts::release_minutes(&text(DocId::NoShow)), Some(15));
    assert_eq!(facts::cancellation(&text(DocId::Cancel)), Some(library.cancel.clone()));
    assert_eq!(facts::refund_days(&text(DocId::Refund)), Some(5));
    assert_eq!(facts::change(&text(DocId::Change)), Some(ChangePolicy { free_moves: 1, notice_hours: 24 }));
    assert_eq!(facts::opening_hours(&text(DocId::Hours)), Some(OpeningHours { opens: 8, closes: 20 }));
    assert_eq!(facts::payment(&text(DocId::Payment)), Some(PaymentPolicy::WhenBooked));
}

#[test]
fn what_the_text_does_not_say_is_not_read() {
    for text in [
        "",
        "No-shows are charged.",
        "Charge: 100 % of the quote.",
        "A fee of 500 cents.",
        "Charge: 100 % or 50 % of the quote plus 500 cents fee.",
        "Charge: 100 % of the quote plus 500 cents, or 700 cents fee.",
        "Charge: all of the quote plus a fee.",
        "Charge: 99999999999 % of the quote plus 500 cents.",
    ] {
        assert_eq!(facts::no_show(text), None, "{text}");
    }
    let library = PolicyLibrary::standard();
    for document in library.documents() {
        let read = [
            facts::no_show(&document.text).is_some(),
            facts::release_minutes(&document.text).is_some(),
            facts::cancellation(&document.text).is_some(),
            facts::refund_days(&document.text).is_some(),
            facts::change(&document.text).is_some(),
            facts::opening_hours(&document.text).is_some(),
            facts::payment(&document.text).is_some(),
        ];
        let expected = match document.doc_id {
            DocId::NoShow => [true, true, false, false, false, false, false],
            DocId::Cancel => [false, false, true, false, false, false, false],
            DocId::Refund => [false, false, false, true, false, false, false],
            DocId::Change => [false, false, false, false, true, false, false],
            DocId::Hours => [false, false, false, false, false, true, false],
            DocId::Payment => [false, false, false, false, false, false, true],
            other => panic!("{other}"),
        };
        assert_eq!(read, expected, "{}", document.doc_id);
    }
}

#[test]
fn other_words_for_the_same_facts_are_read() {
    assert_eq!(
        facts::no_show("A no-show costs 80% of the price and 1 cent."),
        Some(NoShowCharge { percent: 80, fee_cents: Cents(1) })
    );
    assert_eq!(facts::release_minutes("(released 20 min later)"), Some(20));
}

proptest! {
    #[test]
    fn whatever_the_data_the_text_says_it(
        release_after_minutes: u32,
        charge_percent: u32,
        fee: i64,
        notices in prop::collection::btree_set(1u32..10_000, 0..4),
        percents in prop::collection::vec(0u32..=100, 5),
        business_days: u32,
    ) {
        let mut library = PolicyLibrary::standard();
        library.no_show = NoShowPolicy { release_after_minutes, charge_percent, fee_cents: Cents(fee) };
        library.cancel = CancelPolicy {
            tiers: notices
                .into_iter()
                .rev()
                .zip(&percents)
                .map(|(notice_hours, percent)| CancelTier { notice_hours, refund_percent: *percent })
                .collect(),
            otherwise_percent: percents[4],
        };
        library.refund.business_days = business_days;
        let text = |doc_id| library.document(doc_id).text;
        prop_assert_eq!(
            facts::no_show(&text(DocId::NoShow)),
            Some(NoShowCharge { percent: charge_percent, fee_cents: Cents(fee) })
        );
        prop_assert_eq!(facts::release_minutes(&text(DocId::NoShow)), Some(release_after_minutes));
        prop_assert_eq!(facts::cancellation(&text(DocId::Cancel)), Some(library.cancel.clone()));
        prop_assert_eq!(facts::refund_days(&text(DocId::Refund)), Some(business_days));
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in ".{0,200}") {
        let _ = (facts::no_show(&text), facts::cancellation(&text), facts::change(&text), facts::refund_days(&text));
        let _ = (facts::opening_hours(&text), facts::payment(&text), facts::release_minutes(&text));
    }
}
