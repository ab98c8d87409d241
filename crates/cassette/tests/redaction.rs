//! What must not be kept is in no cassette, and a replay holds all the same.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::sync::{Arc, Mutex};

use harness::{on_record, run};
use sommelier_cassette::{Cassette, Player, Recorder, Redactor};
use sommelier_handoff::{Agent, Relay};
use sommelier_protocol::{ContentBlock, Message, ModelRequest, RawJson, StopReason};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Model, ModelError, ScriptedModel, Tool, script, tool_args};

const KEY: &str = "sk-ant-api03-0123456789abcdefghij";
const CARD: &str = "4111111111111111";

tool_args! {
    /// A customer.
    struct Of {
        /// Who.
        customer: String,
    }
}

tool_args! {
    /// A payment.
    struct Pay {
        /// The number of the card.
        card_number: String,
    }
}

/// A clerk whose tool tells a customer's key.
fn clerk() -> Relay {
    let look = Tool::new("look", "Looks a customer up.", |of: Of, _: &CallContext<'_>| {
        Ok::<_, Failure>(format!("{} has {KEY}", of.customer))
    });
    Relay::builder()
        .agent(Agent::new("clerk", "You look up.").tools([look.read_only()]))
        .entry("clerk")
        .build()
        .unwrap()
}

