//! Stories of thousands: each form is as long as what it tells, and a drawing is one that somebody looks at.
#![allow(clippy::unwrap_used, clippy::format_push_string, reason = "a test says so by panicking")]

use std::collections::BTreeSet;

use sommelier_report::{Story, html, mermaid, svg, text};

const MANY: usize = 2_000;

/// The lines of a trace while it is written.
#[derive(Default)]
struct Lines {
    text: String,
    count: usize,
}

impl Lines {
    /// A span that lasts beyond all that begins later, by the name, who stands around it and its fields.
    fn span(&mut self, name: &str, parent: Option<usize>, fields: &[(&str, &str)]) -> usize {
        self.count += 1;
        let fields: serde_json::Map<_, _> =
            fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        let (span, start, took) = (self.count, self.count * 10, 1_000_000 - self.count * 10);
        let line = serde_json::json!({
            "name": name, "otel_name": null, "trace": 1, "span": span, "parent": parent, "follows_from": [], "start_us": start,
            "duration_us": took, "fields": fields, "at_us": 1_796_032_800_000_000_usize + start, "layer": "a",
        });
        self.text.push_str(&format!("{line}\n"));
        span
    }

    fn begin(&mut self) -> usize {
        let boss = [("gen_ai.agent.name", "boss"), ("gen_ai.conversation.id", "c"), ("end", "answered")];
        let root = self.span("invoke_workflow", None, &boss);
        self.span("invoke_agent", Some(root), &boss[..2])
    }

    /// A question to a delegate that asks a model once; gives the span in which the delegate works.
    fn asked(&mut self, within: usize, (asker, tool, delegate, path): (&str, &str, &str, &str)) -> usize {
        let fields = [
            ("gen_ai.agent.name", asker),
            ("gen_ai.tool.name", tool),
            ("gen_ai.transfer.target.name", delegate),
            ("child_run", path),
            ("status", "done"),
        ];
        let question = self.span("delegate", Some(within), &fields);
        let agent = [("gen_ai.agent.name", delegate), ("gen_ai.conversation.id", path)];
        let works = self.span("invoke_agent", Some(question), &agent);
        self.span("chat", Some(works), &agent[..1]);
        works
    }

    fn story(&self) -> Story {
        Story::of_spans(self.text.as_bytes(), None).unwrap()
    }
}

/// One that asks many, each once.
fn flat() -> Story {
    let mut lines = Lines::default();
    let boss = lines.begin();
    for n in 0..MANY {
        lines.asked(boss, ("boss", &format!("ask_{n}"), &format!("desk_{n}"), &format!("c/1/1/{n}")));
    }
    lines.story()
}

/// One that asks one that asks one, and so on.
fn nested() -> Story {
    let mut lines = Lines::default();
    let (mut works, mut asker) = (lines.begin(), "boss".to_owned());
    for n in 0..MANY {
        let delegate = format!("desk_{n}");
        works = lines.asked(works, (&asker, "ask", &delegate, &format!("c/{n}")));
        asker = delegate;
    }
    lines.story()
}

/// A picture of thousands beside each other is none: some are drawn, and it is said what is not and who tells it.
#[test]
fn a_drawing_has_as_many_lanes_as_can_be_looked_at() {
    for story in [flat(), nested()] {
        assert_eq!((story.parts.len(), story.events.len()), (MANY + 2, 3 * MANY + 2));
        let (drawing, diagram) = (svg::document(&story), mermaid::document(&story));
        assert_eq!(drawing.matches("class=\"life\"").count(), 24);
        assert_eq!(
            diagram.lines().filter(|line| line.contains("participant") || line.contains("actor")).count(),
            24
        );
        for form in [&drawing, &diagram] {
            assert!(form.len() < 100_000, "{}", form.len());
            assert!(
                form.contains("not drawn; the text and the page tell all")
                    || form.contains("not drawn#59; the text and the page tell all"),
                "{form}"
            );
            assert!(form.contains("1978 more who take part"), "{form}");
        }
        let page = html::page(&story);
        let desks: BTreeSet<&str> =
            page.split("<bdi>desk_").skip(1).map(|rest| rest.split('<').next().unwrap()).collect();
        assert_eq!(desks.len(), MANY);
        assert!(page.contains("not drawn: the table below has them all"));
        assert!(page.len() < 4_000 * MANY, "{}", page.len());
    }
}

