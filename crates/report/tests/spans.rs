//! Stories from the lines of traces: whole ones, of several processes, of older releases, broken, and none.
#![allow(clippy::unwrap_used, reason = "a test says so by panicking")]

mod harness;

use std::io::Write;
use std::sync::{Arc, Mutex};

use harness::{RUNNING_CASE, golden, pay};
use reservo::{Entry, OfflineRules, demo, specialists};
use sommelier_handoff::{Agent, Answer, Relay};
use sommelier_metrics::LinesLayer;
use sommelier_report::{LONGEST_LINE, MOST_BYTES, NoStory, Passage, Story, What, text};
use sommelier_runner::{DurableRunner, Gate, Runner, Turn};
use sommelier_runtime::{ScriptedModel, script};
use sommelier_store::MemoryStore;
use tracing_subscriber::layer::SubscriberExt;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The lines of the running case, with words where these are asked for.
fn traced(with_words: bool) -> Vec<u8> {
    let kept = Kept::default();
    let subscriber = tracing_subscriber::registry().with(LinesLayer::new(kept.clone()));
    tracing::subscriber::with_default(subscriber, || {
        let relay = specialists::relay(&Arc::new(demo()), Entry::Booking).build().unwrap();
        let runner = Runner::new(OfflineRules).conversation("lesson-05");
        let runner = if with_words { runner.show_contents() } else { runner };
        runner.run(&relay, RUNNING_CASE).unwrap();
    });
    let bytes = kept.0.lock().unwrap();
    bytes.clone()
}

/// The text without its times, which are those of this machine.
fn timeless(story: &Story) -> String {
    let mut story = story.clone();
    story.events.iter_mut().for_each(|event| (event.at_us, event.took_us) = (1_000, None));
    (story.began_us, story.ended_us) = (1_000, 1_000);
    text::document(&story)
}

/// Some editors write a mark before the first line, which here is that of the root.
#[test]
fn a_mark_before_the_first_line_is_none_of_it() {
    let lines = traced(false);
    let root = lines.split_inclusive(|byte| *byte == b'\n').next_back().unwrap();
    let marked = [b"\xef\xbb\xbf", root].concat();
    let told = |lines: &[u8]| Story::of_spans(lines, None).unwrap();
    assert_eq!(told(&marked), told(root));
}

/// S1-34: what the trace tells by itself is told, and what it does not is named.
#[test]
fn a_trace_tells_the_running_case() {
    golden("trace.txt", &timeless(&Story::of_spans(&traced(false), None).unwrap()));
}

#[test]
fn words_and_packages_are_told_where_the_trace_has_them() {
    golden("trace-words.txt", &timeless(&Story::of_spans(&traced(true), None).unwrap()));
}

#[test]
fn the_order_of_the_lines_does_not_matter() {
    let lines = traced(true);
    let mut turned: Vec<&[u8]> = lines.split_inclusive(|byte| *byte == b'\n').collect();
    turned.reverse();
    assert_eq!(Story::of_spans(&turned.concat(), None), Story::of_spans(&lines, None));
}

/// Two processes number their spans alike, and each has a layer of its own.
#[test]
fn several_processes_in_a_file_are_told_apart() {
    let both = [traced(false), traced(false)].concat();
    let story = Story::of_spans(&both, None).unwrap();
    assert_eq!((story.taken().count(), story.title.as_str()), (2, "lesson-05"));
}

/// Lines of a release that wrote no layer: who counts anew is another process.
#[test]
fn lines_of_an_older_release_are_read() {
    let old = |at: u64| {
        let line = |name: &str, span: u64, parent: &str, fields: &str| {
            format!(
                "{{\"name\":\"{name}\",\"otel_name\":null,\"trace\":1,\"span\":{span},\"parent\":{parent},\"follows_from\":[],\
                 \"start_us\":{at},\"duration_us\":5,\"fields\":{{{fields}}}}}\n"
            )
        };
        let agent = r#""gen_ai.agent.name":"clerk","gen_ai.conversation.id":"c""#;
        let passed =
            r#""gen_ai.agent.name":"clerk","gen_ai.transfer.target.name":"till","outcome":"taken","hop":1"#;
        [
            line("handoff", 3, "2", passed),
            line("invoke_agent", 2, "1", agent),
            line("invoke_workflow", 1, "null", &format!("{agent},\"end\":\"handed_off\"")),
        ]
        .concat()
    };
    let story = Story::of_spans(format!("{}{}", old(10), old(20)).as_bytes(), None).unwrap();
    assert_eq!(story.taken().count(), 2);
    let timeless = "6 lines are of a release that wrote no time of day; their times count from when their process began.";
    assert!(story.remarks.iter().any(|remark| remark == timeless), "{:?}", story.remarks);
}

