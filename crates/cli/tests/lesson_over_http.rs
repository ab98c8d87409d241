//! Lesson 05 through the whole HTTP stack, against a server that fails in each way that it knows.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod harness;

use std::collections::BTreeSet;
use std::thread;

use harness::{Place, Said, said};
use serde_json::{Value, json};
use sommelier_fake_server::{FakeServer, Fault, Faults, Planned, Script, Settings};

/// No key of anybody, and long enough to be found wherever it stands.
const KEY: &str = "key-that-nobody-sees-4711";
const ANSWER: &str = "The quote is 6000 cents. A no-show costs 6500 cents [POL-NOSHOW].";

/// The four decisions of lesson 05, and the last one twice: after a fault it may be asked for once more.
fn replies() -> Vec<Value> {
    let package = json!({
        "specialist": "policy_agent",
        "task": "What happens if the customer does not show up for the booking?",
        "context": {"quoted_cents": 6000},
    });
    let usage = json!({"input_tokens": 700, "output_tokens": 20});
    let call =
        |name: &str, input: Value| json!({"tool_use": [{"name": name, "input": input}], "usage": usage});
    let answer = json!({"text": ANSWER, "usage": usage});
    vec![
        call("get_quote", json!({"room": "Focus", "plan": "pro", "hours": 3})),
        call("handoff_to_specialist", package),
        call("search_docs", json!({"query": "customer does not show up"})),
        answer.clone(),
        answer,
    ]
}

/// A server that has still to give the replies from this one on, and at which this fault strikes these requests.
fn server(from: usize, fault: Option<(&Fault, usize, Option<u64>)>) -> FakeServer {
    let script = json!({"replies": replies()[from..]}).to_string();
    let plan =
        |(fault, at, until): (&Fault, usize, _)| Planned { at: at as u64, until, fault: fault.clone() };
    let settings = Settings {
        script: Script::read(&script).unwrap(),
        faults: Faults { faults: fault.map(plan).into_iter().collect() },
        models: vec!["claude-sonnet-5".to_owned()],
        keys: vec![KEY.to_owned()],
        strict: true,
        ..Settings::default()
    };
    FakeServer::start(0, settings).unwrap()
}

/// Runs the command with a key in the environment, and sees to it that the key is nowhere.
fn says(place: &Place, arguments: &[&str]) -> Said {
    let output = place.command(arguments).env("ANTHROPIC_API_KEY", KEY).output().unwrap();
    let said = said(output);
    assert!(!said.out.contains(KEY) && !said.err.contains(KEY), "{said:?}");
    said
}

fn asked(server: &FakeServer) -> Vec<String> {
    let model = ["--model", "anthropic:claude-sonnet-5", "--base-url", &server.url(), "--longest-pause", "1"];
    model.map(str::to_owned).into()
}

/// Which calls of tools were begun, by their keys: one that was begun twice stands here twice.
fn begun(place: &Place, run: &str) -> Vec<String> {
    let shown = place.json(&["show", run]);
    let timeline = shown["timeline"].as_array().unwrap().iter();
    let intents = timeline.filter(|record| record["kind"] == "tool_intended");
    let intents = intents.map(|record| &record["body"]["what"]["tool_intended"]);
    intents.map(|intent| format!("{} {}", intent["tool"], intent["key"])).collect()
}

#[track_caller]
fn nothing_ran_twice(place: &Place, run: &str, tools: &[&str]) {
    let begun = begun(place, run);
    assert_eq!(begun.iter().collect::<BTreeSet<_>>().len(), begun.len(), "{begun:?}");
    let names: Vec<&str> = begun.iter().map(|call| call.split('"').nth(1).unwrap()).collect();
    assert_eq!(names, tools);
}

/// Where a lesson is struck: by what, at which request, streamed or not, once or each time from there on.
#[derive(Clone, Copy, Debug)]
struct Blow<'a> {
    fault: &'a Fault,
    at: usize,
    is_streamed: bool,
    is_lasting: bool,
}

