//! How text from outside is shown to people.
#![allow(clippy::unwrap_used, reason = "a test says so by panicking")]

use serde_json::Value;
use sommelier_protocol::sight::{in_sight, lines_in_sight, printable};

fn read(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

#[test]
fn arguments_are_shown_in_one_line_as_json_that_says_the_same() {
    let odd = "A\u{7f}\u{9b}31md\u{202e}a\u{200b} \u{a0}\u{2028}\u{e0041}\u{fe0f} ü \\\"}, {\\\\";
    let json = format!("{{\r\n\t\"name\" : \"{odd}\",\n \"hours\":\t2.50 }}");
    let shown = in_sight(&json);
    let escaped = r#"A\u007f\u009b31md\u202ea\u200b \u00a0\u2028\udb40\udc41\ufe0f ü \"}, {\\"#;
    assert_eq!(shown, format!(r#"{{"name":"{escaped}","hours":2.50}}"#));
    assert_eq!(read(&shown), read(&json));
}

#[test]
fn a_document_keeps_its_lines_and_says_the_same() {
    let document =
        serde_json::to_string_pretty(&serde_json::json!({ "a": "x\u{9b}\u{200b}\ny", "b": [1, 2] })).unwrap();
    let shown = lines_in_sight(&document);
    assert_eq!(shown, document.replace('\u{9b}', r"\u009b").replace('\u{200b}', r"\u200b"));
    assert_eq!(read(&shown), read(&document));
}

#[test]
fn words_keep_their_lines_and_show_what_a_terminal_would_obey() {
    assert_eq!(printable("Ada\r\n\u{1b}[2J\u{202e}ü"), "Ada\\r\n\\u{1b}[2J\\u{202e}ü");
}
