//! Which pattern is chosen: for every shape that there is, and for the cases of the course.

use sommelier_patterns::Dependence::{Independent, OnDecision, OnResult};
use sommelier_patterns::Pattern::{FanOut, Handoff, Pipeline, SingleAgent, Supervisor};
use sommelier_patterns::Reason::{
    DecidedFromResults, FoundInWork, KnownAndIndependent, NeedsResult, NoPart, OneTrade, OrderFixed,
};
use sommelier_patterns::{Choice, Dependence, Pattern, Reason, Shape, choose};

const AT_ARRIVAL: Shape =
    Shape { parts: 2, dependence: Independent, order_fixed: false, found_in_work: false };

/// Every shape; more than two parts are as good as two.
fn shapes() -> impl Iterator<Item = Shape> {
    [false, true].into_iter().flat_map(|found_in_work| {
        [false, true].into_iter().flat_map(move |order_fixed| {
            [0, 1, 2, 3, usize::MAX].into_iter().flat_map(move |parts| {
                Dependence::ALL.map(|dependence| Shape { parts, dependence, order_fixed, found_in_work })
            })
        })
    })
}

#[track_caller]
fn check(shape: Shape, pattern: Pattern, reason: Reason) {
    assert_eq!(choose(&shape), Choice { pattern, reason }, "{shape:?}");
}

#[test]
fn every_shape_has_the_pattern_of_the_table() {
    let mut looked_at = 0;
    for (found_in_work, order_fixed, parts, dependence, pattern, reason) in [
        (false, false, 0, Independent, SingleAgent, NoPart),
        (false, false, 0, OnResult, SingleAgent, NoPart),
        (false, false, 0, OnDecision, SingleAgent, NoPart),
        (false, false, 1, Independent, SingleAgent, OneTrade),
        (false, false, 1, OnResult, SingleAgent, OneTrade),
        (false, false, 1, OnDecision, SingleAgent, OneTrade),
        (false, false, 2, Independent, FanOut, KnownAndIndependent),
        (false, false, 2, OnResult, Handoff, NeedsResult),
        (false, false, 2, OnDecision, Supervisor, DecidedFromResults),
        (false, false, 3, Independent, FanOut, KnownAndIndependent),
        (false, false, 3, OnResult, Handoff, NeedsResult),
        (false, false, 3, OnDecision, Supervisor, DecidedFromResults),
        (false, false, usize::MAX, Independent, FanOut, KnownAndIndependent),
        (false, false, usize::MAX, OnResult, Handoff, NeedsResult),
        (false, false, usize::MAX, OnDecision, Supervisor, DecidedFromResults),
    ] {
        check(Shape { parts, dependence, order_fixed, found_in_work }, pattern, reason);
        looked_at += 1;
    }
    for shape in shapes().filter(|shape| shape.order_fixed && !shape.found_in_work) {
        check(shape, Pipeline, OrderFixed);
        looked_at += 1;
    }
    for shape in shapes().filter(|shape| shape.found_in_work) {
        check(shape, Handoff, FoundInWork);
        looked_at += 1;
    }
    assert_eq!(looked_at, shapes().count());
}

#[test]
fn a_quote_and_the_cancellation_policy_are_a_fan_out() {
    check(AT_ARRIVAL, FanOut, KnownAndIndependent);
}

#[test]
fn a_quote_and_what_a_no_show_costs_are_a_handoff() {
    check(Shape { dependence: OnResult, ..AT_ARRIVAL }, Handoff, NeedsResult);
}

#[test]
fn a_slot_found_taken_is_a_handoff_although_the_text_named_one_trade() {
    check(Shape { parts: 1, found_in_work: true, ..AT_ARRIVAL }, Handoff, FoundInWork);
}

#[test]
fn an_order_on_a_condition_is_for_one_agent() {
    // A quote, and a booking that depends on it: two steps of one trade.
    check(Shape { parts: 1, dependence: OnResult, ..AT_ARRIVAL }, SingleAgent, OneTrade);
}

#[test]
fn what_is_known_at_arrival_and_independent_is_never_a_handoff() {
    let known = |shape: &Shape| !shape.found_in_work && shape.dependence == Independent;
    let chosen: Vec<Pattern> = shapes().filter(known).map(|shape| choose(&shape).pattern).collect();
    assert_eq!(chosen.len(), 10);
    assert!(!chosen.contains(&Handoff), "{chosen:?}");
}

#[test]
fn a_handoff_has_something_that_only_the_agent_at_work_knows() {
    for shape in shapes().filter(|shape| choose(shape).pattern == Handoff) {
        let needs_a_result = shape.parts > 1 && shape.dependence == OnResult;
        assert!(shape.found_in_work || needs_a_result, "{shape:?}");
    }
}

#[test]
fn every_pattern_and_every_reason_can_be_chosen() {
    let chosen: Vec<Choice> = shapes().map(|shape| choose(&shape)).collect();
    for pattern in Pattern::ALL {
        assert!(chosen.iter().any(|choice| choice.pattern == pattern), "{pattern}");
    }
    for reason in Reason::ALL {
        assert!(chosen.iter().any(|choice| choice.reason == reason), "{reason}");
    }
}

#[test]
fn names_are_the_same_in_json_and_in_code() {
    let json = |value: Result<serde_json::Value, serde_json::Error>| value.ok();
    for pattern in Pattern::ALL {
        assert_eq!(json(serde_json::to_value(pattern)), Some(pattern.as_str().into()));
    }
    for reason in Reason::ALL {
        assert_eq!(json(serde_json::to_value(reason)), Some(reason.as_str().into()));
    }
    assert_eq!(
        json(serde_json::to_value(choose(&AT_ARRIVAL))),
        Some(serde_json::json!({"pattern": "fan_out", "reason": "known_and_independent"})),
    );
}

#[test]
fn a_choice_is_told_in_one_sentence() {
    let told: Vec<String> = Reason::ALL.map(|reason| Choice::from(reason).to_string()).into();
    assert_eq!(
        told,
        [
            "handoff, since a need came up in the work that nothing in the request tells",
            "pipeline, since who works after whom was fixed before any request existed",
            "single_agent, since nothing is asked that one of the agents could do",
            "single_agent, since one trade does all that is asked",
            "fan_out, since every part was known at arrival and none needs the result of another",
            "handoff, since a part needs a result that only the agent at work on another part has",
            "supervisor, since who works next is decided from results, by somebody outside",
        ],
    );
}
