//! Texts that were written from the README alone, as a new user would write them, before any rule was made for them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod common;

use common::{cases, failing};

#[test]
fn a_new_user_is_answered_as_expected() {
    let cases = cases(include_str!("new_user.jsonl"));
    assert_eq!(cases.len(), 30);
    let failing = failing(&cases);
    let score = cases.len() - failing.len();
    assert!(failing.is_empty(), "{score} of {} are as expected; not:\n{}", cases.len(), failing.join("\n"));
}
