//! What the records say beside where the run stands: which calls were begun, and what effects there are.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what cannot be")]

mod harness;

use harness::scribe::Scribe;
use harness::{agent, calls, script};
use sommelier_handoff::{Answer, InputKind, Relay};
use sommelier_runtime::tool::{CallContext, Failure, denied};
use sommelier_runtime::{ScriptedModel, Tool, ToolOutput, tool_args};

tool_args! {
    /// A seat.
    struct Seat {
        /// Its number.
        pub seat: u32,
    }
}

tool_args! {
    /// A booking.
    struct Booking {
        /// Its id.
        pub id: u32,
    }
}

/// A clerk who looks, books and gives back.
fn relay() -> Relay {
    let seen = Tool::new("see", "Looks.", |_: Seat, _: &CallContext<'_>| Ok::<_, Failure>("free"));
    let book = Tool::new("book", "Books.", |seat: Seat, _: &CallContext<'_>| {
        Ok::<_, Failure>(serde_json::json!({ "id": seat.seat }))
    });
    let back =
        Tool::new("give_back", "Gives back.", |_: Booking, _: &CallContext<'_>| Ok::<_, Failure>("given"));
    let tools = [seen.read_only(), book.business_key(["seat"]), back.undoes("book", "id")];
    Relay::builder().agent(agent("clerk").tools(tools)).entry("clerk").build().unwrap()
}

fn books(seat: u32) -> (&'static str, String) {
    ("book", format!(r#"{{"seat":{seat}}}"#))
}

fn spoken() -> InputKind {
    InputKind::TurnReceived { key: None, text: "hello".into(), trace: None, begun: false }
}

/// The effects, as tool, business key, what came of it, and whether it was undone.
fn effects(scribe: &Scribe<'_>) -> Vec<String> {
    scribe.replayed();
    let effects = scribe.chronicle().effects().iter();
    let shown = effects.map(|effect| {
        let (key, result) = (effect.business_key.as_deref(), effect.result.as_deref());
        let undone = if effect.is_undone { ", undone" } else { "" };
        format!("{} {}: {}{undone}", effect.tool, key.unwrap_or("-"), result.unwrap_or("not known"))
    });
    shown.collect()
}

/// A run whose two bookings are intended, and of which nothing is known.
fn begun<'a>(relay: &'a Relay, model: &'a ScriptedModel) -> Scribe<'a> {
    let scribe = Scribe::new(relay, model).gets("c", spoken()).does().0.intends();
    let begun = scribe.chronicle().begun().map(|(run, place, effect)| (run, place, &*effect.key));
    assert_eq!(begun.collect::<Vec<_>>(), [("c", 0, "c/1/1/0"), ("c", 1, "c/1/1/1")]);
    scribe
}

fn two() -> ScriptedModel {
    script([
        ("clerk", calls([books(1), books(2)])),
        ("clerk", calls([books(3)])),
        ("clerk", harness::says("Well.")),
    ])
}

fn completed(place: usize) -> InputKind {
    InputKind::ToolCompleted { place, output: ToolOutput::ok(r#"{"id":1}"#) }
}

/// What a tool has done is an effect, with its result and what it is for; what only reads has none, and what was undone is
/// none that stands.
#[test]
fn effects_and_what_undoes_them() {
    let relay = relay();
    let model = script([
        ("clerk", calls([("see", r#"{"seat":1}"#.to_owned()), books(1), books(2)])),
        ("clerk", calls([("give_back", r#"{"id":1}"#)])),
        ("clerk", harness::says("Well.")),
    ]);
    let scribe = Scribe::new(&relay, &model).says("hello");
    assert_eq!(
        effects(&scribe),
        [r#"book {"seat":1}: {"id":1}, undone"#, r#"book {"seat":2}: {"id":2}"#, r#"give_back -: "given""#,]
    );
    let live = |seat: u32, key: &str| {
        let live = scribe.chronicle().live("book", &format!(r#"{{"seat":{seat}}}"#), key);
        live.map(|effect| effect.key.to_string())
    };
    assert_eq!([live(1, ""), live(2, ""), live(2, "c/1/1/2")], [None, Some("c/1/1/2".to_owned()), None]);
}

/// A call that was begun and whose run was called off may have had its effect: that stays on record, and it is not taken for
/// one that is begun in a later reply.
#[test]
fn what_was_called_off_may_have_happened() {
    let (relay, model) = (relay(), two());
    let scribe = begun(&relay, &model).gets("c", completed(0));
    let called_off = scribe.gets("c", InputKind::Cancelled { reason: "enough".into(), begun: true });
    let expected = [r#"book {"seat":1}: {"id":1}"#, r#"book {"seat":2}: not known"#];
    assert_eq!(effects(&called_off), expected);
    assert_eq!(called_off.chronicle().begun().count(), 0);
    let live = called_off.chronicle().live("book", r#"{"seat":2}"#, "").unwrap();
    assert_eq!((&*live.key, live.attempts), ("c/1/1/1", 1));
    let again = called_off.gets("c", spoken()).does().0;
    assert_eq!(again.step().purpose(), "run tools");
    assert_eq!(again.chronicle().begun_at("c", 0), None);
}

/// While no outcome is on record, what only reads has done nothing, and what is written with its record comes with it or not at all.
#[test]
fn what_was_begun_may_have_happened_where_its_effect_outlives_its_process() {
    let see = Tool::new("see", "Looks.", |_: Seat, _: &CallContext<'_>| Ok::<_, Failure>("free")).read_only();
    let keep = Tool::new("keep", "Writes.", |_: Seat, _: &CallContext<'_>| Ok::<_, Failure>("kept"));
    let book = Tool::new("book", "Books.", |_: Seat, _: &CallContext<'_>| Ok::<_, Failure>("booked"));
    let clerk = agent("clerk").tools([see, keep.transactional(), book]);
    let relay = Relay::builder().agent(clerk).entry("clerk").build().unwrap();
    let seat = r#"{"seat":1}"#;
    let model = script([("clerk", calls([("see", seat), ("keep", seat), ("book", seat)]))]);
    let scribe = Scribe::new(&relay, &model).gets("c", spoken()).does().0.intends();
    let in_doubt = |scribe: &Scribe<'_>| -> Vec<String> {
        scribe.chronicle().in_doubt().map(|effect| effect.tool.to_string()).collect()
    };
    assert_eq!(in_doubt(&scribe), ["book"]);
    assert_eq!(in_doubt(&scribe.gets("c", completed(2))), [""; 0]);
}

/// A tool that failed has had no effect, unless it says that it may have had one.
#[test]
fn what_failed_has_had_no_effect_unless_nobody_knows() {
    let (relay, model) = (relay(), two());
    let failed = |place, code: &str| {
        let output = ToolOutput::failed(&Failure::new(code, "the line was cut"));
        InputKind::ToolFailed { place, output }
    };
    let scribe = begun(&relay, &model).gets("c", failed(0, "no_luck")).gets("c", failed(1, "in_doubt"));
    assert_eq!(effects(&scribe), [r#"book {"seat":2}: not known"#]);
    let (relay, model) = (self::relay(), two());
    let denied = InputKind::ToolFailed { place: 0, output: denied("book", "not here") };
    let scribe = begun(&relay, &model).gets("c", denied).gets("c", completed(1));
    assert_eq!(effects(&scribe), [r#"book {"seat":2}: {"id":1}"#]);
}

/// What a person says of a call that was in doubt settles it: it is an effect, or none.
#[test]
fn a_person_settles_what_was_in_doubt() {
    let (relay, model) = (relay(), two());
    let scribe = begun(&relay, &model).gets("c", InputKind::ToolInDoubt { places: vec![0, 1] });
    assert_eq!((effects(&scribe).len(), scribe.chronicle().begun().count()), (0, 2));
    let say = |id: &str, answer| InputKind::HumanAnswered { id: id.into(), answer, by: Some("Ada".into()) };
    let happened = Answer::Happened { result: r#"{"id":1}"#.into() };
    let scribe = scribe.gets("c", say("c/1/1/0/in_doubt", happened));
    assert_eq!(effects(&scribe), [r#"book {"seat":1}: {"id":1}"#]);
    let scribe = scribe.gets("c", say("c/1/1/1/in_doubt", Answer::DidNotHappen));
    assert_eq!(effects(&scribe), [r#"book {"seat":1}: {"id":1}"#]);
    assert_eq!(scribe.chronicle().begun().count(), 0);

    // What a person has undone is none either.
    let (relay, model) = (self::relay(), two());
    let scribe =
        begun(&relay, &model).gets("c", completed(0)).gets("c", InputKind::ToolInDoubt { places: vec![1] });
    let scribe = scribe.gets("c", say("c/1/1/1/in_doubt", Answer::Undone));
    assert_eq!(
        (effects(&scribe), scribe.chronicle().begun().count()),
        (vec![r#"book {"seat":1}: {"id":1}"#.to_owned()], 0)
    );
}

/// A call that is begun again counts its attempts, until something is known of it.
#[test]
fn attempts_are_counted() {
    let (relay, model) = (relay(), two());
    let scribe = begun(&relay, &model).intends();
    let attempts =
        |scribe: &Scribe<'_>, place| scribe.chronicle().begun_at("c", place).map(|effect| effect.attempts);
    assert_eq!((attempts(&scribe, 0), attempts(&scribe, 1), attempts(&scribe, 2)), (Some(2), Some(2), None));
    assert!(scribe.chronicle().is_any_begun("c") && !scribe.chronicle().is_any_begun("c/1/1/0"));
    let scribe = scribe.gets("c", completed(1));
    assert_eq!((attempts(&scribe, 0), attempts(&scribe, 1)), (Some(2), None));
}
