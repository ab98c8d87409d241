//! Runs of every kind: their records are the cassette that a recorder makes, and it replays them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use harness::{Flaky, agent, calls, of_run, on_record, player, recorder, run, runner, supervised};
use sommelier_cassette::{Cassette, Redactor, Source};
use sommelier_handoff::Relay;
use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runner::journal::Journal;
use sommelier_runner::{DurableRunner, Turn};
use sommelier_runtime::{Model, ModelError, ScriptedModel, script};
use sommelier_store::MemoryStore;

/// Both cassettes are the same, and a run on record that is driven by it makes them a third time.
fn check(relay: &Relay, model: &dyn Model, texts: &[&str]) -> Cassette {
    let (_, [recorded, from_records]) = on_record(relay, model, texts);
    assert_eq!(from_records, recorded);
    let cassette = Cassette::from_json(&recorded).unwrap();
    let player = player(&cassette, relay);
    let (_, [_, replayed]) = on_record(relay, &player, texts);
    assert_eq!(player.finish(), Ok(()));
    let as_recorded = |json: &str| {
        let source = json.find("\"exchanges\"").unwrap();
        json[source..].to_owned()
    };
    assert_eq!(as_recorded(&replayed), as_recorded(&recorded));
    cassette
}

/// Who asked in which run, in the order of the cassette.
fn order(cassette: &Cassette) -> Vec<String> {
    let told = |one: &sommelier_cassette::Exchange| format!("{} {} {}", one.run(), one.caller(), one.turn());
    cassette.exchanges().iter().map(told).collect()
}

fn pair() -> Relay {
    Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .entry("a")
        .route("a", "b")
        .route("b", "a")
        .build()
        .unwrap()
}

