//! Runs that reports are made of, and texts that were looked at once and are compared since.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]
#![allow(dead_code, reason = "each test file uses its own part of the harness")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reservo::{Entry, OfflineRules, demo, specialists};
use sommelier_handoff::{
    Agent, Answer, Budget, Delegate, Guard, Guards, HANDOFF_TO_SPECIALIST, OnRefusal, Relay, Route,
};
use sommelier_report::Story;
use sommelier_runner::journal::{Journal, Record};
use sommelier_runner::{DurableRunner, Gate, Runner, Settled, Turn};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Model, ScriptedModel, Tool, script, tool_args};
use sommelier_store::MemoryStore;

pub(crate) const RUNNING_CASE: &str = "Quote Focus pro 3h. And what happens if I don't show up?";

/// 2026-11-30 10:00 UTC.
const BEGIN: u64 = 1_796_032_800_000;

/// A conversation on record, with the relay that it was held in.
pub(crate) struct OnRecord {
    pub(crate) relay: Relay,
    pub(crate) name: &'static str,
    pub(crate) records: Vec<Record>,
}

impl OnRecord {
    pub(crate) fn story(&self) -> Story {
        Story::of_run(&self.relay, self.name, &self.records).unwrap()
    }
}

/// A clock that goes on by 40 milliseconds at each look, and by as much as it is told.
#[derive(Clone)]
pub(crate) struct Clock(Arc<AtomicU64>);

impl Clock {
    fn new() -> Self {
        Self(Arc::new(AtomicU64::new(BEGIN)))
    }

    fn wait(&self, millis: u64) {
        self.0.fetch_add(millis, Ordering::Relaxed);
    }
}

