//! What was done is told, whichever command ends the turn and whatever the answer speaks of; and what was said while a
//! question is open is kept, and that is told.
#![allow(clippy::unwrap_used, reason = "a test says so by panicking")]

mod harness;

use harness::{BOOKING, Place};
use serde_json::{Value, json};

const BOOKED: &str = "Booked: Studio basic on 2026-12-01 at 14:00 for 2 hours, for Ada. The booking is RSV-0006 and costs 8000 cents.";

/// A journal in which `b` waits for a person who says whether to book.
fn asked() -> Place {
    let place = Place::new();
    assert_eq!(place.then(&["ask", "--conversation", "b", BOOKING]).code, 3);
    place
}

fn booking() -> Value {
    let result = json!({ "booking_id": "RSV-0006", "status": "booked", "total_cents": 8000 });
    json!({ "tool": "book", "result": result, "undone": false, "in_doubt": false })
}

/// What a document says of what was done: in the turn, before it, and what is kept.
fn told(document: &Value) -> Value {
    json!([document["done"], document["done_before"], document["kept"]])
}

#[test]
fn words_that_came_while_a_question_was_open_do_not_hide_what_came_of_it() {
    let place = asked();
    let waits = place.json(&["ask", "--conversation", "b", "approve"]);
    assert_eq!((&waits["end"], told(&waits)), (&json!("waiting"), json!([[], [], ["approve"]])));
    let text = place.then(&["ask", "--conversation", "b", "Quote Focus pro 3h"]).out;
    let kept = "What was said meanwhile is no answer to it, and is kept for the agent until then: \"approve\", \"Quote Focus pro 3h\".";
    assert!(text.contains("sommelier --store") && text.contains(kept), "{text}");

    let done = place.json(&["answer", "b/1/1/0", "approve"]);
    let answer = format!("{BOOKED}\nFocus pro for 3 hours costs 6000 cents.");
    assert_eq!((&done["answer"], told(&done)), (&json!(answer), json!([[booking()], [], []])));
    let text = place.then(&["resume", "b"]).fine();
    assert!(text.starts_with(&format!("{answer}\n\nDone: book RSV-0006, 8000 cents\n\n")), "{text}");
}

#[test]
fn what_was_done_is_told_in_its_turn_and_in_later_ones_as_done_before() {
    let place = asked();
    assert_eq!(told(&place.json(&["answer", "b/1/1/0", "approve"])), json!([[booking()], [], []]));
    assert_eq!(told(&place.json(&["resume", "b"])), json!([[booking()], [], []]));
    let later = ["--json", "ask", "--conversation", "b", "--key", "m-2", "Quote Focus pro 3h"];
    assert_eq!(told(&place.then(&later).json()), json!([[], [booking()], []]));
    let asks = place.json(&["ask", "--conversation", "b", "Cancel RSV-0006"]);
    let cancelled = place.json(&["answer", asks["waiting"][0]["id"].as_str().unwrap(), "approve"]);
    let undone = json!({ "tool": "book", "result": booking()["result"], "undone": true, "in_doubt": false });
    assert_eq!(cancelled["done_before"], json!([undone]), "{cancelled}");
    assert_eq!(cancelled["done"][0]["tool"], "cancel");
    // The same turn again is told as it stood then.
    assert_eq!(told(&place.then(&later).json()), json!([[], [booking()], []]));
}

/// Whoever approved it counts on it, and the answer may be to other words.
#[test]
fn what_was_approved_and_could_not_be_done_is_told() {
    let place = Place::new();
    let taken = "Book Forum basic for 2 hours tomorrow at 10, for Bea";
    assert_eq!(place.then(&["ask", "--conversation", "b", taken]).code, 3);
    place.then(&["ask", "--conversation", "b", "Quote Focus pro 3h"]);
    let said = place.then(&["answer", "b/1/1/0", "approve"]).fine();
    let why = "Forum is taken on 2026-12-01 from 9:00 to 12:00, which meets 10:00 for 2 hours; another time or room is possible";
    let begins = format!(
        "Focus pro for 3 hours costs 6000 cents.\n\nNot done, though it was approved: book, slot_taken: {why}\n\n"
    );
    assert!(said.starts_with(&begins), "{said}");
    let document = place.json(&["resume", "b"]);
    let row = json!({ "tool": "book", "error": "slot_taken", "detail": why });
    assert_eq!((&document["failed"], told(&document)), (&json!([row]), json!([[], [], []])));
    // It was of that turn, and what was not approved is none of it.
    assert_eq!(place.json(&["ask", "--conversation", "b", "Quote Studio basic 2h"])["failed"], Value::Null);
    place.then(&["ask", "--conversation", "c", taken]);
    let said = place.then(&["answer", "c/1/1/0", "reject", "no"]).fine();
    assert!(!said.contains("Not done"), "{said}");
}

