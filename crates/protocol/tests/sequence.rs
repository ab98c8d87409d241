//! Each rule of the sequence: a conversation that breaks it, and one that just keeps it.

#![expect(clippy::panic, reason = "a test ends where something unexpected stands")]

use std::borrow::Cow;

use sommelier_protocol::sequence::{Rule, check, check_echo, check_messages};
use sommelier_protocol::{ContentBlock, Message, ModelRequest, RawJson, System, ToolDefinition, ToolName};

/// A list of messages in the form of the wire, and every violation in it.
#[track_caller]
fn finds(messages: &str, expected: &[&str]) {
    let found: Vec<String> =
        check_messages(&conversation(messages)).iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
}

fn conversation(messages: &str) -> Vec<Message> {
    let parsed: Result<_, _> = serde_json::from_str(&messages.replace("QUOTE", GET_QUOTE));
    parsed.unwrap_or_else(|error| panic!("{error} in {messages}"))
}

/// The members of a call that no rule looks at.
const GET_QUOTE: &str = r#""type":"tool_use","name":"get_quote","input":{}"#;

#[test]
fn s1_a_conversation_opens_with_the_user() {
    finds("[]", &["S1 messages: there is no message"]);
    finds(
        r#"[{"role":"assistant","content":"Hello"},{"role":"user","content":"Hi"}]"#,
        &["S1 messages.0: the first message is the model's"],
    );
    finds(r#"[{"role":"user","content":"Hi"}]"#, &[]);
}

#[test]
fn s2_every_call_is_answered_in_the_very_next_message() {
    finds(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","content":[{QUOTE,"id":"a"},{QUOTE,"id":"b"}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"b"}]}]"#,
        &[r#"S2 messages.1.content.0: the call "a" has no result in the next message"#],
    );
    finds(
        r#"[{"role":"user","content":[{QUOTE,"id":"a"}]}]"#,
        &[r#"S2 messages.0.content.0: the call "a" stands in a message of the role user"#],
    );
    finds(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","content":[{QUOTE,"id":"a"},{QUOTE,"id":"b"}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"b"},
                                      {"type":"tool_result","tool_use_id":"a"}]}]"#,
        &[],
    );
}

#[test]
fn s2_only_the_user_can_answer() {
    finds(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","content":[{QUOTE,"id":"a"}]},
            {"role":"assistant","content":[{"type":"tool_result","tool_use_id":"a"}]},
            {"role":"user","content":"Well?"}]"#,
        &[
            r#"S2 messages.1.content.0: the call "a" has no result in the next message"#,
            "S11 messages.2: two neighbours have the role assistant",
            r#"S3 messages.2.content.0: the result for "a" stands in a message of the role assistant"#,
        ],
    );
}

#[test]
fn s2_tools_that_the_service_runs_are_owed_nothing() {
    finds(
        r#"[{"role":"user","content":"Search"},
            {"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"s","input":{}},
                                           {"type":"text","text":"Nothing found."}]},
            {"role":"user","content":"Thanks"}]"#,
        &[],
    );
}

#[test]
fn s3_every_result_names_a_call_of_the_message_before() {
    finds(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","content":[{QUOTE,"id":"a"}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]},
            {"role":"assistant","content":"6000"},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]"#,
        &[r#"S3 messages.4.content.0: the result for "a" names no call of the message before"#],
    );
    finds(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","content":[{"type":"tool_result","tool_use_id":"a"}]},
            {"role":"user","content":"Well?"}]"#,
        &[r#"S3 messages.1.content.0: the result for "a" stands in a message of the role assistant"#],
    );
}

#[test]
fn s4_results_stand_before_everything_else() {
    finds(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","content":[{QUOTE,"id":"a"}]},
            {"role":"user","content":[{"type":"text","text":"Here:"},{"type":"tool_result","tool_use_id":"a"}]}]"#,
        &[r#"S4 messages.2.content.1: the result for "a" stands after something else"#],
    );
    finds(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","content":[{QUOTE,"id":"a"}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"text","text":"Go on."}]}]"#,
        &[],
    );
}

#[test]
fn s5_each_call_has_one_result_and_those_of_one_reply_stand_together() {
    finds(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","content":[{QUOTE,"id":"a"}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},
                                      {"type":"tool_result","tool_use_id":"a"}]}]"#,
        &[r#"S5 messages.2.content.1: the call "a" has a second result"#],
    );
    finds(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","content":[{QUOTE,"id":"a"},{QUOTE,"id":"b"}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"b"}]}]"#,
        &[
            r#"S2 messages.1.content.1: the call "b" has no result in the next message"#,
            "S11 messages.3: two neighbours have the role user",
            r#"S5 messages.3.content.0: the result for "b" is not in one message with the others"#,
        ],
    );
}

