//! Names and ids check themselves.

use sommelier_protocol::{IllegalName, ToolName, ToolUseId};

const NAME_RULE: &str = "1 to 64 ASCII letters, digits, `_` or `-`";

#[test]
fn a_tool_name_is_up_to_64_letters_digits_underscores_and_dashes() {
    for legal in ["a", "get_quote", "Get-Quote-2", "9", &"x".repeat(64)] {
        assert_eq!(ToolName::new(legal).map(|name| name.to_string()), Ok(legal.to_owned()));
    }
    for illegal in ["", " ", "get quote", "get.quote", "gét", "get_quоte", "退款", "a\n", &"x".repeat(65)]
    {
        assert_eq!(ToolName::new(illegal), Err(IllegalName::new("tool name", illegal, NAME_RULE)));
    }
}

#[test]
fn a_call_id_is_up_to_256_of_the_same_characters() {
    assert!(ToolUseId::is_legal(&"x".repeat(256)));
    for illegal in ["", "call 1", "call/1", "cäll", &"x".repeat(257)] {
        assert!(!ToolUseId::is_legal(illegal), "{illegal:?}");
    }
}

#[test]
fn an_illegal_name_of_a_megabyte_is_quoted_in_80_characters() {
    let error = ToolName::new("ö".repeat(1 << 20)).unwrap_err();
    assert_eq!(error.to_string(), format!("\"{}\" is no tool name: {NAME_RULE}", "ö".repeat(80)));
}

#[test]
fn names_are_read_from_json_with_the_same_check() {
    assert_eq!(serde_json::from_str::<ToolName>(r#""get_quote""#).unwrap().as_str(), "get_quote");
    assert_eq!(
        serde_json::from_str::<ToolName>(r#""get quote""#).unwrap_err().to_string(),
        format!("\"get quote\" is no tool name: {NAME_RULE}"),
    );
}