/// The text has all of it, and what nests for long does not run out of the screen.
#[test]
fn the_text_tells_all_of_thousands() {
    for story in [flat(), nested()] {
        let told = text::document(&story);
        let section = |name: &str| {
            let (_, section) = told.split_once(&format!("\n{name}\n")).unwrap();
            section.split("\n\n").next().unwrap().lines().count()
        };
        let events = section("events, each when it was over, with how long it took");
        assert_eq!(events, story.events.len());
        assert!(told.lines().all(|line| line.chars().count() < 200));
        assert_eq!((section("used by branches"), section("used by whom")), (MANY, MANY + 1));
    }
}

/// A branch is behind the tools that lead to it: of many the first and the last are named.
#[test]
fn a_place_that_lies_deep_is_told_by_both_ends() {
    let story = nested();
    assert_eq!(story.relays.len(), MANY);
    assert_eq!(story.relays[3].place, "ask/ask/ask");
    assert_eq!(story.relays[MANY - 1].place, "ask/ask/ask/ask/… 1991 more …/ask/ask/ask/ask");
}

/// What a branch used counts what its own branches used.
#[test]
fn what_is_used_below_counts_above() {
    let story = nested();
    let calls: Vec<u64> = story.runs[1..].iter().map(|run| run.budget[0].used).collect();
    assert_eq!(calls, (1..=MANY as u64).rev().collect::<Vec<_>>());
    assert_eq!((story.budget[0].used, story.budget[0].allowed), (MANY as u64, None));
}

/// Of more than 300 events the first and the last are drawn, and the gap between them is said.
#[test]
fn a_long_run_is_drawn_at_both_ends() {
    let mut lines = Lines::default();
    let root = lines.begin();
    for n in 0..1_000 {
        let (from, to) = if n % 2 == 0 { ("boss", "desk") } else { ("desk", "boss") };
        let fields = [("gen_ai.agent.name", from), ("gen_ai.transfer.target.name", to), ("outcome", "taken")];
        lines.span("handoff", Some(root), &fields);
    }
    let story = lines.story();
    let drawing = svg::document(&story);
    assert_eq!(drawing.matches("class=\"line handoff").count(), 298);
    assert!(drawing.contains("… 702 events not drawn …"), "{drawing}");
    assert!(drawing.contains("702 events are not drawn; the text and the page tell all"));
    let diagram = mermaid::document(&story);
    assert_eq!(diagram.matches("handoff").count(), 298);
    assert_eq!(html::page(&story).matches("<article").count(), 1_000);
}

/// A trace may name thousands of conversations, and one a name of a million bytes: whom a span belongs to is worked out once for all of it,
/// or this would take hours.
#[test]
fn names_of_thousands_of_conversations_are_told_apart_at_once() {
    let mut lines = Lines::default();
    let lost = Some(999_999);
    let named = |name: &str| [("gen_ai.conversation.id", name.to_owned())];
    let mut chat = |fields: &[(&str, String)]| {
        let fields: Vec<_> = fields.iter().map(|(field, value)| (*field, value.as_str())).collect();
        lines.span("chat", lost, &fields);
    };
    chat(&named("a"));
    for branch in 0..20_000 {
        chat(&named(&format!("a/{branch}")));
        chat(&[]);
    }
    let story = lines.story();
    assert_eq!((story.title.as_str(), story.conversation_count()), ("a", 1));

    let mut lines = Lines::default();
    let slashes = "/".repeat(1 << 20);
    lines.span("chat", lost, &[("gen_ai.conversation.id", &slashes)]);
    lines.span("chat", lost, &[("gen_ai.conversation.id", "a b")]);
    lines.span("chat", lost, &[("gen_ai.conversation.id", "a/1")]);
    lines.span("chat", lost, &[("gen_ai.conversation.id", "a")]);
    lines.span("chat", lost, &[]);
    assert_eq!(lines.story().conversation_count(), 4);
}
