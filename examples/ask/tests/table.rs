//! The table of texts: what each is answered, by whom, and over which hops. A line that says why it is there is a line of
//! `table.jsonl`; what the process itself does is below it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod common;

use common::{cases, failing};

#[test]
fn every_text_is_answered_as_expected() {
    let cases = cases(include_str!("table.jsonl"));
    assert!(cases.len() >= 60);
    let failing = failing(&cases);
    assert!(failing.is_empty(), "{} of {} fail:\n{}", failing.len(), cases.len(), failing.join("\n"));
}
