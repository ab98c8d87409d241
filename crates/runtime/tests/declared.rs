//! What a tool declares of itself, and what follows from it.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Nothing, output_of};
use sommelier_protocol::ToolUse;
use sommelier_runtime::tool::{
    CallContext, Effect, Failure, Found, Mark, ToolFault, Within, dispatch_one, dispatch_within, query_within,
};
use sommelier_runtime::{Agent, AgentName, Definition, DefinitionError, Tool, ToolOutput, tool_args};
use std::sync::Mutex;

tool_args! {
    /// A slot, and how it is paid.
    struct Slot {
        /// The room.
        room: String,
        /// The day.
        date: Option<String>,
        /// The price.
        price: Option<f64>,
        /// Guests.
        guests: Option<Vec<String>>,
        /// The card.
        card_number: Option<String>,
        /// Makes it happen once.
        key: String,
    }
}

tool_args! {
    /// A slot that is given back.
    struct Id {
        /// Its id.
        id: String,
    }
}

/// Books, and tells with what.
fn book() -> Tool {
    Tool::new("book", "Books.", |slot: Slot, _: &CallContext<'_>| {
        let _ = (slot.date, slot.price, slot.guests, slot.card_number);
        Ok::<_, Failure>([slot.room, slot.key])
    })
}