#[test]
fn bad_lines_are_counted_and_the_first_is_named() {
    let lines = [b"not JSON\n\n[1]\n".as_slice(), &traced(false)].concat();
    let story = Story::of_spans(&lines, None).unwrap();
    let remark = &story.remarks[0];
    assert!(
        remark.starts_with("2 lines are no spans and were left out, the first of them line 1: "),
        "{remark}"
    );
    assert_eq!(story.taken().count(), 1);
}

/// The file was cut at its end, where the root is.
#[test]
fn spans_without_their_root_are_told() {
    let lines = traced(false);
    let all: Vec<&[u8]> = lines.split_inclusive(|byte| *byte == b'\n').collect();
    let story = Story::of_spans(&all[..all.len() - 1].concat(), None).unwrap();
    assert_eq!(story.taken().count(), 1);
    assert!(
        story.remarks[0].starts_with("Of 1 turn of lesson-05 the file has neither the beginning, "),
        "{:?}",
        story.remarks
    );
}

/// What was said in one turn is no answer of the next, of which the file has no words.
#[test]
fn an_answer_is_told_once() {
    let said = r#""gen_ai.output.messages":"[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"Twelve.\"}]}]""#;
    let line = |name: &str, span: u64, parent: &str, fields: &str| {
        format!(
            "{{\"name\":\"{name}\",\"otel_name\":null,\"trace\":1,\"span\":{span},\"parent\":{parent},\"follows_from\":[],\
             \"start_us\":{span},\"duration_us\":5,\"fields\":{{\"gen_ai.conversation.id\":\"c\",{fields}}}}}\n"
        )
    };
    let root = r#""gen_ai.agent.name":"clerk","end":"answered""#;
    let lines = [
        line("invoke_workflow", 1, "null", root),
        line("chat", 2, "1", said),
        line("invoke_workflow", 11, "null", root),
    ];
    let story = Story::of_spans(lines.concat().as_bytes(), None).unwrap();
    let answers: Vec<Option<&str>> = story
        .events
        .iter()
        .filter_map(|event| match &event.what {
            What::Ended { text, .. } => Some(text.as_deref()),
            _ => None,
        })
        .collect();
    assert_eq!((answers, story.outcome.answer), (vec![Some("Twelve."), None], None));
}

/// A file may be as long as a disk is, and a line as long as a file.
#[test]
fn what_is_too_long_is_not_read() {
    assert_eq!(Story::of_spans(&vec![b'\n'; MOST_BYTES + 1], None), Err(NoStory::TooLong));
    assert_eq!(Story::of_spans(&vec![b'\n'; 1 << 20], None), Err(NoStory::Empty));
    let mut lines = vec![b'x'; LONGEST_LINE];
    lines.splice(0..0, *b"{");
    lines.extend([b"\n".as_slice(), &traced(false)].concat());
    let story = Story::of_spans(&lines, None).unwrap();
    let remark =
        "1 line is no span and was left out, line 1: it has 33554433 bytes, and 33554432 are the most.";
    assert_eq!((&*story.remarks[0], story.taken().count()), (remark, 1));
}

/// The names of many conversations, and long ones, are no message that anybody reads.
#[test]
fn of_many_conversations_the_first_are_named() {
    let line = |n: usize| {
        format!(
            "{{\"name\":\"invoke_workflow\",\"otel_name\":null,\"trace\":{n},\"span\":{n},\"parent\":null,\"follows_from\":[],\
             \"start_us\":1,\"duration_us\":1,\"fields\":{{\"gen_ai.conversation.id\":\"c{n:04}{}\"}}}}\n",
            "n".repeat(1_000)
        )
    };
    let lines: String = (0..1_000).map(line).collect();
    let told = Story::of_spans(lines.as_bytes(), Some("guest-7")).unwrap_err().to_string();
    assert!(told.starts_with("it does not tell of \"guest-7\", but of c0000nnn"), "{told}");
    assert!(told.ends_with("… and 980 more") && told.len() < 2_000, "{told}");
}

