//! A tool that needs approval waits for a person: what the process tells of it, and how it is answered.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

use serde_json::{Value, json};
use std::process::{Command, Output};

const BOOK: &str = "Book Studio basic for 2 hours tomorrow at 14, for Ada";
const BOOK_AND_IF: &str =
    "Book Studio basic for 2 hours tomorrow at 14, for Ada. And what if I don't show up?";
const TWO: &str = "Book Focus team 2h tomorrow at 15 for Ada, and cancel RSV-0002";
const BOOKED: &str = "Booked: Studio basic on 2026-12-01 at 14:00 for 2 hours, for Ada. \
                      The booking is RSV-0006 and costs 8000 cents.";
/// Of the first call of the first reply in the conversation `ask`.
const ID: &str = "ask/1/1/0";

fn ask(text: &str, flags: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ask")).arg(text).args(flags).output().unwrap()
}

/// The whole of stdout, when it came with this status and with nothing on stderr.
#[track_caller]
fn told(status: i32, text: &str, flags: &[&str]) -> String {
    let output = ask(text, flags);
    assert_eq!((output.status.code(), &*output.stderr), (Some(status), &b""[..]), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn document(status: i32, text: &str, flags: &[&str]) -> Value {
    serde_json::from_str(&told(status, text, &[&["--json"], flags].concat())).unwrap()
}

/// The answer alone: what stands before the empty line.
#[track_caller]
fn answered(text: &str, flags: &[&str]) -> String {
    told(0, text, flags).split("\n\n").next().unwrap().to_owned()
}

/// Wrong use: status 2, nothing on stdout, and stderr says just this.
#[track_caller]
fn misused(text: &str, flags: &[&str], says: &str) {
    let output = ask(text, flags);
    assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b""[..]), "{output:?}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), format!("ask: {says}\n"));
}

#[test]
fn what_the_run_waits_for_is_told_with_how_to_answer() {
    assert_eq!(
        told(3, BOOK, &[]),
        r#"The run waits for an answer. What is asked has not been done.

ask/1/1/0
  asked by   booking_agent, in ask
  may run    book {"room":"Studio","plan":"basic","date":"2026-12-01","start_hour":14,"hours":2,"customer":"Ada"}
  handoffs   none

To answer, make the same call with --answer ID=approve, --answer ID=reject or --answer "ID=reject:WHY" for each.
"#
    );
}

#[test]
fn json_tells_what_the_run_waits_for_and_the_run_so_far() {
    let mut row = document(3, BOOK, &[]);
    let since = row["waiting"][0].as_object_mut().unwrap().remove("since").unwrap();
    assert!(since.as_u64().unwrap() > 1_700_000_000_000, "{since}");
    let input = json!({
        "room": "Studio", "plan": "basic", "date": "2026-12-01", "start_hour": 14, "hours": 2, "customer": "Ada",
    });
    let question = json!({
        "id": ID, "agent": "booking_agent", "path": "ask", "tool": "book", "input": input,
        "choices": ["approve", "reject"],
    });
    assert_eq!(
        row,
        json!({
            "answer": "", "last_agent": "booking_agent", "end": "waiting", "model": "offline-rules", "hops": [],
            "model_calls": 1, "tool_calls": 0, "refusals": [], "waiting": [question],
        }),
    );
}

/// The way of a script: what is open in one call is answered in the next.
#[test]
fn a_script_answers_what_it_saw_in_the_call_before() {
    let waiting = document(3, BOOK, &["--conversation", "desk-7"]);
    let id = waiting["waiting"][0]["id"].as_str().unwrap();
    assert_eq!(id, "desk-7/1/1/0");
    let row = document(0, BOOK, &["--conversation", "desk-7", "--answer", &format!("{id}=approve")]);
    assert_eq!((&row["answer"], &row["end"]), (&json!(BOOKED), &json!("answered")));
    assert_eq!(row["waiting"], json!([]));
}

#[test]
fn approved_as_it_was_seen_it_runs_as_if_it_had_been_approved_at_once() {
    for text in [BOOK, BOOK_AND_IF, "Cancel RSV-0002"] {
        let answer = format!("{ID}=approve");
        assert_eq!(told(0, text, &["--answer", &answer]), told(0, text, &["--approve"]), "{text}");
    }
}

/// The receiver gets what the tool brought after a person had approved it: 8000 cents and a fee of 500.
#[test]
fn a_handoff_after_approval_carries_what_was_booked() {
    let row = document(0, BOOK_AND_IF, &["--answer", &format!("{ID}=approve")]);
    assert_eq!(row["last_agent"], "policy_agent");
    assert_eq!(row["hops"][0]["package"]["context"]["quoted_cents"], 8000);
    assert!(row["answer"].as_str().unwrap().contains("Not showing up costs 8500 cents."), "{row}");
}

#[test]
fn cancelling_waits_too() {
    let waiting = document(3, "Cancel RSV-0002", &[]);
    assert_eq!(waiting["waiting"][0]["tool"], "cancel");
    assert_eq!(waiting["waiting"][0]["input"], json!({"booking_id": "RSV-0002"}));
    let cancelled = answered("Cancel RSV-0002", &["--answer", &format!("{ID}=approve")]);
    assert_eq!(cancelled, "RSV-0002 is cancelled; the refund is 6400 cents.");
}

/// The second is asked about when the first has been answered, whatever the answer was, and however the flags are
/// ordered.
#[test]
fn two_calls_that_need_approval_are_answered_one_by_one() {
    let first = format!("{ID}=approve");
    let waiting = document(3, TWO, &["--answer", &first]);
    assert_eq!(waiting["tool_calls"], 1);
    assert_eq!(waiting["waiting"].as_array().unwrap().len(), 1);
    assert_eq!(waiting["waiting"][0]["tool"], "cancel");
    let id = waiting["waiting"][0]["id"].as_str().unwrap();
    assert_ne!(id, ID);

    let second = format!("{id}=reject:Ada still needs it");
    let told = "Booked: Focus team on 2026-12-01 at 15:00 for 2 hours, for Ada. The booking is RSV-0006 and costs \
                3500 cents.\nNothing was cancelled: it needs approval, which was not given (Ada still needs it).";
    assert_eq!(answered(TWO, &["--answer", &first, "--answer", &second]), told);
    assert_eq!(answered(TWO, &["--answer", &second, "--answer", &first]), told);
}

#[test]
fn a_rejection_books_nothing_and_the_answer_repeats_the_reason() {
    let rejected = |what: &str| answered(BOOK, &["--answer", &format!("{ID}={what}")]);
    let because = |why: &str| format!("Nothing was booked: it needs approval, which was not given ({why}).");
    assert_eq!(rejected("reject"), because("a person said no"));
    assert_eq!(rejected("reject:the board meets there"), because("the board meets there"));
    assert_eq!(rejected("reject:2 = 1: \"odd\""), because("2 = 1: \"odd\""));
    assert_eq!(rejected("reject:a\u{1b}[31m\u{202e}b"), because("a[31mb"));
}

#[test]
fn an_answer_that_cannot_be_taken_is_told_with_what_is_open_and_what_is_possible() {
    let open = "open: ask/1/1/0 (approve, reject)";
    let approve = format!("{ID}=approve");
    misused(BOOK, &["--answer", "ask/9/9/9=approve"], &format!("no question \"ask/9/9/9\" is open; {open}"));
    misused(
        BOOK,
        &["--answer", &approve, "--answer", &format!("{ID}=reject")],
        &format!("\"ask/1/1/0\" is answered twice, and one answer is possible; {open}"),
    );
    for written in ["ask/1/1/0=yes", "ask/1/1/0=approve:gladly", "ask/1/1/0=reject:", "approve", ""] {
        misused(
            BOOK,
            &["--json", "--answer", &approve, "--answer", written],
            &format!(
                "--answer {written:?} is no answer: one is written ID=approve, ID=reject or ID=reject:WHY; {open}"
            ),
        );
    }
    misused(
        BOOK,
        &["--answer", "\u{1b}[31m\u{202e}"],
        &format!(
            "--answer \"\\u{{1b}}[31m\\u{{202e}}\" is no answer: one is written ID=approve, ID=reject or ID=reject:WHY; {open}"
        ),
    );
}

#[test]
fn an_answer_that_nobody_asked_for_is_wrong_use() {
    let not_asked = |id: &str| format!("{id:?} was not asked, and the run has ended: leave its --answer out");
    let approve = format!("{ID}=approve");
    misused("Quote Focus pro 3h", &["--answer", &approve], &not_asked(ID));
    let gone = "the answer before it was taken, and what it did is gone with this call";
    let told = format!("{}; {gone}", not_asked("ask/1/2/0"));
    misused(BOOK, &["--answer", &approve, "--answer", "ask/1/2/0=approve"], &told);
}

/// A no to one question beside a yes to all might be overlooked, so both together are refused before anything is done.
#[test]
fn an_answer_beside_a_flag_that_answers_all_is_wrong_use() {
    for flag in ["--approve", "--deny"] {
        let told = format!("{flag} and --answer were both given; {flag} answers all that is asked");
        for answer in ["approve", "reject:no"] {
            misused(BOOK, &[flag, "--answer", &format!("{ID}={answer}")], &told);
        }
    }
}

#[test]
fn deny_denies_without_asking() {
    let denied = answered(BOOK, &["--deny"]);
    assert_eq!(
        denied,
        "Nothing was booked: it needs approval, which was not given (--deny denies it, --approve would not)."
    );
}

/// A person approves what they see. A name that looks like another is shown as what it is; one that a terminal would
/// obey is not even asked about.
#[test]
fn nothing_in_a_customers_name_is_hidden_from_who_approves_it() {
    let book = |name: &str| format!("Book Studio basic for 2 hours tomorrow at 14, for {name}");
    for (name, shown) in
        [("A\u{200b}da", r"A\u200bda"), ("Ada\u{3164}", r"Ada\u3164"), ("A\u{ad}da", r"A\u00adda")]
    {
        let waiting = told(3, &book(name), &[]);
        assert!(waiting.contains(&format!(r#""customer":"{shown}""#)), "{waiting}");
        assert!(told(3, &book(name), &["--json"]).contains(&format!(r#""customer":"{shown}""#)));
        assert_eq!(document(3, &book(name), &[])["waiting"][0]["input"]["customer"], name);
    }
    for name in ["A\u{1b}[31mda", "\u{1b}]0;Ada\u{7}", "\u{202e}adA", "A\u{9b}31mda"] {
        let refused = told(0, &book(name), &[]);
        assert!(refused.starts_with("Nothing was booked: I act only on a plain order"), "{refused}");
        assert!(!refused.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{refused:?}");
    }
}

/// Spans of a run that waits, and of its answer, go to stderr and leave stdout as it is.
#[test]
fn a_trace_of_a_run_that_waits_leaves_stdout_as_it_is() {
    let traced = ask(BOOK, &["--trace", "tree"]);
    assert_eq!(traced.status.code(), Some(3));
    assert_eq!(String::from_utf8(traced.stdout).unwrap(), told(3, BOOK, &[]));
    assert!(String::from_utf8(traced.stderr).unwrap().contains("booking_agent"));
}
