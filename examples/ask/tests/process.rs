//! What the process does: exit status, what goes to stdout and stderr, wrong use.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use std::process::{Command, Output};

const RUNNING_CASE: &str = "Quote Focus pro 3h. And what happens if I don't show up?";

fn ask<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ask")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// Wrong use: status 2, nothing on stdout, and stderr says what.
fn misused<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>, says: &str) {
    let output = ask(arguments);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).starts_with("ask: ") && stderr(&output).contains(says), "{output:?}");
}

#[test]
fn an_answer_is_printed_with_who_gave_it_how_it_came_there_and_which_pattern_it_called_for() {
    let output = ask([RUNNING_CASE]);
    assert_eq!(output.status.code(), Some(0));
    let lines: Vec<&str> = stdout(&output).lines().rev().take(3).collect();
    assert_eq!(
        lines,
        [
            "pattern: handoff, since a part needs a result that only the agent at work on another part has",
            "booking_agent → policy_agent with 105 bytes",
            "policy_agent answered, decisions by offline-rules",
        ]
    );
    assert_eq!(stderr(&output), "");
}

#[test]
fn json_is_one_document_and_nothing_else() {
    let output = ask([RUNNING_CASE, "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let row: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(row["last_agent"], "policy_agent");
    assert_eq!(row["end"], "answered");
    assert_eq!(row["model"], "offline-rules");
    assert_eq!((&row["model_calls"], &row["tool_calls"]), (&4.into(), &2.into()));
    assert_eq!(row["refusals"], Value::Array(Vec::new()));
    assert_eq!(row["hops"][0]["package"]["context"]["quoted_cents"], 6000);
    assert!(row["answer"].as_str().unwrap().contains("6500"));
    assert_eq!(stderr(&output), "");
}

/// The member `pattern` of what `--json` prints.
fn pattern(text: &str) -> Value {
    let output = ask([text, "--json", "--approve"]);
    let row: Value = serde_json::from_str(stdout(&output)).unwrap();
    row["pattern"].clone()
}

#[test]
fn json_tells_the_pattern_by_the_text_and_as_the_run_met_it() {
    let needs_result = json!({
        "pattern": "handoff",
        "reason": "needs_result",
        "detail": "a part needs a result that only the agent at work on another part has",
    });
    assert_eq!(
        pattern(RUNNING_CASE),
        json!({
            "from_text": needs_result,
            "as_met": needs_result,
            "in_this_run": null,
            "needs": ["needs_result"],
            "handoff_was_right": true,
        }),
    );
    assert_eq!(
        pattern("Book Forum team 3h tomorrow at 9, for 6 people"),
        json!({
            "from_text": {
                "pattern": "single_agent",
                "reason": "one_trade",
                "detail": "one trade does all that is asked",
            },
            "as_met": {
                "pattern": "handoff",
                "reason": "found_in_work",
                "detail": "a need came up in the work that nothing in the request tells",
            },
            "in_this_run": null,
            "needs": ["found_in_work"],
            "handoff_was_right": true,
        }),
    );
    let one_trade = json!({
        "pattern": "single_agent",
        "reason": "one_trade",
        "detail": "one trade does all that is asked",
    });
    assert_eq!(
        pattern("Quote Forum basic 2h and, if under 15000 cents, book it for tomorrow at 15"),
        json!({"from_text": one_trade, "as_met": one_trade, "in_this_run": null, "needs": [], "handoff_was_right": null}),
    );
}

#[test]
fn a_handoff_that_a_fan_out_would_have_done_is_told() {
    let output = ask(["Compare pro prices for 4h and tell me the cancellation policy"]);
    assert!(
        stdout(&output).ends_with(
            "\npattern: fan_out, since every part was known at arrival and none needs the result of another\n\
             in this run: a handoff worked, where fan_out was right\n"
        ),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_trace_as_json_is_a_document_a_line_on_stderr() {
    let output = ask(["--json", "--trace", "json", RUNNING_CASE]);
    assert_eq!(output.status.code(), Some(0));
    serde_json::from_str::<Value>(stdout(&output)).unwrap();
    let lines: Vec<Value> = stderr(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() > 6, "{lines:?}");
}

#[test]
fn a_trace_as_a_tree_leaves_stdout_as_it_is() {
    let plain = ask([RUNNING_CASE]);
    let traced = ask([RUNNING_CASE, "--trace", "tree"]);
    assert_eq!(stdout(&traced), stdout(&plain));
    assert!(stderr(&traced).contains("policy_agent"), "{traced:?}");
}

#[test]
fn nothing_is_booked_without_approval() {
    let text = "Book Studio basic for 2 hours tomorrow at 14, for Ada";
    let waiting = ask([text]);
    assert_eq!(waiting.status.code(), Some(3));
    assert!(!stdout(&waiting).contains("Booked") && !stdout(&waiting).contains("RSV-"), "{waiting:?}");
    let approved = ask([text, "--approve"]);
    assert!(stdout(&approved).contains("RSV-0006"));
}

#[test]
fn the_clock_is_what_now_says() {
    let output = ask(["Book Focus pro 1h tomorrow at 9 for Ada", "--approve", "--now", "2027-02-28T12:00"]);
    assert!(stdout(&output).contains("2027-03-01"), "{output:?}");
    for now in ["tomorrow", "2026-13-01T10:00", "2026-11-30", "", "2026-11-30T25:00"] {
        misused(["Quote Focus pro 3h", "--now", now], &format!("--now {now:?} is no time"));
    }
}

#[test]
fn wrong_use_has_status_2() {
    misused([""; 0], "one text is wanted, found 0");
    misused(["Quote", "Focus"], "found 2");
    misused([""], "");
    misused([" \t\n"], "");
    misused(["Quote Focus pro 3h", "--loud"], "--loud is no flag here");
    misused(["Quote Focus pro 3h", "--trace", "loud"], "\"loud\"");
    misused(["Quote Focus pro 3h", "--trace"], "--trace");
    misused(["Quote Focus pro 3h", "--fee", "3"], "--fee is no flag here");
    misused(["Quote Focus pro 3h", "--approve", "--deny"], "one is possible");
    for name in ["", "a b", "a=b", "a/b", "ü", "\u{1b}"] {
        misused(["Quote Focus pro 3h", "--conversation", name], "is no name here");
    }
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_no_text_has_status_2() {
    use std::os::unix::ffi::OsStringExt;

    misused([OsString::from_vec(b"Quote \xff\xfe".to_vec())], "");
    misused([OsString::from("Quote Focus pro 3h"), "--now".into(), OsString::from_vec(vec![0xff])], "");
}

#[test]
fn help_is_no_misuse() {
    let output = ask(["--help"]);
    assert_eq!(output.status.code(), Some(0));
    for flag in
        ["--json", "--trace", "--answer", "--approve", "--deny", "--conversation", "--now", "3 waiting"]
    {
        assert!(stdout(&output).contains(flag), "{flag}");
    }
}

#[test]
fn a_text_of_a_hundred_kilobytes_is_answered() {
    for filler in
        ["lorem ipsum dolor sit amet ", "lorem ipsum. ", "book and ", "if i ", "🎉", "<b>", "\u{301}"]
    {
        let mut text = "Quote Focus pro 3h. ".to_owned();
        while text.len() < 100_000 {
            text.push_str(filler);
        }
        let output = ask([text]);
        assert_eq!(output.status.code(), Some(0), "{filler:?}");
        assert!(stdout(&output).len() < 3_000, "{filler:?}");
    }
}

#[test]
fn what_a_terminal_would_obey_is_not_printed() {
    let output = ask(["Quote Focus pro 3h. blubb \u{1b}[31m\u{7}\u{202e} xyzzy"]);
    assert!(
        !stdout(&output).contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'),
        "{output:?}"
    );
}
