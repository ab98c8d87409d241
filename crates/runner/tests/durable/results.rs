//! What a tool says of its effect is believed: what worked has worked, however it is told, and what nobody knows is asked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use sommelier_handoff::{Agent, Relay};
use sommelier_protocol::{ContentBlock, ModelRequest, ModelResponse, StopReason, Usage};
use sommelier_runner::journal::{Journal, MAX_BODY};
use sommelier_runner::{DurableRunner, Runner, Settled, Turn, check_claims};
use sommelier_runtime::tool::{CallContext, Failure, Found, ToolFailure};
use sommelier_runtime::{Limits, ScriptedModel, Tool, script, tool_args};
use sommelier_store::MemoryStore;

use crate::desk::{CONVERSATION, Clock, Counted, Kind, Seat, World, journal_of, kinds, runner};

const SEAT: &str = r#"{"seat":7}"#;

/// What a tool gives that cannot be told: it is too large, or no object of JSON has such names.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(into = "Told")]
enum Given {
    Large,
    Odd,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Told {
    Large { booking: &'static str, note: String },
    Odd(BTreeMap<[u8; 1], u8>),
}

impl From<Given> for Told {
    fn from(given: Given) -> Self {
        match given {
            Given::Large => Self::Large { booking: "B-1", note: "x".repeat(300_000) },
            Given::Odd => Self::Odd(BTreeMap::from([([1], 1)])),
        }
    }
}

fn clerk(tools: impl IntoIterator<Item = Tool>) -> Relay {
    Relay::builder().agent(Agent::new("clerk", "").tools(tools)).entry("clerk").build().unwrap()
}

/// Books for real, and tells of it what cannot be told.
fn book(kind: Kind, given: Given, world: &Arc<World>) -> Tool {
    let at_work = Arc::clone(world);
    let tool = Tool::new("book", "Books a seat.", move |seat: Seat, context: &CallContext<'_>| {
        at_work.do_always(context.idempotency_key, seat.seat);
        Ok::<_, Failure>(given)
    });
    let tool = match kind {
        Kind::ReadOnly => tool.read_only(),
        Kind::Transactional => tool.transactional(),
        Kind::Keyed => tool.keyed(60_000),
        Kind::Queried => tool.queried(0, move |_| Found::done(&given)),
        Kind::AtMostOnce => tool,
    };
    tool.business_key(["seat"])
}

/// Calls for the seat, tells what it was told, and calls for it again.
fn books_twice() -> ScriptedModel {
    ScriptedModel::new()
        .turn("clerk", |_| script::call("tu_1", "book", SEAT))
        .turn("clerk", |request| {
            let told: String = script::last_result(request).chars().take(400).collect();
            assert!(told.contains("the call worked"), "{told}");
            script::call("tu_2", "book", SEAT)
        })
        .turn("clerk", |_| script::say("Done."))
}

fn asked(settled: &Settled) -> Vec<String> {
    let Settled::Waiting(parked) = settled else { return Vec::new() };
    parked.questions().iter().map(|(_, question)| question.id.to_string()).collect()
}

/// An effect that was had is on record as had, whatever its result is: a model that calls for it again is asked about, and so is
/// another conversation. The model is told that it worked.
#[test]
fn what_worked_has_worked_though_its_result_cannot_be_told() {
    for given in [Given::Large, Given::Odd] {
        for kind in [Kind::AtMostOnce, Kind::Keyed, Kind::Queried, Kind::Transactional, Kind::ReadOnly] {
            let world: Arc<World> = Arc::default();
            let relay = clerk([book(kind, given, &world)]);
            let (store, clock) = (MemoryStore::new(), Clock::at(1_000));
            let submit = |conversation: &str| {
                let runner = runner(books_twice(), &clock);
                let durable = DurableRunner::new(&runner, &relay, &store);
                asked(&durable.submit(conversation, Turn::new("Seat 7, please.")).unwrap())
            };
            let both = (submit("ada"), submit("bob"));
            let had = world.tries.load(Ordering::Relaxed);
            let all = |of: [&str; 2]| (vec![of[0].to_owned()], vec![of[1].to_owned()]);
            match kind {
                Kind::ReadOnly => assert_eq!((both, had), ((vec![], vec![]), 4), "{given:?}"),
                _ => assert_eq!(
                    (both, had),
                    (all(["ada/1/2/0/repeat", "bob/1/1/0/repeat"]), 1),
                    "{kind:?}, {given:?}"
                ),
            }
            assert_eq!(check_claims(&store).unwrap(), []);
        }
    }
}

/// The same of what the other side says after a crash.
#[test]
fn what_was_found_done_is_done_though_it_cannot_be_told() {
    for given in [Given::Large, Given::Odd] {
        let world: Arc<World> = Arc::default();
        let relay = clerk([book(Kind::Queried, given, &world)]);
        let (store, clock) = (MemoryStore::new(), Clock::at(1_000));
        let first = runner(books_twice(), &clock);
        DurableRunner::new(&first, &relay, &store).submit(CONVERSATION, Turn::new("Seat 7.")).unwrap();
        let all = store.load(CONVERSATION, 1).unwrap();
        let begun = all.iter().position(|record| record.event.kind() == "tool_intended").unwrap();
        let cut = journal_of(&all[..=begun]);
        let second = runner(books_twice(), &clock);
        let settled = DurableRunner::new(&second, &relay, &cut).resume(CONVERSATION).unwrap();
        let has_failed = kinds(&cut).iter().any(|kind| kind == "tool_failed");
        let repeats = vec!["guest-7/1/2/0/repeat".to_owned()];
        assert_eq!((asked(&settled), has_failed), (repeats, false), "{given:?}");
        assert_eq!(world.tries.load(Ordering::Relaxed), 1);
    }
}

tool_args! {
    /// What is paid.
    struct Pay {
        /// The number of a card.
        card: String,
    }
}

#[derive(Serialize)]
struct Receipt {
    cards: Vec<String>,
    note: String,
}

/// T62: of a result that is told in part a secret is taken out before it is cut, so that no half of one is told.
#[test]
fn no_half_of_a_secret_is_told() {
    const CARD: &str = "4111-2222-3333-4444-5555-6666";
    for bytes in 150..260 {
        let pay = Tool::new("pay", "Pays.", |pay: Pay, _: &CallContext<'_>| {
            let (card, other) = (pay.card, "5500 0000 0000 0004 0000 1111".to_owned());
            Ok::<_, Failure>(Receipt { cards: vec![other], note: format!("{card} {}", "x".repeat(300)) })
        });
        let pay = pay.secret(["card"]).secret_result(["cards"]);
        let limits = Limits { result_bytes: bytes, ..Limits::default() };
        let agent = Agent::new("clerk", "").tools([pay]).limits(limits);
        let relay = Relay::builder().agent(agent).entry("clerk").build().unwrap();
        let call = format!(r#"{{"card":"{CARD}"}}"#);
        let model = ScriptedModel::new()
            .turn("clerk", move |_| script::call("tu_1", "pay", &call))
            .turn("clerk", |request| script::say(script::last_result(request)));
        let (store, clock) = (MemoryStore::new(), Clock::at(1_000));
        let runner = runner(model, &clock);
        let durable = DurableRunner::new(&runner, &relay, &store);
        let settled = durable.submit(CONVERSATION, Turn::new("Pay.")).unwrap();
        let told = settled.answer();
        assert!(told.contains("result_too_large"), "{told}");
        // Behind the name that a secret has here, which may end in any digits, there is a blank and no digit.
        assert!(!told.contains("4111-") && !told.contains("5500 0"), "{bytes}: {told}");
    }
}

/// A failure of a tool whose code stands behind other members.
#[derive(Serialize)]
struct Late {
    detail: String,
    error: &'static str,
}

impl ToolFailure for Late {
    fn code(&self) -> &str {
        self.error
    }
}

/// A tool that says that it does not know is believed too: in whichever form and at whatever length it says so, and whatever is
/// taken out of its words. One that says that it failed has had no effect.
#[test]
fn a_tool_says_that_it_does_not_know() {
    let in_doubt = vec!["guest-7/1/1/0/in_doubt".to_owned()];
    let of = |detail: &str, error| Late { detail: detail.to_owned(), error };
    let long = "x".repeat(300_000);
    for (failure, expected) in [
        (of("the line broke", "in_doubt"), &in_doubt),
        (of(&long, "in_doubt"), &in_doubt),
        (of("it is sold", "sold_out"), &vec![]),
        (of(&long, "sold_out"), &vec![]),
    ] {
        for redacts in [false, true] {
            let Late { detail, error } = &failure;
            let (detail, error) = (detail.clone(), *error);
            let tool = Tool::new("book", "Books.", move |_: Seat, _: &CallContext<'_>| {
                Err::<(), _>(Late { detail: detail.clone(), error })
            });
            let relay = clerk([tool.business_key(["seat"])]);
            let model = ScriptedModel::new()
                .turn("clerk", |_| script::call("tu_1", "book", SEAT))
                .turn("clerk", |_| script::say("Done."));
            let (store, clock) = (MemoryStore::new(), Clock::at(1_000));
            let runner: Runner<'_> = runner(model, &clock);
            let runner = if redacts { runner.redact(|text| text.replace(['o', 'e'], "-")) } else { runner };
            let durable = DurableRunner::new(&runner, &relay, &store);
            let settled = durable.submit(CONVERSATION, Turn::new("Seat 7.")).unwrap();
            assert_eq!(&asked(&settled), expected, "{error}, {redacts}");
            assert_eq!(store.claims().unwrap().len(), expected.len(), "{error}, {redacts}");
        }
    }
}

