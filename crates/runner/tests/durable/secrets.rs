//! What must not be kept is in no record, no trace, no request and no answer; and what becomes of it after a crash.

use std::sync::{Arc, Mutex};

use sommelier_handoff::{Agent, Answer, InputKind, Relay};
use sommelier_metrics::OnEvent;
use sommelier_protocol::{ModelRequest, ModelResponse, RawJson};
use sommelier_runner::journal::Journal;
use sommelier_runner::{Decision, DurableError, DurableRunner, Gate, Outcome, Parked, Runner, Settled, Turn};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Model, ModelError, ScriptedModel, Tool, script, tool_args};
use sommelier_store::MemoryStore;
use tracing_subscriber::prelude::*;

use crate::desk::{CONVERSATION, Clock, awake, journal_of};

const CARD: &str = "4111111111111111";

tool_args! {
    /// A payment.
    struct Pay {
        /// The number of the card.
        card_number: String,
        /// Makes it happen once.
        key: String,
    }
}

/// What the tool was given.
type Charged = Arc<Mutex<Vec<(String, String)>>>;

/// A clerk who pays, and tells the till of it. The tool declines every card, with its number in the error.
fn relay(charged: &Charged, declares: fn(Tool) -> Tool) -> Relay {
    let charged = Arc::clone(charged);
    let pay = Tool::new("pay", "Pays.", move |pay: Pay, _: &CallContext<'_>| {
        charged.lock().unwrap().push((pay.card_number.clone(), pay.key));
        Err::<(), _>(Failure::new("declined", format!("card {} was declined", pay.card_number)))
    });
    let pay = declares(pay.secret(["card_number"]).key_argument("key"));
    Relay::builder()
        .agent(Agent::new("clerk", "").tools([pay]))
        .agent(Agent::new("till", ""))
        .entry("clerk")
        .route("clerk", "till")
        .build()
        .unwrap()
}

fn model() -> ScriptedModel {
    let pay = format!(r#"{{"card_number":"{CARD}","key":"mine"}}"#);
    let hand = format!(
        r#"{{"specialist":"till","task":"4111 1111 1111 1111 was declined.","context":{{"card":"{CARD}"}}}}"#
    );
    ScriptedModel::new()
        .turn("clerk", move |_| script::call("tu_1", "pay", &pay))
        .turn("clerk", move |_| script::call("tu_2", "handoff_to_specialist", &hand))
        .turn("till", |_| script::say(format!("We could not charge {CARD}, ada@example.org.")))
}

/// A model that keeps what it was asked.
struct Asked<'a>(ScriptedModel, &'a Mutex<String>);

impl Model for Asked<'_> {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        *self.1.lock().unwrap() += &serde_json::to_string(&request).unwrap();
        self.0.complete(request)
    }
}

fn gate_that_asks() -> Gate {
    Gate::new(|_| Decision::Ask)
}

/// All bodies of all records.
fn on_record(journal: &dyn Journal) -> String {
    journal.load(CONVERSATION, 1).unwrap().iter().map(|record| record.event.body().to_owned()).collect()
}

