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
use serde_json::{Value, json};

fn lesson() -> Lesson {
    Lesson::new("04", env!("CARGO_BIN_EXE_lesson-04"))
}

#[test]
fn the_page_shows_what_is_printed() {
    lesson().check_page();
}

#[test]
fn the_json_tells_what_was_stopped_and_what_was_refused() {
    let document: Value = serde_json::from_str(&lesson().run("--json", 0).stdout).unwrap();
    assert_eq!(
        document["schema"]["properties"]["specialist"]["enum"],
        json!(["policy_agent", "pricing_agent"])
    );
    assert_eq!(document["schema"]["required"], json!(["specialist", "task", "context"]));
    assert_eq!(document["model_calls"], 2);
    assert_eq!(document["unasked_turns"], 1);
    assert_eq!(document["closing_result"], r#"{"status":"handed_over","to":"policy_agent"}"#);
    assert_eq!(document["hops"][0]["package_bytes"], 105);
    assert_eq!(document["refusals"][0]["error"], "invalid_package");
    let detail = document["refusals"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("`context.history.0` holds a message"), "{detail}");
}

#[test]
fn wrong_use_is_told() {
    lesson().check_wrong_use();
}

#[test]
fn spans_go_to_stderr() {
    lesson().check_traces(|line| serde_json::from_str::<Value>(line).is_ok());
}