#[test]
fn s6_the_ids_of_calls_are_legal_and_unique() {
    finds(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","content":[{QUOTE,"id":"a"}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]},
            {"role":"assistant","content":[{QUOTE,"id":"a"},{QUOTE,"id":""},{QUOTE,"id":"tü"}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},
                                      {"type":"tool_result","tool_use_id":""},
                                      {"type":"tool_result","tool_use_id":"tü"}]}]"#,
        &[
            r#"S6 messages.3.content.0: the id "a" is taken by an earlier call"#,
            r#"S6 messages.3.content.1: the id "" is not made of ASCII letters, digits, `_` and `-`"#,
            r#"S6 messages.3.content.2: the id "tü" is not made of ASCII letters, digits, `_` and `-`"#,
        ],
    );
}

#[test]
fn s7_nothing_is_blank() {
    finds(
        r#"[{"role":"user","content":" \n"},
            {"role":"assistant","content":[]},
            {"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"Hi"}]}]"#,
        &[
            "S7 messages.0: the text is blank",
            "S7 messages.1: the content is empty",
            "S7 messages.2.content.0: the text is blank",
        ],
    );
    finds(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","content":[{QUOTE,"id":"a"}]},
            {"role":"user","content":[
                {"type":"tool_result","tool_use_id":"a",
                 "content":[{"type":"image","source":{}},{"type":"text","text":"\t"}]}]}]"#,
        &["S7 messages.2.content.0.content.1: the text is blank"],
    );
    finds(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","content":[{QUOTE,"id":"a"}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":""}]}]"#,
        &[],
    );
}

#[test]
fn s8_the_model_is_not_last_unless_it_was_paused() {
    finds(
        r#"[{"role":"user","content":"Quote"},{"role":"assistant","content":"It costs "}]"#,
        &[
            "S8 messages.1: the last text of the request ends in white space",
            "S8 messages.1: the last message is the model's",
        ],
    );
    finds(
        r#"[{"role":"user","content":"Quote"},{"role":"assistant","content":[]}]"#,
        &["S8 messages.1: the last message is the model's"],
    );
    finds(
        r#"[{"role":"user","content":"Search"},
            {"role":"assistant","content":[{"type":"text","text":"I search "},
                                           {"type":"server_tool_use","id":"srvtoolu_1","name":"s","input":{}}]}]"#,
        &[],
    );
}

#[test]
fn s9_thinking_is_whole_and_never_alone() {
    finds(
        r#"[{"role":"user","content":[{"type":"thinking","thinking":"hm","signature":"s"},
                                      {"type":"text","text":"Hi"}]},
            {"role":"assistant","content":[{"type":"redacted_thinking","data":"xyz"}]},
            {"role":"user","content":"Well?"},
            {"role":"assistant","content":[{"type":"thinking","thinking":"hm"},
                                           {"type":"redacted_thinking","data":7},
                                           {"type":"text","text":"Hello"}]},
            {"role":"user","content":"Well?"}]"#,
        &[
            "S9 messages.0.content.0: a thinking block stands in a message of the role user",
            "S9 messages.1: there is nothing beside the thinking",
            "S9 messages.3.content.0: the thinking block has no `signature`",
            "S9 messages.3.content.1: the members of the thinking block are not texts",
        ],
    );
    finds(
        r#"[{"role":"user","content":"Hi"},
            {"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"},
                                           {"type":"redacted_thinking","data":"xyz"},
                                           {"type":"text","text":"Hello"}]},
            {"role":"user","content":"Well?"}]"#,
        &[],
    );
}

#[test]
fn s9_thinking_comes_back_as_it_was() {
    let received: Vec<ContentBlock> = serde_json::from_str(
        r#"[{"type":"thinking","thinking":"one","signature":"1"},{"type":"text","text":"so"},
            {"type":"thinking","thinking":"two","signature":"2"},{QUOTE,"id":"a"}]"#
            .replace("QUOTE", GET_QUOTE)
            .as_str(),
    )
    .unwrap();
    let echoes = |content: Vec<ContentBlock>| {
        let messages = [Message::user("Hi"), Message::assistant(content), Message::user("Well?")];
        let violations = check_echo(&received, &ModelRequest::new("m", 1, &messages));
        violations.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let only = |places: &[usize]| places.iter().map(|place| received[*place].clone()).collect::<Vec<_>>();
    let rewritten = serde_json::from_str(r#"{"type":"thinking","thinking":"two","signature": "2"}"#).unwrap();

    assert_eq!(echoes(received.clone()), [""; 0]);
    assert_eq!(echoes(only(&[0, 1, 3])), ["S9 messages.1: thinking block 1 of the reply did not come back"]);
    assert_eq!(
        echoes(only(&[2, 0])),
        [
            "S9 messages.1.content.0: this is not thinking block 0 of the reply",
            "S9 messages.1.content.1: this is not thinking block 1 of the reply",
        ],
    );
    assert_eq!(
        echoes(only(&[0, 1, 2, 2])),
        ["S9 messages.1.content.3: the reply has no such thinking block"],
    );
    assert_eq!(
        echoes(vec![received[0].clone(), rewritten]),
        ["S9 messages.1.content.1: this is not thinking block 1 of the reply"],
    );
    let nothing = [Message::user("Hi")];
    assert_eq!(
        check_echo(&received[..2], &ModelRequest::new("m", 1, &nothing))[0].to_string(),
        "S9 messages: thinking block 0 of the reply did not come back: there is no assistant message",
    );
}

#[test]
fn s10_a_system_message_follows_the_user_and_precedes_the_model() {
    finds(
        r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]"#,
        &[
            "S10 messages.0: a system message is first",
            "S10 messages.0: a system message precedes the role user",
        ],
    );
    finds(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","content":[{QUOTE,"id":"a"}]},
            {"role":"system","content":"Be brief."},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]"#,
        &[
            r#"S2 messages.1.content.0: the call "a" has no result in the next message"#,
            "S10 messages.2: a system message follows the role assistant",
            "S10 messages.2: a system message precedes the role user",
            r#"S3 messages.3.content.0: the result for "a" names no call of the message before"#,
        ],
    );
    finds(
        r#"[{"role":"user","content":"Hi"},
            {"role":"system","content":"Be brief."},
            {"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"s","input":{}}]},
            {"role":"system","content":"Be briefer."}]"#,
        &[],
    );
}

