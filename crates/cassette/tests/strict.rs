//! Strict replay: what differs is never answered, and is told by its place.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::borrow::Cow;

use harness::{desk, player, recorder, run};
use reservo::case::{REQUEST, decisions};
use sommelier_cassette::{Cassette, Player, Recorder, Redactor};
use sommelier_protocol::{
    ContentBlock, Message, ModelRequest, RawJson, System, ToolChoice, ToolDefinition, ToolName, ToolUse,
};
use sommelier_runtime::{Model, ModelError, ScriptedModel, script};

fn quote(hours: &str) -> ContentBlock {
    ToolUse::scripted("tu_1", "get_quote", &format!(r#"{{"room":"Focus","hours":{hours}}}"#)).into()
}

fn talk() -> Vec<Message> {
    let result: ContentBlock =
        serde_json::from_str(r#"{"type":"tool_result","tool_use_id":"tu_1","content":"6000"}"#).unwrap();
    vec![
        Message::user("Quote Focus."),
        Message::assistant(vec![quote("3")]),
        Message::user_blocks(vec![result]),
    ]
}

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition::new(
        ToolName::new(name).unwrap(),
        "Does it.",
        RawJson::parse(r#"{"type":"object"}"#).unwrap(),
    )
}

fn request(messages: &[Message]) -> ModelRequest<'_> {
    ModelRequest {
        caller: Cow::Borrowed("clerk"),
        run: Cow::Borrowed("c"),
        replies: 1,
        time_left: Some(500),
        system: Some(Cow::Owned(System::Text("You quote rooms.".into()))),
        tools: Cow::Owned(vec![tool("get_quote")]),
        rest: vec![("top_k".into(), RawJson::parse("5").unwrap())],
        ..ModelRequest::new("claude-sonnet-5", 1024, messages)
    }
}

/// What was recorded of one exchange.
fn recorded() -> Cassette {
    let script =
        ScriptedModel::new().turn("clerk", |_| script::say("?")).turn("clerk", |_| script::say("6000."));
    let recorder = Recorder::new(script, Redactor::new());
    recorder.complete(request(&talk())).unwrap();
    recorder.cassette()
}

/// S1-20: each kind of difference is named at its path, and nothing is used up by it.
#[test]
fn each_difference_is_named_at_its_path() {
    let check = |change: &dyn Fn(&mut ModelRequest<'_>), expected: &str| {
        let player = Player::new(recorded(), Redactor::new());
        let messages = talk();
        let mut changed = request(&messages);
        change(&mut changed);
        let error = player.complete(changed).unwrap_err();
        let detail = format!("exchange 1 (clerk, turn 2 of run 1) differs: at {expected}");
        assert_eq!(error, ModelError::OffRecord { detail });
        assert_eq!(player.unused().len(), 1);
        assert_eq!(player.complete(request(&messages)).unwrap().words(), "6000.");
    };
    check(&|of| of.model = "other".into(), r#"`model` "claude-sonnet-5" was recorded, and "other" came"#);
    check(&|of| of.max_tokens = 2048, "`max_tokens` 1024 was recorded, and 2048 came");
    check(&|of| of.system = None, r#"`system` "You quote rooms." was recorded, and nothing came"#);
    check(
        &|of| of.tools = Cow::Owned(vec![tool("get_quote"), tool("look")]),
        r#"`tools[1]` nothing was recorded, and {"name":"look","description":"Does it.","input_schema":{"type":"object"}} came"#,
    );
    check(
        &|of| of.tools = Cow::Owned(vec![tool("look")]),
        r#"`tools[0].name` "get_quote" was recorded, and "look" came"#,
    );
    check(
        &|of| of.tool_choice = Some(ToolChoice::None),
        r#"`tool_choice` nothing was recorded, and {"type":"none"} came"#,
    );
    check(&|of| of.rest.clear(), "`top_k` 5 was recorded, and nothing came");
    check(
        &|of| of.rest.push(("top_p".into(), RawJson::parse("0.5").unwrap())),
        "`top_p` nothing was recorded, and 0.5 came",
    );
    check(
        &|of| of.messages.to_mut()[0] = Message::user("Quote Forum."),
        r#"`messages[0].content` "Quote Focus." was recorded, and "Quote Forum." came"#,
    );
    check(
        &|of| of.messages.to_mut()[0] = Message::assistant(vec![]),
        r#"`messages[0].role` "user" was recorded, and "assistant" came"#,
    );
    check(
        &|of| of.messages.to_mut()[1] = Message::assistant(vec![quote("4")]),
        "`messages[1].content[0].input.hours` 3 was recorded, and 4 came",
    );
    check(
        &|of| {
            of.messages.to_mut().pop();
        },
        r#"`messages[2]` {"role":"user","content":[{"type":"tool_result","tool_use_id":"tu_1","content":"6000"}]} was recorded, and nothing came"#,
    );
    check(
        &|of| of.messages.to_mut().push(Message::user("\u{202e}so\n")),
        r#"`messages[3]` nothing was recorded, and {"role":"user","content":"\u{202e}so\n"} came"#,
    );
}

/// White space, the order of members and the time that is left are no difference.
#[test]
fn what_says_the_same_is_the_same() {
    let player = Player::new(recorded(), Redactor::new());
    let mut messages = talk();
    let call = ToolUse::scripted("tu_1", "get_quote", r#"{ "hours" : 3, "room":"\u0046ocus" }"#);
    messages[1] = Message::assistant(vec![call.into()]);
    let request = ModelRequest { time_left: None, ..request(&messages) };
    assert_eq!(player.complete(request).unwrap().words(), "6000.");
}

/// A cassette that is used up, one with exchanges left over, and who is not in it.
#[test]
fn too_many_too_few_and_unknown_askers_are_told() {
    let messages = talk();
    let told = |player: &Player, change: &dyn Fn(&mut ModelRequest<'_>)| {
        let mut request = request(&messages);
        change(&mut request);
        player.complete(request).unwrap_err().to_string()
    };
    let player = Player::new(recorded(), Redactor::new());
    let nothing = "nothing on record answers this request: ";
    assert_eq!(
        player.finish().unwrap_err().to_string(),
        format!(
            "{nothing}1 of 1 exchange(s) were not asked for, the first is exchange 1 (clerk, turn 2 of run 1)"
        )
    );
    assert_eq!(
        told(&player, &|of| of.caller = "till".into()),
        format!("{nothing}till asks in run 1, where nothing of it is recorded; recorded there: clerk")
    );
    assert_eq!(
        told(&player, &|of| of.run = "c/1/1/0".into()),
        format!("{nothing}clerk asks in run 1/1/1/0, where nothing of it is recorded")
    );
    player.complete(request(&messages)).unwrap();
    assert_eq!(player.finish(), Ok(()));
    assert_eq!(
        told(&player, &|of| of.replies = 2),
        format!("{nothing}clerk asks for turn 3 of run 1, and all 1 exchange(s) of it there are used up")
    );
}

/// A run that goes another way ends there, and neither goes on nor asks again.
#[test]
fn a_run_that_goes_another_way_ends_there() {
    let relay = desk();
    let recorder = recorder(decisions(), &relay);
    run(&recorder, &relay, "c", REQUEST);
    let json = recorder.cassette().to_json().unwrap();
    // A person changes a reply: the tool is asked for four hours and answers for four.
    let changed = json.replace(r#""plan": "pro", "hours": 3}"#, r#""plan": "pro", "hours": 4}"#);
    assert_ne!(changed, json);
    let player = player(&Cassette::from_json(&changed).unwrap(), &relay);
    let report = run(&player, &relay, "c", REQUEST);
    assert_eq!(report.model_calls(), 1);
    assert_eq!(
        report.end().to_string(),
        "failed: nothing on record answers this request: exchange 2 (booking_agent, turn 2 of run 1) differs: \
         at `messages[2].content[0].content` \
         \"{\"room\":\"Focus\",\"plan\":\"pro\",\"hours\":3,\"rate_cents_per_hour\":2000,\"total_cents\":6000}\" was recorded, and \
         \"{\"room\":\"Focus\",\"plan\":\"pro\",\"hours\":4,\"rate_cents_per_hour\":2000,\"total_cents\":8000}\" came"
    );
    assert_eq!(player.unused().len(), 3);
}
