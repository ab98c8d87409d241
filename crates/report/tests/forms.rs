//! The four forms of four runs, each as it was looked at.
#![allow(clippy::unwrap_used, reason = "a test says so by panicking")]

mod harness;

use harness::{OnRecord, delegates, golden, hostile, people, running_case};
use sommelier_report::{Finding, What, html, mermaid, svg, text};

/// The page without its style, which has no place in a comparison of what it says.
fn bare(page: &str) -> String {
    let page = page.replace(html::STYLE, "…");
    // A line is where a difference is told.
    page.replace("><", ">\n<")
}

fn check(name: &str, run: &OnRecord) {
    let story = run.story();
    golden(&format!("{name}.json"), &format!("{}\n", serde_json::to_string_pretty(&story).unwrap()));
    golden(&format!("{name}.html"), &bare(&html::page(&story)));
    golden(&format!("{name}.svg"), &svg::document(&story).replace(svg::STYLE, "…").replace("><", ">\n<"));
    golden(&format!("{name}.mmd"), &mermaid::document(&story));
    golden(&format!("{name}.txt"), &text::document(&story));
}

#[test]
fn the_running_case() {
    check("lesson-05", &running_case());
}

#[test]
fn delegates_that_are_asked_and_one_that_may_not_be_yet() {
    check("delegates", &delegates());
}

#[test]
fn an_approval_by_a_person_and_an_escalation_at_the_cap() {
    check("people", &people());
}

#[test]
fn words_that_would_break_every_form() {
    check("hostile", &hostile());
}

#[test]
fn a_story_is_the_same_bytes_whenever_it_is_told() {
    let (one, other) = (people(), people());
    assert_eq!(html::page(&one.story()), html::page(&other.story()));
}

/// On a phone the cells of a wide table stand one below the other, where no head is above them: each says itself what it is of.
#[test]
fn a_cell_that_may_stand_alone_says_what_it_is_of() {
    let between = |text: &str, begin: &str, end: &str| -> Vec<String> {
        text.split(begin).skip(1).filter_map(|rest| Some(rest.split_once(end)?.0.to_owned())).collect()
    };
    let mut tables = 0;
    for run in [delegates(), people(), hostile()] {
        for table in between(&html::page(&run.story()), "<table class=\"stack\">", "</table>") {
            let (head, rows) = table.split_once("</thead>").unwrap();
            let columns: Vec<String> = between(head, "<th scope=\"col\"", "</th>");
            let columns: Vec<&str> = columns.iter().map(|it| it.split_once('>').unwrap().1).collect();
            for row in between(rows, "<tr>", "</tr>") {
                let cells = between(&row.replace("<th ", "<td "), "<td ", ">");
                let told: Vec<String> =
                    cells.iter().map(|cell| between(cell, "data-of=\"", "\"").concat()).collect();
                // The first names the row.
                let first = usize::from(told[0].is_empty());
                assert_eq!(&told[first..], &columns[first..], "{row}");
            }
            tables += 1;
        }
    }
    assert!(tables >= 7, "{tables}");
    assert!(html::STYLE.contains(".stack [data-of]::before{content:attr(data-of)"));
}

