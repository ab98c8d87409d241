//! Which trades a text asks for, and which of its parts needs what another brings.

use proptest::prelude::*;
use reservo::Entry::{self, Booking, Policy, Pricing};
use reservo::reader::read;
use reservo::{DEMO_NOW, Facet, Facets, entry, facets};

/// A part that needs nothing.
const fn of(desk: Entry) -> Facet {
    Facet { desk, needs: None }
}

/// A part that needs what the part at `place` brings.
const fn on(place: usize, desk: Entry) -> Facet {
    Facet { desk, needs: Some(place) }
}

#[track_caller]
fn check(table: &[(&str, &[Facet])]) {
    for (text, parts) in table {
        assert_eq!(facets(text), Facets { parts: parts.to_vec() }, "{text:?}");
    }
}

#[test]
fn what_a_no_show_comes_to_needs_the_price() {
    let expected = &[of(Booking), on(0, Policy)][..];
    check(&[
        ("Quote Focus pro 3h. And what happens if I don't show up?", expected),
        ("Quote Focus pro 3h. What if nobody comes?", expected),
        ("Quote Focus pro 3h. What does a no-show cost me?", expected),
        ("Quote Focus pro 3h. What is the charge for a no-show?", expected),
        ("Quote Focus pro 3h. What's your policy if I don't show up?", expected),
        ("Quote Focus pro 3h. What happens if I don't show up for the Focus?", expected),
        ("Book Studio basic for 2 hours tomorrow at 14, for Ada. What happens if I don't show up?", expected),
        ("Was kostet Focus pro für 3 Stunden? Und was passiert, wenn ich nicht erscheine?", expected),
        ("Was kostet Focus pro für 3 Stunden? Was kostet mich ein Nichterscheinen?", expected),
        ("What happens if I don't show up? And quote Focus pro 3h.", &[on(1, Policy), of(Booking)]),
        (
            "Quote Focus pro 3h and Studio basic 2h. What if I miss it?",
            &[of(Booking), of(Booking), on(1, Policy)],
        ),
        (
            "Quote Studio basic 2h and Focus pro 3h. What if I don't show up for the Studio?",
            &[of(Booking), of(Booking), on(0, Policy)],
        ),
        (
            "Quote Focus pro 3h, compare team prices for 2h, and what happens if I don't show up?",
            &[of(Booking), of(Pricing), on(0, Policy)],
        ),
        ("Angebot für Studio basic 2h. Was zahle ich, wenn niemand kommt?", &[of(Booking), on(0, Policy)]),
    ]);
}

#[test]
fn what_a_cancellation_comes_to_needs_the_price() {
    let expected = &[of(Booking), on(0, Policy)][..];
    check(&[
        ("Quote Forum team 2h. What happens if I cancel?", expected),
        ("Quote Focus pro 3h. How much do I get back if I cancel?", expected),
        ("Quote Focus pro 3h, and what does cancelling cost?", expected),
        (
            "Was kostet Studio team für 2 Stunden, und wie viel bekomme ich zurück, wenn ich storniere?",
            expected,
        ),
    ]);
}

#[test]
fn the_rule_itself_needs_nothing() {
    let booking_first = &[of(Booking), of(Policy)][..];
    let pricing_first = &[of(Pricing), of(Policy)][..];
    check(&[
        ("Quote Focus pro 3h and tell me the cancellation policy", booking_first),
        ("Quote Focus pro 3h. I would like to know the cancellation policy, too.", booking_first),
        ("Quote Focus pro 3h and send me the cancellation policy, if possible", booking_first),
        ("Quote Focus pro 3h. Until when can I cancel free of charge?", booking_first),
        ("Quote Focus pro 3h. Can I cancel it later?", booking_first),
        ("Quote Focus pro 3h and tell me the no-show policy", booking_first),
        ("Quote Focus pro 3h. What is the no-show fee?", booking_first),
        ("Quote Focus pro 3h, and when do you open?", booking_first),
        ("Quote Focus pro 3h. When do I have to pay it?", booking_first),
        ("Was kostet Focus pro für 3 Stunden, und wie sind die Stornobedingungen?", booking_first),
        ("Compare pro prices for 4h and tell me the cancellation policy", pricing_first),
        ("Vergleiche die Preise für 4 Stunden und nenne mir die Stornierungsbedingungen", pricing_first),
        ("Buche Studio basic 2h morgen um 14 Uhr für Ada. Wann habt ihr geöffnet?", booking_first),
    ]);
}

#[test]
fn without_a_price_in_the_text_nothing_needs_one() {
    check(&[
        ("What happens if I don't show up?", &[of(Policy)]),
        ("Compare prices for 3h. What happens if I don't show up?", &[of(Pricing), of(Policy)]),
        ("Cancel RSV-0001. And what happens if I don't show up?", &[of(Booking), of(Policy)]),
        ("Quote Focus pro 3h. What happens if I don't show up for the Studio?", &[of(Booking), of(Policy)]),
    ]);
}