#[test]
fn a_run_that_is_called_off_tells_what_stands() {
    let place = asked();
    place.then(&["answer", "b/1/1/0", "approve"]).fine();
    let other = "Book Focus pro for 2 hours tomorrow at 9, for Ada. And book Studio pro for 1 hour tomorrow at 18, for Ada";
    let asks = place.json(&["ask", "--conversation", "b", other]);
    let asks = place.json(&["answer", asks["waiting"][0]["id"].as_str().unwrap(), "approve"]);
    assert_eq!(
        (&asks["end"], &asks["done"][0]["result"]["booking_id"]),
        (&json!("waiting"), &json!("RSV-0007"))
    );
    let said = place.then(&["cancel", "b"]);
    let begins = "The run was called off, so it has no answer.\n\nDone: book RSV-0007, 4000 cents\n\
                  It stands from before: book RSV-0006, 8000 cents\n\n";
    assert!(said.code == 0 && said.out.starts_with(begins), "{said:?}");
    assert_eq!(place.then(&["verify"]).code, 0);
}

#[test]
fn a_chat_says_of_words_for_an_open_question_that_they_wait_and_how_it_is_answered() {
    let place = asked();
    let said = place.hears("approve\n", &["--now", "2026-11-30T10:00", "chat", "b"]);
    let digest = place.json(&["inbox"])["questions"][0]["digest"].as_str().unwrap().to_owned();
    let command =
        format!("  sommelier --store {} answer --digest {digest} b/1/1/0 ", place.journal().display());
    let waits = format!(
        "\nIt still waits for an answer to b/1/1/0. What was said meanwhile is no answer to it, and is kept for the agent \
         until then: \"approve\".\n{command}approve\n{command}reject 'WHY'\n"
    );
    assert!(said.code == 3 && said.out.ends_with(&waits), "{said:?}");
}

#[test]
fn a_chat_at_a_terminal_says_how_it_ends_and_where_questions_are_answered() {
    let place = Place::new();
    let begins = "Ctrl-D ends the chat. What it waits for is answered from another terminal, by the command that is shown.\n> ";
    let said = place.hears_at_a_terminal("", &["chat"]).fine();
    assert_eq!(said, begins);
    assert_eq!(place.hears("", &["chat"]).fine(), "");
    assert_eq!(place.hears_at_a_terminal("", &["--json", "chat"]).json()["turns"], json!([]));
}

/// A report says what was done as the commands do, in each form that has words.
#[test]
fn a_report_says_what_was_done() {
    let place = asked();
    let report = |format: &str| place.then(&["report", "b", "--format", format]).fine();
    assert!(!report("text").contains("done: book"));
    place.then(&["answer", "b/1/1/0", "approve"]).fine();
    assert!(report("text").contains("\n\n  done: book RSV-0006, 8000 cents\n"), "{}", report("text"));
    let page = report("html");
    let done = "<bdi>done</bdi></span> <code dir=\"auto\">book</code> <bdi>RSV-0006, 8000 cents</bdi></p>";
    assert!(page.contains(done), "{page}");
    let result = json!({ "booking_id": "RSV-0006", "status": "booked", "total_cents": 8000 });
    let told = json!({ "tool": "book", "result": result, "told": "RSV-0006, 8000 cents", "undone": false });
    assert_eq!(place.json(&["report", "b"])["done"], json!([told]));
}