#[test]
fn what_is_no_trace_is_refused_by_what_it_is() {
    let none = |lines: &str| Story::of_spans(lines.as_bytes(), None).unwrap_err();
    assert_eq!(none(""), NoStory::Empty);
    assert!(matches!(none("a\nb\n"), NoStory::NoSpan { lines: 2, first } if first.starts_with("line 1: ")));
    let record = r#"{"conversation":"guest-7","seq":1,"epoch":1,"kind":"opened","version":1,"at":1,"body":{},"prev_hash":"00","hash":"00"}"#;
    assert_eq!(none(record), NoStory::Records { conversation: "guest-7".into() });
    let other = Story::of_spans(&traced(false), Some("guest-7")).unwrap_err();
    assert_eq!(
        other,
        NoStory::OtherConversation { wanted: "guest-7".into(), known: vec!["lesson-05".into()] }
    );
}

/// A span that says of itself that it stands around itself, and two around each other: a hostile file is no endless loop.
#[test]
fn spans_that_stand_around_each_other_are_told_once() {
    let line = |span: u64, parent: u64| {
        format!(
            "{{\"name\":\"handoff\",\"otel_name\":null,\"trace\":1,\"span\":{span},\"parent\":{parent},\"follows_from\":[],\
             \"start_us\":1,\"duration_us\":1,\"fields\":{{\"outcome\":\"refused\",\"refusal\":\"cap\"}}}}\n"
        )
    };
    let story = Story::of_spans([line(1, 1), line(2, 3), line(3, 2)].concat().as_bytes(), None).unwrap();
    assert!(story.hops.iter().all(|hop| matches!(hop.outcome, Passage::Refused { .. })));
    assert_eq!(story.refusals().len(), 3);
    let deep: String = (1..20_000).map(|span| line(span, span - 1)).collect();
    assert_eq!(Story::of_spans(deep.as_bytes(), None).unwrap().refusals().len(), 19_999);

    // What hangs on a circle stays there, in whichever order it comes, and in no more time for it.
    let (circle, leaves) =
        ([line(1, 2), line(2, 1)].concat(), (3..20_000).map(|span| line(span, 1)).collect::<String>());
    let remarks = |lines: [&str; 2]| Story::of_spans(lines.concat().as_bytes(), None).unwrap().remarks;
    assert_eq!(remarks([&circle, &leaves]), remarks([&leaves, &circle]));
}

/// Words that the user says while a question is open are the user's, and no going on of the agent: of a trace as of the records.
#[test]
fn words_for_an_open_question_are_the_users() {
    let relay =
        Relay::builder().agent(Agent::new("clerk", "").tools([pay()])).entry("clerk").build().unwrap();
    let told = |with_words: bool| {
        let (kept, store) = (Kept::default(), MemoryStore::new());
        let subscriber = tracing_subscriber::registry().with(LinesLayer::new(kept.clone()));
        tracing::subscriber::with_default(subscriber, || {
            let model = ScriptedModel::new()
                .turn("clerk", |_| script::call("tu_1", "pay", r#"{"word":"12.00"}"#))
                .turn("clerk", |_| script::say("Paid."));
            let runner = Runner::new(model).gate(Gate::ask_all());
            let runner = if with_words { runner.show_contents() } else { runner };
            let driver = DurableRunner::new(&runner, &relay, &store);
            driver.submit("tick", Turn::new("Pay Ada.")).unwrap();
            driver.submit("tick", Turn::new("Hurry.")).unwrap();
            driver.answer("tick", "tick/1/1/0", Answer::Approve, None, None).unwrap();
        });
        let lines = kept.0.lock().unwrap().clone();
        let text = timeless(&Story::of_spans(&lines, None).unwrap());
        let is_it = |line: &&str| ["user →", "goes on", "waits for"].iter().any(|it| line.contains(it));
        text.lines()
            .filter(is_it)
            .map(|line| line.trim_start_matches([' ', '+', '0', 'm', 's']).to_owned())
            .collect::<Vec<_>>()
    };
    let (waits, on) =
        ("clerk: waits for a person: tool pay", "clerk: goes on: a person has answered approve (tool)");
    assert_eq!(told(true), ["user → clerk: “Pay Ada.”", waits, "user → clerk: “Hurry.”", waits, on]);
    assert_eq!(told(false), ["user → clerk", waits, "user → clerk", waits, on]);
}