fn looks_up() -> ScriptedModel {
    ScriptedModel::new()
        .turn("clerk", |request| {
            script::call("tu_1", "look", &format!(r#"{{"customer":"{}"}}"#, script::first_words(request)))
        })
        .turn("clerk", |request| script::say(format!("It is {}.", script::last_result(request))))
}

/// T33: a key in a customer's words, in a call, in a tool's result and in a reply never stands in the file, and the replay
/// holds. Neither does an address that the user's own function takes out.
#[test]
fn a_key_of_a_customer_or_a_tool_is_never_in_the_file() {
    let relay = clerk();
    let redactor = || Redactor::new().words(|text| text.replace("ada@example.org", "[address]"));
    let recorder = Recorder::new(looks_up(), redactor());
    let says = format!("ada@example.org, {KEY}");
    let report = run(&recorder, &relay, "c", &says);
    // The run itself has all of it.
    assert_eq!(report.answer(), format!("It is \"{says} has {KEY}\"."));

    let json = recorder.cassette().to_json().unwrap();
    assert!(!json.contains("0123456789abcdef") && !json.contains("ada@"), "{json}");
    assert_eq!(json.matches("[address], [key]").count(), 4);
    assert!(json.contains(r#""content": "\"[address], [key] has [key]\"""#), "{json}");

    let player = Player::new(Cassette::from_json(&json).unwrap(), redactor());
    let replayed = run(&player, &relay, "c", &says);
    assert_eq!(replayed.answer(), "It is \"[address], [key] has [key]\".");
    assert_eq!(player.finish(), Ok(()));

    // Without the redactor of the recording the requests are others.
    let player = Player::new(Cassette::from_json(&json).unwrap(), Redactor::new());
    let told = run(&player, &relay, "c", &says).end().to_string();
    let differs =
        r#"at `messages[0].content` "[address], [key]" was recorded, and "ada@example.org, [key]" came"#;
    assert!(told.ends_with(differs), "{told}");
}

/// What looks like a key is one, wherever it stands in a text; what only begins like one is none.
#[test]
fn keys_are_told_from_words() {
    let redactor = Redactor::new();
    for (text, expected) in [
        ("key=AKIAABCDEFGHIJKLMN12.", "key=[key]."),
        ("Authorization: Bearer abcdefghijklmnopq", "Authorization: Bearer [key]"),
        ("(ghp_0123456789abcdef0123)", "([key])"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "[key]"),
        ("sk-learn is a library, sk-proj-short1 too", "sk-learn is a library, sk-proj-short1 too"),
        ("Bearer of bad news", "Bearer of bad news"),
        ("risk-0123456789abcdefgh", "risk-0123456789abcdefgh"),
        ("é sk-0123456789abcdefé", "é [key]é"),
        (r"x\nsk-ant-api03-0123456789abcdef\ny", r"x\n[key]\ny"),
        (r"x\u000ask-0123456789abcdef", r"x\u000a[key]"),
        ("key=%22sk-0123456789abcdef%22", "key=%22[key]%22"),
        ("KEY_sk-ant-api03-0123456789abcdef", "KEY_[key]"),
        ("KEYsk-ant-api03-0123456789abcdef", "KEY[key]"),
        (r#"it says {"k":"\u0073k-0123456789abcdef"}"#, r#"it says {"k":"[key]"}"#),
        (r#"it says {\"k\":\"\\u0073\u006b-0123456789abcdef\"}"#, r#"it says {\"k\":\"\[key]\"}"#),
        (r"\u0073uch", r"\u0073uch"),
        ("AKIAABCDEFGHIJKLMNOP", "[key]"),
        ("id=AKIAABCDEFGHIJKLMNOP;", "id=[key];"),
        ("AKIAisnoabbreviationofsuch", "AKIAisnoabbreviationofsuch"),
        ("task-2024-11-30-desk-0123456789ab", "task-2024-11-30-desk-0123456789ab"),
    ] {
        assert_eq!(redactor.redact(text), expected);
    }
}

/// Names of members, numbers, and JSON within a text are looked at too; what the API goes by stays.
#[test]
fn names_numbers_and_json_in_texts_are_looked_at() {
    let input = format!(r#"{{"{KEY}":[{CARD},"x"],"n":7}}"#);
    let inside = RawJson::string(&format!(r#"{{"a":"\u0073{}","b":{CARD}}}"#, &KEY[1..]));
    let result = format!(r#"{{"type":"tool_result","tool_use_id":"tu_1","content":{}}}"#, inside.get());
    let result: ContentBlock = serde_json::from_str(&result).unwrap();
    let messages = [Message::user_blocks(vec![result])];
    let model = ScriptedModel::new().turn("clerk", move |_| script::call("user", "text", &input));
    let redactor = Redactor::new().value(CARD).words(|text| text.replace("text", "T").replace("user", "U"));
    let recorder = Recorder::new(model, redactor);
    recorder
        .complete(ModelRequest { caller: "clerk".into(), ..ModelRequest::new("m", 1, &messages) })
        .unwrap();
    let cassette = recorder.cassette();
    let [exchange] = cassette.exchanges() else { panic!() };
    assert_eq!(
        exchange.request(),
        r#"{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"tu_1","content":"{\"a\":\"[key]\",\"b\":\"[secret]\"}"}]}]}"#
    );
    let call = exchange.outcome().unwrap().content[0].as_tool_use().unwrap();
    assert_eq!(
        (call.id(), call.name(), call.input().get()),
        ("user", "text", r#"{"[key]":["[secret]","x"],"n":7}"#)
    );
}

/// T62: what a tool declares secret is in no cassette, whichever way it is made, and both ways make the same. The handles of a run
/// are by chance, and the cassette has them by number.
#[test]
fn a_declared_secret_is_in_no_cassette() {
    let given = Arc::new(Mutex::new(Vec::new()));
    let charged = Arc::clone(&given);
    let pay = Tool::new("pay", "Pays.", move |pay: Pay, _: &CallContext<'_>| {
        charged.lock().unwrap().push(pay.card_number.clone());
        Err::<(), _>(Failure::new("declined", format!("card {} was declined", pay.card_number)))
    });
    let relay = Relay::builder()
        .agent(Agent::new("clerk", "").tools([pay.secret(["card_number"]).read_only()]))
        .entry("clerk")
        .build()
        .unwrap();
    let model = || {
        ScriptedModel::new()
            .turn("clerk", |_| script::call("tu_1", "pay", &format!(r#"{{"card_number":"{CARD}"}}"#)))
            .turn("clerk", |_| script::say(format!("The card {CARD} was declined.")))
    };
    let (_, [recorded, of_run]) = on_record(&relay, &model(), &["Pay."]);
    assert_eq!(*given.lock().unwrap(), [CARD]);
    assert_eq!(of_run, recorded);
    assert!(!recorded.contains(CARD), "{recorded}");
    let handle = format!("secret:{:032x}", 1);
    assert_eq!(recorded.matches(&handle).count(), 2, "{recorded}");
    assert!(recorded.contains(r#""input": {"card_number": "[secret]"}"#), "{recorded}");
    assert!(recorded.contains("The card [secret] was declined."), "{recorded}");

    // A replay gives the tool the placeholder, and the run is the recorded one where the tool says the same of it.
    let player = harness::player(&Cassette::from_json(&recorded).unwrap(), &relay);
    let replayed = run(&player, &relay, "c", "Pay.");
    // What stands in its place is a secret as well.
    let answer = replayed.answer();
    assert!(answer.starts_with("The card secret:") && answer.ends_with(" was declined."), "{answer}");
    assert_eq!(given.lock().unwrap().last().unwrap(), "[secret]");
    assert_eq!(player.finish(), Ok(()));
}

/// A handle that a tool gives and a model passes on is the run's own, in a replay too: the second tool gets the value.
#[test]
fn a_secret_of_a_tool_is_passed_on_in_a_replay() {
    let paid = Arc::new(Mutex::new(Vec::new()));
    let charged = Arc::clone(&paid);
    let look = Tool::new("look", "Looks a card up.", |_: Of, _: &CallContext<'_>| {
        Ok::<_, Failure>(std::collections::BTreeMap::from([("card", CARD)]))
    });
    let pay = Tool::new("pay", "Pays.", move |pay: Pay, _: &CallContext<'_>| {
        charged.lock().unwrap().push(pay.card_number);
        Ok::<_, Failure>("paid")
    });
    let tools = [look.secret_result(["card"]).read_only(), pay.secret(["card_number"]).read_only()];
    let relay = Relay::builder().agent(Agent::new("clerk", "").tools(tools)).entry("clerk").build().unwrap();
    let model = ScriptedModel::new()
        .turn("clerk", |_| script::call("toolu_01A09q90qw90lq917835lq9", "look", r#"{"customer":"Ada"}"#))
        .turn("clerk", |request| {
            let card = script::last_result(request).replace("card", "card_number");
            script::call("toolu_01B09q90qw90lq917835lq9", "pay", &card)
        })
        .turn("clerk", |_| script::say("Paid."));
    let (_, [recorded, of_run]) = on_record(&relay, &model, &["Pay."]);
    assert_eq!(of_run, recorded);
    assert!(!recorded.contains(CARD) && !recorded.contains("toolu_"), "{recorded}");
    let passed_on = format!(
        r#"{{"type": "tool_use", "id": "call_2", "name": "pay", "input": {{"card_number": "secret:{:032x}"}}}}"#,
        1
    );
    assert!(
        recorded.split_whitespace().collect::<String>().contains(&passed_on.replace(' ', "")),
        "{recorded}"
    );

    let player = harness::player(&Cassette::from_json(&recorded).unwrap(), &relay);
    assert_eq!(run(&player, &relay, "c", "Pay.").answer(), "Paid.");
    assert_eq!(player.finish(), Ok(()));
    assert_eq!(*paid.lock().unwrap(), [CARD; 2]);
}

/// What stands under a name that the tool does not take is what was meant for another.
#[test]
fn a_secret_under_a_misspelt_name_is_taken_out() {
    let pay = Tool::new("pay", "Pays.", |_: Pay, _: &CallContext<'_>| Ok::<_, Failure>("paid"));
    let agent = Agent::new("clerk", "").tools([pay.secret(["card_number"]).read_only()]);
    let relay = Relay::builder().agent(agent).entry("clerk").build().unwrap();
    let model = ScriptedModel::new()
        .turn("clerk", |_| script::call("tu_1", "pay", &format!(r#"{{"cardNumber":{{"is":{CARD}}}}}"#)))
        .turn("clerk", |_| script::call("tu_2", "pay", &format!(r#"{{"card_number":"{CARD}"#)))
        .turn("clerk", |_| script::say("No."));
    let recorder = Recorder::new(model, Redactor::new().secrets_of(&relay));
    run(&recorder, &relay, "c", "Pay.");
    let cassette = recorder.cassette();
    let replies = cassette.exchanges().iter().filter_map(|one| one.outcome().ok());
    let calls: Vec<String> = replies
        .flat_map(|reply| {
            reply.content.iter().filter_map(ContentBlock::as_tool_use).map(|call| call.input().to_string())
        })
        .collect();
    assert_eq!(calls, [r#"{"cardNumber":"[secret]"}"#, r#"{"INVALID_JSON":"[secret]"}"#]);
    assert!(!cassette.to_json().unwrap().contains(CARD));
}

/// Errors pass the redactor as well, and a redactor that panics has let nothing pass.
#[test]
fn errors_pass_too_and_a_redactor_that_fails_lets_nothing_pass() {
    let model = harness::Flaky {
        model: ScriptedModel::new(),
        fails: |number| {
            let detail = format!("invalid x-api-key {KEY}");
            let error = ModelError::Service { status: 401, detail };
            Some(if number == 0 { error } else { error.charged(812, 3) })
        },
        asked: Default::default(),
    };
    let recorder = Recorder::new(&model, Redactor::new());
    let messages = [Message::user("hello")];
    for _ in 0..2 {
        recorder.complete(ModelRequest::new("m", 1, &messages)).unwrap_err();
    }
    let error = ModelError::Service { status: 401, detail: "invalid x-api-key [key]".to_owned() };
    let cassette = recorder.cassette();
    let outcomes: Vec<_> =
        cassette.exchanges().iter().map(|one| one.outcome().unwrap_err().clone()).collect();
    assert_eq!(outcomes, [error.clone(), error.charged(812, 3)]);

    let reply = script::reply(vec![ContentBlock::text("words")], StopReason::EndTurn);
    let model = ScriptedModel::new().turn("", move |_| reply.clone());
    let recorder = Recorder::new(model, Redactor::new().words(|_| panic!("it fails")));
    recorder.complete(ModelRequest::new("m", 1, &messages)).unwrap();
    let cassette = recorder.cassette();
    assert_eq!(cassette.exchanges()[0].outcome().unwrap().words(), "[withheld]");
    assert!(!cassette.to_json().unwrap().contains("hello"));
}

/// What is hidden is in no `Debug` output of what hides it.
#[test]
fn a_redactor_does_not_show_what_it_hides() {
    let shown = format!("{:?}", Redactor::new().value("Rosebud"));
    assert_eq!(shown, r#"Redactor { values: 1, declared: {}, keys: 0, words: 0 }"#);
}

/// What a service sends back is looked at wherever it stands: a key that it echoes in the name of the model, why it stopped, what it
/// counts, or the kind of a block is in no cassette. The words that the API goes by stay, also where a value is the same word.
#[test]
fn a_key_that_a_service_echoes_is_in_no_part_of_the_file() {
    const SENT: &str = "hunter2-hunter2";
    let reply = format!(
        r#"{{"id":"{SENT}","type":"message","role":"assistant","model":"m {SENT}","content":[{{"type":"{SENT}","{SENT}":1}},
        7,{{"type":"text","text":"it is {SENT}","{SENT}":[]}}],"stop_reason":"{SENT}","stop_sequence":"{SENT}",
        "usage":{{"input_tokens":4111,"output_tokens":2,"{SENT}":3,"service_tier":"{SENT}"}},"{SENT}":{{"{SENT}":"{SENT}"}}}}"#
    );
    let reply: sommelier_protocol::ModelResponse = serde_json::from_str(&reply.replace("7,", "")).unwrap();
    let model = ScriptedModel::new().turn("", move |_| reply.clone());
    let redactor = Redactor::new().value("assistant").value("4111").key(|text| text.replace(SENT, "[key]"));
    let recorder = Recorder::new(model, redactor);
    let messages = [Message::user(SENT)];
    let heard = recorder.complete(ModelRequest::new(&format!("m-{SENT}"), 4111, &messages)).unwrap();
    assert!(heard.words().contains(SENT), "the run sees what it would see without");
    let json = recorder.cassette().to_json().unwrap();
    assert!(!json.contains("hunter2"), "{json}");
    let cassette = Cassette::from_json(&json).unwrap();
    let kept = cassette.exchanges()[0].outcome().unwrap();
    assert_eq!(
        (&*kept.model, kept.words().as_str(), kept.usage.input_tokens),
        ("m [key]", "it is [key]", 4111)
    );
    assert_eq!(kept.stop_reason.as_ref().unwrap().as_str(), "[key]");
}