fn cancel() -> Tool {
    Tool::new("cancel", "Cancels.", |id: Id, _: &CallContext<'_>| Ok::<_, Failure>(id.id))
}

fn plain(name: &str) -> Tool {
    Tool::new(name, "Works.", |_: Nothing, _: &CallContext<'_>| Ok::<_, Failure>(1))
}

fn built<const N: usize>(tools: [Tool; N]) -> Definition {
    Agent::new("clerk", "").tools(tools).build().unwrap()
}

fn call(name: &str, arguments: &str) -> ToolUse {
    ToolUse::scripted("tu_1", name, arguments)
}

/// A tool's effect is what its author said last; one that says nothing, and one that is not there, is the most dangerous.
#[test]
fn the_effect_of_a_tool_is_what_its_author_says() {
    let nobody = |_: &CallContext<'_>| Found::Unknown;
    let agent = built([
        plain("looks").read_only(),
        plain("writes").transactional(),
        plain("pays").keyed(86_400_000),
        plain("orders").queried(5_000, nobody),
        plain("mails"),
        plain("changed").queried(5_000, nobody).keyed(7),
    ]);
    let told = ["looks", "writes", "pays", "orders", "mails", "changed", "gone"]
        .map(|name| agent.table().effect(name));
    let expected = [
        (Effect::ReadOnly, "read_only", r#""read_only""#),
        (Effect::Transactional, "transactional", r#""transactional""#),
        (Effect::Keyed { retention: 86_400_000 }, "keyed", r#"{"keyed":{"retention":86400000}}"#),
        (Effect::Queried { settle: 5_000 }, "queried", r#"{"queried":{"settle":5000}}"#),
        (Effect::AtMostOnce, "at_most_once", r#""at_most_once""#),
        (Effect::Keyed { retention: 7 }, "keyed", r#"{"keyed":{"retention":7}}"#),
        (Effect::AtMostOnce, "at_most_once", r#""at_most_once""#),
    ];
    for (told, (effect, word, json)) in told.into_iter().zip(expected) {
        assert_eq!(
            (told, told.as_str(), serde_json::to_string(&told).unwrap()),
            (effect, word, json.to_owned())
        );
        assert_eq!(serde_json::from_str::<Effect>(json).unwrap(), effect);
    }
    let declaring: Vec<&str> = agent.table().declarations().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        declaring,
        ["changed", "looks", "orders", "pays", "writes"],
        "who declares nothing has nothing"
    );
}

/// The other side is asked by the key of the call; what fails there is not known, and what it tells has the bounds of a result.
#[test]
fn what_became_of_a_call_is_asked_by_its_key() {
    let agent =
        |query: fn(&CallContext<'_>) -> Found| built([plain("order").queried(5_000, query), plain("mail")]);
    let ask = |agent: &Definition, name| query_within(agent, 2, &call(name, "{}"), "c/1", Within::default());
    let echoes = agent(|context| Found::done(&(context.idempotency_key, context.call_id)));
    assert_eq!(ask(&echoes, "order"), Some(Found::Done(ToolOutput::ok(r#"["c/1/2","tu_1"]"#))));
    assert_eq!((ask(&echoes, "mail"), ask(&echoes, "gone")), (None, None));
    assert_eq!(ask(&agent(|_| Found::Absent), "order"), Some(Found::Absent));
    assert_eq!(ask(&agent(|_| std::panic::resume_unwind(Box::new("boom"))), "order"), Some(Found::Unknown));
    let large = ask(&agent(|_| Found::done(&"x".repeat(300_000))), "order");
    let Some(Found::Done(output)) = large else { panic!("{large:?}") };
    assert_eq!((output.error, output.content.contains("result_too_large")), (None, true));
}

/// A tool is told of the circumstances of its call, and of none where there are none.
#[test]
fn a_tool_finds_its_transaction_and_its_epoch() {
    let write = Tool::new("write", "Writes.", |_: Nothing, context: &CallContext<'_>| {
        let written = context.transaction.and_then(|of| of.downcast_ref::<Mutex<Vec<String>>>());
        if let Some(rows) = written {
            rows.lock().unwrap().push(context.idempotency_key.to_owned());
        }
        Ok::<_, Failure>((context.time_left, context.epoch, written.is_some()))
    });
    let (agent, rows) = (built([write.transactional()]), Mutex::new(Vec::<String>::new()));
    let within = Within { time_left: Some(9), transaction: Some(&rows), epoch: Some(3) };
    let inside = dispatch_within(&agent, 1, &call("write", "{}"), "c/1", within);
    let outside = dispatch_one(&agent, 1, &call("write", "{}"), "c/1");
    assert_eq!((&*inside.content, &*outside.content), ("[9,3,true]", "[null,null,false]"));
    assert_eq!(*rows.lock().unwrap(), ["c/1/1"]);
}

#[track_caller]
fn check_key(arguments: &str, expected: &str) {
    let agent = built([book().business_key(["room", "price", "guests"])]);
    assert_eq!(
        agent.table().business_key(&call("book", arguments)).as_deref(),
        Some(expected),
        "{arguments}"
    );
}

/// Which effect a call is for does not hang on how it was written: on order, white space, escapes, or the form of a number.
/// What differs stays apart, however large or alike it is.
#[test]
fn equal_values_make_one_business_key_and_no_others_do() {
    check_key(r#"{"room":"A"}"#, r#"{"room":"A","price":null,"guests":null}"#);
    check_key(
        r#"{ "date":"x", "price":null, "room":"\u0041" }"#,
        r#"{"room":"A","price":null,"guests":null}"#,
    );
    check_key(r#"{"room":"a"}"#, r#"{"room":"a","price":null,"guests":null}"#);
    check_key(
        r#"{"room":"A","guests":[ "é" , "\u00e9","\n"]}"#,
        r#"{"room":"A","price":null,"guests":["é","é","\n"]}"#,
    );
    check_key(r#"{"room":{"b":1,"a":[]}}"#, r#"{"room":{"a":[],"b":1},"price":null,"guests":null}"#);
    let numbers = [
        ("12", "12"),
        ("12.00", "12"),
        ("1.2e1", "12"),
        ("120E-1", "12"),
        ("-0.0", "0"),
        ("0e999999999999999999999", "0e999999999999999999999"),
        ("1200", "1200"),
        ("0.05", "5e-2"),
        ("5.0e-2", "5e-2"),
        ("-1.50", "-15e-1"),
        ("18446744073709551617", "18446744073709551617"),
        ("18446744073709551616", "18446744073709551616"),
        ("1e400", "1e400"),
        ("10e399", "1e400"),
    ];
    for (written, expected) in numbers {
        let arguments = format!(r#"{{"price":{written}}}"#);
        check_key(&arguments, &format!(r#"{{"room":null,"price":{expected},"guests":null}}"#));
    }
}

/// However deep a model nests what it writes, there is a key, and nothing overflows.
#[test]
fn a_business_key_is_made_of_whatever_a_model_writes() {
    let (agent, deep) = (built([book().business_key(["room"])]), "[".repeat(100_000) + &"]".repeat(100_000));
    let key = |arguments: &str| agent.table().business_key(&call("book", arguments));
    assert_eq!(key(&format!(r#"{{"room":{deep}}}"#)), Some(format!(r#"{{"room":{deep}}}"#)));
    assert_eq!((key("[]"), key(r#"{"room":"#)), (None, None), "what is no object cannot be run");
    let without = built([book()]);
    assert_eq!(without.table().business_key(&call("book", r#"{"room":"A"}"#)), None);
}

/// Whose effect is undone is found by a value of the call that is in the other's result.
#[test]
fn what_is_undone_is_found_by_its_result() {
    let agent = built([book(), cancel().undoes("book", "id")]);
    let undoes = agent.table().declaration("cancel").unwrap().undoes().unwrap();
    assert_eq!((undoes.tool(), undoes.member()), ("book", "id"));
    let named = [r#"{"id":"R-1"}"#, r#"{"id":"R-\u0031"}"#, r#"{"id":null}"#, "{}"]
        .map(|of| undoes.named_by(&call("cancel", of)));
    let one = || Some(r#""R-1""#.to_owned());
    assert_eq!(named, [one(), one(), None, None]);
    let results =
        [r#"{"cents":5,"id":"R-1"}"#, r#"{"cents":5}"#, r#""R-1""#, "R-1"].map(|of| undoes.named_in(of));
    assert_eq!(results, [one(), None, None, None]);
}

/// T33: a key that a model supplies is not used, and the caller is told of it. No model is told that there is one, neither
/// beforehand nor when something else is wrong.
#[test]
fn a_key_that_a_model_supplies_is_ignored_and_noted() {
    let agent = built([book().key_argument("key")]);
    let shown = agent.definitions()[0].input_schema.get();
    assert_eq!(shown, output_schema(&output_of(&agent, "book", r#"{"room":7}"#)));
    assert!(
        shown.ends_with(r#""required":["room"],"additionalProperties":false}"#)
            && !shown.contains(r#""key""#),
        "{shown}"
    );
    for (arguments, is_ignored) in [
        (r#"{"room":"A"}"#, false),
        (r#"{"room":"A","key":"mine"}"#, true),
        (r#"{"key":7,"room":"A","key":null}"#, true),
    ] {
        let call = call("book", arguments);
        let output = dispatch_one(&agent, 3, &call, "c/1");
        assert_eq!(
            (output, agent.table().ignores_key_of(&call)),
            (ToolOutput::ok(r#"["A","c/1/3"]"#), is_ignored)
        );
        assert_eq!(agent.table().check(agent.name(), &call), Ok(()));
    }
    assert!(
        !built([book()]).table().ignores_key_of(&call("book", r#"{"key":"mine"}"#)),
        "here it is an argument"
    );
}

fn output_schema(output: &ToolOutput) -> String {
    let (_, schema) = output.content.split_once(r#""schema":"#).unwrap();
    schema.strip_suffix('}').unwrap().to_owned()
}

#[track_caller]
fn check_fault<const N: usize>(tools: [Tool; N], tool: &str, fault: ToolFault, told: &str) {
    let error = Agent::new("clerk", "").tools(tools).build().unwrap_err();
    assert_eq!(error.to_string(), told);
    let (agent, tool) = (AgentName::new("clerk").unwrap(), sommelier_protocol::ToolName::new(tool).unwrap());
    assert_eq!(error, DefinitionError::Tool { agent, tool, fault });
}

/// What is declared of a member that is not there, or of a tool that is not there, is told when the agent is built.
#[test]
fn a_declaration_that_cannot_be_is_told_when_the_agent_is_built() {
    let no_member = |member: &str, mark| ToolFault::NoMember { member: member.into(), mark };
    let has_none =
        |member, what| format!("clerk's tool book names {member:?} as {what}, and has no such argument");
    let told = has_none("day", "a part of its business key");
    check_fault([book().business_key(["room", "day"])], "book", no_member("day", Mark::BusinessKey), &told);
    let told = has_none("cvc", "a secret");
    check_fault([book().secret(["card_number", "cvc"])], "book", no_member("cvc", Mark::Secret), &told);
    let told = has_none("id", "what names the effect that it undoes");
    check_fault([book().undoes("cancel", "id"), cancel()], "book", no_member("id", Mark::Undoes), &told);
    let told = has_none("uuid", "where its key is filled in");
    check_fault([book().key_argument("uuid")], "book", no_member("uuid", Mark::KeyArgument), &told);

    let told = "clerk's tool cancel undoes \"book\", which the agent does not have";
    check_fault(
        [cancel().undoes("book", "id")],
        "cancel",
        ToolFault::UndoesNothing { tool: "book".into() },
        told,
    );
    let told = "clerk's tool book names \"price\" as where its key is filled in, which must be a text";
    check_fault([book().key_argument("price")], "book", ToolFault::NoText { member: "price".into() }, told);

    let not_itself = |member: &str, mark| ToolFault::NotItself { member: member.into(), mark };
    let both = |member, what| {
        format!(
            "clerk's tool book names {member:?} as {what}, which is kept and compared, and also as a secret or as its key"
        )
    };
    let told = both("card_number", "a part of its business key");
    let tool = book().business_key(["card_number"]).secret(["card_number"]);
    check_fault([tool], "book", not_itself("card_number", Mark::BusinessKey), &told);
    let told = both("key", "a part of its business key");
    let tool = book().business_key(["key"]).key_argument("key");
    check_fault([tool], "book", not_itself("key", Mark::BusinessKey), &told);

    let fine =
        book().business_key(["room"]).secret(["card_number"]).key_argument("key").secret_result(["pin"]);
    assert!(Agent::new("clerk", "").tools([fine, cancel().undoes("book", "id")]).build().is_ok());
}
