//! What is done, and what is not, when everything is approved: an effect happens only on a plain order of which every
//! word was read. A line of `no_plain_order.jsonl` has no effect, one of `plain_order.jsonl` has its own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod common;

use common::{cases, failing};

#[track_caller]
fn all_as_expected(table: &str, at_least: usize) {
    let cases = cases(table);
    assert!(cases.len() >= at_least);
    let failing = failing(&cases);
    assert!(failing.is_empty(), "{} of {} fail:\n{}", failing.len(), cases.len(), failing.join("\n"));
}

#[test]
fn what_is_no_plain_order_does_nothing_and_says_so() {
    all_as_expected(include_str!("no_plain_order.jsonl"), 41);
}

#[test]
fn a_plain_order_is_followed() {
    all_as_expected(include_str!("plain_order.jsonl"), 10);
}