impl Blow<'_> {
    /// Holds the lesson, and gives the document that is printed.
    fn hold(self, place: &Place, server: &FakeServer) -> Value {
        let mut arguments = vec!["--json".to_owned(), "lesson".to_owned(), "05".to_owned()];
        arguments.extend(asked(server));
        arguments.extend(["--reply-bytes".to_owned(), "200000".to_owned()]);
        if self.is_streamed {
            arguments.push("--stream".to_owned());
        }
        if let Fault::SlowHeaders(_) = self.fault {
            arguments.extend(["--deadline".to_owned(), "3000".to_owned()]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let said = says(place, &arguments);
        let document = said.json();
        let code = match document["outcome"]["end"].as_str() {
            Some("answered") => 0,
            Some("waiting") => 3,
            _ => 1,
        };
        assert_eq!((said.code, &*said.err), (code, ""), "{self:?}: {document}");
        let invariants = document["invariants"].as_array().unwrap();
        assert!(invariants.iter().all(|invariant| invariant["holds"] == true), "{self:?}: {invariants:?}");
        document
    }

    /// What is told of the end: a word for it, and what happened.
    fn told(self) -> (&'static str, Option<String>) {
        let Self { at, is_streamed, is_lasting, .. } = self;
        let form = |plain: &'static str, streamed: &'static str| if is_streamed { streamed } else { plain };
        let failed = |what: &str, whose: &str| ("failed", Some(format!("{what} (fault: {whose})")));
        // What passes is asked again, three attempts in all; a reply that came and is none is not, since it would be paid for
        // twice.
        let passes = |what: &str, whose| if is_lasting { failed(what, whose) } else { ("answered", None) };
        let service = |status: u16, what: &str, whose| {
            passes(
                &format!("the service answered {status}: {what} [request req_fake_00000{}]", at + 2),
                whose,
            )
        };
        match self.fault.name() {
            "rate_limited" | "rate_limited_until" => {
                let limit = "rate_limit_error: This request would exceed your organization's rate limit";
                service(429, limit, "budget")
            }
            "overloaded" | "error_after_events" => service(529, "overloaded_error: Overloaded", "service"),
            "api_error" => service(500, "api_error: Internal server error", "service"),
            "timeout" => service(504, "timeout_error: Request timed out", "service"),
            "hang_up" | "cut_after_bytes" | "cut_after_events" => {
                passes("the model could not be reached: io: Peer disconnected", "network")
            }
            "slow_events" => ("answered", None),
            "slow_headers" => failed("the model did not answer in time: no whole reply within 3s", "budget"),
            "malformed_json" => {
                let what = form("the reply", "an event of the stream");
                failed(&format!("the service sent no legal reply: {what}: EOF"), "service")
            }
            "wrong_content_type" => failed(
                "the service sent no legal reply: the reply is text/html and no JSON: \
                 <html><head><title>Welcome</title></head><body>Please sign in.</body></html>",
                "service",
            ),
            "endless_stream" | "oversized_body" => {
                let what = form("the reply", "the stream");
                failed(&format!("the service sent no legal reply: {what} exceeds 200000 bytes"), "budget")
            }
            "refusal" => ("model_refused", Some("This request was declined.".to_owned())),
            "max_tokens_in_call" => ("truncated", Some("max_tokens".to_owned())),
            // Where ids are repeated for good, calls come in the end that nobody wrote. One would book, so a person is asked.
            "duplicate_ids" if is_lasting => ("waiting", None),
            "duplicate_ids" => ("answered", None),
            new => panic!("nobody has said yet what becomes of {new}"),
        }
    }

    /// How many requests came, those made again included.
    fn requests(self) -> usize {
        match (self.told().0, self.fault.name()) {
            ("answered", "slow_events") => 4,
            // Behind the answer stand calls that nobody wrote, and they are seen to.
            ("answered", "duplicate_ids") => {
                if self.at == 4 {
                    5
                } else {
                    4
                }
            }
            ("answered" | "waiting", _) => 5,
            _ if self.is_lasting => self.at + 2,
            _ => self.at,
        }
    }

    /// The tools that were begun when the lesson came to its end.
    fn tools(self) -> Vec<&'static str> {
        let Self { at, is_lasting, .. } = self;
        let (quote, search) = ("get_quote", "search_docs");
        match (self.fault.name(), self.told().0) {
            ("duplicate_ids", _) => {
                let quotes = if at == 1 { 2 } else { 1 };
                let searches = if at == 3 || is_lasting && at < 3 { 2 } else { 1 };
                [vec![quote; quotes], vec![search; searches]].concat()
            }
            (_, "answered") => vec![quote, search],
            _ => [quote, quote, search, search][..at].iter().skip(1).step_by(2).copied().collect(),
        }
    }
}

