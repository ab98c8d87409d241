//! Which pattern a request called for, by its text and by its run: the runs are real, the decisions are those of the
//! offline rules.
#![expect(clippy::unwrap_used, reason = "a test may stop at what cannot be")]

use examples_kit::{Need, Verdict, shape_of};
use reservo::{Entry, OfflineRules, demo, entry, facets, specialists};
use serde_json::json;
use sommelier_patterns::{Choice, Reason, choose};
use sommelier_runner::{Gate, Outcome, Report, Runner};
use std::sync::Arc;

use Need::{BeforeWork, FoundInWork};
use Reason::{KnownAndIndependent, NeedsResult, NoPart, OneTrade};

fn run_at(entry: Entry, text: &str) -> Report {
    let relay = specialists::relay(&Arc::new(demo()), entry).build().unwrap();
    let runner = Runner::new(OfflineRules).gate(Gate::approve_all());
    match runner.run(&relay, text).unwrap() {
        Outcome::Ended(report) => report,
        other => unreachable!("{other:?}"),
    }
}

fn verdict_at(entry: Entry, text: &str) -> Verdict {
    Verdict::of(text, &run_at(entry, text))
}

fn answer(text: &str) -> String {
    run_at(entry(text), text).answer().to_owned()
}

fn verdict(text: &str) -> Verdict {
    verdict_at(entry(text), text)
}

#[track_caller]
fn check(text: &str, from_text: Reason, as_met: Reason, needs: &[Need]) -> Verdict {
    let found = verdict(text);
    let expected = Verdict {
        from_text: Choice::from(from_text),
        as_met: Choice::from(as_met),
        needs: needs.to_vec(),
        is_answered: true,
    };
    assert_eq!(found, expected, "{text:?}");
    found
}

#[test]
fn the_running_case_is_a_handoff_by_its_text_and_its_run() {
    for text in [
        "Quote Focus pro 3h. And what happens if I don't show up?",
        "Was kostet Focus pro für 3 Stunden? Und was passiert, wenn ich nicht erscheine?",
    ] {
        let found = check(text, NeedsResult, NeedsResult, &[Need::NeedsResult]);
        assert_eq!(found.handoff_was_right(), Some(true));
    }
}

#[test]
fn what_is_asked_of_the_room_that_a_comparison_finds_is_handed_over_with_its_price() {
    for text in [
        "Which is cheaper for 3h, Studio pro or Forum basic? And what if I don't come to the cheaper one?",
        "Was ist für 3h günstiger, Studio pro oder Forum basic? Und was, wenn ich zum günstigeren nicht komme?",
    ] {
        let found = check(text, NeedsResult, NeedsResult, &[Need::NeedsResult]);
        assert_eq!(found.handoff_was_right(), Some(true));
        assert!(answer(text).ends_with(" Not showing up costs 10100 cents for Studio pro for 3 hours."));
    }
    // A list of prices is no price of a booking: the rule is told, and no sum.
    let rule = answer("Compare prices for 3h. What happens if I don't show up?");
    assert!(rule.ends_with("Charge: 100 % of the quote plus 500 cents fee (POL-NOSHOW)."), "{rule}");
}

#[test]
fn a_refund_is_that_of_the_booking_that_was_cancelled() {
    for text in ["Cancel RSV-0001. What do I get back?", "Storniere RSV-0001. Was bekomme ich zurück?"] {
        let found = check(text, NeedsResult, NeedsResult, &[Need::NeedsResult]);
        assert_eq!(found.handoff_was_right(), Some(true));
        assert!(answer(text).starts_with("RSV-0001 is cancelled; the refund is 6825 cents.\n"));
    }
}

#[test]
fn what_cannot_be_booked_before_a_comparison_is_sent_on_and_said() {
    for text in [
        "Find the cheapest room for 5 people for 3 hours and book it tomorrow at 15 for Eve",
        "Suche den günstigsten Raum für 5 Personen für 3 Stunden und buche ihn morgen um 15 Uhr für Eva",
    ] {
        let found = check(text, NeedsResult, NeedsResult, &[BeforeWork]);
        assert_eq!(
            found.to_string(),
            "handoff, since a part needs a result that only the agent at work on another part has\n\
             in this run: the request was sent on before anyone had worked, which is no handoff",
        );
        assert!(answer(text).starts_with("Nothing was booked: I still need the room"), "{text:?}");
    }
}

#[test]
fn a_slot_found_taken_makes_a_handoff_of_what_was_for_one_agent() {
    let text = "Book Forum team 3h tomorrow at 9, for 6 people";
    let found = check(text, OneTrade, Reason::FoundInWork, &[FoundInWork]);
    assert_eq!(found.handoff_was_right(), Some(true));
    assert_eq!(
        found.to_string(),
        "handoff, since a need came up in the work that nothing in the request tells",
    );
}