#[test]
fn the_price_of_a_booking_that_a_question_describes_is_a_part_too() {
    let expected = &[of(Booking), on(0, Policy)][..];
    check(&[
        ("What happens if I don't show up for Focus pro 3h?", expected),
        ("What do I pay if I miss my Focus pro 3h booking?", expected),
        ("What does the no-show cost if I book Forum basic for 8 hours?", expected),
        ("What does it cost if I book Forum basic for 8 hours and don't show up?", expected),
        ("How much is the no-show charge for Studio pro for 3 hours?", expected),
        ("What does cancelling cost if I book Forum basic for 8 hours?", expected),
        ("Was kostet ein Nichterscheinen, wenn ich Forum basic für 8 Stunden buche?", expected),
        ("Was kostet mich die Stornierung, wenn ich Studio pro für 3 Stunden buche?", expected),
        ("Wie viel zahle ich, wenn ich Studio pro für 3 Stunden buche und nicht erscheine?", expected),
        ("What is the no-show fee for Focus pro 3h?", &[of(Policy)]),
        (
            "Quote Focus pro 3h. What happens if I don't show up for Studio basic 2h?",
            &[of(Booking), of(Booking), on(1, Policy)],
        ),
    ]);
}

#[test]
fn an_order_on_a_condition_needs_the_quote() {
    let expected = &[of(Booking), on(0, Booking)][..];
    check(&[
        ("Quote Forum basic 2h and, if under 15000 cents, book it for tomorrow at 9", expected),
        ("Angebot Forum basic 2h und, falls unter 150 Euro, buche es für morgen um 9", expected),
        ("Quote Forum basic 2h and book it for tomorrow at 9", &[of(Booking), of(Booking)]),
    ]);
}

#[test]
fn what_follows_from_a_comparison_or_a_quote_needs_it() {
    check(&[
        ("Compare prices for 3h and book the cheapest tomorrow at 9 for Ada", &[of(Pricing), on(0, Booking)]),
        ("Compare pro prices for 4h, then book Focus pro 4h tomorrow at 9", &[of(Pricing), of(Booking)]),
        (
            "Quote Forum pro 4h and, if it is over 15000 cents, compare prices for 4h",
            &[of(Booking), on(0, Pricing)],
        ),
        (
            "Quote Focus pro 3h and compare team prices for 3 hours under 10000 cents",
            &[of(Booking), of(Pricing)],
        ),
        (
            "Quote Focus pro 3h. Compare team prices for 3h if they are under 10000 cents",
            &[of(Booking), of(Pricing)],
        ),
    ]);
}

#[test]
fn what_is_said_of_the_room_that_a_comparison_finds_needs_the_comparison() {
    let booking = &[of(Pricing), on(0, Booking)][..];
    check(&[
        ("Find the cheapest room for 5 people for 3 hours and book it tomorrow at 15 for Eve", booking),
        ("Compare prices for 3h. Then book the cheaper one tomorrow at 15 for Eve", booking),
        ("Which room is cheapest for 3 hours? Book that one tomorrow at 15 for Eve", booking),
        ("Which room is cheapest for 3 hours? Quote it on team", booking),
        ("Suche den günstigsten Raum für 5 Personen für 3 Stunden und buche ihn morgen um 15 Uhr", booking),
        ("Vergleiche die Preise für 3 Stunden und buche dann den günstigeren morgen um 15 Uhr", booking),
    ]);
    let policy = &[of(Pricing), on(0, Policy)][..];
    check(&[
        ("Which room is cheapest for 3 hours? What does a no-show cost for it?", policy),
        ("Which room is cheapest for 3 hours? What do I pay if I don't come to that one?", policy),
        (
            "Which is cheaper for 3h, Studio pro or Forum basic? And what if I don't come to the cheaper one?",
            policy,
        ),
        ("Compare prices for 3h. How much do I get back if I cancel the cheapest?", policy),
        ("Welcher Raum ist für 3 Stunden am günstigsten? Was kostet dafür ein Nichterscheinen?", policy),
        (
            "Welcher Raum ist für 3 Stunden am günstigsten? Was zahle ich für den günstigeren, wenn ich nicht komme?",
            policy,
        ),
        (
            "Was ist für 3h günstiger, Studio pro oder Forum basic? Und was, wenn ich zum günstigeren nicht komme?",
            policy,
        ),
    ]);
    check(&[
        // The quote was named last.
        (
            "Which room is cheapest for 3 hours? Quote Studio pro 2h. What does a no-show cost for it?",
            &[of(Pricing), of(Booking), on(1, Policy)],
        ),
        (
            "Quote Studio pro 2h. Which room is cheapest for 3 hours? What does a no-show cost for the cheaper one?",
            &[of(Booking), of(Pricing), on(1, Policy)],
        ),
        // A list of prices finds no room that "it" could be, and the rule is the same for each.
        ("Compare prices for 3h and book that one tomorrow at 15", &[of(Pricing), of(Booking)]),
        ("Which is the cheapest room for 3h, and what if I don't show up?", &[of(Pricing), of(Policy)]),
        (
            "Which room is cheapest for 3 hours? And what is the cancellation policy for it?",
            &[of(Pricing), of(Policy)],
        ),
        (
            "Welcher Raum ist für 4h am günstigsten, und wie sind die Stornobedingungen?",
            &[of(Pricing), of(Policy)],
        ),
    ]);
}