/// T62, T33: the tool gets the card, as its model wrote it, and a key of ours. The card is in no record, no trace, no request,
/// no package and no answer; and neither is what the user's own redactor takes out. That a key was ignored is in the trace.
#[test]
fn a_secret_is_nowhere_but_in_its_tool() {
    awake();
    let (charged, asked, traced) =
        (Charged::default(), Mutex::new(String::new()), Arc::new(Mutex::new(Vec::new())));
    let (relay, store, clock) = (relay(&charged, |tool| tool), MemoryStore::new(), Clock::at(1_000));
    let runner = Runner::new(Asked(model(), &asked))
        .clock(move || clock.now())
        .redact(|text| text.replace("ada@example.org", "<address>"));
    let log = Arc::clone(&traced);
    let layer = OnEvent::new(move |event, data| log.lock().unwrap().push(format!("{event} {data}")));
    let settled = tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        let durable = DurableRunner::new(&runner, &relay, &store);
        durable.submit(CONVERSATION, Turn::new("I am ada@example.org.").key("m-1")).unwrap()
    });
    let [(card, key)] = &charged.lock().unwrap()[..] else { panic!("charged once") };
    assert_eq!((&**card, key.starts_with("guest-7/")), (CARD, true), "{key}");
    let traced = traced.lock().unwrap().join("\n");
    assert!(traced.contains(r#""key_ignored":true"#), "{traced}");
    let all = [on_record(&store), asked.lock().unwrap().clone(), traced, format!("{settled:?}")];
    for (place, all) in all.iter().enumerate() {
        for canary in [CARD, "4111 1111 1111 1111", "ada@example.org"] {
            assert!(!all.contains(canary), "{canary} is in {place}: {all}");
        }
    }
    assert!(settled.answer().starts_with("We could not charge secret:"), "{}", settled.answer());
    // The same turn is known again by its words as they are on record.
    let again = DurableRunner::new(&runner, &relay, &store);
    let again = again.submit(CONVERSATION, Turn::new("I am ada@example.org.").key("m-1")).unwrap();
    assert_eq!(again.answer_id(), settled.answer_id());
}

/// A call that a person has approved gets its secret in the process that has it. In another one it is gone: the tool does not
/// run, and the model is told.
#[test]
fn a_secret_outlives_a_question_but_not_its_process() {
    for is_same_process in [true, false] {
        let charged = Charged::default();
        let (relay, store, clock) =
            (relay(&charged, Tool::needs_approval), MemoryStore::new(), Clock::at(1_000));
        let runner = Runner::new(model()).gate(gate_that_asks()).clock(move || clock.now());
        let first = DurableRunner::new(&runner, &relay, &store);
        let Settled::Waiting(parked) = first.submit(CONVERSATION, Turn::new("Pay.")).unwrap() else {
            panic!()
        };
        let id = parked.questions()[0].1.id.to_string();
        let durable = if is_same_process {
            first
        } else {
            drop(first);
            DurableRunner::new(&runner, &relay, &store)
        };
        durable.answer(CONVERSATION, &id, Answer::Approve, None, None).unwrap();
        let ran = charged.lock().unwrap().len();
        let is_told_gone = on_record(&store).contains("secret_gone");
        assert_eq!((ran, is_told_gone), if is_same_process { (1, false) } else { (0, true) });
    }
}

/// The same without a journal: the run that waits holds it.
#[test]
fn a_run_that_waits_holds_its_secrets() {
    let charged = Charged::default();
    let relay = relay(&charged, Tool::needs_approval);
    let runner = Runner::new(model()).gate(gate_that_asks());
    let waiting = || match runner.run(&relay, "Pay.").unwrap() {
        Outcome::Waiting(parked) => parked,
        other => panic!("{other:?}"),
    };
    let parked = waiting();
    assert!(!format!("{parked:?}{}", parked.step().save().unwrap()).contains(CARD));
    let approve = |parked: Parked| {
        let id = parked.questions()[0].1.id.to_string();
        runner.answer(&relay, parked, &id, Answer::Approve).unwrap();
        charged.lock().unwrap().len()
    };
    assert_eq!(approve(parked), 1);
    assert_eq!(approve(Parked::new(waiting().into_step())), 1, "one that was taken apart has none");
}

/// A call that was begun, with a secret that is gone since, is not told as one that did not run: it may have had its effect. So a
/// person is asked.
#[test]
fn a_begun_call_without_its_secret_is_in_doubt() {
    let (charged, store, clock) = (Charged::default(), MemoryStore::new(), Clock::at(1_000));
    let relay = relay(&charged, |tool| tool.keyed(60_000));
    let runner = Runner::new(model()).clock(move || clock.now());
    DurableRunner::new(&runner, &relay, &store).submit(CONVERSATION, Turn::new("Pay.")).unwrap();
    let records = store.load(CONVERSATION, 1).unwrap();
    let begun = records.iter().position(|record| record.event.kind() == "tool_intended").unwrap();
    let cut = journal_of(&records[..=begun]);
    let settled = DurableRunner::new(&runner, &relay, &cut).resume(CONVERSATION).unwrap();
    assert!(matches!(settled, Settled::Waiting(_)), "{settled:?}");
    assert_eq!((charged.lock().unwrap().len(), on_record(&cut).contains("secret_gone")), (1, false));
}

/// T62: what a user's own redactor takes out comes in by no door: not by why somebody calls off, who answers, what a turn is traced
/// as, what an artifact holds or why a gate says no. A key is an identity and is kept as it is, so one with such words is refused.
#[test]
fn the_redactor_stands_at_every_door() {
    const MAIL: &str = "ada@example.org";
    let charged = Charged::default();
    let relay = relay(&charged, Tool::needs_approval);
    let runner = |gate: Gate| {
        let clock = Clock::at(1_000);
        let runner = Runner::new(model()).gate(gate).clock(move || clock.now());
        runner.redact(|text| text.replace(MAIL, "<address>"))
    };
    let store = MemoryStore::new();
    let asks = runner(gate_that_asks());
    let durable = DurableRunner::new(&asks, &relay, &store);
    let refused = durable.submit(CONVERSATION, Turn::new("Pay.").key(format!("mail of {MAIL}")));
    let Err(refused @ DurableError::SecretKey { .. }) = refused else { panic!("{refused:?}") };
    assert!(!format!("{refused} {refused:?}").contains(MAIL), "{refused}");
    assert_eq!(store.heads().unwrap().len(), 0);
    let turn = Turn::new("Pay.").key("m-1").trace(format!("trace of {MAIL}"));
    let Settled::Waiting(parked) = durable.submit(CONVERSATION, turn).unwrap() else { panic!() };
    let artifact = serde_json::json!({ MAIL: [MAIL] });
    let value = RawJson::of(&artifact).unwrap();
    let _ = durable.give(CONVERSATION, InputKind::ArtifactPut { name: "who".into(), value });
    let value = RawJson::of(&artifact[MAIL]).unwrap();
    durable.give(CONVERSATION, InputKind::ArtifactPut { name: "who".into(), value }).unwrap();
    let id = parked.questions()[0].1.id.to_string();
    durable.answer(CONVERSATION, &id, Answer::Approve, None, Some(MAIL)).unwrap();
    drop(durable);

    let denies = runner(Gate::new(|_| Decision::Deny { reason: format!("{MAIL} may not") }));
    let durable = DurableRunner::new(&denies, &relay, &store);
    durable.submit("guest-8", Turn::new("Pay.")).unwrap();
    let durable = DurableRunner::new(&asks, &relay, &store);
    durable.submit("guest-9", Turn::new("Pay.")).unwrap();
    durable.cancel("guest-9", &format!("{MAIL} has left")).unwrap();
    durable.submit("guest-10", Turn::new("Pay.")).unwrap();
    let what = InputKind::Cancelled { reason: format!("{MAIL} has left").into(), begun: false };
    durable.give("guest-10", what).unwrap();
    durable.submit("guest-11", Turn::new("Pay.")).unwrap();
    let by = Some(MAIL.into());
    let what = InputKind::HumanAnswered { id: "guest-11/1/1/0".into(), answer: Answer::Approve, by };
    let given = durable.give("guest-11", what);
    assert!(given.is_ok(), "{given:?}");

    let all = |kind: &str| -> Vec<String> {
        let of = |name: &String| store.load(name, 1).unwrap();
        let records = store.conversations().unwrap().iter().flat_map(of).collect::<Vec<_>>();
        let of_kind = records.into_iter().filter(|record| record.event.kind() == kind);
        of_kind.map(|record| record.event.body().to_owned()).collect()
    };
    for kind in InputKind::NAMES.into_iter().chain(["closed", "escalated"]) {
        for body in all(kind) {
            assert!(!body.contains(MAIL), "{kind}: {body}");
        }
    }
    for kind in ["cancelled", "human_answered", "artifact_put"] {
        assert!(all(kind).iter().all(|body| body.contains("<address>")), "{kind}");
    }
    assert_eq!(all("cancelled").len(), 2);
}

/// T62, T25: what the conversation holds as secret is taken out of a turn of the user too, before it is on record or in a span. The turn is
/// known again under its key: by this process, which has the value, by one after a restart, which has not, and with a
/// redactor that takes the same out.
#[test]
fn a_user_who_says_a_secret_again_is_not_quoted() {
    awake();
    let model = || model().turn("till", |_| script::say(format!("It was {CARD}.")));
    let relay = relay(&Charged::default(), |tool| tool);
    let redacts: [fn(&str) -> String; 2] = [str::to_owned, |text| text.replace(CARD, "<card>")];
    for redact in redacts {
        let (store, clock, traced) = (MemoryStore::new(), Clock::at(1_000), Arc::new(Mutex::new(Vec::new())));
        let runner = Runner::new(model()).clock(move || clock.now()).redact(redact).show_contents();
        let durable = DurableRunner::new(&runner, &relay, &store);
        // Nobody can know yet that this is one.
        let first = Turn::new(format!("Pay with {CARD}.")).key("m-1");
        let paid = durable.submit(CONVERSATION, first.clone()).unwrap();
        let begun = store.load(CONVERSATION, 1).unwrap().len();
        let log = Arc::clone(&traced);
        let layer = OnEvent::new(move |event, data| log.lock().unwrap().push(format!("{event} {data}")));
        let second = Turn::new(format!("Was it {CARD}, {CARD}?")).key("m-2").trace(format!("of {CARD}"));
        let told = tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            durable.submit(CONVERSATION, second.clone()).unwrap()
        });
        let records = store.load(CONVERSATION, begun as u64 + 1).unwrap();
        let records: String = records.iter().map(|record| record.event.body().to_owned()).collect();
        let traced = traced.lock().unwrap().join("\n");
        for all in [&records, &traced] {
            assert!(all.contains("Was it secret:") && !all.contains(CARD), "{all}");
        }

        let head = store.head(CONVERSATION).unwrap();
        let is_told_again = |durable: &DurableRunner<'_>| {
            for (turn, told) in [(&first, &paid), (&second, &told)] {
                let again = durable.submit(CONVERSATION, turn.clone()).unwrap();
                assert_eq!((again.answer(), again.answer_id()), (told.answer(), told.answer_id()));
            }
            let other = Turn::new(format!("Was it {CARD}, {CARD}!")).key("m-2");
            let other = durable.submit(CONVERSATION, other);
            assert!(matches!(other, Err(DurableError::KeyReused { .. })), "{other:?}");
        };
        // Who knows the value tells another one from it.
        let other = durable.submit(CONVERSATION, Turn::new("Was it 4222, 4222?").key("m-2"));
        assert!(matches!(other, Err(DurableError::KeyReused { .. })), "{other:?}");
        is_told_again(&durable);
        assert_eq!(store.head(CONVERSATION).unwrap(), head);
        drop(durable);
        is_told_again(&DurableRunner::new(&runner, &relay, &store));
    }
}

