//! Files of spans of several conversations, as a file is to which each run adds its own, and files that were cut.
#![allow(clippy::unwrap_used, reason = "a test says so by panicking")]

mod harness;

use harness::golden;
use sommelier_report::{Story, What, html, text};

/// A line of a trace.
struct Line {
    name: &'static str,
    trace: u64,
    span: u64,
    parent: Option<u64>,
    at: u64,
    took: u64,
    fields: String,
}

impl Line {
    fn text(&self) -> String {
        let Self { name, trace, span, parent, at, took, fields } = self;
        let parent = parent.map_or_else(|| "null".to_owned(), |parent| parent.to_string());
        format!(
            "{{\"name\":\"{name}\",\"otel_name\":null,\"trace\":{trace},\"span\":{span},\"parent\":{parent},\"follows_from\":[],\
             \"start_us\":{at},\"duration_us\":{took},\"fields\":{{{fields}}},\"at_us\":{},\"layer\":\"00f067aa0ba902b7\"}}\n",
            1_796_032_800_000_000 + at
        )
    }
}

/// The member of a span that says what somebody said.
fn said(member: &str, role: &str, words: &str) -> String {
    let parts = serde_json::json!([{ "role": role, "parts": [{ "type": "text", "content": words }] }]);
    format!("\"gen_ai.{member}.messages\":{}", serde_json::Value::from(parts.to_string()))
}