/// S1-18, and what the issue is done by. With each fault at each request, streamed or not, the lesson ends right or with an
/// error that says what happened; it is gone on with by the command that is shown, and nothing is run twice.
#[test]
fn with_each_fault_the_lesson_ends_right_or_says_what_happened_and_nothing_runs_twice() {
    thread::scope(|scope| {
        for at in 1..=4 {
            scope.spawn(move || kinds().iter().for_each(|fault| struck(fault, at)));
        }
    });
}

/// One of each kind, with numbers that keep the test short.
fn kinds() -> Vec<Fault> {
    let short = |fault| match fault {
        Fault::SlowHeaders(_) => Fault::SlowHeaders(600_000),
        Fault::SlowEvents(_) => Fault::SlowEvents(1),
        fault => fault,
    };
    Fault::of_each_kind().into_iter().map(short).collect()
}

fn struck(fault: &Fault, at: usize) {
    for is_streamed in [false, true] {
        let once = Blow { fault, at, is_streamed, is_lasting: false };
        held(once);
        // What ended right may not when it does not pass.
        if once.told().0 == "answered" {
            held(Blow { is_lasting: true, ..once });
        }
    }
}

fn held(blow: Blow<'_>) {
    let (place, (end, why)) = (Place::new(), blow.told());
    let Blow { fault, at, is_lasting, .. } = blow;
    let first = server(0, Some((fault, at, is_lasting.then_some(99))));
    let document = blow.hold(&place, &first);
    let outcome = &document["outcome"];
    let found = outcome["why"].as_str().map(without_place);
    assert_eq!((outcome["end"].as_str(), found), (Some(end), why), "{blow:?}");
    let run = outcome["run"].as_str().unwrap();
    nothing_ran_twice(&place, run, &blow.tools());
    let log = first.log();
    assert_eq!((log.refused, log.noted.len()), (0, 0), "{blow:?}: {log:?}");
    assert_eq!(log.requests, blow.requests() as u64, "{blow:?}");
    assert!(log.faults[fault.name()] >= 1, "{blow:?}");
    assert_eq!(outcome["done"], json!([]), "{blow:?}");
    if matches!(end, "answered" | "waiting") {
        assert_eq!(outcome["again"], Value::Null, "{blow:?}");
        return;
    }
    drop(first);
    let second = server(at - 1, None);
    let row = gone_on(&place, outcome["again"].as_str().unwrap(), &second);
    assert_eq!(
        (&row["end"], &row["answer"], &row["run"]),
        (&json!("answered"), &json!(ANSWER), &outcome["run"])
    );
    let log = second.log();
    assert_eq!((log.requests, log.refused, log.noted.len()), (5 - at as u64, 0, 0), "{blow:?}: {log:?}");
    nothing_ran_twice(&place, run, &["get_quote", "search_docs"]);
}

/// What went wrong, without where in a text: that is another place in each reply.
fn without_place(why: &str) -> String {
    match (why.find(" while parsing"), why.find(" (fault")) {
        (Some(from), Some(to)) => format!("{}{}", &why[..from], &why[to..]),
        _ => why.to_owned(),
    }
}

/// Types the command that is shown, with another server in the place of the one that failed.
fn gone_on(place: &Place, shown: &str, second: &FakeServer) -> Value {
    let mut words: Vec<String> = shown.split(' ').map(str::to_owned).collect();
    let url = words.iter().position(|word| word == "--base-url").unwrap() + 1;
    words[url] = second.url();
    let store = place.journal().display().to_string();
    assert_eq!(words[..3], ["sommelier".to_owned(), "--store".to_owned(), store]);
    let mut arguments: Vec<&str> = words[3..].iter().map(String::as_str).collect();
    arguments.push("--json");
    let said = says(place, &arguments);
    assert_eq!((said.code, &*said.err), (0, ""), "{shown}: {said:?}");
    said.json()
}

