//! Whatever a run says, it stays words: nothing of it is taken for markup, and every form stays whole.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod harness;

use harness::{HOSTILE, delegates, hostile, people};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use quick_xml::Reader;
use quick_xml::events::Event as Xml;
use serde_json::Value;
use sommelier_report::{Story, What, html, mermaid, svg, text};

/// What a page may be made of.
const ELEMENTS: [&str; 55] = [
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "a",
    "header",
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "span",
    "time",
    "dl",
    "dt",
    "dd",
    "div",
    "nav",
    "ul",
    "li",
    "main",
    "section",
    "figure",
    "figcaption",
    "article",
    "details",
    "summary",
    "table",
    "caption",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "bdi",
    "code",
    "pre",
    "b",
    "svg",
    "desc",
    "g",
    "rect",
    "circle",
    "path",
    "text",
    "br",
    "em",
    "strong",
    "small",
    "i",
    "u",
    "q",
    "s",
];

/// The text of a document that is well-formed, and made of known elements without code in their attributes.
fn read(document: &str) -> String {
    let mut reader = Reader::from_str(document);
    let mut words = String::new();
    loop {
        match reader.read_event().unwrap() {
            Xml::Eof => return words,
            Xml::Start(element) | Xml::Empty(element) => {
                let name = String::from_utf8(element.name().as_ref().to_vec()).unwrap();
                assert!(ELEMENTS.contains(&&*name), "<{name}>");
                for attribute in element.attributes() {
                    let name = attribute.unwrap().key;
                    assert!(!name.as_ref().starts_with(b"on"), "{name:?}");
                    assert!(![b"src".as_slice(), b"srcset", b"action"].contains(&name.as_ref()), "{name:?}");
                }
            }
            Xml::Text(text) => words.push_str(&text.decode().unwrap()),
            Xml::GeneralRef(entity) => words.push_str(match &*entity.decode().unwrap() {
                "amp" => "&",
                "lt" => "<",
                "gt" => ">",
                "quot" => "\"",
                "#39" => "'",
                other => panic!("&{other};"),
            }),
            Xml::CData(_) | Xml::Comment(_) | Xml::PI(_) => panic!("no such thing is written here"),
            Xml::End(_) | Xml::Decl(_) | Xml::DocType(_) => {}
        }
    }
}

fn check(story: &Story) {
    read(&html::page(story));
    read(&svg::document(story));
    let text = text::document(story);
    let unseen = text.lines().find(|line| line.chars().any(char::is_control));
    assert_eq!(unseen, None);
    for line in mermaid::document(story).lines().skip(1) {
        let line = line.strip_prefix("    ").unwrap();
        let known = ["participant P", "actor P", "Note over P", "activate P", "deactivate P", "P"];
        assert!(known.iter().any(|begin| line.starts_with(begin)), "{line}");
        // What separates statements, begins a directive or a comment, or is markup.
        assert!(!line.replace("#", "").contains(['%', '<', '{', '}', '"']), "{line}");
    }
}

#[test]
fn the_runs_of_the_other_tests_are_well_formed() {
    [delegates(), people(), hostile()].iter().for_each(|run| check(&run.story()));
}

/// Counts are what a service says: the largest that there are add up to no more than that, in each form.
#[test]
fn the_largest_counts_of_tokens_are_told() {
    let mut story = delegates().story();
    for event in &mut story.events {
        if let What::Replied { input_tokens, output_tokens, .. } = &mut event.what {
            (*input_tokens, *output_tokens) = (Some(u64::MAX), Some(u64::MAX));
        }
    }
    check(&story);
    let told = format!("{0} → {0} tokens", u64::MAX);
    assert!(text::document(&story).contains(&told));
}

/// Emoji of several signs are whole, what is hidden is seen, and the words are all there.
#[test]
fn hostile_words_are_shown_as_words() {
    let words = read(&html::page(&hostile().story()));
    for part in [
        "<script>alert('1')</script> ]]> -->",
        "\\u{202e}desrever\\u{2066}",
        "\\u{1b}[31mred\\u{7}",
        "👩‍👩‍👧‍👦 🇩🇪 é\u{301}",
    ] {
        assert!(words.contains(part), "{part}");
    }
    assert!(words.contains("<img src=x onerror=alert(1)>"));
}

/// A text of megabytes is cut, and how much was left out is said.
#[test]
fn megabytes_are_cut_and_what_is_left_out_is_said() {
    let mut story = hostile().story();
    let text = format!("{}👩‍👩‍👧‍👦", "é".repeat(3_998)) + &"x".repeat(4 << 20);
    story.outcome.answer = Some(text.clone());
    for event in &mut story.events {
        if let What::Said { text: said, .. } = &mut event.what {
            *said = Some(text.clone());
        }
    }
    let page = html::page(&story);
    assert!(page.len() < 120_000, "{}", page.len());
    let words = read(&page);
    // The sign that stood at the cut is left out whole.
    assert!(
        words.contains(&format!("é … {} bytes are left out", text.len() - 2 * 3_998)),
        "{}",
        &words[..2_000]
    );
    assert!(text::document(&story).len() < 120_000);
}

fn texts() -> impl Strategy<Value = String> {
    let parts = prop_oneof![
        any::<String>(),
        Just("<i>value".to_owned()),
        Just("]]>".to_owned()),
        Just("<!--".to_owned()),
        Just("&lt;".to_owned()),
        Just("\u{202e}\u{0}\u{fffe}\u{2028}\r\n\t".to_owned()),
        Just("; end\n%%{init}%%".to_owned()),
        Just(HOSTILE.to_owned()),
    ];
    proptest::collection::vec(parts, 0..6).prop_map(|parts| parts.concat())
}

/// The story with this text in the place of each of its own, but for those that say what kind of thing something is.
fn saying(value: Value, text: &str) -> Value {
    match value {
        Value::String(_) => Value::from(text),
        Value::Array(items) => items.into_iter().map(|item| saying(item, text)).collect(),
        Value::Object(members) => {
            let is_kept = |name: &str| matches!(name, "kind" | "passes" | "source");
            let said = |(name, value): (String, Value)| {
                let value = if is_kept(&name) { value } else { saying(value, text) };
                (name, value)
            };
            Value::Object(members.into_iter().map(said).collect())
        }
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// No value is taken for markup, whatever it is and wherever it stands.
    #[test]
    fn no_text_breaks_a_form(text in texts()) {
        for run in [delegates(), people()] {
            let story = serde_json::to_value(run.story()).unwrap();
            let story: Story = serde_json::from_value(saying(story, &text)).unwrap();
            check(&story);
            assert!(!html::page(&story).contains("<i>value"));
        }
    }
}
