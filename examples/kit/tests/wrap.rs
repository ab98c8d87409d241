//! What is printed fits on a terminal, and says the same.

use examples_kit::{WIDTH, excerpt, wrapped};
use proptest::prelude::*;

#[test]
fn prose_is_broken_at_blanks_and_indented_below_its_label() {
    let prose = format!("reads          {}", "word ".repeat(30));
    let first = format!("reads         {}", " word".repeat(17));
    let second = format!("              {}", " word".repeat(13));
    assert_eq!(wrapped(prose.trim_end(), 15), format!("{first}\n{second}"));
}

#[test]
fn json_is_broken_before_a_value_and_never_in_one() {
    let json = format!(r#"  {{"a":[{}],"b":"{}"}}"#, "1234,".repeat(12) + "1", "é".repeat(30));
    let expected = format!("  {{\"a\":[{}],\n  \"b\":\"{}\"}}", "1234,".repeat(12) + "1", "é".repeat(30));
    assert_eq!(wrapped(&json, 2), expected);
}

#[test]
fn a_word_that_is_longer_than_a_line_stays_whole() {
    let long = "x".repeat(WIDTH + 20);
    assert_eq!(wrapped(&format!("label {long} end"), 6), format!("label {long}\n      end"));
    // The label is not left alone on its line.
    assert_eq!(wrapped(&format!("label {long}"), 6), format!("label {long}"));
}

#[test]
fn a_text_is_cut_where_a_word_or_a_value_ends() {
    assert_eq!(excerpt(r#"{"room":"Focus","seats":2}"#, 18), r#"{"room":"Focus"…"#);
    assert_eq!(excerpt("one two three", 10), "one two…");
    assert_eq!(excerpt("one two", 7), "one two");
    assert_eq!(excerpt("éééééééé", 3), "ééé…");
}

proptest! {
    /// Whatever is wrapped: nothing is lost but the blanks at the ends of lines, an escape stays whole, every line but
    /// the first is indented, and a line that is too long has no place left at which it could be broken.
    #[test]
    fn what_is_wrapped_says_the_same(
        line in r#"[a-z]{1,8}( |,"|,[0-9]|[a-z]{1,12}|\\n|\\u\{1b\}|é|\{"a":){0,60}"#,
        hang in 0_usize..20,
    ) {
        let told = wrapped(&line, hang);
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        prop_assert_eq!(bare(&told), bare(&line));
        for escape in [r"\n", r"\u{1b}"] {
            prop_assert_eq!(told.matches(escape).count(), line.matches(escape).count());
        }
        for (n, part) in told.lines().enumerate() {
            prop_assert!(n == 0 || part.starts_with(&" ".repeat(hang)), "{part:?}");
            let inner = part.chars().skip(hang + 1).collect::<String>();
            let can_break = inner.trim().contains(' ') || inner.contains(",\"");
            prop_assert!(part.chars().count() <= WIDTH || !can_break, "{part:?}");
        }
    }
}
