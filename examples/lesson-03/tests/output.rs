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

const ANSWER: &str = "The quote is 6000 cents. If you do not show up, you are charged 6500 cents: the whole quote and the fee \
     [POL-NOSHOW].";

fn lesson() -> Lesson {
    Lesson::new("03", env!("CARGO_BIN_EXE_lesson-03"))
}

fn document(flags: &str) -> Value {
    serde_json::from_str(&lesson().run(&format!("--json {flags}"), 0).stdout).unwrap()
}

/// The numbers of this name in each of the rows.
fn numbers(rows: &Value, name: &str) -> Vec<u64> {
    rows.as_array().unwrap().iter().map(|row| row[name].as_u64().unwrap()).collect()
}

fn grow(numbers: &[u64]) -> bool {
    numbers.windows(2).all(|pair| pair[0] < pair[1])
}

#[test]
fn the_page_shows_what_is_printed() {
    lesson().check_page();
}

#[test]
fn the_package_stays_and_the_history_grows_with_each_quote() {
    for steps in [0, 1, 2, 7, 20] {
        let document = document(&format!("--steps {steps}"));
        let crossings = &document["crossings"];
        assert_eq!(numbers(crossings, "more_quotes"), (0..=steps).collect::<Vec<_>>());
        assert!(numbers(crossings, "package_bytes").iter().all(|bytes| *bytes == 105), "{crossings}");
        let histories = numbers(crossings, "history_bytes");
        assert_eq!(histories[0], 402);
        assert!(grow(&histories), "{histories:?}");
    }
}

#[test]
fn the_history_as_a_message_is_four_times_the_package_or_more_and_grows() {
    let document = document("--steps 20");
    let contrast = &document["whole_history"];
    let crossing = numbers(contrast, "crossing_bytes");
    assert!(crossing[0] >= 4 * 105 && grow(&crossing), "{crossing:?}");
    assert!(grow(&numbers(contrast, "first_request_bytes")));
    // The request with a package does not grow, and is the smaller one from the start.
    let with_package = numbers(&document["crossings"], "first_request_bytes");
    assert!(with_package.iter().all(|bytes| *bytes == with_package[0]));
    assert!(with_package[0] < numbers(contrast, "first_request_bytes")[0]);
    assert_eq!(numbers(contrast, "history_bytes"), numbers(&document["crossings"], "history_bytes"));
    assert_eq!(numbers(contrast, "totals"), (1..=21).collect::<Vec<_>>());
}

#[test]
fn the_answer_is_the_same_with_the_package_and_with_the_history() {
    let document = document("--steps 4");
    for rows in ["crossings", "whole_history"] {
        let rows = document[rows].as_array().unwrap();
        assert!(rows.len() == 5 && rows.iter().all(|row| row["answer"] == ANSWER), "{rows:?}");
    }
}

#[test]
fn of_what_is_known_the_receiver_needs_the_price_alone() {
    let document = document("");
    let all = &document["all_data"];
    assert_eq!(
        (&all["package"]["context"], &all["package_bytes"], &all["answer"]),
        (
            &json!({ "quoted_cents": 6000, "room": "Focus", "plan": "pro", "hours": 3 }),
            &json!(143),
            &json!(ANSWER)
        )
    );
    let without = |name: &str, bytes: usize, answer: &str, is_needed: bool| json!({ "name": name, "package_bytes_without": bytes, "answer_without": answer, "is_needed": is_needed });
    let not_told =
        "A no-show costs 100 % of the quote and 500 cents fee [POL-NOSHOW]. I was not told the quote.";
    assert_eq!(
        document["data"],
        json!([
            without("quoted_cents", 123, not_told, true),
            without("room", 128, ANSWER, false),
            without("plan", 130, ANSWER, false),
            without("hours", 133, ANSWER, false),
        ])
    );
}

#[test]
fn wrong_use_is_told() {
    lesson().check_wrong_use();
    for (flags, told) in [
        ("--steps 21", "--steps 21: 0 to 20 are possible"),
        ("--steps -1", "--steps -1: 0 to 20 are possible"),
        ("--steps some", "--steps some: a whole number is wanted"),
    ] {
        let run = lesson().run(flags, 2);
        assert_eq!(run.stdout, "", "{flags}");
        assert!(run.stderr.contains(told), "{flags}: {}", run.stderr);
    }
}

#[test]
fn spans_go_to_stderr() {
    lesson().check_traces(|line| serde_json::from_str::<Value>(line).is_ok());
}