/// The lines of one message: the clerk's model call and a handoff to the till, whose model answers or does not. Parents stand
/// behind their children, since a line is written when its span ends.
fn message(trace: u64, conversation: &str, end: &str) -> Vec<String> {
    let of =
        |agent: &str| format!(r#""gen_ai.agent.name":"{agent}","gen_ai.conversation.id":"{conversation}""#);
    let at = trace * 1_000;
    let line = |name, number, parent: Option<u64>, at, took, fields| {
        let (span, parent) = (trace + number, parent.map(|parent| trace + parent));
        Line { name, trace, span, parent, at, took, fields }.text()
    };
    let heard = said("input", "user", &format!("I am {conversation}."));
    let package =
        said("input", "user", "clerk has handed you the turn.\n<handoff_package>{}</handoff_package>");
    let answer = match end {
        "answered" => format!(",{}", said("output", "assistant", &format!("Good day, {conversation}."))),
        _ => String::new(),
    };
    let clerk = of("clerk");
    let passed = format!(
        r#"{clerk},"gen_ai.transfer.target.name":"till","package_bytes":105,"history_bytes":402,"outcome":"taken","hop":1"#
    );
    vec![
        line("chat", 2, Some(1), at + 10, 100, format!("{clerk},{heard}")),
        line("handoff", 3, Some(1), at + 120, 20, passed),
        line("invoke_agent", 1, Some(0), at + 5, 150, of("clerk")),
        line("chat", 5, Some(4), at + 200, 100, format!("{},{package}{answer}", of("till"))),
        line("invoke_agent", 4, Some(0), at + 190, 120, of("till")),
        line("invoke_workflow", 0, None, at, 400, format!(r#"{clerk},"end":"{end}",{heard}{answer}"#)),
    ]
}

fn lines() -> Vec<String> {
    let ends = [
        (40, "tock", "answered"),
        (10, "tick", "taken_over"),
        (20, "tack", "answered"),
        (30, "toe", "unresolved"),
    ];
    ends.into_iter().flat_map(|(trace, name, end)| message(trace, name, end)).collect()
}

/// No single outcome and no joined name: counts by outcome and sums over all, and then each conversation by itself, in the
/// order in which they began.
#[test]
fn several_conversations_are_told_one_by_one() {
    let story = Story::of_spans(lines().concat().as_bytes(), None).unwrap();
    assert_eq!(
        (&*story.title, &*story.outcome.status, &story.outcome.answer),
        ("4 conversations", "several", &None)
    );
    assert_eq!(story.outcomes(), [("taken_over", 1), ("answered", 2), ("unresolved", 1)]);
    golden("several.txt", &text::document(&story));
    golden("several.html", &html::page(&story).replace(html::STYLE, "…").replace("><", ">\n<"));
    golden("several.json", &format!("{}\n", serde_json::to_string_pretty(&story).unwrap()));
}

/// What is told of a conversation beside others is what is told of it alone, but for what is told of all of them together.
#[test]
fn a_conversation_beside_others_is_the_one_that_is_picked() {
    let lines = lines().concat();
    let story = Story::of_spans(lines.as_bytes(), None).unwrap();
    let titles = ["tick", "tack", "toe", "tock"];
    let all = story.conversations();
    assert_eq!(all.iter().map(|one| &*one.title).collect::<Vec<_>>(), titles);
    for one in all {
        let mut alone = Story::of_spans(lines.as_bytes(), Some(&one.title)).unwrap();
        (alone.remarks, alone.relays) = (Vec::new(), Vec::new());
        assert_eq!(one, alone);
    }
    let alone = Story::of_spans(lines.as_bytes(), Some("toe")).unwrap();
    assert_eq!((alone.conversations(), alone.outcomes()), (vec![alone.clone()], vec![]));
}

/// Each piece of a page has an id of its own, also where several conversations have a piece of the kind.
#[test]
fn ids_of_a_page_are_its_own() {
    let page = html::page(&Story::of_spans(lines().concat().as_bytes(), None).unwrap());
    let mut ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    let links = page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next());
    assert!(links.into_iter().all(|link| ids.contains(&link)));
}

/// A file may tell of thousands, which nobody looks at one by one.
#[test]
fn of_many_conversations_the_first_are_drawn() {
    let lines: String = (1..=60).flat_map(|n| message(n * 10, &format!("guest-{n}"), "answered")).collect();
    let page = html::page(&Story::of_spans(lines.as_bytes(), None).unwrap());
    assert_eq!(page.matches("<svg xmlns").count(), 50);
    assert_eq!(page.matches("class=\"events\"").count(), 60);
    assert!(page.contains("The last 10 conversations are told without drawings"));
}

/// What is not told of one conversation is no matter of another's: nobody was waited for in it, and nothing is missing around it.
#[test]
fn a_remark_is_about_what_is_told() {
    let lines =
        [message(10, "tick", "waiting"), message(20, "tack", "answered"), message(30, "toe", "failed")];
    let cut = [&lines[0].concat(), &lines[1][..5].concat(), &lines[2].concat()].map(String::as_str).concat();
    let remarks = |name| Story::of_spans(cut.as_bytes(), Some(name)).unwrap().remarks.join(" ");
    let (people, alone) =
        ("a person was waited for", "neither the beginning, with what the user said, nor the end");
    let says = |name| (remarks(name).contains(people), remarks(name).contains(alone));
    assert_eq!((says("tick"), says("tack"), says("toe")), ((true, false), (false, true), (false, false)));
    let page = html::page(&Story::of_spans(cut.as_bytes(), Some("tick")).unwrap());
    assert!(page.contains("A person is asked. What they are asked is not in the source."));
    assert!(page.contains("<title>waits for a person</title>"));
}

/// What a person was asked and answered is told as far as spans say it; what a "no" has kept from being done was not done.
#[test]
fn what_a_person_answered_is_told_in_a_word() {
    let of = r#""gen_ai.agent.name":"clerk","gen_ai.conversation.id":"tick""#;
    let line = |name, span, parent, at, fields: &str| {
        let fields = format!("{of},{fields}");
        Line { name, trace: 1, span, parent, at, took: 10, fields }.text()
    };
    let no = r#""gen_ai.tool.name":"pay","approval":"denied_by_person","error.type":"approval_denied""#;
    let lines = [
        line("invoke_workflow", 1, None, 0, r#""end":"waiting","waits_for":"tool pay""#),
        line("execute_tool", 3, Some(2), 100, no),
        line("invoke_workflow", 2, None, 90, r#""end":"answered","question":"tool","answered":"reject""#),
    ];
    let waiting = html::page(&Story::of_spans(lines[0].as_bytes(), None).unwrap());
    assert!(waiting.contains("A person is asked: <bdi>tool pay</bdi>."));
    let story = Story::of_spans(lines.concat().as_bytes(), None).unwrap();
    let told = text::document(&story);
    for line in [
        "clerk: goes on: a person has answered reject (tool)\n",
        "clerk: tool pay, denied by person, approval_denied",
        "  tool pay of clerk, refused by approval: approval_denied\n",
        "  0 tool calls\n",
        "note: A trace tells what kind of thing a person was asked and answered, and not the words.\n",
    ] {
        assert!(told.contains(line), "{line:?} in {told}");
    }
    assert_eq!((story.parts[1].tool_calls, story.refusals().len()), (0, 1));
    assert!(html::page(&story).contains("<dt>refused</dt><dd>1</dd>"));
}

/// Also how they ended may be a word of each its own.
#[test]
fn of_many_ends_the_first_are_counted() {
    let of = |n: u64| {
        let fields = format!(r#""gen_ai.conversation.id":"c{n}","end":"end-{n}""#);
        Line { name: "invoke_workflow", trace: n, span: n, parent: None, at: n, took: 1, fields }.text()
    };
    let lines: String = (1..20_000).map(of).collect();
    let story = Story::of_spans(lines.as_bytes(), None).unwrap();
    let told = text::document(&story);
    let first = told.lines().next().unwrap();
    assert!(
        first.starts_with("19999 conversations  1 end-1, 1 end-2, ") && first.ends_with(", 1 end-24, …"),
        "{first}"
    );
    let page = html::head(&story).into_string();
    assert_eq!(page.matches("class=\"chip\"").count(), 24);
}

/// Of a file that lacks its beginning, what one agent handed to another is not what the user said.
#[test]
fn a_package_is_never_the_users_words() {
    let words = |story: &Story| {
        let said = story.events.iter().filter_map(|event| match &event.what {
            What::Said { text, .. } => Some(text.clone()),
            _ => None,
        });
        said.collect::<Vec<_>>()
    };
    let lines = message(10, "tick", "answered");
    let last = Story::of_spans(lines[3..].concat().as_bytes(), None).unwrap();
    assert_eq!(words(&last), [Some("I am tick.".to_owned())]);
    assert_eq!(last.outcome.answer.as_deref(), Some("Good day, tick."));
    let missing = "What first followed from 1 message of tick is not in the file: the lines of the beginning are missing.";
    assert_eq!(last.remarks[0], missing);
    // A root of an older release says nothing itself.
    let heard = said("input", "user", "I am tick.");
    let older = lines[3..].concat().replace(&format!(",{heard}"), "");
    assert_eq!(words(&Story::of_spans(older.as_bytes(), None).unwrap()), [None]);
    let whole = lines.concat().replace(&format!("\"end\":\"answered\",{heard}"), "\"end\":\"answered\"");
    let whole = Story::of_spans(whole.as_bytes(), None).unwrap();
    assert_eq!(words(&whole), [Some("I am tick.".to_owned())]);
    assert!(!whole.remarks.iter().any(|remark| remark == missing));
}

/// A span that stands alone belongs to the conversation of its trace, also where it does not say to which.
#[test]
fn a_span_without_its_parents_is_of_the_conversation_of_its_trace() {
    let lines = message(10, "tick", "answered");
    let story =
        Story::of_spans([&lines[1], &lines[3], &lines[5]].map(String::as_str).concat().as_bytes(), None)
            .unwrap();
    assert_eq!((&*story.title, story.runs.len(), story.taken().count()), ("tick", 1, 1));
    // Two conversations in one trace: nobody knows whose it is.
    let named = |name: &str| format!("\"gen_ai.conversation.id\":\"{name}\"");
    let nameless = lines[1].replace(&named("tick"), "\"id\":\"none\"");
    let other = lines[5].replace(&named("tick"), &named("tock")).replace("\"span\":10", "\"span\":20");
    let told = |lines: &[&str]| {
        let story = Story::of_spans(lines.concat().as_bytes(), None).unwrap();
        story.conversations().into_iter().map(|one| one.title).collect::<Vec<_>>()
    };
    assert_eq!(told(&[&nameless, &lines[5]]), ["tick"]);
    assert_eq!(told(&[&nameless, &lines[5], &other]), ["tick", "tock", "(no name)"]);
}

/// Of two processes that were killed after a tool had run, the tool's line is all that there is: nobody knows of which
/// conversation it is, but not that it is the same one. Whoever looks at one that is named is told that there are such lines.
#[test]
fn spans_of_no_conversation_are_told_by_their_traces() {
    let tool = |trace: u64, layer: &str, agent: &str| {
        let fields = format!(r#""gen_ai.agent.name":"{agent}","gen_ai.tool.name":"pay""#);
        let (at, parent) = (trace * 1_000, Some(trace + 1));
        let line = Line { name: "execute_tool", trace, span: trace + 2, parent, at, took: 10, fields };
        line.text().replace("00f067aa0ba902b7", layer)
    };
    let orphans = [tool(1, "a", "clerk"), tool(1, "b", "till"), tool(5, "b", "boss")];
    let of = |lines: &str, name: Option<&str>| Story::of_spans(lines.as_bytes(), name).unwrap();
    let story = of(&orphans.concat(), None);
    let told: Vec<(String, usize)> =
        story.conversations().iter().map(|one| (one.title.clone(), one.events.len())).collect();
    assert_eq!(told, vec![("(no name)".to_owned(), 1); 3]);

    let remark = |count: usize, lines: &[&str]| of(&lines.concat(), Some("tick")).remarks[..count].to_vec();
    let (tick, tock) = (message(10, "tick", "answered").concat(), message(20, "tock", "answered").concat());
    let belong = [
        "The file tells of 1 more conversation.",
        "1 line of the file belongs to no conversation that it names: what a tool of this one has done may be among that.",
        "3 lines of the file belong to no conversation that it names: what a tool of this one has done may be among that.",
    ];
    assert_eq!(remark(2, &[&tick, &tock, &orphans[0]]), [belong[0], belong[1]]);
    assert_eq!(remark(1, &[&tick, &orphans.concat()]), [belong[2]]);
    let none = Story::of_spans(orphans[0].as_bytes(), Some("tick")).unwrap_err().to_string();
    assert_eq!(none, "it does not tell of \"tick\", but of none by its name");
}

/// One is not told of as if it were many.
#[test]
fn a_remark_of_one_is_of_one() {
    let lines = message(10, "tick", "answered");
    let says = |line: &str, remark: &str| {
        let remarks = Story::of_spans([line, &lines[5]].concat().as_bytes(), None).unwrap().remarks;
        assert!(remarks.iter().any(|it| it == remark), "{remarks:?}");
    };
    let (timeless, _) = lines[0].split_once(",\"at_us\"").unwrap();
    says(&lines[1], "1 span of tick stands by itself: the line of the one around it is missing.");
    says(
        &format!("{timeless}}}\n"),
        "1 line is of a release that wrote no time of day; its times count from when its process began.",
    );
}

/// Of a question that opened no branch each form says why, and of what there was too little; and of what was used since when
/// it is counted.
#[test]
fn a_refused_question_says_why() {
    let of = r#""gen_ai.agent.name":"clerk","gen_ai.conversation.id":"tick""#;
    let line = |name, span, parent, fields: &str| {
        let fields = format!("{of},{fields}");
        Line { name, trace: 1, span, parent, at: span * 10, took: 10, fields }.text()
    };
    let asked = r#""gen_ai.tool.name":"ask_till","package_bytes":37,"refusal":"budget_spent","measure":"model_calls""#;
    let lines = [
        line("delegate", 3, Some(2), asked),
        line("invoke_agent", 2, Some(1), r#""n":1"#),
        line("invoke_workflow", 1, None, r#""end":"answered""#),
    ];
    let story = Story::of_spans(lines.concat().as_bytes(), None).unwrap();
    let told = text::document(&story);
    assert!(
        told.contains("\n  question of clerk by ask_till: budget_spent: model_calls used up\n"),
        "{told}"
    );
    assert!(told.contains("\nused in all\n"), "{told}");
    let page = html::page(&story);
    assert!(
        page.contains(
            "budget_spent</code></td><td data-of=\"Why\"><div class=\"words\" dir=\"auto\">model_calls used up</div>"
        ),
        "{page}"
    );
    assert!(page.contains("<caption>Used in all</caption>"));
}

/// A process that is killed writes no root, and so neither who spoke nor how it ended: that is said in plain words, with the
/// conversation. What the next process writes of it is whole.
#[test]
fn a_turn_that_was_cut_off_is_told_as_such() {
    let cut = |trace, name| message(trace, name, "answered")[..5].concat();
    let whole = |trace, name| message(trace, name, "answered").concat();
    let told = |lines: &[String]| {
        let remarks = Story::of_spans(lines.concat().as_bytes(), None).unwrap().remarks;
        remarks.into_iter().filter(|remark| remark.starts_with("Of ")).collect::<Vec<_>>()
    };
    let one = "Of 1 turn of tick the file has neither the beginning, with what the user said, nor the end: its process died, or the file was cut.";
    let both = "Of 3 turns of tick, tock the file has neither the beginning, with what the user said, nor the end: their processes died, or the file was cut.";
    assert_eq!(told(&[whole(10, "tick")]), [""; 0]);
    assert_eq!(told(&[cut(10, "tick"), whole(20, "tick"), whole(30, "tock")]), [one]);
    assert_eq!(told(&[cut(10, "tick"), cut(20, "tick"), cut(30, "tock"), whole(40, "toe")]), [both]);
}

/// Contents are asked for by each process for itself: which conversations have none is said of these.
#[test]
fn a_conversation_without_words_is_named() {
    let bare = |trace, name| {
        let words = said("input", "user", &format!("I am {name}."));
        let lines = message(trace, name, "failed").concat().replace(&words, "\"n\":1");
        let (begin, rest) = lines.split_once(",\"gen_ai.input.messages\"").unwrap();
        format!("{begin}{}", &rest[rest.find("},\"at_us").unwrap()..])
    };
    let told = |lines: &[String]| {
        let remarks = Story::of_spans(lines.concat().as_bytes(), None).unwrap().remarks;
        remarks.into_iter().filter(|remark| remark.starts_with("No words")).collect::<Vec<_>>()
    };
    let spoken = message(10, "tick", "answered").concat();
    let none =
        "No words, arguments or packages are in the trace: they are there only where they were asked for.";
    let some = "No words, arguments or packages of tock, toe are in the trace: they are there only where they were asked for.";
    assert_eq!(told(std::slice::from_ref(&spoken)), [""; 0]);
    assert_eq!(told(&[bare(20, "tock"), bare(30, "toe")]), [none]);
    assert_eq!(told(&[spoken, bare(20, "tock"), bare(30, "toe")]), [some]);
}
