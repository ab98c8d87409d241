//! What a streamed run tells and counts: one end, and every token, also of what broke off.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test ends where something unexpected stands")]

mod support;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sommelier_metrics::{Metrics, OnEvent};
use sommelier_providers::{Heard, Live, LiveBuilder, Observer, anthropic, openai};
use sommelier_runner::handoff::{Agent, Budget, Cost, Delegate, Measure, Relay, RunEnd};
use sommelier_runner::{Mailbox, Outcome, Report, Runner};
use support::double::{Answer, Double};
use support::{awake, events, wire};
use tracing_subscriber::layer::SubscriberExt;

/// a asks s, and hands over to b, which hands over to c.
fn relay() -> Relay {
    let agent = |name: &str| Agent::new(name, "You answer.");
    Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .agent(agent("c"))
        .delegate("a", Delegate::new("ask_s", agent("s")))
        .entry("a")
        .route("a", "b")
        .route("b", "c")
        .budget(Budget::new(20).tokens(200))
        .build()
        .unwrap()
}

/// A reply of so many tokens read and 5 written.
fn said(content: &Value, read: u64) -> Value {
    let is_call = content["type"] == "tool_use";
    json!({
        "id": format!("msg_{read}"), "type": "message", "role": "assistant", "model": "claude-sonnet-5", "content": [content],
        "stop_reason": if is_call { "tool_use" } else { "end_turn" }, "stop_sequence": null,
        "usage": {"input_tokens": read, "cache_read_input_tokens": 2, "output_tokens": 5},
    })
}

fn call(id: &str, name: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

fn hands_to(id: &str, to: &str) -> Value {
    call(id, "handoff_to_specialist", &json!({"specialist": to, "task": "Go on.", "context": {}}))
}

fn words() -> Value {
    json!({"type": "text", "text": "All is well."})
}

/// The five replies of a whole run: 10 + 20 + 30 + 40 + 50 tokens read, 2 of each out of the cache, 5 written by each.
fn turns() -> Vec<Value> {
    vec![
        said(&call("x_1", "ask_s", &json!({"question": "Well?"})), 10),
        said(&words(), 20),
        said(&hands_to("x_2", "b"), 30),
        said(&hands_to("x_3", "c"), 40),
        said(&words(), 50),
    ]
}

fn streamed(turn: &Value) -> Answer {
    Answer::stream(wire(&events(turn, 4), "\n"))
}

/// The stream of `turn`, closed after so many events. Of the first the service tells what it has read, and one token written.
fn cut(turn: &Value, after: usize) -> Answer {
    let mut all = events(turn, 4);
    all.truncate(after);
    Answer::stream(wire(&all, "\n"))
}

#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Notes {
    fn hear(&self, caller: &str, heard: Heard<'_>) {
        if !matches!(heard, Heard::Text(_)) {
            self.note(format!("{caller} {heard:?}"));
        }
    }
}

fn live(double: &Double) -> LiveBuilder {
    Live::anthropic(anthropic::Settings::default()).base_url(&double.url).without_key()
}

/// The run, what its own counts are and what the metrics counted: input and output tokens.
fn driven(live: Live, mailbox: &Mailbox) -> (Report, Cost, (u64, u64)) {
    awake();
    let metrics = Metrics::new();
    let relay = relay();
    let step = relay.start("k", "hello").unwrap();
    let outcome =
        tracing::subscriber::with_default(tracing_subscriber::registry().with(metrics.layer()), || {
            Runner::new(live).clock(|| 0).drive_with(&relay, step, mailbox)
        });
    let Outcome::Ended(report) = outcome.unwrap() else { panic!("it waits") };
    let used = metrics.report().model.total;
    let cost = report.cost();
    (report, cost, (used.input_tokens, used.output_tokens))
}

/// Tokens read and written, by the run and by the metrics.
fn tokens((_, cost, counted): &(Report, Cost, (u64, u64))) -> [(u64, u64); 2] {
    [(cost.input_tokens, cost.output_tokens), *counted]
}

/// C145. a hands over to b and b to c, streamed: of the whole run one end is told, and it is the last of all that is told,
/// words of models included.
#[test]
fn one_end_is_told_and_it_is_the_last() {
    let double = Double::answering(turns().iter().map(streamed));
    awake();
    let notes = Notes::default();
    let (heard, live) = (notes.clone(), live(&double).stream_to(notes.clone()).build().unwrap());
    let observer = OnEvent::new(move |event, data| {
        let end = data["end"].as_str().unwrap_or_default().to_owned();
        heard.note(format!("{event} {end}").trim_end().to_owned());
    });
    let outcome = tracing::subscriber::with_default(tracing_subscriber::registry().with(observer), || {
        Runner::new(live).clock(|| 0).run(&relay(), "hello").unwrap()
    });
    assert!(matches!(outcome, Outcome::Ended(report) if report.last_agent() == "c"));
    let told = notes.all();
    let ends: Vec<usize> = (0..told.len()).filter(|at| told[*at].starts_with("closed")).collect();
    assert_eq!(ends, [told.len() - 1], "{told:?}");
    assert_eq!(told[ends[0]], "closed answered");
    let wholes: Vec<&String> = told.iter().filter(|what| what.ends_with("Whole")).collect();
    assert_eq!(wholes, ["a Whole", "s Whole", "a Whole", "b Whole", "c Whole"]);
}