/// What is written on an arrow that does not arrive lies between who is at work and the cross, in as many lines as it needs.
#[test]
fn what_was_refused_is_written_beside_its_cross() {
    let number = |text: &str, name: &str| -> f64 {
        let (_, rest) = text.split_once(&format!("{name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    let mut story = delegates().story();
    for question in &mut story.questions {
        if let Finding::Refused { code, .. } = &mut question.outcome {
            *code = "budget_spent".to_owned();
        }
    }
    let mut told = Vec::new();
    for story in [story, people().story()] {
        let drawing = svg::document(&story);
        // The words stand before the line, and the line before the cross.
        for drawn in drawing.split("<path class=\"line refused").collect::<Vec<_>>().windows(2) {
            let line = drawn[1].split_once("d=\"M").unwrap().1.split('"').next().unwrap();
            let (from, to) = line.split_once('H').unwrap();
            let from: f64 = from.split(' ').next().unwrap().parse().unwrap();
            let to: f64 = to.parse().unwrap();
            for words in drawn[0].split("<text class=\"label danger\"").skip(1) {
                let shown = words.split_once('>').unwrap().1.split_once('<').unwrap().0;
                let (x, half) = (number(words, " x"), shown.chars().count() as f64 * 3.6);
                assert!(from <= x - half && x + half <= to - 6.0, "{shown}: {from} to {to}, at {x}");
                told.push(shown.to_owned());
            }
        }
    }
    told.dedup();
    assert_eq!(told, ["refused:", "budget spent", "refused by route", "refused by cap"]);
    assert!(!svg::STYLE.contains(".line.refused{stroke-dasharray"), "a dashed arrow comes back");
}

/// A terminal has what a page has, as long as there: words with their lines, what tools were called with and said, what a question
/// was and why nothing was found. The answer stands once, at the head.
#[test]
fn a_text_has_what_a_page_has() {
    let mut story = delegates().story();
    let long = |begin: &str| format!("{begin}\n{}", format!("{begin} ").repeat(400));
    for event in &mut story.events {
        match &mut event.what {
            What::Said { text, .. } => *text = Some(long("said")),
            What::Ended { text, .. } => *text = Some(long("answer")),
            What::Replied { text, calls, .. } if !calls.is_empty() => *text = Some(long("beside")),
            What::Ran { input, output, .. } => {
                (*input, *output) = (Some(long("called")), Some(long("gave")));
            }
            _ => {}
        }
    }
    story.outcome.answer = Some(long("answer"));
    for question in &mut story.questions {
        if let Finding::Returned { status, reason, .. } = &mut question.outcome {
            (*status, *reason) = ("failed".into(), Some("tokens used up".into()));
        }
    }
    let (told, page) = (text::document(&story), html::page(&story));
    let count = |form: &str, words: &str| form.matches(&format!("{words} ").repeat(399)).count();
    let all = ["said", "answer", "beside", "called", "gave"];
    assert_eq!(all.map(|it| count(&told, it)), [1, 1, 4, 1, 1]);
    assert!(all.iter().all(|it| count(&page, it) > 0));
    for line in [
        "         +0 ms  user → supervisor\n                  words:\n                    said\n                    said said",
        "\n                    arguments:\n                      called\n",
        "  billing → supervisor: failed, 2 model calls: tokens used up\n                  finding: Paid on 1 May and on 3 May.\n",
        "  supervisor → billing: asks by ask_billing, 66 B\n                  package: {\"task\":\"Was INV-311 paid twice?\",",
        "  supervisor → user: the answer above\n",
        "  supervisor: 3 model calls, 0 runs of tools\n",
        "  look: 1 run, took 80.0 ms\n",
    ] {
        assert!(told.contains(line), "{line:?} in {told}");
    }
    assert!(page.contains("billing → supervisor: failed, 2 model calls: tokens used up"));
}

/// Who allows something sees with what; of a long chat both ends of what stayed behind, and how much lies between.
#[test]
fn a_text_tells_what_was_allowed_and_no_more_than_can_be_read() {
    let mut story = people().story();
    let piece = story.hops[1].left_behind[0].clone();
    story.hops[1].left_behind = vec![piece; 20];
    let told = text::document(&story);
    let asked =
        "clerk → Ada: may run pay\n                  what was asked: {\"word\":\"1200 cents to Ada\"}\n";
    assert!(told.contains(asked), "{told}");
    assert!(told.contains("\n    behind:      624 B  12 pieces between\n"), "{told}");
    assert_eq!(told.matches("behind:       52 B  what it was told").count(), 8);
}

/// A colour says nothing by itself: without it the text is the same.
#[test]
fn colours_say_nothing_by_themselves() {
    for run in [delegates(), people(), hostile()] {
        let (plain, coloured) = (text::document(&run.story()), text::coloured(&run.story()));
        let mut bare = String::new();
        for (place, part) in coloured.split("\u{1b}[").enumerate() {
            bare.push_str(if place == 0 { part } else { part.split_once('m').unwrap().1 });
        }
        assert_eq!(bare, plain);
        assert!(coloured.contains("\u{1b}[32m") && coloured.contains("\u{1b}[90m") && coloured != plain);
    }
}

/// What crossed and what stayed behind is told to the byte in each form, however much it is: it is the size that records and the
/// inbox tell.
#[test]
fn a_size_is_told_to_the_byte() {
    let mut story = people().story();
    for hop in &mut story.hops {
        (hop.package_bytes, hop.history_bytes, hop.reference_bytes) = (1_184, 12_345, 1_048_576);
        hop.left_behind[0].bytes = 99_999;
    }
    let (page, drawing, diagram) = (html::page(&story), svg::document(&story), mermaid::document(&story));
    let told = text::document(&story);
    for (form, sizes) in [
        (&page, ["<dt>crossed</dt><dd>1184 B</dd>", "<h4>Left behind <b>12,345 B</b></h4>", ">99,999</td>"]),
        (&page, ["<p class=\"muted\">and 1,048,576 B that may be read", ">handoff 1 · 1184 B</text>", ""]),
        (&drawing, [">handoff 1 · 1184 B</text>", ">12,345 B left behind</text>", ""]),
        (&diagram, ["handoff, 1184 B cross, 12,345 B left behind", "", ""]),
        (&told, ["1 handoff: 1184 B crossed, 12,345 B left behind;", "   99,999 B  what it was told", ""]),
    ] {
        let missing: Vec<&str> = sizes.into_iter().filter(|size| !form.contains(size)).collect();
        assert_eq!(missing, [""; 0], "{form}");
    }
}

/// A few pieces that stayed behind stand open beside the package; of many their number and sum do, and they are a click away.
#[test]
fn many_pieces_are_folded() {
    let mut story = people().story();
    let piece = story.hops[1].left_behind[0].clone();
    let mut folded = |count: usize| {
        story.hops[1].left_behind = vec![piece.clone(); count];
        let card = html::hop(&story, 1);
        let (begin, _) = card.split_once("<table class=\"pieces\">").unwrap();
        begin[begin.rfind("<details").unwrap()..].to_owned()
    };
    let few = "<details open=\"\"><summary>8 pieces of the sender’s conversation, 416 B</summary>";
    assert_eq!(folded(8), few);
    assert_eq!(folded(40), "<details><summary>40 pieces of the sender’s conversation, 2080 B</summary>");
    assert!(html::STYLE.contains("@media print{details::details-content{display:block"));
}
