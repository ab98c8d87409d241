//! What counts as the ground of a number, and what does not.

use reservo::DEMO_NOW;
use reservo::grounding::ungrounded;
use sommelier_protocol::{ContentBlock, Message, ToolResult, ToolUse};

const NO_SHOW: &str = "Charge: 100 % of the quote plus 500 cents fee.";

/// A conversation of the user's words, one call and its result.
fn conversation(words: &str, tool: &str, arguments: &str, result: &str) -> Vec<Message> {
    vec![
        Message::user(words),
        Message::assistant(vec![ToolUse::scripted("tu_1", tool, arguments).into()]),
        Message::user_blocks(vec![ContentBlock::ToolResult(ToolResult::text("tu_1", result))]),
    ]
}

fn found(answer: &str, words: &str, conversations: &[Vec<Message>]) -> Vec<String> {
    ungrounded(answer, words, DEMO_NOW, conversations.iter().map(Vec::as_slice))
}

#[test]
fn a_number_of_the_request_or_of_any_agents_result_is_grounded() {
    let words = "Quote Focus pro 3h.";
    let quote = conversation(words, "get_quote", "{}", r#"{"total_cents":6000}"#);
    let search = conversation("a package", "search_docs", "{}", "Open from 08:00.");
    assert_eq!(found("3 hours cost 6000 cents, from 8:00.", words, &[quote, search]), [""; 0]);
}

#[test]
fn a_number_that_a_model_wrote_is_not_grounded() {
    let quote = conversation("Quote Focus pro.", "get_quote", r#"{"hours":7}"#, r#"{"total_cents":6000}"#);
    let package = vec![Message::user(r#"{"task":"What does it cost?","context":{"quoted_cents":9999}}"#)];
    let said = vec![Message::assistant(vec![ContentBlock::text("It is 8888.")])];
    let conversations = [quote, package, said];
    assert_eq!(found("7 hours, 9999 or 8888?", "Quote Focus pro.", &conversations), ["7", "9999", "8888"]);
}

#[test]
fn a_charge_is_derived_from_an_amount_and_the_document_that_was_found() {
    let quote = conversation("What if?", "get_quote", "{}", r#"{"total_cents":6000}"#);
    let search = conversation("What if?", "search_docs", "{}", NO_SHOW);
    let answer = "A no-show costs 6500 cents, and not 6501.";
    assert_eq!(found(answer, "What if?", &[quote.clone(), search]), ["6501"]);
    // The same text from another tool is no document.
    let elsewhere = conversation("What if?", "get_quote", "{}", NO_SHOW);
    assert_eq!(found(answer, "What if?", &[quote, elsewhere]), ["6500", "6501"]);
}

#[test]
fn the_percent_of_one_search_and_the_fee_of_another_make_no_charge() {
    let quote = conversation("What if?", "get_quote", "{}", r#"{"total_cents":6000}"#);
    let half = conversation("What if?", "search_docs", "{}", "Under 2 hours before: 50 % refund.");
    let fee = conversation("What if?", "search_docs", "{}", NO_SHOW);
    assert_eq!(found("3000, or 6500, or 3500.", "What if?", &[quote, half, fee]), ["3500"]);
}

#[test]
fn what_the_house_reads_out_of_the_users_words_is_grounded() {
    let words = "Book Studio tomorrow at 2 pm for two hours, for at most 80 euro.";
    let answer = "2026-12-01 at 14:00, 2 hours, 8000 cents.";
    assert_eq!(found(answer, words, &[]), [""; 0]);
    assert_eq!(found("2026-12-02 at 15:00.", words, &[]), ["15"]);
}

#[test]
fn a_word_that_only_begins_like_a_number_is_none() {
    assert_eq!(found("1 booking.", "Is someone there?", &[]), ["1"]);
    assert_eq!(found("1 booking.", "Is there a room?", &[]), [""; 0]);
}

#[test]
fn a_number_is_told_once_and_where_it_first_stands() {
    assert_eq!(found("30, then 020, then 30.", "", &[]), ["30", "20"]);
}