/// C140. A whole run counts the same plain and streamed, the delegate's and the receivers' tokens among them.
#[test]
fn a_streamed_run_counts_what_a_plain_one_does() {
    let plain = Double::answering(turns().iter().map(|turn| Answer::json(200, turn)));
    let plain = driven(live(&plain).build().unwrap(), &Mailbox::new());
    let double = Double::answering(turns().iter().map(streamed));
    let streamed = driven(live(&double).stream_to(Notes::default()).build().unwrap(), &Mailbox::new());
    assert_eq!(tokens(&plain), [(160, 25); 2]);
    assert_eq!(tokens(&streamed), tokens(&plain));
}

/// C140. An attempt that broke off in mid-stream and was made again: what the service had counted for it is counted too.
#[test]
fn an_attempt_that_broke_off_is_counted() {
    let turns = turns();
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let refused = Answer::stream(wire(&events(&turns[4], 4)[..3], "\n") + overloaded);
    let answers = [
        cut(&turns[0], 2),
        streamed(&turns[0]),
        cut(&turns[1], 4),
        streamed(&turns[1]),
        streamed(&turns[2]),
        streamed(&turns[3]),
        refused,
        streamed(&turns[4]),
    ];
    let double = Double::answering(answers);
    let run =
        driven(live(&double).stream_to(Notes::default()).clock(Hurried).build().unwrap(), &Mailbox::new());
    assert_eq!((run.0.end(), run.0.model_calls()), (&RunEnd::Answered, 5));
    // 12, 22 and 52 read once more, and one token written each time.
    assert_eq!(tokens(&run), [(160 + 86, 25 + 3); 2]);
}

/// C140. A call that failed for good in mid-stream, at the last count that the service gave.
#[test]
fn a_call_that_failed_is_counted() {
    let turns = turns();
    let all = events(&turns[4], 4).len();
    for (after, written) in [(1, 1), (all - 2, 1), (all - 1, 5)] {
        let answers = turns[..4].iter().map(streamed).chain([cut(&turns[4], after)]);
        let double = Double::answering(answers);
        let live = live(&double).stream_to(Notes::default()).retries(0).build().unwrap();
        let run = driven(live, &Mailbox::new());
        assert!(
            matches!(run.0.end(), RunEnd::Failed { error } if error.kind() == "unreachable"),
            "{:?}",
            run.0.end()
        );
        assert_eq!((tokens(&run), run.0.model_calls()), ([(160, 20 + written); 2], 4), "{after}");
    }
}

/// Calls the run off when the first words of an agent come.
struct CallsOff(Mailbox, &'static str);

impl Observer for CallsOff {
    fn hear(&self, caller: &str, heard: Heard<'_>) {
        if caller == self.1 && matches!(heard, Heard::Text(_)) {
            self.0.cancel("the user has left");
        }
    }
}

/// C140. A run that is called off while a delegate's words come counts them as the service did; a run that was cut off in
/// the same moment as well.
#[test]
fn a_run_that_is_called_off_counts_what_it_used() {
    let turns = turns();
    for (last, expected) in [(streamed(&turns[1]), (34, 10)), (cut(&turns[1], 4), (34, 6))] {
        let double = Double::answering([streamed(&turns[0]), last]);
        let mailbox = Mailbox::new();
        let live = live(&double).stream_to(CallsOff(mailbox.clone(), "s")).retries(0).build().unwrap();
        let run = driven(live, &mailbox);
        assert_eq!(run.0.end(), &RunEnd::Cancelled { reason: "the user has left".into() });
        assert_eq!(tokens(&run), [expected; 2]);
    }
}

/// C140. The cap of a run's tokens counts what broke off: it is reached a call earlier.
#[test]
fn a_cap_counts_what_broke_off() {
    let turns = turns();
    // b's first attempt breaks off after so many tokens. Without it 128 are used before c is asked.
    let with = |read: u64| {
        let mut turn = turns[3].clone();
        turn["usage"]["input_tokens"] = json!(read);
        turn
    };
    for (read, end) in
        [(40, RunEnd::Answered), (150, RunEnd::BudgetSpent { measure: Measure::Tokens, most: 200 })]
    {
        let answers = turns[..3].iter().map(streamed).chain([
            cut(&with(read), 2),
            streamed(&turns[3]),
            streamed(&turns[4]),
        ]);
        let double = Double::answering(answers);
        let live = live(&double).stream_to(Notes::default()).clock(Hurried).build().unwrap();
        let run = driven(live, &Mailbox::new());
        let spent = u64::from(end != RunEnd::Answered);
        let expected = (108 + read + 2 + 52 * (1 - spent), 21 + 5 * (1 - spent));
        assert_eq!((run.0.end(), tokens(&run)), (&end, [expected; 2]));
        drop(double);
    }
}

/// Servers that count at the end alone have counted nothing for what broke off before.
#[test]
fn what_was_not_counted_is_not_made_up() {
    let chunk = "data: {\"choices\":[{\"delta\":{\"content\":\"All\"}}]}\n\n";
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}\n\n";
    for (body, expected) in [(chunk.to_owned(), (0, 0)), (chunk.to_owned() + usage, (9, 4))] {
        let double = Double::answering([Answer::stream(body)]);
        let live = Live::openai(openai::Settings::default()).base_url(&double.url).without_key();
        let run = driven(live.stream_to(Notes::default()).retries(0).build().unwrap(), &Mailbox::new());
        assert!(matches!(run.0.end(), RunEnd::Failed { .. }));
        assert_eq!(tokens(&run), [expected; 2]);
    }
}

/// A clock by which nothing takes time.
struct Hurried;

impl sommelier_providers::Clock for Hurried {
    fn elapsed(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }

    fn now(&self) -> std::time::SystemTime {
        std::time::SystemTime::UNIX_EPOCH
    }

    fn sleep(&self, _pause: std::time::Duration) {}
}