/// S1-18. Without a fault: what is told to a person, whole.
#[test]
fn the_lesson_is_told_with_its_calls_its_handoff_and_what_holds() {
    let (place, server) = (Place::new(), server(0, None));
    let asked = asked(&server);
    let arguments: Vec<&str> = ["lesson", "05"].into_iter().chain(asked.iter().map(String::as_str)).collect();
    let said = says(&place, &arguments);
    assert_eq!((said.code, &*said.err), (0, ""), "{said:?}");
    let run = said.out.lines().find_map(|line| line.strip_prefix("run ")).unwrap();
    let told = format!(
        r#"Lesson 05: the whole case, end to end

Decisions: anthropic:claude-sonnet-5. Everything else is executed.

The user says: Quote Focus pro 3h. And what happens if I don't show up?
booking_agent  calls get_quote {{"hours":3,"plan":"pro","room":"Focus"}}
               {{"room":"Focus","plan":"pro","hours":3,"rate_cents_per_hour":2000,"total_cents":6000}}
booking_agent  calls handoff_to_specialist {{"context":{{"quoted_cents":6000}},"specialist":"policy_agent","task":"What happens if the customer does not show up for the booking?"}}
               booking_agent → policy_agent with 105 bytes, 432 stay behind
               {{"task":"What happens if the customer does not show up for the booking?","context":{{"quoted_cents":6000}}}}
policy_agent   calls search_docs {{"query":"customer does not show up"}}
               [{{"doc_id":"POL-NOSHOW","title":"No-show","text":"If nobody shows up, the room is released 15 minutes after the start of the booking. Charge: 100 % of the quote plus 500 cents fee.","score":24}}]

{ANSWER}

policy_agent answered, decisions by claude-sonnet-5
booking_agent → policy_agent with 105 bytes, 432 stay behind
run {run}

4 model calls, 2800 tokens in and 80 out; 2 tool runs

What holds whatever a model writes:
  yes each agent's conversation keeps the rules of the sequence, S1 to S13: 9 messages of 2 agents
  yes by the records each call of a tool was run once at most: 3 calls, 2 runs of tools
  yes what crossed is valid by its route: 1 package with 105 bytes, 432 bytes stayed behind
  yes a receiver's conversation begins with its package and nothing else: 1 receiver
  yes the model was asked as often as the budget allows: 4 of 50
  yes as many handoffs were taken as the cap allows: 1 of 5
"#
    );
    assert_eq!(said.out, told);
}

/// S1-18. A fault as a person reads it, whole.
#[test]
fn a_fault_is_told_with_how_to_go_on() {
    let (place, server) = (Place::new(), server(0, Some((&Fault::Overloaded, 2, Some(99)))));
    let asked = asked(&server);
    let arguments: Vec<&str> = ["lesson", "05"].into_iter().chain(asked.iter().map(String::as_str)).collect();
    let said = says(&place, &arguments);
    let run = said.out.lines().find_map(|line| line.strip_prefix("run ")).unwrap();
    let (store, url) = (place.journal().display().to_string(), server.url());
    let told = format!(
        "booking_agent  has no reply: the service answered 529: overloaded_error: Overloaded [request req_fake_000004] (fault: \
         service)\n\nNo answer: the run ended as failed: the service answered 529: overloaded_error: Overloaded [request \
         req_fake_000004] (fault: service).\n\nNothing was done in this turn.\n\nbooking_agent had the turn, decisions by \
         claude-sonnet-5\nrun {run}\n\nIt can be tried again from there, and nothing is done twice:\n  sommelier --store \
         {store} resume --model anthropic:claude-sonnet-5 --base-url {url} {run}\n\n1 model call, "
    );
    assert_eq!(said.code, 1);
    assert!(said.out.contains(&told), "{}\n---\n{told}", said.out);
}