#[test]
fn what_the_work_adds_to_a_part_of_the_text_is_seen() {
    // The text has a comparison of its own; the taken room asks for another.
    check(
        "Compare pro prices for 4h. And book Forum team 3h tomorrow at 9, for 6 people",
        KnownAndIndependent,
        Reason::FoundInWork,
        &[FoundInWork],
    );
    check(
        "Compare pro prices for 4h. And book Forum team 3h tomorrow at 9",
        KnownAndIndependent,
        KnownAndIndependent,
        &[Need::KnownAndIndependent],
    );
}

#[test]
fn a_handoff_of_known_and_independent_parts_works_and_was_not_needed() {
    for text in [
        "Compare pro prices for 4h and tell me the cancellation policy",
        "Quote Focus pro 3h and tell me the cancellation policy",
        "Was kostet das Studio im Team-Tarif für 4 Stunden, und bis wann habt ihr abends offen?",
    ] {
        let found = check(text, KnownAndIndependent, KnownAndIndependent, &[Need::KnownAndIndependent]);
        assert_eq!(found.handoff_was_right(), Some(false));
        assert_eq!(
            found.to_string(),
            "fan_out, since every part was known at arrival and none needs the result of another\n\
             in this run: a handoff worked, where fan_out was right",
        );
    }
}

#[test]
fn one_agent_does_what_is_its_trade_without_a_handoff() {
    for text in [
        "Quote Forum basic 2h and, if under 15000 cents, book it for tomorrow at 9",
        "Quote Focus pro 3h and Studio basic 2h",
        "What is your cancellation policy?",
    ] {
        let found = check(text, OneTrade, OneTrade, &[]);
        assert_eq!(found.handoff_was_right(), None);
        assert_eq!(found.to_string(), "single_agent, since one trade does all that is asked");
    }
    check("Hello there!", NoPart, NoPart, &[]);
}

#[test]
fn of_several_handoffs_one_that_was_needed_is_enough() {
    let text = "Quote Focus pro 3h, compare team prices for 2h, and what happens if I don't show up?";
    let found = check(text, NeedsResult, NeedsResult, &[Need::KnownAndIndependent, Need::NeedsResult]);
    assert_eq!(found.handoff_was_right(), Some(true));
}

#[test]
fn to_send_a_request_to_its_desk_is_no_handoff() {
    // Nobody had called a tool when the turn went on.
    let found = check("Quote the cheapest room", OneTrade, OneTrade, &[BeforeWork]);
    assert_eq!(found.handoff_was_right(), Some(false));
    assert_eq!(
        found.to_string(),
        "single_agent, since one trade does all that is asked\n\
         in this run: the request was sent on before anyone had worked, which is no handoff",
    );
    let found = verdict_at(Entry::Policy, "Quote Focus pro 3h");
    assert_eq!((found.needs, found.as_met), (vec![BeforeWork], Choice::from(OneTrade)));
}

#[test]
fn a_request_that_was_sent_on_may_need_a_handoff_later() {
    let text = "What happens if I don't show up for Focus pro 3h?";
    let found = check(text, NeedsResult, NeedsResult, &[BeforeWork, Need::NeedsResult]);
    assert_eq!(found.handoff_was_right(), Some(true));
}

#[test]
fn only_what_came_up_in_the_work_changes_the_verdict_on_the_text() {
    let texts = [
        "",
        "Quote Focus pro 3h",
        "Quote Focus pro 3h and tell me the cancellation policy",
        "Quote Focus pro 3h. And what happens if I don't show up?",
    ];
    for facets in texts.map(facets) {
        let from_text = choose(&shape_of(&facets, &[]));
        for need in [Need::NeedsResult, Need::KnownAndIndependent, BeforeWork] {
            assert_eq!(choose(&shape_of(&facets, &[need])), from_text, "{facets:?} {need:?}");
        }
        assert_eq!(choose(&shape_of(&facets, &[FoundInWork])), Choice::from(Reason::FoundInWork));
    }
}

#[test]
fn what_did_not_come_to_an_answer_or_a_handoff_is_told_as_it_is() {
    let independent = Choice::from(KnownAndIndependent);
    let unanswered = Verdict {
        from_text: independent,
        as_met: independent,
        needs: vec![Need::KnownAndIndependent],
        is_answered: false,
    };
    assert!(
        unanswered
            .to_string()
            .ends_with("\nin this run: a handoff brought no answer, where fan_out was right")
    );
    let dependent = Choice::from(NeedsResult);
    let kept = Verdict { from_text: dependent, as_met: dependent, needs: Vec::new(), is_answered: true };
    assert!(kept.to_string().ends_with("\nin this run: nothing was handed over"), "{kept}");
}

#[test]
fn in_json_both_verdicts_stand_with_their_reasons() {
    let found = verdict("Compare pro prices for 4h and tell me the cancellation policy");
    let reason = "every part was known at arrival and none needs the result of another";
    assert_eq!(
        serde_json::to_value(found).unwrap(),
        json!({
            "from_text": {"pattern": "fan_out", "reason": "known_and_independent", "detail": reason},
            "as_met": {"pattern": "fan_out", "reason": "known_and_independent", "detail": reason},
            "in_this_run": "a handoff worked, where fan_out was right",
            "needs": ["known_and_independent"],
            "handoff_was_right": false,
        }),
    );
}
