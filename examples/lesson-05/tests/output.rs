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
    Lesson::new("05", env!("CARGO_BIN_EXE_lesson-05"))
}

#[test]
fn the_page_shows_what_is_printed() {
    lesson().check_page();
}

#[test]
fn the_json_is_the_run() {
    let stdout = lesson().run("--json", 0).stdout;
    let mut document: Value = serde_json::from_str(&stdout).unwrap();
    let claims = document.as_object_mut().unwrap().remove("claims").unwrap();
    assert!(claims.as_array().unwrap().iter().all(|claim| claim["holds"] == true), "{claims}");
    assert_eq!(
        document,
        json!({
            "lesson": "05",
            "title": "the whole case, end to end",
            "answer": "The quote is 6000 cents. If you do not show up, you are charged 6500 cents: the whole quote and the \
                       fee [POL-NOSHOW].",
            "last_agent": "policy_agent",
            "end": "answered",
            "model": "concept (claude-sonnet-5)",
            "hops": [{
                "from": "booking_agent",
                "to": "policy_agent",
                "package": {
                    "task": "What happens if the customer does not show up for the booking?",
                    "context": { "quoted_cents": 6000 },
                },
                "package_bytes": 105,
                "history_bytes": 402,
                "outcome": "taken",
            }],
            "model_calls": 4,
            "tool_calls": 2,
            "refusals": [],
        })
    );
}

#[test]
fn the_package_is_a_task_and_its_context_in_this_order() {
    let stdout = lesson().run("--json", 0).stdout;
    let one_line: String = stdout.lines().map(str::trim).collect();
    let package = r#""package": {"task": "What happens if the customer does not show up for the booking?","context": {"quoted_cents": 6000}}"#;
    assert!(one_line.contains(package), "{stdout}");
}

#[test]
fn another_fee_or_rate_is_another_answer() {
    for (flags, quote, charge) in [
        ("", 6000, 6500),
        ("--fee 700", 6000, 6700),
        ("--fee 0", 6000, 6000),
        ("--rate 2100", 6300, 6800),
        ("--fee 700 --rate 2100", 6300, 7000),
    ] {
        let document: Value =
            serde_json::from_str(&lesson().run(&format!("--json {flags}"), 0).stdout).unwrap();
        assert_eq!(document["hops"][0]["package"]["context"], json!({ "quoted_cents": quote }), "{flags}");
        let answer = format!(
            "The quote is {quote} cents. If you do not show up, you are charged {charge} cents: the whole quote and the fee \
             [POL-NOSHOW]."
        );
        assert_eq!(document["answer"], answer, "{flags}");
    }
}

#[test]
fn wrong_use_is_told() {
    lesson().check_wrong_use();
    assert!(lesson().run("--fee much", 2).stderr.contains("much"));
}

#[test]
fn spans_go_to_stderr() {
    lesson().check_traces(|line| serde_json::from_str::<Value>(line).is_ok());
}

#[test]
fn an_amount_that_cannot_be_is_wrong_use() {
    for flags in ["--fee -1", "--fee 9223372036854775807", "--rate -5", "--fee abc"] {
        let run = lesson().run(flags, 2);
        let (flag, _) = flags.split_once(' ').unwrap();
        assert_eq!(run.stdout, "", "{flags}");
        assert!(run.stderr.contains(flag), "{flags}: {}", run.stderr);
    }
}
