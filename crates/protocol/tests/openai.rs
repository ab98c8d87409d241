//! The chat form: the same conversation, both ways, whatever a server leaves out.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test ends where something unexpected stands")]

mod strategies;

use std::borrow::Cow;

use proptest::collection::vec;
use proptest::prelude::*;
use sommelier_protocol::openai::{
    ChatChoice, ChatMessage, ChatTool, ChatUsage, NotMapped, Unmapped, answer, call, from_chat,
    reply_from_chat, reply_to_chat, to_chat, tool_results, tools_from_chat, tools_to_chat,
};
use sommelier_protocol::sequence::check_messages;
use sommelier_protocol::{
    Asking, ContentBlock, Message, ModelRequest, ModelResponse, RawJson, Reply, StopReason, System,
    ToolDefinition, ToolName, ToolResult, ToolUse, Usage,
};

fn chat_of(system: Option<&System>, messages: &[Message]) -> Vec<ChatMessage> {
    to_chat(&ModelRequest { system: system.map(Cow::Borrowed), ..ModelRequest::new("m", 1, messages) })
}

fn chat(wire: &str) -> Vec<ChatMessage> {
    serde_json::from_str(wire).unwrap()
}

fn written(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

/// Our form and the chat form of one conversation, each mapped to the other.
#[track_caller]
fn are_the_same(system: Option<System>, messages: &[Message], wire: &str) {
    assert_eq!(chat_of(system.as_ref(), messages), chat(wire));
    assert_eq!(from_chat(&chat(wire)), Ok((system, messages.to_vec())));
}

#[test]
fn the_system_message_is_first_and_the_user_is_second() {
    are_the_same(
        Some(System::Text("You quote rooms.".into())),
        &[Message::user("Quote Focus")],
        r#"[{"role":"system","content":"You quote rooms."},{"role":"user","content":"Quote Focus"}]"#,
    );
    are_the_same(
        None,
        &[Message::user("Quote Focus")],
        r#"[{"role":"system","content":""},{"role":"user","content":"Quote Focus"}]"#,
    );
    let blocks = RawJson::parse(r#"[{"type":"text","text":"One."},{"type":"text","text":"Two."}]"#).unwrap();
    are_the_same(
        Some(System::Blocks(blocks)),
        &[Message::user("Quote Focus")],
        r#"[{"role":"system","content":[{"type":"text","text":"One."},{"type":"text","text":"Two."}]},
            {"role":"user","content":"Quote Focus"}]"#,
    );
}

#[test]
fn calls_have_null_content_and_each_result_is_a_message() {
    let messages = [
        Message::user("Quote Focus and Studio"),
        Message::assistant(vec![
            ToolUse::scripted("a", "get_quote", r#"{"room":"Focus","hours":3.0}"#).into(),
            ToolUse::scripted("b", "get_quote", r#"{"room":"Studio"}"#).into(),
        ]),
        Message::user_blocks(vec![
            ToolResult::text("a", "6000").into(),
            ToolResult::text("b", "9000").into(),
            ContentBlock::text("Be brief."),
        ]),
        Message::assistant(vec![ContentBlock::text("15000")]),
    ];
    let wire = [
        r#"{"role":"system","content":""}"#,
        r#"{"role":"user","content":"Quote Focus and Studio"}"#,
        concat!(
            r#"{"role":"assistant","content":null,"tool_calls":["#,
            r#"{"id":"a","type":"function","function":{"name":"get_quote","arguments":"{\"room\":\"Focus\",\"hours\":3.0}"}},"#,
            r#"{"id":"b","type":"function","function":{"name":"get_quote","arguments":"{\"room\":\"Studio\"}"}}]}"#,
        ),
        r#"{"role":"tool","content":"6000","tool_call_id":"a"}"#,
        r#"{"role":"tool","content":"9000","tool_call_id":"b"}"#,
        r#"{"role":"user","content":"Be brief."}"#,
        r#"{"role":"assistant","content":"15000"}"#,
    ];
    let wire = format!("[{}]", wire.join(","));
    are_the_same(None, &messages, &wire);
    assert_eq!(written(&chat_of(None, &messages)), wire);
}

#[test]
fn several_texts_are_a_list_of_parts() {
    are_the_same(
        None,
        &[Message::user_blocks(vec![ContentBlock::text("One."), ContentBlock::text("Two.")])],
        r#"[{"role":"system","content":""},
            {"role":"user","content":[{"type":"text","text":"One."},{"type":"text","text":"Two."}]}]"#,
    );
}

#[test]
fn an_error_says_so_in_its_text_and_the_flag_is_lost() {
    let messages = |result: ToolResult| {
        let call = ToolUse::scripted("a", "get_quote", "{}");
        [
            Message::user("Quote"),
            Message::assistant(vec![call.into()]),
            Message::user_blocks(vec![result.into()]),
        ]
    };
    let chat = chat_of(None, &messages(ToolResult::error("a", "no such room")));
    assert_eq!(chat[3], ChatMessage::tool("a", "ERROR: no such room"));
    assert_eq!(from_chat(&chat), Ok((None, messages(ToolResult::text("a", "ERROR: no such room")).to_vec())),);
}

#[test]
fn what_the_chat_form_cannot_carry_is_left_out() {
    let blocks: Vec<ContentBlock> = serde_json::from_str(
        r#"[{"type":"thinking","thinking":"hm","signature":"s"},
            {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}]"#,
    )
    .unwrap();
    let spoken = blocks.iter().cloned().chain([ContentBlock::text("Hello")]).collect();
    let messages = [
        Message::user("Hi"),
        Message::assistant(spoken),
        Message::user("Search"),
        Message::assistant(blocks),
    ];
    assert_eq!(
        chat_of(None, &messages),
        [ChatMessage::system(""), ChatMessage::user("Hi"), answer("Hello"), ChatMessage::user("Search")],
    );
}

/// The calls of a reply with these `tool_calls`: id, name, and the arguments as they go out again.
fn calls_in(tool_calls: &str) -> Vec<[String; 3]> {
    let choice = format!(r#"{{"message":{{"role":"assistant","content":"","tool_calls":{tool_calls}}}}}"#);
    let reply = reply_from_chat(&serde_json::from_str(&choice).unwrap(), None);
    assert_eq!(reply.stop_reason, Some(StopReason::ToolUse));
    let (choice, _) = reply_to_chat(&reply);
    let calls = choice.message.tool_calls.unwrap();
    assert_eq!(reply.content.len(), calls.len(), "blank content is dropped");
    calls
        .into_iter()
        .map(|call| {
            let arguments = call.function.arguments.as_str().to_owned();
            [call.id.unwrap().into(), call.function.name.into(), arguments]
        })
        .collect()
}

#[test]
fn arguments_are_read_from_a_text_an_object_or_nothing() {
    assert_eq!(
        calls_in(
            r#"[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\":1.0}"}},
                {"id":"b","function":{"name":"f","arguments":{"n": 1.0}}},
                {"id":"c","function":{"name":"f","arguments":""}},
                {"id":"d","function":{"name":"f","arguments":null}},
                {"id":"e","function":{"name":"f"},"index":4}]"#
        ),
        [
            ["a", "f", r#"{"n":1.0}"#],
            ["b", "f", r#"{"n": 1.0}"#],
            ["c", "f", "{}"],
            ["d", "f", "{}"],
            ["e", "f", "{}"],
        ],
    );
}

#[test]
fn a_broken_text_of_arguments_goes_out_as_it_came() {
    for broken in [r#"{"room": "#, "[1, 2] ", "\"Focus\"", "room=Focus", "{\"a\":\"\u{1}\"}"] {
        let calls = format!(r#"[{{"id":"a","function":{{"name":"f","arguments":{}}}}}]"#, written(&broken));
        assert_eq!(calls_in(&calls), [["a", "f", broken]]);
    }
}

#[test]
fn ids_that_are_missing_empty_illegal_or_equal_are_replaced_by_own_ones() {
    let ids: Vec<String> = calls_in(
        r#"[{"id":"a","function":{"name":"f"}},{"function":{"name":"f"}},{"id":null,"function":{"name":"f"}},
            {"id":"","function":{"name":"f"}},{"id":"a","function":{"name":"f"}},{"id":"ö","function":{"name":"f"}},
            {"id":"call_1","function":{"name":"f"}}]"#,
    )
    .into_iter()
    .map(|[id, ..]| id)
    .collect();
    assert_eq!(ids, ["a", "call_0", "call_2", "call_3", "call_4", "call_5", "call_1"]);
}

#[test]
fn results_find_their_calls_by_the_old_ids_or_by_their_order() {
    let chat = chat(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","tool_calls":[{"id":"x","function":{"name":"f"}},
                                              {"id":"x","function":{"name":"g"}},
                                              {"function":{"name":"h"}}]},
            {"role":"tool","tool_call_id":"x","content":"1"},
            {"role":"tool","content":"2"},
            {"role":"tool","tool_call_id":"","content":[{"type":"text","text":"3"}]},
            {"role":"assistant","content":"","tool_calls":[{"id":"x","function":{"name":"f"}}]},
            {"role":"tool","tool_call_id":"x","content":"4"}]"#,
    );
    let (_, messages) = from_chat(&chat).unwrap();
    assert_eq!(check_messages(&messages), []);
    let results = |at: usize| {
        let results =
            messages[at].tool_results().map(|result| (result.tool_use_id().to_owned(), result.words()));
        results.collect::<Vec<_>>()
    };
    let expected = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(id, words)| ((*id).to_owned(), (*words).to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(results(2), expected(&[("x", "1"), ("call_0", "2"), ("call_1", "3")]));
    assert_eq!(results(4), expected(&[("call_2", "4")]));
}

#[test]
fn neighbours_of_one_role_become_one_message() {
    let chat = chat(
        r#"[{"role":"system","content":"One."},{"role":"system","content":"Two."},
            {"role":"user","content":"Hi"},{"role":"user","content":"Quote"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f"}}]},
            {"role":"assistant","content":null,"tool_calls":[{"id":"b","function":{"name":"f"}}]},
            {"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":"2"},
            {"role":"user","content":"Well?"}]"#,
    );
    let (system, messages) = from_chat(&chat).unwrap();
    assert_eq!(written(&system), r#"[{"type":"text","text":"One."},{"type":"text","text":"Two."}]"#);
    assert_eq!(messages.len(), 3);
    assert_eq!(check_messages(&messages), []);
}

#[test]
fn a_part_that_is_no_text_and_a_stray_result_are_refused_with_their_place() {
    let image =
        r#"[{"role":"user","content":[{"type":"text","text":"See"},{"type":"image_url","image_url":{}}]}]"#;
    assert_eq!(
        from_chat(&chat(image)),
        Err(NotMapped { path: "messages.0.content.1".into(), fault: Unmapped::Part("image_url".into()) }),
    );
    let stray = from_chat(&[ChatMessage::user("Hi"), ChatMessage::tool("a", "6000")]).unwrap_err();
    assert_eq!(stray.to_string(), r#"messages.1: the tool message for "a" answers no open call"#);
}

#[test]
fn stop_reasons_are_mapped_and_calls_speak_for_themselves() {
    let reason = |calls: &str, finish: &str| {
        let wire =
            format!(r#"{{"message":{{"role":"assistant","content":"x"{calls}}},"finish_reason":{finish}}}"#);
        reply_from_chat(&serde_json::from_str::<ChatChoice>(&wire).unwrap(), None).stop_reason
    };
    let calls = r#","tool_calls":[{"function":{"name":"f"}}]"#;
    let table = [
        ("", r#""stop""#, Some(StopReason::EndTurn)),
        ("", r#""length""#, Some(StopReason::MaxTokens)),
        ("", r#""content_filter""#, Some(StopReason::Refusal)),
        ("", r#""tired""#, Some(StopReason::Other("tired".into()))),
        ("", "null", None),
        (calls, r#""tool_calls""#, Some(StopReason::ToolUse)),
        (calls, r#""stop""#, Some(StopReason::ToolUse)),
        (calls, "null", Some(StopReason::ToolUse)),
        (calls, r#""length""#, Some(StopReason::MaxTokens)),
    ];
    for (calls, finish, expected) in table {
        assert_eq!(reason(calls, finish), expected, "{finish} beside {calls:?}");
    }
}

#[test]
fn tokens_from_a_cache_are_counted_apart() {
    let usage: ChatUsage = serde_json::from_str(
        r#"{"prompt_tokens":100,"completion_tokens":7,"total_tokens":107,"prompt_tokens_details":{"cached_tokens":60}}"#,
    )
    .unwrap();
    let choice: ChatChoice =
        serde_json::from_str(r#"{"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}"#)
            .unwrap();
    let reply = reply_from_chat(&choice, Some(&usage));
    let mut expected = ModelResponse::new("", vec![ContentBlock::text("Hi")], StopReason::EndTurn);
    expected.usage = Usage::new(40, 7);
    expected.usage.cache_read_input_tokens = Some(60);
    assert_eq!(reply, expected);
    assert_eq!(reply_to_chat(&reply), (choice, usage));
}

#[test]
fn tools_are_mapped_both_ways() {
    let schema = RawJson::parse(r#"{"type":"object","properties":{"room":{"type":"string"}}}"#).unwrap();
    let tools = [ToolDefinition::new(ToolName::new("get_quote").unwrap(), "Quotes a room.", schema)];
    let chat = tools_to_chat(&tools);
    assert_eq!(
        written(&chat),
        concat!(
            r#"[{"type":"function","function":{"name":"get_quote","description":"Quotes a room.","#,
            r#""parameters":{"type":"object","properties":{"room":{"type":"string"}}}}}]"#,
        ),
    );
    assert_eq!(tools_from_chat(&chat), tools);
    let bare: ChatTool = serde_json::from_str(r#"{"type":"function","function":{"name":"now"}}"#).unwrap();
    assert_eq!(tools_from_chat(&[bare])[0].input_schema.get(), r#"{"type":"object"}"#);
}

#[test]
fn scripts_are_short() {
    let chat = [
        ChatMessage::user("Quote"),
        ChatMessage::calls(vec![call("get_quote", serde_json::json!({"hours": 3})).with_id("a")]),
        ChatMessage::tool("a", r#"{"total_cents": 6000}"#),
        ChatMessage::calls(vec![call("book", r#"{"room": "#).with_id("b")]),
        ChatMessage::tool("b", "ERROR: broken JSON"),
        answer("6000 cents"),
    ];
    let results: Vec<String> = tool_results(&chat).iter().map(|result| result.get().to_owned()).collect();
    assert_eq!(results, [r#"{"total_cents": 6000}"#, r#""ERROR: broken JSON""#]);
    assert_eq!(
        written(&chat[3]),
        concat!(
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"b","type":"function","#,
            r#""function":{"name":"book","arguments":"{\"room\": "}}]}"#,
        ),
    );
    assert_eq!(written(&chat[5]), r#"{"role":"assistant","content":"6000 cents"}"#);
}

#[test]
fn unknown_members_of_a_chat_message_are_kept() {
    let wire = r#"{"role":"assistant","refusal":null,"content":"Hi","reasoning_content":"hm","n":1.50}"#;
    assert_eq!(written(&serde_json::from_str::<ChatMessage>(wire).unwrap()), wire);
}

proptest! {
    #[test]
    fn a_chat_goes_to_our_form_and_back_unchanged(replies in vec(vec(strategies::block(), 0..4), 1..5)) {
        let mut asking = Asking::open("Hi").unwrap();
        for blocks in replies {
            asking = match asking.replied(blocks) {
                Reply::Called(called) => called.owing.answer_each(|call| ToolResult::error(call.id(), call.name())),
                Reply::Said(resting) => resting.say(sommelier_protocol::Words::new("Well?").unwrap()),
                Reply::Empty(asking) => asking,
            };
        }
        // What the chat form cannot carry is lost on the first way; after that nothing is.
        let (system, messages) = from_chat(&chat_of(None, asking.messages())).unwrap();
        prop_assert_eq!(check_messages(&messages), []);
        let chat = chat_of(system.as_ref(), &messages);
        prop_assert_eq!(from_chat(&chat), Ok((system, messages)));
        let wire = written(&chat);
        prop_assert_eq!(serde_json::from_str::<Vec<ChatMessage>>(&wire).unwrap(), chat);
    }
}