fn hands_to(request: &ModelRequest<'_>, specialist: &str) -> ModelResponse {
    let package = format!(r#"{{"specialist":"{specialist}","task":"Go on.","context":{{}}}}"#);
    calls(request, [("handoff_to_specialist", &package)])
}

#[test]
fn handoffs_there_and_back_over_several_messages_of_the_user() {
    let model = ScriptedModel::new()
        .turn("a", |request| hands_to(request, "b"))
        .turn("b", |request| {
            calls(request, [("look", r#"{"word":"x"}"#), ("fail", "{}"), ("nonsense", "{}")])
        })
        .turn("b", |_| script::say("Done."))
        .turn("b", |request| hands_to(request, "a"))
        .turn("a", |_| script::say("Again."));
    let cassette = check(&pair(), &model, &["hello", "once more"]);
    assert_eq!(order(&cassette), ["1 a 1", "1 b 1", "1 b 2", "1 b 3", "1 a 2"]);
}

/// Replies that are cut, empty or no calls at all change a conversation in ways of their own: the requests after them say what
/// they keep.
#[test]
fn replies_that_are_empty_broken_or_take_an_id_twice() {
    let model = ScriptedModel::new()
        .turn("a", |_| script::reply(Vec::new(), sommelier_protocol::StopReason::EndTurn))
        .turn("a", |_| script::calls([("tu", "look", r#"{"word":"x"}"#), ("tu", "look", r#"{"word": "#)]))
        .turn("a", |_| script::calls([("tu", "look", r#"{"word":"y"}"#), ("", "fail", "")]))
        .turn("a", |_| script::say("Done."));
    let cassette = check(&pair(), &model, &["hello"]);
    assert_eq!(order(&cassette), ["1 a 1", "1 a 2", "1 a 3", "1 a 4"]);
}

/// A model that takes its time, by who asks.
struct Slow<M>(M, fn(&ModelRequest<'_>) -> u64);

impl<M: Model> Model for Slow<M> {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        thread::sleep(Duration::from_millis((self.1)(&request)));
        self.0.complete(request)
    }
}

fn asked_by_three() -> ScriptedModel {
    let billing = |model: ScriptedModel| {
        model
            .turn("billing", |request| {
                let word = format!(r#"{{"word":"{}"}}"#, script::first_words(request).len());
                calls(request, [("look", &word)])
            })
            .turn("billing", |request| script::say(format!("It is {}.", script::last_result(request))))
    };
    let model = ScriptedModel::new()
        .turn("supervisor", |request| {
            let asked = [
                ("ask_billing", r#"{"question":"INV-311?"}"#),
                ("ask_shipping", r#"{"question":"A-7?"}"#),
                ("ask_billing", r#"{"question":"INV-4?"}"#),
            ];
            calls(request, asked)
        })
        .turn("supervisor", |_| script::say("All is well."))
        .turn("shipping", |request| hands_to(request, "customs"))
        .turn("customs", |_| script::say("It is held."));
    billing(model)
}

/// Branches ask from threads of their own, and the cassette is the same whichever is the first: two of one agent as well.
#[test]
fn branches_have_one_order_whichever_is_the_first() {
    let relay = supervised().build().unwrap();
    let expected = [
        "1 supervisor 1",
        "1/1/1/0 billing 1",
        "1/1/1/0 billing 2",
        "1/1/1/1 shipping 1",
        "1/1/1/1 customs 1",
        "1/1/1/2 billing 1",
        "1/1/1/2 billing 2",
        "1 supervisor 2",
    ];
    let delays: [fn(&ModelRequest<'_>) -> u64; 3] = [
        |_| 0,
        |request| if request.caller == "billing" { 15 } else { 0 },
        |request| if request.run.ends_with("/2") { 0 } else { 15 },
    ];
    let cassettes =
        delays.map(|delay| check(&relay, &Slow(asked_by_three(), delay), &["INV-311, A-7 and INV-4?"]));
    assert_eq!(order(&cassettes[0]), expected);
    assert!(cassettes.iter().all(|cassette| cassette.to_json().unwrap() == cassettes[0].to_json().unwrap()));
}

/// A model that fails is recorded with its error, and so is the request that is made again.
#[test]
fn errors_of_the_model_are_recorded_and_replayed() {
    let relay = pair();
    let model = Flaky {
        model: ScriptedModel::new().turn("a", |_| script::say("Here.")),
        fails: |number| {
            (number == 0).then(|| ModelError::Service { status: 529, detail: "overloaded".to_owned() })
        },
        asked: AtomicUsize::new(0),
    };
    let (store, recorder) = (MemoryStore::new(), recorder(&model, &relay));
    let runner_of_it = runner(&recorder);
    let driver = DurableRunner::new(&runner_of_it, &relay, &store);
    driver.submit("c", Turn::new("hello")).unwrap();
    driver.resume("c").unwrap();
    let recorded = recorder.cassette();
    assert_eq!(of_run(&relay, &store, &model), recorded);
    assert_eq!(order(&recorded), ["1 a 1", "1 a 1"]);

    let player = player(&recorded, &relay);
    let replaying = runner(&player);
    let (store, first) = (MemoryStore::new(), recorded.exchanges()[0].outcome().unwrap_err().clone());
    let driver = DurableRunner::new(&replaying, &relay, &store);
    driver.submit("c", Turn::new("hello")).unwrap();
    assert_eq!(
        driver.look("c").unwrap().step().map(|step| match step {
            sommelier_handoff::Step::Done(done) => done.end().clone(),
            other => panic!("{other:?}"),
        }),
        Some(sommelier_handoff::RunEnd::Failed { error: first })
    );
    driver.resume("c").unwrap();
    assert_eq!(player.finish(), Ok(()));
}

/// A model whose process dies while it is being asked.
struct Dies<'a>(ScriptedModel, &'a AtomicUsize, usize);

impl Model for Dies<'_> {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        assert_ne!(self.1.fetch_add(1, Ordering::Relaxed), self.2, "the process dies");
        self.0.complete(request)
    }
}

/// Wherever the records of a run end, as after a crash, the run that is gone on with is the same cassette in the end.
#[test]
fn a_run_that_was_killed_and_resumed_is_the_same_cassette() {
    let relay = supervised().build().unwrap();
    let (whole, [expected, _]) = on_record(&relay, &asked_by_three(), &["INV-311, A-7 and INV-4?"]);
    let records = whole.load("c", 1).unwrap();
    let begun = records.iter().position(|record| record.event.kind() == "turn_received").unwrap();
    for kept in begun + 1..records.len() {
        let store = MemoryStore::new();
        // Each in a commit of its own, under a lease of its own that is over.
        let lease = store.take_lease("c", "the one that died", 0, 0).unwrap();
        let those = records.iter().take(kept).filter(|record| record.event.kind() != "lease_taken");
        for (head, record) in (lease.head.seq..).zip(those) {
            store.append("c", head, lease.epoch, std::slice::from_ref(&record.event)).unwrap();
        }
        let model = asked_by_three();
        let resumed = runner(&model);
        DurableRunner::new(&resumed, &relay, &store).resume("c").unwrap();
        let cassette = of_run(&relay, &store, &model);
        assert_eq!(cassette.to_json().unwrap(), expected, "cut behind record {kept}");
    }
}

/// Half of a run is half of its cassette, and a player goes on with the other half in another process.
#[test]
fn a_replay_goes_on_in_another_process() {
    let relay = pair();
    let model = || ScriptedModel::new().turn("a", |_| script::say("One.")).turn("a", |_| script::say("Two."));
    let cassette = check(&relay, &model(), &["hello", "again"]);
    let store = MemoryStore::new();
    for (text, left) in [("hello", 1), ("again", 1)] {
        let player = player(&cassette, &relay);
        let replaying = runner(&player);
        DurableRunner::new(&replaying, &relay, &store).submit("c", Turn::new(text)).unwrap();
        assert_eq!(player.unused().len(), left, "{text}");
    }
    assert_eq!(of_run(&relay, &store, &model()), cassette);
}

/// Records of another relay are no run of this one.
#[test]
fn records_of_another_relay_are_told() {
    let (store, _) = on_record(&pair(), &ScriptedModel::new().turn("a", |_| script::say("Hi.")), &["hello"]);
    let records = store.load("c", 1).unwrap();
    let other = supervised().build().unwrap();
    let error = Cassette::of_run(&other, "c", &records, Source::default(), &Redactor::new()).unwrap_err();
    let told = error.to_string();
    assert!(told.starts_with("the run cannot be played again: ") && told.contains("definition"), "{told}");
}

/// An adapter that panics is recorded as that, and the panic goes on.
#[test]
fn a_panic_passes_and_is_recorded() {
    let (relay, asked) = (pair(), AtomicUsize::new(0));
    let recorder = recorder(Dies(ScriptedModel::new(), &asked, 0), &relay);
    let report = run(&recorder, &relay, "c", "hello");
    assert_eq!(report.end().to_string(), format!("failed: {}", ModelError::Panicked));
    assert_eq!(recorder.cassette().exchanges()[0].outcome(), Err(&ModelError::Panicked));
}

/// Conversations that one recorder hears have numbers, and a replay may give them other names.
#[test]
fn conversations_have_numbers_and_may_be_renamed() {
    let relay = pair();
    let model = || ScriptedModel::new().turn("a", |request| script::say(script::last_words(request)));
    let recorder = recorder(model(), &relay);
    for (name, text) in [("conversation-1-00ff00ff00ff00ff", "hello"), ("z", "hallo"), ("y", "hello")] {
        run(&recorder, &relay, name, text);
    }
    let cassette = recorder.cassette();
    assert_eq!(order(&cassette), ["1 a 1", "2 a 1", "3 a 1"]);

    let player = player(&cassette, &relay);
    for (name, text) in [("p", "hallo"), ("q", "hello"), ("r", "hello")] {
        assert_eq!(run(&player, &relay, name, text).answer(), text);
    }
    assert_eq!(player.finish(), Ok(()));
    let told = run(&player, &relay, "s", "hello").end().to_string();
    let expected = "failed: nothing on record answers this request: \
                    a asks in another conversation than the 3 that are recorded";
    assert_eq!(told, expected);
}

/// What services and drivers make by chance is in no file: ids of replies and calls, the names of conversations.
#[test]
fn two_recordings_that_differ_by_chance_are_one_file() {
    let relay = pair();
    let recorded = |chance: &'static str| {
        let said = move |mut reply: ModelResponse| {
            reply.id = format!("msg_{chance}").into();
            reply
        };
        let id = format!("toolu_{chance}");
        let model = ScriptedModel::new()
            .turn("a", move |_| said(script::call(&id, "look", r#"{"word":"x"}"#)))
            .turn("a", move |request| {
                said(script::say(format!("{} by toolu_{chance} in {}", request.messages.len(), request.run)))
            });
        let recorder = recorder(model, &relay);
        run(&recorder, &relay, &format!("ask-{chance}"), "hello");
        recorder.cassette().to_json().unwrap()
    };
    let file = recorded("01A09q90qw90lq917835lq9");
    assert_eq!(recorded("01B11q90qw90lq917835lr1"), file);
    assert!(file.contains(r#""text": "3 by call_1 in conversation""#) && !file.contains("01A09"), "{file}");
}

/// A fault in arguments is told with its place in the text that the model wrote, which is not the text on record: white space is not
/// kept. A replay holds all the same, and so it does for arguments that are too large by their white space.
#[test]
fn arguments_with_white_space_are_replayed() {
    let wide = format!("{{{}\"word\":\"x\"}}", " ".repeat(300_000));
    let relay = Relay::builder().agent(agent("a")).entry("a").build().unwrap();
    let model = ScriptedModel::new()
        .turn("a", |_| script::call("tu_1", "look", "{\n  \"word\" : 3\n}"))
        .turn("a", move |_| script::call("tu_2", "look", &wide))
        .turn("a", |_| script::call("tu_3", "look", "{ \"word\" : \"at line 3 column 4\" "))
        .turn("a", |_| script::say("Done."));
    let (_, cassettes) = on_record(&relay, &model, &["Look."]);
    assert_eq!(cassettes[0], cassettes[1]);
    assert!(cassettes[0].contains("invalid type: integer `3`, expected a string\\\""), "{}", cassettes[0]);
    for cassette in cassettes {
        let player = player(&Cassette::from_json(&cassette).unwrap(), &relay);
        assert_eq!(run(&player, &relay, "c", "Look.").answer(), "Done.");
        assert_eq!(player.finish(), Ok(()));
    }
}