/// What a person is asked in this story, and says.
pub(crate) type Says = (Answer, &'static str, u64);

/// Holds a conversation: the user's words, then an answer to each question, each after a while.
pub(crate) fn held(
    relay: Relay,
    model: impl Model + 'static,
    name: &'static str,
    turns: &[&str],
    people: &[Says],
) -> OnRecord {
    let (store, clock) = (MemoryStore::new(), Clock::new());
    let ticks = clock.clone();
    let runner =
        Runner::new(model).gate(Gate::ask_all()).clock(move || ticks.0.fetch_add(40, Ordering::Relaxed));
    let driver = DurableRunner::new(&runner, &relay, &store);
    let mut people = people.iter();
    for turn in turns {
        let mut settled = driver.submit(name, Turn::new(*turn)).unwrap();
        while let Settled::Waiting(parked) = &settled {
            let Some((answer, by, after)) = people.next() else { break };
            let id = parked.questions()[0].1.id.to_string();
            clock.wait(*after);
            let by = Some(*by).filter(|by| !by.is_empty());
            settled = driver.answer(name, &id, answer.clone(), None, by).unwrap();
        }
        clock.wait(90_000);
    }
    drop(driver);
    drop(runner);
    let records = store.load(name, 1).unwrap();
    OnRecord { relay, name, records }
}

/// Lesson 05: a quote, the limit of what the booking desk knows, a handoff, and an answer that rests on it.
pub(crate) fn running_case() -> OnRecord {
    let relay = specialists::relay(&Arc::new(demo()), Entry::Booking).build().unwrap();
    held(relay, OfflineRules, "lesson-05", &[RUNNING_CASE], &[])
}

tool_args! {
    /// What to look up.
    pub(crate) struct Look {
        /// The word.
        pub(crate) word: String,
    }
}

pub(crate) fn look() -> Tool {
    Tool::new("look", "Looks a word up.", |look: Look, _: &CallContext<'_>| Ok::<_, Failure>(look.word))
        .read_only()
}

pub(crate) fn pay() -> Tool {
    Tool::new("pay", "Pays out.", |look: Look, _: &CallContext<'_>| {
        Ok::<_, Failure>(format!("paid: {}", look.word))
    })
    .needs_approval()
}

fn to(specialist: &str, task: &str) -> String {
    serde_json::json!({ "specialist": specialist, "task": task, "context": { "order": 17 } }).to_string()
}

/// A supervisor that asks two delegates one after the other, one of them a team, and is refused a third question.
pub(crate) fn delegates() -> OnRecord {
    let shipping = Relay::builder()
        .agent(Agent::new("shipping", "You know the parcels."))
        .agent(Agent::new("customs", "You know the forms."))
        .route("shipping", "customs")
        .route("customs", "shipping")
        .entry("shipping")
        .build()
        .unwrap();
    let billing = Agent::new("billing", "You know the invoices.").tools([look()]);
    let relay = Relay::builder()
        .agent(Agent::new("supervisor", "You ask the desks."))
        .delegate("supervisor", Delegate::new("ask_billing", billing))
        .delegate("supervisor", Delegate::team("ask_shipping", shipping).after("ask_billing"))
        .entry("supervisor")
        .budget(Budget::new(20).tokens(10_000).tool_calls(6))
        .build()
        .unwrap();
    let model = ScriptedModel::new()
        .turn("supervisor", |_| {
            script::calls([
                (
                    "tu_1",
                    "ask_billing",
                    r#"{"question":"Was INV-311 paid twice?","context":{"invoice":"INV-311"}}"#,
                ),
                ("tu_2", "ask_shipping", r#"{"question":"Where is A-7?"}"#),
            ])
        })
        .turn("supervisor", |_| script::call("tu_3", "ask_shipping", r#"{"question":"Where is A-7?"}"#))
        .turn("supervisor", |_| script::say("INV-311 was paid twice. A-7 waits for form C 23."))
        .turn("billing", |_| script::call("tu_1", "look", r#"{"word":"INV-311"}"#))
        .turn("billing", |_| script::say("Paid on 1 May and on 3 May."))
        .turn("shipping", |_| {
            script::call("tu_1", HANDOFF_TO_SPECIALIST, &to("customs", "Which form does A-7 wait for?"))
        })
        .turn("customs", |_| script::say("It waits for form C 23."));
    held(relay, model, "guest-7", &["INV-311, and where is parcel A-7?"], &[])
}

/// A tool that a person allows after hours, a handoff that was refused and tried again, and at the cap an escalation that
/// a person takes over.
pub(crate) fn people() -> OnRecord {
    let relay = Relay::builder()
        .agent(Agent::new("clerk", "You book.").tools([pay()]))
        .agent(Agent::new("till", "You take the money."))
        .agent(Agent::new("manager", "You decide."))
        .entry("clerk")
        .route("clerk", "till")
        .route_with(Route::new("till", "clerk").returns())
        .route_with(Route::new("till", "manager").needs_approval())
        .guards(Guards::default().max_handoffs(1).on_refusal(Guard::Cap, OnRefusal::Escalate))
        .build()
        .unwrap();
    let model = ScriptedModel::new()
        .turn("clerk", |_| script::call("tu_1", "pay", r#"{"word":"1200 cents to Ada"}"#))
        .turn("clerk", |_| script::call("tu_2", HANDOFF_TO_SPECIALIST, &to("manager", "Is that right?")))
        .turn("clerk", |_| script::call("tu_3", HANDOFF_TO_SPECIALIST, &to("till", "Take the money.")))
        .turn("till", |_| script::call("tu_4", HANDOFF_TO_SPECIALIST, &to("manager", "May I?")));
    let people = [
        (Answer::Approve, "Ada", 7_384_000),
        (Answer::TakeOver { note: "I call them myself.".into() }, "Kim, by invitation 93c1a40b", 65_000),
    ];
    held(relay, model, "refund-17", &["Give Ada her 12.00 back."], &people)
}

pub(crate) const HOSTILE: &str = "<script>alert('1')</script> ]]> --> \" ' & \u{202e}desrever\u{2066} \u{1b}[31mred\u{7} 👩‍👩‍👧‍👦 🇩🇪 é\u{301} \
                                  %%{init: {}}%%; end; note over P0: #lt; ```\n<img src=x onerror=alert(1)>";

/// Words that would break every form of output that takes them as they are.
pub(crate) fn hostile() -> OnRecord {
    let relay = Relay::builder()
        .agent(Agent::new("clerk", "").tools([look()]))
        .agent(Agent::new("end", "").tools([look()]))
        .entry("clerk")
        .route("clerk", "end")
        .build()
        .unwrap();
    let answer = format!("{HOSTILE} {}", "W".repeat(9_000));
    let word = serde_json::json!({ "word": HOSTILE }).to_string();
    // No package may hold what turns the direction of text, so of that one the guard tells.
    let lawful = "<b onclick=\"x()\">bold</b> ]]> 👩‍👩‍👧‍👦 %%{init: {}}%%; end";
    let package = serde_json::json!({
        "specialist": "end", "task": format!("{lawful} {}", "W".repeat(300)), "context": { "k": "</pre><script>" },
    });
    let model = ScriptedModel::new()
        .turn("clerk", move |_| script::call("tu_1", "look", &word))
        .turn("clerk", |_| script::call("tu_2", HANDOFF_TO_SPECIALIST, &to(HOSTILE, HOSTILE)))
        .turn("clerk", |_| script::call("tu_3", HANDOFF_TO_SPECIALIST, &to("end", HOSTILE)))
        .turn("clerk", move |_| script::call("tu_4", HANDOFF_TO_SPECIALIST, &package.to_string()))
        .turn("end", move |_| script::say(&*answer));
    held(relay, model, "<script>\u{202e}name;%%", &[HOSTILE], &[])
}

/// Compares a text with the one that was looked at. With `UPDATE_GOLDEN` set it is written anew, to be looked at.
pub(crate) fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    let differ = known.lines().zip(text.lines()).position(|(known, found)| known != found);
    let line = differ.unwrap_or_else(|| known.lines().count().min(text.lines().count()));
    let of = |text: &str| text.lines().nth(line).unwrap_or("(nothing)").to_owned();
    assert!(known == text, "{name}, line {}:\n known {}\n found {}", line + 1, of(&known), of(text));
}
