//! Records that are not those of the run, or cannot be read: the replay stops there, and says by name what is wrong.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what cannot be")]

mod harness;

use harness::scribe::{Record, Scribe, replay};
use harness::{BOTH, agent, calls, hands_to, looks, payer, pays, says, script, team, to};
use sommelier_handoff::{
    Answer, Delegate, Divergence, ENTRY_VERSION, Entry, HANDOFF_TO_SPECIALIST, LoadError, Misfit, Relay,
    Replay, Unread,
};
use sommelier_runtime::ScriptedModel;

fn relay() -> Relay {
    team("a -> b")
        .agent(payer("till"))
        .route("b", "till")
        .delegate("a", Delegate::new("ask_billing", agent("billing")))
        .delegate("a", Delegate::new("ask_shipping", agent("shipping")))
        .build()
        .unwrap()
}

fn models() -> ScriptedModel {
    let look = ("look", r#"{"word":"x"}"#.to_owned());
    script([
        ("a", calls([look.clone(), look, (HANDOFF_TO_SPECIALIST, to("nobody", "Go on."))])),
        ("a", calls(BOTH)),
        ("billing", looks("INV")),
        ("billing", says("Yes.")),
        ("shipping", says("Here.")),
        ("a", hands_to("b")),
        ("b", hands_to("till")),
        ("till", calls([pays("INV-1")])),
        ("till", says("Six.")),
    ])
}

/// A conversation with tools, a refusal, branches, two handoffs and an approval.
fn driven<'a>(relay: &'a Relay, model: &'a ScriptedModel) -> Scribe<'a> {
    let scribe = Scribe::new(relay, model).says("hello");
    let id = scribe.step().questions()[0].1.id.to_string();
    let scribe = scribe.answers(&id, Answer::Approve);
    scribe.replayed();
    scribe
}

/// Why these records are not of the run; when they could be, what is owed.
fn judged(relay: &Relay, records: &[Record]) -> Result<Vec<String>, Divergence> {
    Ok(replay(relay, records)?.owed().map(|told| told.what.name().to_owned()).collect())
}

fn is_intent(record: &Record) -> bool {
    matches!(record.read(), Entry::Announced(told) if told.what.is_intent())
}

fn is_output(record: &Record) -> bool {
    matches!(record.kind.as_str(), "tool_completed" | "tool_failed")
}

/// Whether two records are of branches of which none is in the other.
fn are_apart(one: &Record, other: &Record) -> bool {
    let [one, other] = [one, other].map(|record| match record.read() {
        Entry::Input(input) => input.run,
        Entry::Announced(told) => told.run,
    });
    !one.starts_with(&*other) && !other.starts_with(&*one)
}

/// A record that is missing is missed: what comes next does not follow. What was about to be done, and is not on record, is
/// the journal's to miss.
#[test]
fn a_record_that_is_missing_is_missed() {
    let (relay, model) = (relay(), models());
    let scribe = driven(&relay, &model);
    for (place, record) in scribe.records.iter().enumerate() {
        let mut without = scribe.records.clone();
        without.remove(place);
        match judged(&relay, &without) {
            Err(_) => {}
            Ok(owed) if place == scribe.records.len() - 1 => assert_eq!(owed, ["closed"]),
            Ok(owed) => assert!(is_intent(record) && owed.is_empty(), "{place}: {record:?}"),
        }
    }
    let without = |kind: &str| {
        let mut records = scribe.records.clone();
        records.remove(scribe.place(kind));
        judged(&relay, &records).unwrap_err().to_string()
    };
    assert_eq!(
        without("opened"),
        "turn_received is out of place: a conversation is opened once, before anything else"
    );
    let why = without("turn_received");
    assert!(why.ends_with(" is on record, and nothing follows from the inputs"), "{why}");
    assert!(why.starts_with(r#"c: {"model_requested":"#), "{why}");
}

/// A record that is there twice, or before the one that it follows, is found; outputs of tools that ran at the same time may
/// be on record in any order, and so may what was about to be done at the same time, and what is of branches side by side.
#[test]
fn a_record_that_is_doubled_or_out_of_order_is_found() {
    let (relay, model) = (relay(), models());
    let scribe = driven(&relay, &model);
    for (place, record) in scribe.records.iter().enumerate() {
        let mut doubled = scribe.records.clone();
        doubled.insert(place, record.clone());
        let is_found = judged(&relay, &doubled).is_err();
        // To begin a call once more is the driver's good right, as long as nothing is known of the first.
        assert!(is_found || record.kind == "tool_intended", "{place}: {record:?}");
    }
    for place in 1..scribe.records.len() {
        let mut swapped = scribe.records.clone();
        swapped.swap(place - 1, place);
        let [one, other] = [&swapped[place - 1], &swapped[place]];
        let are_equal = (is_intent(other) || is_output(other)) && (is_intent(one) || is_output(one));
        let is_found = judged(&relay, &swapped).is_err();
        assert!(is_found || are_equal || are_apart(one, other), "{place}: {one:?} {other:?}");
    }
}

/// What is on record as told and was edited is named, with what follows in its place: the text of a refusal, a plan, an
/// answer, a question's fingerprint, a key.
#[test]
fn an_edited_record_is_named() {
    let (relay, model) = (relay(), models());
    let scribe = driven(&relay, &model);
    let edited = |kind: &str, from: &str, to: &str| {
        let mut records = scribe.records.clone();
        let place =
            records.iter().rposition(|record| record.kind == kind && record.body.contains(from)).unwrap();
        records[place] = records[place].edited(from, to);
        let why = judged(&relay, &records).unwrap_err();
        assert!(matches!(why, Divergence::Differs { .. }), "{why:?}");
        why.to_string()
    };
    let edits = [
        ("handoff_refused", "nobody", "no body"),
        ("planned", "c/1/4/0", "c/1/4/1"),
        ("closed", "Six.", "Ten."),
        ("escalated", r#""digest":""#, r#""digest":"0"#),
        ("tool_intended", "c/1/5/0", "c/1/5/1"),
        ("model_requested", r#""attempt":1"#, r#""attempt":2"#),
        ("receiver_accepted", r#""constraints":0"#, r#""constraints":1"#),
        ("obligation_closed", "handed_on", "done"),
    ];
    for (kind, from, to) in edits {
        let why = edited(kind, from, to);
        assert!(why.contains(&format!(r#"{{"{kind}":"#)), "{why}");
    }
    let end =
        |answer| format!(r#"{{"closed":{{"answer_id":"c/1/6","end":"answered","answer":"{answer}"}}}}"#);
    assert_eq!(
        edited("closed", "Six.", "Ten."),
        format!("c: {} is on record, and {} follows from the inputs", end("Ten."), end("Six."))
    );
}

/// An input that was edited leads elsewhere, and what is on record of it does not follow: a package's byte, a reply, an
/// answer, an output.
#[test]
fn an_edited_input_leads_elsewhere() {
    let (relay, model) = (relay(), models());
    let scribe = driven(&relay, &model);
    let edits = [
        ("handoff_committed", "Go on.", "Go in."),
        ("model_responded", "Six.", "Ten."),
        ("human_answered", r#""Approve""#, r#"{"Reject":{"reason":"no"}}"#),
        ("tool_completed", "INV", "INW"),
        ("turn_received", "hello", "hallo"),
    ];
    for (kind, from, to) in edits {
        let mut records = scribe.records.clone();
        let place =
            records.iter().rposition(|record| record.kind == kind && record.body.contains(from)).unwrap();
        records[place] = records[place].edited(from, to);
        assert!(judged(&relay, &records).is_err(), "{kind}");
    }
}

/// After a difference the run is where it was before, so that people can look at it.
#[test]
fn a_replay_that_stops_stays_where_it_is() {
    let (relay, model) = (relay(), models());
    let scribe = driven(&relay, &model);
    let cut = scribe.place("handoff_committed");
    let mut replay = replay(&relay, &scribe.records[..cut]).unwrap();
    let (step, chronicle) = (replay.step().cloned(), replay.chronicle().clone());
    let stranger = &scribe.records[scribe.place("joined")];
    for _ in 0..2 {
        let why = replay.read(&stranger.kind, ENTRY_VERSION, &stranger.body).unwrap_err();
        let misfit = Misfit::Kind { input: "joined", step: "take a handoff" };
        assert_eq!(why, Divergence::Misfit(misfit));
        assert_eq!((replay.step(), replay.chronicle()), (step.as_ref(), &chronicle));
    }
    for record in &scribe.records[cut..] {
        replay.read(&record.kind, ENTRY_VERSION, &record.body).unwrap();
    }
    assert_eq!(replay.step(), Some(scribe.step()));
}

/// A conversation that began with another definition is refused by name, and so is one that is not this.
#[test]
fn another_definition_or_conversation_is_refused() {
    let (relay, model) = (relay(), models());
    let scribe = driven(&relay, &model);
    let other = team("a -> b").build().unwrap();
    let why = replay(&other, &scribe.records).unwrap_err();
    let definitions = LoadError::OtherDefinition { saved: relay.fingerprint(), ours: other.fingerprint() };
    assert_eq!(why, Divergence::OtherDefinition(definitions));
    let (saved, ours) = (relay.definition_id(), other.definition_id());
    assert_eq!(
        why.to_string(),
        format!(
            "saved under the definition {saved}, this one is {ours}; load it with the definition it began with"
        )
    );
    let mut stranger = Replay::new(&relay, "d");
    let why = stranger.read("opened", ENTRY_VERSION, &scribe.records[0].body).unwrap_err();
    assert_eq!(why, Divergence::Misfit(Misfit::Path("c".into())));
    let renamed = scribe.records[0].edited(r#""agent":"a""#, r#""agent":"z""#);
    let why = replay(&relay, &[renamed, scribe.records[1].clone()]).unwrap_err();
    assert!(matches!(why, Divergence::Start(_)), "{why}");
}

/// T20: a kind, a version or a body that this release does not know is refused by name, and nothing is skipped.
#[test]
fn what_cannot_be_read_is_refused_by_name() {
    let good = r#"{"run":"c","at":1,"what":"joined"}"#;
    let cases = [
        (("teleported", 1, good), r#"the kind "teleported" is not known to this release"#),
        (("joined", 2, good), "version 2 of joined is not known to this release"),
        (("joined", 0, good), "version 0 of joined is not known to this release"),
        (("retried", 1, good), "the body of retried is one of joined"),
        (
            ("closed", 1, good),
            "the body of closed cannot be read: unknown variant `joined`, expected one of `model_requested`, ",
        ),
        (
            ("joined", 1, ""),
            "the body of joined cannot be read: EOF while parsing a value at line 1 column 0",
        ),
        (
            ("joined", 1, r#"{"run":"c","at":1}"#),
            "the body of joined cannot be read: missing field `what` at line 1 column 18",
        ),
        (
            ("joined", 1, r#"{"run":"c","at":1,"what":"joined","admin":true}"#),
            "the body of joined cannot be read: unknown field `admin`, expected one of `run`, `at`, `what` at line 1 column 41",
        ),
    ];
    let relay = relay();
    for ((kind, version, body), words) in cases {
        let why = Entry::read(kind, version, body).unwrap_err();
        assert!(why.to_string().starts_with(words), "{why}\n{words}");
        let read = Replay::new(&relay, "c").read(kind, version, body);
        assert_eq!(read, Err(Divergence::Unread(why)));
    }
}

/// Bodies that somebody made to hurt give an error of few words, and nothing else: ten megabytes, a depth of a hundred
/// thousand, members that stand twice, U+0000 as it is, numbers that are none of ours.
#[test]
fn a_hostile_body_is_an_error_and_no_more() {
    let long = "x".repeat(10 << 20);
    let deep = "[".repeat(100_000);
    let deep_ends = format!("{deep}{}", "]".repeat(100_000));
    let input = |what: &str| format!(r#"{{"run":"c","at":1,"what":{what}}}"#);
    let bodies = [
        long.clone(),
        deep.clone(),
        deep_ends.clone(),
        input(&format!(r#""{long}""#)),
        input(&deep_ends),
        input(&format!(r#"{{"model_responded":{{"response":{deep_ends}}}}}"#)),
        input(&format!(r#"{{"{long}":1}}"#)),
        r#"{"run":"c","run":"d","at":1,"what":"joined"}"#.to_owned(),
        input(r#"{"retried":null,"joined":null}"#),
        input("\"joined\u{0}\""),
        "{\"run\":\"c\u{0}\",\"at\":1,\"what\":\"joined\"}".to_owned(),
        r#"{"run":"c","at":18446744073709551617,"what":"joined"}"#.to_owned(),
        r#"{"run":"c","at":-1,"what":"joined"}"#.to_owned(),
        r#"{"run":"c","at":1e400,"what":"joined"}"#.to_owned(),
        r#"{"run":"c","at":1,"what":"joined"} {}"#.to_owned(),
        "\u{feff}{}".to_owned(),
    ];
    let kinds = ["joined", "model_responded", "closed"];
    for (kind, body) in kinds.iter().flat_map(|kind| bodies.iter().map(move |body| (kind, body))) {
        let why = Entry::read(kind, ENTRY_VERSION, body).unwrap_err();
        let shown: String = body.chars().take(60).collect();
        assert!(matches!(why, Unread::Body { .. }), "{kind} {shown}: {why}");
        assert!(why.to_string().len() < 300, "{kind} {shown}: {why}");
    }
    let why = Entry::read(&long, ENTRY_VERSION, "{}").unwrap_err();
    assert!(why.to_string().len() < 200, "{why}");
    let path = format!(r#"{{"run":"{long}","at":1,"what":"joined"}}"#);
    let why = Replay::new(&relay(), "c").read("joined", ENTRY_VERSION, &path).unwrap_err();
    assert!(why.to_string().len() < 200, "{why}");
}

/// What a model wrote is kept as it was written, however deep it is: the replay rules on it as the run did.
#[test]
fn what_a_model_wrote_is_read_as_it_was_written() {
    let relay = relay();
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let word = format!(r#"{{"word":{deep}}}"#);
    let package = format!(r#"{{"specialist":"b","task":"x","context":{{"deep":{deep}}}}}"#);
    let model =
        script([("a", calls([("look", word), (HANDOFF_TO_SPECIALIST, package)])), ("a", says("Well."))]);
    let scribe = Scribe::new(&relay, &model).says("hel\u{0}lo");
    scribe.replayed();
    assert_eq!(scribe.step().purpose(), "rest");
}
