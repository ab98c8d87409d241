//! Which desk a request is taken to.

use reservo::Entry::{self, Booking, Policy, Pricing};
use reservo::entry;

#[track_caller]
fn check(expected: Entry, texts: &[&str]) {
    for text in texts {
        assert_eq!(entry(text), expected, "{text:?}");
    }
}

#[test]
fn the_word_quote_places_a_request_with_booking() {
    check(
        Booking,
        &[
            "Quote Focus pro 3h, and what happens if I don't show up?",
            "What happens to my quote if I don't show up?",
            "QUOTE the cheapest room",
            "thanks for the quote",
        ],
    );
}

#[test]
fn to_quote_book_or_cancel_is_for_booking_whatever_else_is_asked() {
    check(
        Booking,
        &[
            "How much is Focus pro 3h?",
            "Book Forum team 3h tomorrow at 9, for 6 people",
            "Cancel RSV-0001 and tell me the refund policy",
            "Compare pro prices for 4h, then book Focus pro 4h tomorrow at 9",
            "What is the no-show policy? And book Focus pro 3h tomorrow at 9",
            "Was kostet Focus pro für 3 Stunden?",
        ],
    );
}

#[test]
fn comparing_is_for_pricing() {
    check(
        Pricing,
        &[
            "Compare pro prices for 4h",
            "Which room is cheapest for 3 hours?",
            "Compare pro prices for 4h and tell me the cancellation policy",
            "Welcher Raum ist am günstigsten für 4 Stunden?",
        ],
    );
}

#[test]
fn the_rules_alone_are_for_policy() {
    check(
        Policy,
        &[
            "What happens if I don't show up?",
            "What is your cancellation policy?",
            "Can I cancel RSV-0001?",
            "Hello! When are you open?",
            "Was passiert, wenn ich nicht erscheine?",
        ],
    );
}

#[test]
fn anything_else_is_for_booking() {
    check(Booking, &["", "hello", "asdf", "🙂", "Cancel every booking", "Is Forum free tomorrow?"]);
}

#[test]
fn a_desk_has_the_name_of_its_agent() {
    assert_eq!(Entry::ALL.map(Entry::name), ["booking_agent", "policy_agent", "pricing_agent"]);
    assert_eq!(serde_json::to_string(&Pricing).unwrap(), r#""pricing_agent""#);
}