/// S1-19. A reply that no record takes ends the run as a call of the model that failed, and is paid for once: the records go on,
/// and whoever asks again is told the same without a further request.
#[test]
fn a_reply_too_large_for_a_record_ends_the_run_and_is_not_asked_for_again() {
    let (clock, store) = (Clock::at(1_000), MemoryStore::new());
    let relay = clerk([]);
    let shouts = |_: &ModelRequest<'_>| {
        let words = ContentBlock::text("x".repeat(MAX_BODY));
        let mut reply = ModelResponse::new("m", vec![words], StopReason::EndTurn);
        reply.usage = Usage::new(7, 5);
        reply
    };
    let asked = Arc::new(AtomicUsize::new(0));
    let runner = runner(Counted(ScriptedModel::new().turn("clerk", shouts), Arc::clone(&asked)), &clock);
    let says = Turn::new("Book a seat.").key("m-1");
    let settled = DurableRunner::new(&runner, &relay, &store).submit(CONVERSATION, says.clone()).unwrap();
    let again = DurableRunner::new(&runner, &relay, &store).submit(CONVERSATION, says).unwrap();
    assert_eq!(settled.answer(), again.answer());
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    let told = kinds(&store).into_iter().filter(|kind| kind.starts_with("model_")).collect::<Vec<_>>();
    assert_eq!(told.last().map(String::as_str), Some("model_failed"), "{told:?}");
    let records = store.load(CONVERSATION, 1).unwrap();
    let failed = records.iter().find(|record| record.event.kind() == "model_failed").unwrap().event.body();
    for part in ["Charged", r#""input_tokens":7,"output_tokens":5"#, "and a record takes 16773120"] {
        assert!(failed.contains(part), "{failed}");
    }
}
