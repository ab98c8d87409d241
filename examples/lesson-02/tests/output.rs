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
    Lesson::new("02", env!("CARGO_BIN_EXE_lesson-02"))
}

fn document(flags: &str) -> Value {
    serde_json::from_str(&lesson().run(&format!("--json {flags}"), 0).stdout).unwrap()
}

#[test]
fn the_page_shows_what_is_printed() {
    lesson().check_page();
}

#[test]
fn the_guess_is_told_with_what_is_true_and_with_its_numbers_that_have_no_ground() {
    let document = document("");
    let guess = &document["runs"][0];
    assert_eq!(
        guess["answer"],
        "The quote is 6000 cents. If you do not show up, you are charged 50 %, 3000 cents."
    );
    assert_eq!(guess["end"], "answered");
    assert_eq!(guess["no_show_cents"], 3000);
    assert_eq!(guess["ungrounded"], json!(["50", "3000"]));
    assert_eq!(document["truth"]["charge_cents"], 6500);
}

#[test]
fn the_reach_for_a_tool_not_owned_ends_at_the_step_limit_without_an_answer() {
    let reach = &document("")["runs"][1];
    assert_eq!(reach["answer"], Value::Null);
    assert_eq!(reach["end"], "turn_limit");
    assert_eq!((&reach["model_calls"], &reach["calls_in_vain"]), (&json!(8), &json!(7)));
    let error = r#"{"error":"unknown_tool","agent":"booking_agent","tool":"search_docs","available":["book","cancel","get_quote"]}"#;
    assert_eq!(reach["errors"], json!([error]));
}

#[test]
fn an_agent_alone_that_stops_leaves_the_question_open_and_nobody_is_asked_after_it() {
    let stop = &document("")["runs"][2];
    assert_eq!(
        stop["answer"],
        "The quote is 6000 cents. What a no-show costs is for the policy desk to say."
    );
    assert_eq!((&stop["end"], &stop["no_show_cents"]), (&json!("answered"), &Value::Null));
    assert_eq!(stop["unasked"], json!(["policy_agent 1", "policy_agent 2"]));
    let error = r#"{"error":"unknown_tool","agent":"booking_agent","tool":"handoff_to_specialist","available":["book","cancel","get_quote"]}"#;
    assert_eq!(stop["errors"], json!([error]));
}

#[test]
fn with_a_handoff_the_same_check_finds_nothing() {
    let handoff = &document("")["runs"][3];
    assert_eq!(handoff["no_show_cents"], 6500);
    assert_eq!(handoff["ungrounded"], json!([]));
    assert_eq!((&handoff["model_calls"], &handoff["calls_in_vain"]), (&json!(4), &json!(0)));
    assert_eq!(handoff["unasked"], json!([]));
}

#[test]
fn the_reach_costs_more_than_the_handoff_and_brings_nothing() {
    let document = document("");
    let read = |run: usize| document["runs"][run]["bytes_read"].as_u64().unwrap();
    assert!(read(1) > 6 * read(3), "{} and {}", read(1), read(3));
    assert!(read(2) < read(3) && read(0) < read(2));
}

#[test]
fn another_fee_or_rate_moves_the_truth_and_the_gap() {
    for (flags, guessed, truth) in [
        ("", 3000, 6500),
        ("--fee 700", 3000, 6700),
        ("--fee 0", 3000, 6000),
        ("--rate 2100", 3150, 6800),
        ("--fee 700 --rate 2100", 3150, 7000),
        ("--rate 100", 150, 800),
        ("--rate 1000000 --fee 1000000", 1_500_000, 4_000_000),
    ] {
        let document = document(flags);
        let run = |place: usize| document["runs"][place]["no_show_cents"].as_i64();
        assert_eq!((run(0), run(3)), (Some(guessed), Some(truth)), "{flags}");
        assert_eq!(document["truth"]["charge_cents"], truth, "{flags}");
        let off = format!("The answer is off by {}.", truth - guessed);
        assert!(lesson().run(flags, 0).stdout.contains(&off), "{flags}");
    }
}

#[test]
fn wrong_use_is_told() {
    lesson().check_wrong_use();
    for (flags, told) in [
        ("--fee much", "--fee much: a whole number is wanted"),
        ("--fee -1", "--fee -1: 0 to 1000000 are possible"),
        ("--rate 99", "--rate 99: 100 to 1000000 are possible"),
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