#[test]
fn s11_the_roles_alternate() {
    finds(
        r#"[{"role":"user","content":"Hi"},{"role":"user","content":"Hello?"},
            {"role":"assistant","content":"Yes"},{"role":"assistant","content":"?"},
            {"role":"user","content":"Ah"}]"#,
        &[
            "S11 messages.1: two neighbours have the role user",
            "S11 messages.3: two neighbours have the role assistant",
        ],
    );
}

#[test]
fn s12_tools_have_legal_names_and_are_given_where_they_are_used() {
    let messages = conversation(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","content":[{QUOTE,"id":"a"}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]"#,
    );
    let tool = ToolDefinition::new(ToolName::new("get_quote").unwrap(), "Quotes.", RawJson::empty_object());
    let found = |tools: &[ToolDefinition]| {
        let request = ModelRequest { tools: Cow::Borrowed(tools), ..ModelRequest::new("m", 1, &messages) };
        check(&request).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(found(&[]), ["S12 tools: messages.1.content.0 is a block of a tool, but none is given"]);
    assert_eq!(
        found(&[tool.clone(), tool.clone()]),
        [r#"S12 tools.1: the name "get_quote" is taken by an earlier tool"#],
    );
    assert_eq!(found(&[tool]), [""; 0]);
    finds(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get quote","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]"#,
        &[r#"S12 messages.1.content.0: the call "a" has the illegal tool name "get quote""#],
    );
}

#[test]
fn s13_an_error_says_what_went_wrong() {
    finds(
        r#"[{"role":"user","content":"Quote"},
            {"role":"assistant","content":[{QUOTE,"id":"a"},{QUOTE,"id":"b"},{QUOTE,"id":"c"}]},
            {"role":"user","content":[
                {"type":"tool_result","tool_use_id":"a","is_error":true},
                {"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"image"}]},
                {"type":"tool_result","tool_use_id":"c","is_error":true,"content":"no such room"}]}]"#,
        &[
            r#"S13 messages.2.content.0: the error that answers "a" has no words"#,
            r#"S13 messages.2.content.1: the error that answers "b" has no words"#,
        ],
    );
}

#[test]
fn instructions_have_no_blank_text() {
    let messages = [Message::user("Hi")];
    let blocks =
        RawJson::parse(r#"[{"type":"text","text":"Be brief."},{"type":"text","text":" "}]"#).unwrap();
    let system = Some(Cow::Owned(System::Blocks(blocks)));
    let found = check(&ModelRequest { system, ..ModelRequest::new("m", 1, &messages) });
    assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), ["S7 system.1: the text is blank"]);
}

#[test]
fn a_violation_quotes_no_more_than_a_line() {
    let long = format!(r#"{{"type":"tool_result","tool_use_id":"{}"}}"#, "x".repeat(100_000));
    let result: ContentBlock = serde_json::from_str(&long).unwrap();
    let violations = check_messages(&[Message::user_blocks(vec![result])]);
    assert_eq!(
        violations[0].detail,
        format!("the result for \"{}\"… names no call of the message before", "x".repeat(60)),
    );
}

#[test]
fn the_rules_are_numbered_from_1_to_13() {
    let codes: Vec<String> = Rule::ALL.iter().map(ToString::to_string).collect();
    let expected: Vec<String> = (1..=13).map(|n| format!("S{n}")).collect();
    assert_eq!(codes, expected);
    assert!(Rule::ALL.is_sorted());
    assert!(Rule::ALL.iter().all(|rule| !rule.meaning().contains('\n')));
}