#[test]
fn what_is_wanted_only_if_another_part_fails_needs_that_part() {
    let expected = &[of(Booking), on(0, Pricing)][..];
    check(&[
        (
            "If the Forum is free tomorrow at 9 book it on team for 3h, otherwise tell me the cheapest alternative",
            expected,
        ),
        ("Book Forum team 3h tomorrow at 9 for Ada, or else compare team prices for 3h", expected),
        ("Book Forum team 3h tomorrow at 9. If not possible, compare team prices for 3h", expected),
        ("Book Forum team 3h tomorrow at 9. If it is taken, compare team prices for 3h", expected),
        (
            "Wenn das Forum morgen um 9 frei ist, buche es auf team für 3h, sonst nenne mir die günstigste Alternative",
            expected,
        ),
        ("Buche Forum team 3h morgen um 9, andernfalls vergleiche die Preise für 3 Stunden", expected),
        ("Book Forum team 3h tomorrow at 9. Compare team prices for 3h", &[of(Booking), of(Pricing)]),
    ]);
}

#[test]
fn what_comes_back_is_of_the_booking_that_is_cancelled() {
    let expected = &[of(Booking), on(0, Policy)][..];
    check(&[
        ("Cancel RSV-0001. What do I get back?", expected),
        ("Cancel RSV-0001 and tell me how much I get back", expected),
        ("Cancel RSV-0001. How much of it is refunded?", expected),
        ("Storniere RSV-0001. Was bekomme ich zurück?", expected),
        ("Storniere RSV-0001. Wie viel Geld bekomme ich zurück?", expected),
        ("Storniere RSV-0001 und sag mir, wie viel ich zurückbekomme", expected),
    ]);
    let rule = &[of(Booking), of(Policy)][..];
    check(&[
        ("Cancel RSV-0001. When do I get my money back?", rule),
        ("Cancel RSV-0001. What is your refund policy?", rule),
        ("Storniere RSV-0001. Wie lange dauert eine Rückerstattung?", rule),
        ("Storniere RSV-0001. Wann bekomme ich mein Geld zurück?", rule),
    ]);
}

#[test]
fn what_only_the_work_brings_is_not_in_the_text() {
    check(&[
        ("Book Forum team 3h tomorrow at 9, for 6 people", &[of(Booking)]),
        ("Buche Forum team 3h morgen um 9 für 6 Personen", &[of(Booking)]),
        ("Hello there, blubb!", &[]),
        ("", &[]),
    ]);
}

#[test]
fn a_trade_needs_nothing_of_another_where_it_needs_its_own_work() {
    let own = facets("Quote Forum basic 2h and, if under 15000 cents, book it for tomorrow at 9");
    assert_eq!((own.trades(), own.needing_another().next()), (1, None));
    let other = facets("Quote Focus pro 3h. And what happens if I don't show up?");
    assert_eq!((other.trades(), other.needing_another().next()), (2, Some(on(0, Policy))));
    assert_eq!(Entry::ALL.map(|desk| other.count(desk)), [1, 1, 0]);
}

#[test]
fn in_json_a_part_is_a_desk_and_a_place() {
    let found = facets("Quote Focus pro 3h. And what happens if I don't show up?");
    let expected = serde_json::json!({
        "parts": [{"desk": "booking_agent", "needs": null}, {"desk": "policy_agent", "needs": 0}],
    });
    assert_eq!(serde_json::to_value(found).ok(), Some(expected));
}

proptest! {
    /// Whatever the text: a part needs another that is there, no need goes in a circle, nothing that was read is left
    /// out, and whoever hears the text first has a part of it if anyone has.
    #[test]
    fn any_text_has_facets_that_fit_together(
        text in "(Quote Focus pro 3h|Studio basic 2h|book it at 9|book the cheapest|compare prices|if over 9000 cents|what if I miss it|how much if I cancel|for Focus pro 3h|the cancellation policy|thanks|blubb|, | and |[.?] ){0,12}",
    ) {
        let Facets { parts } = facets(&text);
        for (place, part) in parts.iter().enumerate() {
            let Some(needs) = part.needs else { continue };
            prop_assert!(needs != place && needs < parts.len(), "{text:?} {parts:?}");
            let mut seen = vec![place];
            let mut next = Some(needs);
            while let Some(at) = next {
                prop_assert!(!seen.contains(&at), "{text:?} {parts:?}");
                seen.push(at);
                next = parts[at].needs;
            }
        }
        let read = read(&text, DEMO_NOW);
        let of_trades = read.parts.iter().filter(|part| part.intent.desk().is_some()).count();
        prop_assert!(parts.len() >= of_trades, "{text:?} {parts:?}");
        let says_quote = text.contains("Quote");
        let first = entry(&text);
        prop_assert!(of_trades == 0 || says_quote || parts.iter().any(|part| part.desk == first), "{text:?}");
    }
}
