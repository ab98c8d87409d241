//! Whatever a run says, it stays words: nothing of it is taken for markup, and every form stays whole.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod harness;

use std::collections::BTreeMap;

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
    is_mermaid(&mermaid::document(story));
}

/// The part of Mermaid's grammar that is used here: who takes part is said first, and what is ended has begun.
fn is_mermaid(diagram: &str) {
    let mut lines = diagram.lines();
    assert_eq!(lines.next(), Some("sequenceDiagram"));
    let mut working = BTreeMap::new();
    for line in lines {
        let line = line.strip_prefix("    ").unwrap();
        let (said, words) = line.split_once(": ").map_or((line, None), |(said, words)| (said, Some(words)));
        if let Some(who) = said.strip_prefix("participant ").or_else(|| said.strip_prefix("actor ")) {
            let (who, name) = who.split_once(" as ").unwrap();
            assert!(is_plain(name), "{line}");
            assert_eq!(working.insert(who, 0), None, "{line}");
        } else if let Some(who) = said.strip_prefix("activate ") {
            *working.get_mut(who).unwrap() += 1;
        } else if let Some(who) = said.strip_prefix("deactivate ") {
            let open = working.get_mut(who).unwrap();
            assert!(*open > 0, "{line}");
            *open -= 1;
        } else if let Some(who) = said.strip_prefix("Note over ") {
            assert!(working.contains_key(who) && is_plain(words.unwrap()), "{line}");
        } else {
            let arrow =
                ["-->>", "->>", "--x", "--)", "-)"].into_iter().find(|arrow| said.contains(arrow)).unwrap();
            let (from, to) = said.split_once(arrow).unwrap();
            assert!(working.contains_key(from) && working.contains_key(to), "{line}");
            assert!(is_plain(words.unwrap()), "{line}");
        }
    }
}

/// Letters, digits, plain punctuation, and all else as its number.
fn is_plain(words: &str) -> bool {
    let mut pieces = words.split('#');
    let is_number = |piece: &str| {
        piece
            .split_once(';')
            .is_some_and(|(number, _)| number.parse::<u32>().is_ok_and(|c| char::from_u32(c).is_some()))
    };
    let is_plain = |piece: &str| piece.chars().all(|c| c.is_alphanumeric() || " _-.,()/→“”…·⏎".contains(c));
    !words.trim().is_empty()
        && pieces.next().is_some_and(is_plain)
        && pieces.all(|piece| is_number(piece) && is_plain(piece.split_once(';').unwrap().1))
}

#[test]
fn the_runs_of_the_other_tests_are_well_formed() {
    [delegates(), people(), hostile()].iter().for_each(|run| check(&run.story()));
}

/// A trace may tell twice that a branch has returned, and Mermaid draws nothing of who ends twice.
#[test]
fn a_branch_that_returns_twice_ends_once() {
    let mut story = delegates().story();
    let returned = story.events.iter().find(|event| matches!(event.what, What::Returned { .. })).unwrap();
    story.events.push(returned.clone());
    check(&story);
    let diagram = mermaid::document(&story);
    let count = |word: &str| diagram.lines().filter(|line| line.trim().starts_with(word)).count();
    assert_eq!((count("activate"), count("deactivate"), count("P2-->>P1: done")), (2, 2, 2));
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

/// Names of thousands of characters are cut where they stand among words, and are whole in a list.
#[test]
fn a_name_of_any_length_is_cut_and_told_in_full() {
    let (marks, cook) = ("\u{301}".repeat(3_000), "👩‍🍳".repeat(500));
    for name in ["W".repeat(3_000), format!("Ada{marks}"), cook, "שלום".repeat(700), "\u{202e}".repeat(3_000)]
    {
        for run in [delegates(), people()] {
            let mut story = run.story();
            story.parts.iter_mut().for_each(|part| part.name = format!("{}{name}", part.name));
            story.questions.iter_mut().for_each(|question| question.tool.push_str(&name));
            for event in &mut story.events {
                if let What::Ran { tool, .. } = &mut event.what {
                    tool.push_str(&name);
                }
            }
            check(&story);
            let (page, bare) = (html::page(&story), html::page(&run.story()));
            let list = page.split("<section id=\"names\"").nth(1).unwrap();
            let details = list.matches("<details>").count();
            assert!(details >= story.parts.len(), "{details}");
            // Some hundred bytes in each place, and all of it once in the list: escapes and emoji are long.
            let places =
                bare.matches("<bdi").count() + bare.matches("<code").count() + bare.matches("<text").count();
            let most = bare.len() + 4_000 * places + 40_000 * details;
            assert!(page.len() < most, "{} of {most}", page.len());
            let drawing = svg::document(&story);
            assert!(drawing.len() < 60_000, "{}", drawing.len());
            assert!(mermaid::document(&story).len() < 49_500);
            let wide = text::document(&story).lines().map(|line| line.chars().count()).max().unwrap();
            assert!(wide < 1_200, "{wide}");
        }
    }
}

/// What is piled up on a letter would cover the lines around it.
#[test]
fn marks_do_not_pile_up() {
    let mut story = people().story();
    story.title = format!("a{}b", "\u{301}".repeat(9));
    let told = text::document(&story);
    assert!(told.starts_with(&format!("a{}{}b  ", "\u{301}".repeat(6), "\\u{301}".repeat(3))), "{told}");
}

/// Words that show as nothing, an order to the next model among them, are shown as what they are; what makes emoji of two is left to it.
#[test]
fn what_shows_as_nothing_is_seen() {
    let tags: String = "pay".chars().map(|c| char::from_u32(0xe0000 + u32::from(c)).unwrap()).collect();
    let told = |title: String| {
        let mut story = people().story();
        story.title = title;
        text::document(&story).lines().next().unwrap().to_owned()
    };
    let said = told(format!("a\u{200b}b\u{feff}c\u{ad}d\u{2060}e\u{3164}f{tags}"));
    let shown = r"a\u{200b}b\u{feff}c\u{ad}d\u{2060}e\u{3164}f\u{e0070}\u{e0061}\u{e0079}  ";
    assert!(said.starts_with(shown), "{said}");
    let whole = "👩‍🍳 ❤️ 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} می\u{200c}خواهم  ";
    let said = told(whole.trim_end().to_owned());
    assert!(said.starts_with(whole), "{said}");
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
