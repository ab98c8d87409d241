//! The program does what its page says.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at what cannot be"
)]

#[path = "../../kit/tests/page/mod.rs"]
mod page;

use page::Lesson;
use sommelier_protocol::RawJson;

fn lesson() -> Lesson {
    Lesson::new("06", env!("CARGO_BIN_EXE_lesson-06"))
}

#[test]
fn the_page_shows_what_is_printed() {
    lesson().check_page();
}

#[derive(serde::Deserialize)]
struct Document {
    model: String,
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    receivers_run: usize,
    end: String,
    refusal: Refusal,
}

#[derive(serde::Deserialize)]
struct Refusal {
    guard: String,
    error: String,
}

#[test]
fn the_json_tells_each_guard_in_their_order() {
    let document: Document = RawJson::parse(&lesson().run("--json", 0).stdout).unwrap().read().unwrap();
    assert_eq!(document.model, "concept (claude-sonnet-5)");
    let cases = document.cases.iter();
    let told: Vec<(&str, &str, usize, &str)> = cases
        .map(|case| (&*case.refusal.guard, &*case.refusal.error, case.receivers_run, &*case.end))
        .collect();
    assert_eq!(
        told,
        [
            ("known", "unknown_specialist", 0, "handoff_refused"),
            ("self", "self_handoff", 0, "handoff_refused"),
            ("route", "no_route", 1, "handoff_refused"),
            ("package", "invalid_package", 0, "handoff_refused"),
            ("ready", "target_not_ready", 0, "handoff_refused"),
            ("pair", "repeated_pair", 2, "handoff_refused"),
            ("cap", "handoff_limit_exceeded", 5, "hop_limit"),
        ]
    );
}

#[test]
fn wrong_use_is_told() {
    lesson().check_wrong_use();
}

#[test]
fn spans_go_to_stderr() {
    lesson().check_traces(|line| RawJson::parse(line).is_ok());
}
