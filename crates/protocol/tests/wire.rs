//! What comes over the wire goes out again as it came, and what is no JSON is refused with its place.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test ends where something unexpected stands")]

mod strategies;

use proptest::prelude::*;
use sommelier_protocol::sequence::check_messages;
use sommelier_protocol::{
    Content, ContentBlock, Message, ModelRequest, ModelResponse, RawJson, Role, StopReason, System,
    ToolChoice, ToolDefinition, ToolResult, ToolUse, Usage,
};

/// Reads `wire` as a `T` and writes it again: the same bytes.
#[track_caller]
fn comes_back<T: serde::Serialize + serde::de::DeserializeOwned>(wire: &str) {
    let value: T = serde_json::from_str(wire).unwrap();
    assert_eq!(serde_json::to_string(&value).unwrap(), wire);
}

#[track_caller]
fn is_refused<T: serde::de::DeserializeOwned + std::fmt::Debug>(wire: impl AsRef<[u8]>, why: &str) {
    assert_eq!(serde_json::from_slice::<T>(wire.as_ref()).unwrap_err().to_string(), why);
}

#[test]
fn members_that_are_unknown_keep_their_place_and_their_number_text() {
    comes_back::<Message>(r#"{"id":1.50,"content":"hi","new":{"b":1e400,"a":-0},"role":"user"}"#);
    comes_back::<ContentBlock>(r#"{"text":"hi","type":"text","citations":[18446744073709551617]}"#);
    comes_back::<ContentBlock>(
        r#"{"type":"tool_use","caller":null,"id":"a","name":"f","input":{"z":0.10,"a":1}}"#,
    );
    comes_back::<ContentBlock>(
        r#"{"type":"tool_result","tool_use_id":"a","is_error":null,"content":null,"new":[]}"#,
    );
    comes_back::<ContentBlock>(
        r#"{"type":"tool_result","tool_use_id":"a","content":[{"type":"text", "text":"x"}]}"#,
    );
    comes_back::<ToolDefinition>(
        r#"{"name":"f","input_schema":{"type":"object"},"strict":true,"description":"x"}"#,
    );
    comes_back::<Usage>(
        r#"{"input_tokens":1,"service_tier":"standard","output_tokens":2,"cache_read_input_tokens":null}"#,
    );
    comes_back::<ToolChoice>(r#"{"type":"tool","name":"f","disable_parallel_tool_use":true}"#);
    comes_back::<System>(r#"[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}]"#);
}

#[test]
fn a_reply_keeps_unknown_blocks_and_stop_reasons() {
    let wire = concat!(
        r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":["#,
        r#"{"type":"thinking","thinking":"","signature":"x\/y\u00e9==" , "n":1.0},"#,
        r#"{"signature":"s","thinking":"t","type":"thinking"},{"type":"from_the_future","n":0.50}],"#,
        r#""stop_reason":"tired","stop_sequence":null,"stop_details":{"why":"late"},"#,
        r#""usage":{"input_tokens":1,"output_tokens":2}}"#,
    );
    comes_back::<ModelResponse>(wire);
    let reply: ModelResponse = serde_json::from_str(wire).unwrap();
    assert_eq!(reply.stop_reason, Some(StopReason::Other("tired".into())));
    assert_eq!(
        reply.content.iter().map(ContentBlock::kind).collect::<Vec<_>>(),
        ["thinking", "thinking", "from_the_future"],
    );
}

#[test]
fn a_member_that_is_set_later_is_written_beside_unknown_ones() {
    let mut usage: Usage = serde_json::from_str(r#"{"new":1,"output_tokens":2,"input_tokens":1}"#).unwrap();
    usage.cache_read_input_tokens = Some(7);
    assert_eq!(
        serde_json::to_string(&usage).unwrap(),
        r#"{"new":1,"output_tokens":2,"input_tokens":1,"cache_read_input_tokens":7}"#,
    );
}

#[test]
fn a_call_without_arguments_gets_the_empty_object() {
    let call: ContentBlock =
        serde_json::from_str(r#"{"new":1,"type":"tool_use","id":"a","name":"f"}"#).unwrap();
    assert_eq!(
        serde_json::to_string(&call).unwrap(),
        r#"{"new":1,"type":"tool_use","id":"a","name":"f","input":{}}"#,
    );
}

#[test]
fn an_input_that_is_no_object_is_kept_and_sent_back_as_text() {
    for written in [r#""Focus""#, "[1,2]", "null", r#"{"room":"\ud800"}"#] {
        let wire = format!(r#"{{"type":"tool_use","id":"a","name":"f","input":{written}}}"#);
        let call: ToolUse = serde_json::from_str(&wire).unwrap();
        assert_eq!(call.broken_input().as_deref(), Some(written));
        let text = serde_json::to_string(written).unwrap();
        let sent = format!(r#"{{"type":"tool_use","id":"a","name":"f","input":{{"INVALID_JSON":{text}}}}}"#);
        assert_eq!(serde_json::to_string(&call).unwrap(), sent);
        assert_eq!(serde_json::from_str::<ToolUse>(&sent).unwrap(), call);
    }
}

#[test]
fn arguments_as_text_are_an_object_blank_or_broken() {
    let broken = |arguments| ToolUse::scripted("a", "f", arguments).broken_input();
    assert_eq!(broken(""), None);
    assert_eq!(broken(" \n"), None);
    assert_eq!(broken(r#" {"a":1} "#), None);
    for arguments in [r#"{"a": "#, " [1] ", r#"{"a":1} {"#, "\u{0}", "{'a':1}", r#"{"a":"\udc00"}"#] {
        assert_eq!(broken(arguments).as_deref(), Some(arguments));
    }
    assert_eq!(ToolUse::scripted("a", "f", "").input().get(), "{}");
}

#[test]
fn a_known_member_that_comes_twice_is_refused() {
    is_refused::<Message>(
        r#"{"role":"user","content":"a","role":"assistant"}"#,
        "duplicate member `role` at line 1 column 35",
    );
    is_refused::<Message>(
        r#"{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}"#,
        "duplicate member `text` at line 1 column 64",
    );
    is_refused::<ContentBlock>(r#"{"type":"text","type":"tool_use","text":"a"}"#, "duplicate field `type`");
}

#[test]
fn what_is_no_text_is_refused_with_its_place() {
    is_refused::<Message>(
        r#"{"role":"user","content":"\ud800"}"#,
        "unexpected end of hex escape at line 1 column 33",
    );
    is_refused::<Message>(
        r#"{"role":"user","content":[{"type":"new","a":"\udc00"}]}"#,
        "lone surrogate in a string at line 1 column 54",
    );
    is_refused::<Message>(
        b"{\"role\":\"user\",\n\"content\":\"\x01\"}",
        "control character (\\u0000-\\u001F) found while parsing a string at line 2 column 12",
    );
    is_refused::<Message>(
        b"{\"role\":\"user\",\"content\":[{\"type\":\"new\",\"a\":\"\x01\"}]}",
        "control character (\\u0000-\\u001F) found while parsing a string at line 1 column 45",
    );
    is_refused::<Message>(
        b"{\"role\":\"user\",\"content\":\"\xff\"}",
        "invalid unicode code point at line 1 column 27",
    );
    assert!(
        serde_json::from_slice::<Message>(b"{\"role\":\"user\",\"content\":[{\"a\":\"\xff\"}]}").is_err()
    );
    assert_eq!(
        RawJson::parse("{\"a\":\"\\ud83d\\ude00\",\n \"b\":\"\\\\ud800 \\ud800\\u0041\"}")
            .unwrap_err()
            .to_string(),
        "lone surrogate in a string at line 2 column 15",
    );
    assert!(RawJson::parse(r#"{"a":"\ud83d\ude00 \\ud800 \u0000"}"#).is_ok());
}

#[test]
fn content_of_another_shape_is_refused_with_its_place() {
    is_refused::<Message>(
        r#"{"role":"user","content":7}"#,
        "invalid type: integer `7`, expected a string or a list of content blocks at line 1 column 26",
    );
    is_refused::<Message>(
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":{}}]}"#,
        "a tool_result's content is a string or a list of blocks at line 1 column 80",
    );
    is_refused::<Message>(r#"{"content":"a"}"#, "missing field `role` at line 1 column 15");
    is_refused::<Message>(
        r#"{"role":"user","content":[{"type":"text"}]}"#,
        "missing field `text` at line 1 column 42",
    );
}

#[test]
fn deep_nesting_is_kept_without_a_deep_stack() {
    const DEPTH: usize = 100_000;
    let deep = "[".repeat(DEPTH) + &"]".repeat(DEPTH);
    comes_back::<Message>(&format!(
        r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"f","input":{{"a":{deep}}}}}]}}"#
    ));
    comes_back::<Message>(&format!(
        r#"{{"role":"assistant","content":[{{"type":"new","a":{deep}}}],"b":{deep}}}"#
    ));

    let open = r#"{"type":"tool_result","tool_use_id":"a","content":["#;
    let results = format!("{}{}", open.repeat(DEPTH), "]}".repeat(DEPTH));
    comes_back::<ContentBlock>(&results);
    let result: ToolResult = serde_json::from_str(&results).unwrap();
    assert_eq!(result.words(), "");
    assert_eq!(check_messages(&[Message::user_blocks(vec![result.into()])]).len(), 1);

    let call = ToolUse::scripted("a", "f", &deep);
    assert_eq!(call.broken_input(), Some(deep.clone()));
    let object = RawJson::parse(&format!(r#"{{"a":{deep}}}"#)).unwrap();
    assert_eq!(
        object.read::<serde_json::Value>().unwrap_err().to_string(),
        "recursion limit exceeded at line 1 column 132",
    );
}

#[test]
fn ten_megabytes_of_text_are_one_text() {
    let long = "ö\n".repeat(10_000_000 / 3);
    let message = Message::user(long.clone());
    let wire = serde_json::to_string(&message).unwrap();
    assert_eq!(message.wire_len(), wire.len());
    let back: Message = serde_json::from_str(&wire).unwrap();
    assert_eq!((back.role, back.content), (Role::User, Content::Text(long.into())));
}

#[test]
fn each_character_is_counted_as_it_is_written() {
    for character in '\0'..='\u{2100}' {
        let message = Message::user(character.to_string());
        assert_eq!(message.wire_len(), serde_json::to_string(&message).unwrap().len(), "{character:?}");
    }
}

proptest! {
    #[test]
    fn the_length_on_the_wire_is_counted_as_it_is_written(
        blocks in prop::collection::vec(strategies::block(), 0..4),
        text in strategies::words(),
        extra in strategies::json(),
    ) {
        let plain = Message::user(text);
        let list = Message::assistant(blocks);
        let odd: Message = serde_json::from_str(&format!(
            r#"{{"content":{},"new":{extra},"role":"system"}}"#, serde_json::to_string(&list.content).unwrap()
        )).unwrap();
        for message in [plain, list, odd] {
            prop_assert_eq!(message.wire_len(), serde_json::to_string(&message).unwrap().len());
        }
    }

    #[test]
    fn what_is_written_is_read_as_the_same_and_written_again_alike(block in strategies::block()) {
        let written = serde_json::to_string(&block).unwrap();
        let read: ContentBlock = serde_json::from_str(&written).unwrap();
        prop_assert_eq!(&serde_json::to_string(&read).unwrap(), &written);
        prop_assert_eq!(read, block);
    }

    #[test]
    fn a_block_without_words_of_ours_is_kept_byte_for_byte(text in strategies::block_text()) {
        if let ContentBlock::Other(block) = serde_json::from_str(&text).unwrap() {
            prop_assert_eq!(block.raw().get(), text);
        }
    }
}

/// A request that somebody else made is written with all that it came with: members of ours first, the others after
/// them in their own order and form.
#[test]
fn a_request_keeps_what_it_does_not_know() {
    let messages = r#""messages":[{"role":"user","content":"Hi"}]"#;
    let read = |wire: &str| serde_json::from_str::<ModelRequest<'_>>(wire);
    let wire = format!(
        r#"{{"temperature":0.50,"tools":[{{"name":"web_search","type":"web_search_20250305","max_uses":5}}],{messages},"metadata":{{"b":1,"a":1e400}},"max_tokens":9,"model":"m","system":null}}"#
    );
    let request = read(&wire).unwrap();
    let names: Vec<&str> = request.rest.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["temperature", "metadata"]);
    let ours = format!(
        r#"{{"model":"m","max_tokens":9,"tools":[{{"name":"web_search","type":"web_search_20250305","max_uses":5}}],{messages},"temperature":0.50,"metadata":{{"b":1,"a":1e400}}}}"#
    );
    assert_eq!(serde_json::to_string(&request).unwrap(), ours);
    assert_eq!(read(&ours).unwrap(), request);
    let twice = format!(r#"{{"model":"m","model":"n","max_tokens":9,{messages}}}"#);
    assert!(read(&twice).unwrap_err().to_string().starts_with("duplicate member `model`"));
    let none = read(r#"{"model":"m","max_tokens":9}"#).unwrap_err();
    assert!(none.to_string().starts_with("missing field `messages`"), "{none}");
}

/// A tool that the service brings along has no schema; every other tool has one.
#[test]
fn a_tool_of_the_service_needs_no_schema() {
    comes_back::<ToolDefinition>(r#"{"type":"bash_20250124","name":"bash"}"#);
    comes_back::<ToolDefinition>(r#"{"name":"f","type":"custom","input_schema":{"type":"object"}}"#);
    let read = |wire: &str| serde_json::from_str::<ToolDefinition>(wire);
    for wire in [r#"{"name":"f"}"#, r#"{"type":"custom","name":"f"}"#, r#"{"type":null,"name":"f"}"#] {
        assert!(read(wire).unwrap_err().to_string().starts_with("missing field `input_schema`"), "{wire}");
    }
    let tools = [
        read(r#"{"type":"bash_20250124","name":"bash"}"#).unwrap(),
        read(r#"{"name":"f","input_schema":{"type":"object"}}"#).unwrap(),
    ];
    assert_eq!(tools.each_ref().map(ToolDefinition::is_of_service), [true, false]);
    let chat = sommelier_protocol::openai::tools_to_chat(&tools);
    assert_eq!(chat.iter().map(|tool| tool.function.name.as_str()).collect::<Vec<_>>(), ["f"]);
}
