//! A canary is given to a tool, and looked for in everything else.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use sommelier_handoff::{Relay, Step};
use sommelier_protocol::{ContentBlock, Message, ModelResponse, RawJson, StopReason, ToolUse};
use sommelier_runtime::tool::{CallContext, Failure, dispatch_one};
use sommelier_runtime::{Agent, Definition, ModelError, Tool, ToolArgs, ToolOutput, script, tool_args};
use std::sync::{Arc, Mutex};

use super::{Secrets, Vault, WITHHELD, needle};

const CARD: &str = "4111111111111111";
const PHRASE: &str = "correct \"horse\" battery";

tool_args! {
    /// What is paid, and with what.
    struct Pay {
        /// The sum.
        cents: u32,
        /// The number of a card.
        card_number: String,
        /// What it is for.
        note: Option<String>,
    }
}

tool_args! {
    /// Nothing is asked for.
    struct Nothing {}
}

/// `pay` tells the card number, in its result and, for less than a euro, in its error; for nothing at all it panics with it.
/// `issue` gives out a secret, and `look` has none.
fn clerk() -> Agent {
    let pay = Tool::new("pay", "Pays.", |pay: Pay, _: &CallContext<'_>| match pay.cents {
        0 => std::panic::resume_unwind(Box::new(pay.card_number)),
        1..100 => {
            Err(Failure::new("too_little", format!("{} is not charged, {:?}", pay.card_number, pay.note)))
        }
        _ => Ok([pay.card_number, pay.note.unwrap_or_default()]),
    });
    let issue = Tool::new("issue", "Issues.", |_: Nothing, _: &CallContext<'_>| {
        let cards =
            [CARD, PHRASE].map(|secret| serde_json::json!({"name": "Ada", "card": {"number": secret}}));
        Ok::<_, Failure>(serde_json::json!({"cards": cards, "pin": 12_345_678}))
    });
    let look = Tool::new("look", "Looks.", |pay: Pay, _: &CallContext<'_>| Ok::<_, Failure>(pay.card_number));
    let tools = [
        pay.secret(["card_number"]),
        issue.secret_result(["cards.card.number", "pin"]),
        look,
        Tool::new("idle", "Idles.", |_: Nothing, _: &CallContext<'_>| Ok::<_, Failure>(1)),
    ];
    Agent::new("clerk", "").tools(tools)
}

fn built() -> Definition {
    clerk().build().unwrap()
}

fn call(name: &str, arguments: &str) -> ToolUse {
    ToolUse::scripted("tu_1", name, arguments)
}

fn paying(cents: u32, card: &str) -> ToolUse {
    call("pay", &format!(r#"{{"cents":{cents},"card_number":{}}}"#, RawJson::string(card)))
}

fn reply(content: impl IntoIterator<Item = ContentBlock>) -> ModelResponse {
    script::reply(content.into_iter().collect(), StopReason::ToolUse)
}

/// The calls of a reply after it was hidden.
fn hidden(vault: &Vault<'_>, calls: impl IntoIterator<Item = ToolUse>) -> Vec<ToolUse> {
    let response = vault.hide(&built(), reply(calls.into_iter().map(ContentBlock::from)));
    response.content.iter().filter_map(|block| block.as_tool_use().cloned()).collect()
}

fn argument(call: &ToolUse, name: &str) -> String {
    let arguments: std::collections::BTreeMap<String, serde_json::Value> = call.input().read().unwrap();
    arguments[name].as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn has_no_canary(text: &str) {
    for canary in [CARD, "4111 1111 1111 1111", "4111-1111-1111-1111", "horse", "12345678"] {
        assert!(!text.contains(canary), "{canary} is in {text}");
    }
}

/// The same value has the same handle, whoever says it and however it is written; another vault gives another one, so it is
/// not made of the value. The function gets the value, byte for byte.
#[test]
fn a_secret_argument_is_a_handle_until_its_tool_runs() {
    let (vault, agent) = (Vault::new(Secrets::default(), None), built());
    let escaped = r#"{"note":"é","card_number":"411\u0031111111111111","cents":500}"#;
    let calls = hidden(&vault, [paying(500, CARD), call("pay", escaped), paying(500, PHRASE)]);
    let handles: Vec<String> = calls.iter().map(|call| argument(call, "card_number")).collect();
    assert!(handles.iter().all(|handle| needle::is_handle(handle)), "{handles:?}");
    assert!(handles[0] == handles[1] && handles[0] != handles[2], "{handles:?}");
    assert_ne!(
        handles[0],
        argument(&hidden(&Vault::new(Secrets::default(), None), [paying(500, CARD)])[0], "card_number")
    );
    let revealed: Vec<String> =
        calls.iter().map(|call| vault.reveal(&agent, call).unwrap().input().get().to_owned()).collect();
    assert_eq!(revealed[0], paying(500, CARD).input().get());
    assert_eq!(revealed[1], format!(r#"{{"note":"é","card_number":"{CARD}","cents":500}}"#));
    assert_eq!(revealed[2], paying(500, PHRASE).input().get());
    // What was hidden once stays as it is, as when a model repeats its call.
    assert_eq!(hidden(&vault, calls.clone()), calls);
    has_no_canary(&format!("{vault:?}"));
}

/// T62: whatever else a reply has in it, it has no secret: not in its words, not in another call, whoever answers it, not in a
/// name, an id or a block of a service; and not in a later reply either.
#[test]
fn a_reply_has_no_secret_anywhere() {
    let other = |json: &str| RawJson::parse(json).unwrap().read::<ContentBlock>().unwrap();
    let package = format!(
        r#"{{"specialist":"till","task":"Charge 4111 1111 1111 1111.","context":{{"card":{CARD},"{CARD}":["{{\"n\":\"4111-1111-1111-1111\"}}"]}}}}"#
    );
    let everywhere = [
        ContentBlock::text(format!("I charge {CARD}, or 4111.1111.1111.1111.")),
        ToolUse::scripted("tu_2", "handoff_to_specialist", &package).into(),
        call("look", &format!(r#"{{"cents":5,"card_number":"x{CARD}y"}}"#)).into(),
        ToolUse::scripted(CARD, CARD, &format!(r#"["{CARD}""#)).into(),
        other(&format!(r#"{{"type":"thinking","thinking":"It is {CARD}.","signature":"abc"}}"#)),
        other(&format!(
            r#"{{"type":"web_search_tool_result","content":[{{"title":"{CARD}"}}],"extra":{CARD}}}"#
        )),
    ];
    let vault = Vault::new(Secrets::default(), None);
    let first = vault.hide(&built(), reply(everywhere.iter().cloned().chain([paying(500, CARD).into()])));
    let later = vault.hide(&built(), reply(everywhere.clone()));
    for response in [&first, &later] {
        has_no_canary(&serde_json::to_string(response).unwrap());
    }
    assert_eq!((first.content.len(), later.content.len()), (6, 5), "a thought that is signed is left out");
    let handle = argument(first.content[5].as_tool_use().unwrap(), "card_number");
    assert_eq!(first.content[0].as_text(), Some(&*format!("I charge {handle}, or {handle}.")));
    assert_eq!(first.content[..5], later.content[..]);
    // Without a secret nothing changes.
    let fresh = Vault::new(Secrets::default(), None);
    assert_eq!(fresh.hide(&built(), reply(everywhere.clone())), reply(everywhere));
}

/// T62: what a tool says of its secrets is taken out: of its result, of the words of an error, of what is wrong with arguments,
/// and after a panic.
#[test]
fn what_a_tool_gives_back_has_no_secret() {
    let (vault, agent) = (Vault::new(Secrets::default(), None), built());
    let run = |call: &ToolUse| {
        let call = &hidden(&vault, [call.clone()])[0];
        let output = dispatch_one(&agent, 0, &vault.reveal(&agent, call).unwrap(), "c/1");
        (call.clone(), output.clone(), vault.mask(&agent, call.name(), output))
    };
    let note = |cents: u32| {
        let note = RawJson::string(&format!("for {PHRASE} and 4111-1111-1111-1111"));
        call(
            "pay",
            &format!(r#"{{"cents":{cents},"card_number":{},"note":{note}}}"#, RawJson::string(PHRASE)),
        )
    };
    let _ = hidden(&vault, [paying(500, CARD)]);
    for (call, code) in [
        (paying(500, CARD), None),
        (note(500), None),
        (note(50), Some("too_little")),
        (paying(0, CARD), Some("panic")),
        (call("pay", &format!(r#"{{"cents":5,"card_number":{CARD}}}"#)), Some("invalid_arguments")),
    ] {
        let (call, raw, masked) = run(&call);
        assert_eq!((raw.error.as_deref(), masked.error.as_deref()), (code, code));
        assert!(code == Some("panic") || raw != masked, "the tool does tell it: {raw:?}");
        has_no_canary(&format!("{call:?} {masked:?}"));
        assert!(RawJson::parse(&masked.content).is_ok(), "{masked:?}");
    }
    let foreign = ToolOutput::error(CARD, format!("no JSON, and {CARD} in it"));
    has_no_canary(&format!("{:?}", vault.mask(&agent, "look", foreign)));
    let fine = ToolOutput::ok(r#"{"cents": 6000, "at": "4111 Main Street"}"#);
    assert_eq!(vault.mask(&agent, "pay", fine.clone()), fine, "what is no secret stays, to the byte");
}

/// Secret members of a result are handles, those in lists too, and a handle that a tool gave out is taken by another.
#[test]
fn a_secret_result_is_a_handle_that_another_tool_takes() {
    let (vault, agent) = (Vault::new(Secrets::default(), None), built());
    let output = vault.mask(&agent, "issue", dispatch_one(&agent, 0, &call("issue", "{}"), "c/1"));
    has_no_canary(&output.content);
    let result: serde_json::Value = serde_json::from_str(&output.content).unwrap();
    let handle = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let [first, second] = [0, 1].map(|place| handle(&result["cards"][place]["card"]["number"]));
    assert!(
        [&first, &second, &handle(&result["pin"])].iter().all(|text| needle::is_handle(text)),
        "{result}"
    );
    assert_eq!((&result["cards"][0]["name"], first == second), (&serde_json::json!("Ada"), false));
    let pays = &hidden(&vault, [paying(500, &second)])[0];
    assert_eq!(argument(pays, "card_number"), second);
    assert_eq!(vault.reveal(&agent, pays).unwrap().input().get(), paying(500, PHRASE).input().get());
    // Elsewhere a handle is a text like any other.
    let looks = call("look", &format!(r#"{{"cents":5,"card_number":"{first}"}}"#));
    assert_eq!(*vault.reveal(&agent, &looks).unwrap(), looks);
}

/// In another process the values are gone, and the model is told what to ask for; one that a model made up never was.
#[test]
fn a_handle_without_a_value_is_told() {
    let made_up = format!("secret:{}", "0".repeat(32));
    let there = hidden(&Vault::new(Secrets::default(), None), [paying(500, CARD)]);
    for call in there.into_iter().chain([paying(500, &made_up)]) {
        let vault = Vault::new(Secrets::default(), None);
        assert_eq!(hidden(&vault, [call.clone()])[0], call);
        let told = r#"{"error":"secret_gone","argument":"card_number","detail":"the value is kept nowhere and is not known any more; ask for it and give it again"}"#;
        assert_eq!(vault.reveal(&built(), &call), Err(ToolOutput::error("secret_gone", told)));
    }
}

/// Of arguments that cannot be read nobody knows which are secret; and what stands where an object should be is taken for
/// the secret. Nothing that a model nests overflows.
#[test]
fn arguments_of_another_form_are_hidden_too() {
    let (vault, agent) = (Vault::new(Secrets::default(), None), built());
    let broken = hidden(&vault, [call("pay", &format!(r#"{{"card_number":"{CARD}"#))]);
    assert_eq!(broken[0].broken_input().as_deref(), Some(WITHHELD));
    let deep = "[".repeat(100_000) + CARD + &"]".repeat(100_000);
    for written in [&deep, &format!(r#"[{{"x":"{CARD}"}}]"#), &format!(r#""{CARD}""#), CARD] {
        for tool in ["pay", "idle"] {
            let call = call(tool, &format!(r#"{{"card_number":{written},"card_number":{written}}}"#));
            let hidden = vault.hide(&agent, reply([call.clone().into(), paying(1, CARD).into()]));
            has_no_canary(&serde_json::to_string(&hidden.content).unwrap());
        }
        let result = format!(r#"{{"cards":{written},"pin":null}}"#);
        let masked = vault.mask(&agent, "issue", ToolOutput::ok(result));
        has_no_canary(&masked.content);
    }
}

/// The cards of a call, each an object as it was written.
#[derive(serde::Deserialize)]
struct Cards {
    cards: serde_json::Value,
}

impl ToolArgs for Cards {
    fn schema() -> RawJson {
        let card = r#"{"type":"object","properties":{"number":{"type":"string"},"brand":{"type":"string"}}}"#;
        let list = format!(r#"{{"type":"array","items":{{"type":"array","items":{card}}}}}"#);
        RawJson::parse(&format!(r#"{{"type":"object","properties":{{"cards":{list}}}}}"#)).unwrap()
    }
}

/// A path leads through objects, and through the items of a list; what is there besides stays, and so does what is nothing.
/// Where paths lie in one another, the function gets what the model wrote all the same.
#[test]
fn a_path_leads_to_a_member_of_a_member() {
    let with = |paths: &[&str]| {
        let tell = |cards: Cards, _: &CallContext<'_>| Ok::<_, Failure>(cards.cards);
        Agent::new("clerk", "").tools([Tool::new("tell", "Tells.", tell).secret(paths)]).build().unwrap()
    };
    let card = format!(r#"{{"brand":"visa","number":"{CARD}"}}"#);
    let written = [
        (format!("[{card},{{\"number\":null}}]"), r#"[{"brand":"visa","number":"#),
        (card.clone(), r#"{"brand":"visa","number":"#),
        (format!(r#"["{CARD}"]"#), "["),
        (format!("[[{card}]]"), "["),
    ];
    for (cards, begins) in &written {
        let call = call("tell", &format!(r#"{{"cards":{cards}}}"#));
        for paths in [["cards.number"].as_slice(), &["cards.number", "cards"], &["cards", "cards.number"]] {
            let (agent, vault) = (with(paths), Vault::new(Secrets::default(), None));
            let hidden = vault.hide(&agent, reply([call.clone().into()]));
            let hidden = hidden.content[0].as_tool_use().unwrap();
            let input = hidden.input().get();
            has_no_canary(input);
            let begins = format!(r#"{{"cards":{}"#, if paths.contains(&"cards") { "" } else { begins });
            assert!(input.starts_with(&format!(r#"{begins}"secret:"#)), "{input}");
            assert!(
                paths.contains(&"cards") || input.contains(r#"{"number":null}"#) == cards.contains("null"),
                "{input}"
            );
            assert_eq!(*vault.reveal(&agent, hidden).unwrap(), call);
        }
    }
    let path = "cards.cvc";
    let tell = Tool::new("tell", "", |_: Cards, _: &CallContext<'_>| Ok::<_, Failure>(1)).secret([path]);
    let error = Agent::new("clerk", "").tools([tell]).build().unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"clerk's tool tell names "cards.cvc" as a secret, and has no such argument"#
    );
}

/// A short value is looked for where it stands by itself, and no number is taken for one: else prices would be full of them.
#[test]
fn a_short_secret_leaves_other_words_alone() {
    let vault = Vault::new(Secrets::default(), None);
    let _ = hidden(&vault, [paying(500, "123"), paying(500, "7"), paying(500, "secret")]);
    let kept = "1234 or 6123 cents, a123, 7";
    assert_eq!(vault.words(kept), kept);
    let handle = argument(&hidden(&vault, [paying(500, "123")])[0], "card_number");
    assert_eq!(vault.words("its code is 123."), format!("its code is {handle}."));
    assert_eq!(vault.words(&handle), handle, "a handle is not looked into");
    let numbers = ToolOutput::ok(r#"{"cents":123}"#);
    assert_eq!(vault.mask(&built(), "look", numbers.clone()), numbers);
}

/// An error may quote a part of a long value, and a value may be a part of another: as much as is there is taken out.
#[test]
fn a_part_of_a_long_secret_is_taken_out_too() {
    let vault = Vault::new(Secrets::default(), None);
    let key: String = (0..200).map(|place| char::from(b'a' + (place * place % 26) as u8)).collect();
    let calls = hidden(&vault, [paying(500, "correct"), paying(500, PHRASE), paying(500, &key)]);
    let handles: Vec<String> = calls.iter().map(|call| argument(call, "card_number")).collect();
    assert_eq!(vault.words(&format!("{PHRASE}, correct")), format!("{}, {}", handles[1], handles[0]));
    let quoted = vault.words(&format!("expected a number, got {} ... {}", &key[..100], &key[100..]));
    assert!(
        !key.as_bytes().windows(24).any(|part| quoted.as_bytes().windows(24).any(|of| of == part)),
        "{quoted}"
    );
}

/// A redactor of one's own sees all words, of whoever they are, and no arguments of a tool. One that fails lets nothing pass.
#[test]
fn a_redactor_of_ones_own_sees_all_words() {
    let redact = |text: &str| text.replace("ada@example.org", "<mail>");
    let (vault, agent) = (Vault::new(Secrets::default(), Some(&redact)), built());
    let response = vault.hide(
        &agent,
        reply([
            ContentBlock::text("To ada@example.org."),
            ToolUse::scripted(
                "tu_1",
                "handoff_to_specialist",
                r#"{"task":"Write to ada@example.org","n":[1.50]}"#,
            )
            .into(),
            call("look", r#"{"cents":5,"card_number":"ada@example.org"}"#).into(),
        ]),
    );
    let json = serde_json::to_value(&response.content).unwrap();
    assert_eq!(
        (&json[0]["text"], &json[1]["input"]["task"], &json[2]["input"]["card_number"]),
        (&"To <mail>.".into(), &"Write to <mail>".into(), &"ada@example.org".into()),
    );
    let output = ToolOutput::ok(r#"{"mail": "ada@example.org", "n": 1.50}"#);
    assert_eq!(&*vault.mask(&agent, "look", output).content, r#"{"mail": "<mail>", "n": 1.50}"#);
    assert_eq!(vault.words("I am ada@example.org"), "I am <mail>");
    let error = |detail: &str| ModelError::Service { status: 400, detail: detail.to_owned() };
    assert_eq!(vault.error(error("no ada@example.org here")), error("no <mail> here"));
    assert_eq!(vault.error(ModelError::Panicked), ModelError::Panicked);

    let fails = |_: &str| -> String { std::panic::resume_unwind(Box::new("boom")) };
    assert_eq!(Vault::new(Secrets::default(), Some(&fails)).words(CARD), WITHHELD);
}

/// T62: a whole run under a vault: the tool gets the canary, and it is in no step that is saved, in no request and in nothing
/// that crosses to the receiver.
#[test]
fn a_run_keeps_no_secret() {
    let charged = Arc::new(Mutex::new(Vec::new()));
    let till = charged.clone();
    let pay = Tool::new("pay", "Pays.", move |pay: Pay, _: &CallContext<'_>| {
        till.lock().unwrap().push(pay.card_number.clone());
        Err::<(), _>(Failure::new("declined", format!("{} was declined", pay.card_number)))
    });
    let relay = Relay::builder()
        .agent(Agent::new("clerk", "").tools([pay.secret(["card_number"])]))
        .agent(Agent::new("till", ""))
        .route("clerk", "till")
        .entry("clerk")
        .build()
        .unwrap();
    let package =
        format!(r#"{{"specialist":"till","task":"{CARD} was declined.","context":{{"card":"{CARD}"}}}}"#);
    let mut replies = vec![
        script::say(format!("I am sorry about {CARD}.")),
        script::calls([("tu_2", "handoff_to_specialist", &*package)]),
        reply([ContentBlock::text(format!("I charge {CARD}.")), paying(500, CARD).into()]),
    ];
    let (vault, mut kept) = (Vault::new(Secrets::default(), None), String::new());
    let mut step = relay.start("c", "Charge my card.").unwrap();
    let done = loop {
        kept += &step.save().unwrap();
        step = match step {
            Step::CallModel(call) => {
                let agent = relay.agent(call.run().active().as_str()).unwrap();
                let request = call.request(&relay);
                kept +=
                    &serde_json::to_string(&request.messages.iter().map(Message::clone).collect::<Vec<_>>())
                        .unwrap();
                let response = vault.hide(agent, replies.pop().unwrap());
                call.resume(&relay, Ok(response), 0)
            }
            Step::CallTools(calls) => {
                let agent = calls.agent(&relay).unwrap();
                let run = |(place, call): (usize, &ToolUse)| {
                    let revealed = vault.reveal(agent, call).unwrap();
                    vault.mask(agent, call.name(), dispatch_one(agent, place, &revealed, &calls.scope()))
                };
                let outputs = calls.calls().map(run).collect();
                calls.resume(&relay, outputs, 0).unwrap()
            }
            Step::HandOff(handoff) => handoff.take(&relay, 0),
            Step::Done(done) => break done,
            other => panic!("{other:?}"),
        };
    };
    assert_eq!(
        (done.run().active().as_str(), &**charged.lock().unwrap()),
        ("till", [CARD.to_owned()].as_slice())
    );
    kept += &format!("{done:?}{}", done.answer().unwrap());
    has_no_canary(&kept);
}

/// T62: a model that misspells the name of a secret argument has written the secret all the same: in other letters it is the same
/// member, and what no argument is called is not kept. What an argument is called stays.
#[test]
fn a_misspelt_secret_is_none_the_less_one() {
    let agent = built();
    for (arguments, is_handled) in [
        (format!(r#"{{"cents":500,"Card_Number":"{CARD}"}}"#), true),
        (format!(r#"{{"cents":500,"cardNumber":"{CARD}"}}"#), true),
        (format!(r#"{{"cents":500,"card-number":["{CARD}"]}}"#), true),
        (format!(r#"{{"cents":500,"card_nr":"{CARD}"}}"#), false),
        (format!(r#"{{"cents":500,"card_nr":{{"card_number":"{CARD}"}}}}"#), false),
        (format!(r#"{{"cents":500,"note":{{"card_number":"{CARD}"}}}}"#), false),
    ] {
        let vault = Vault::new(Secrets::default(), None);
        let calls = hidden(&vault, [call("pay", &arguments)]);
        let written = calls[0].input().get();
        has_no_canary(written);
        assert!(written.starts_with(r#"{"cents":500,"#), "{written}");
        assert_eq!((written.contains("secret:"), written.contains(WITHHELD)), (is_handled, !is_handled));
        let output = dispatch_one(&agent, 0, &vault.reveal(&agent, &calls[0]).unwrap(), "c/1");
        let told = vault.mask(&agent, "pay", output);
        assert_eq!(told.error.as_deref(), Some("invalid_arguments"));
        has_no_canary(&told.content);
    }
    let fine =
        call("pay", &format!(r#"{{"cents":500,"card_number":{},"note":"for it"}}"#, RawJson::string(PHRASE)));
    let vault = Vault::new(Secrets::default(), None);
    let kept = &hidden(&vault, [fine.clone()])[0];
    assert_eq!((argument(kept, "note"), &*vault.reveal(&agent, kept).unwrap()), ("for it".to_owned(), &fine));
    // A tool without secrets is nobody's concern here.
    let look = call("look", r#"{"cents":5,"Card":"x"}"#);
    assert_eq!(hidden(&vault, [look.clone()]), [look]);
}

/// T62: a secret in letters of another case is the secret.
#[test]
fn a_secret_is_known_in_other_letters() {
    let vault = Vault::new(Secrets::default(), None);
    let calls = hidden(&vault, [paying(500, "SK-Live-Abcdef"), paying(500, "Xy7")]);
    let handles: Vec<String> = calls.iter().map(|call| argument(call, "card_number")).collect();
    let said = vault.words("it is sk-live-ABCDEF, or xy7, not xy77, é");
    assert_eq!(said, format!("it is {}, or {}, not xy77, é", handles[0], handles[1]));
}