/// T62: a key of a turn is kept as it is, so one with a secret in it is refused, unless it is on record from before it was one.
/// Nothing of it is on record, and a secret that is short stands in a number by chance.
#[test]
fn a_key_with_a_secret_in_it_is_refused() {
    let pays =
        |number: &str| script::call("tu_1", "pay", &format!(r#"{{"card_number":"{number}","key":""}}"#));
    let model = ScriptedModel::new()
        .turn("clerk", move |_| pays(CARD))
        .turn("clerk", move |_| pays("123"))
        .turn("clerk", |_| script::say("Declined."))
        .turn("clerk", |_| script::say("Yes."));
    let (relay, store, clock) =
        (relay(&Charged::default(), |tool| tool), MemoryStore::new(), Clock::at(1_000));
    let runner = Runner::new(model).clock(move || clock.now());
    let durable = DurableRunner::new(&runner, &relay, &store);
    let keyed = |key: String| durable.submit(CONVERSATION, Turn::new("Pay.").key(key));
    let paid = keyed(format!("pay {CARD}")).unwrap();
    let head = store.head(CONVERSATION).unwrap();
    let refused = keyed(format!("again {CARD}"));
    assert!(matches!(refused, Err(DurableError::SecretKey { .. })), "{refused:?}");
    assert_eq!(keyed(format!("pay {CARD}")).unwrap().answer_id(), paid.answer_id());
    assert_eq!(store.head(CONVERSATION).unwrap(), head);
    assert_eq!(keyed("message-123".to_owned()).unwrap().answer(), "Yes.");
}

/// What this process has learnt to be secret it takes out of what is said after another one has driven the conversation, too.
#[test]
fn a_secret_is_known_after_another_process_has_driven() {
    let model = || {
        let model = model().turn("till", |_| script::say("Yes."));
        model.turn("till", |_| script::say("Yes, yes."))
    };
    let (relay, store, clock) =
        (relay(&Charged::default(), |tool| tool), MemoryStore::new(), Clock::at(1_000));
    let runner = || {
        let clock = clock.clone();
        Runner::new(model()).clock(move || clock.now())
    };
    let (one, another) = (runner(), runner());
    let one = DurableRunner::new(&one, &relay, &store).term(1);
    one.submit(CONVERSATION, Turn::new("Pay.")).unwrap();
    let another = DurableRunner::new(&another, &relay, &store).term(1);
    another.submit(CONVERSATION, Turn::new("Well?")).unwrap();
    one.submit(CONVERSATION, Turn::new(format!("Was it {CARD}?"))).unwrap();
    let all = on_record(&store);
    assert!(all.contains("Was it secret:") && !all.contains(CARD), "{all}");
}

/// The same without a journal: the report of a run holds its secrets, and who goes on with it has them taken out of the user's words
/// and of what the model says. A run that was taken out of its report has none.
#[test]
fn a_report_holds_its_secrets() {
    let model = || model().turn("till", |_| script::say(format!("It was {CARD}.")));
    let relay = relay(&Charged::default(), |tool| tool);
    let runner = Runner::new(model());
    let ended = |outcome| match outcome {
        Ok(Outcome::Ended(report)) => report,
        other => panic!("{other:?}"),
    };
    let report = ended(runner.run(&relay, "Pay."));
    let done = report.done().clone();
    let told = ended(runner.go_on(&relay, report, &format!("Was it {CARD}?")));
    let all = format!("{told:?}{}", serde_json::to_string(told.done().turn().unwrap().messages()).unwrap());
    assert!(told.answer().starts_with("It was secret:") && !all.contains(CARD), "{all}");
    assert_eq!(ended(runner.go_on(&relay, done, "Was it?")).answer(), format!("It was {CARD}."));
}
