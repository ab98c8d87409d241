//! Only the protocol: a conversation that cannot break the rules, and one of others that is held against them.
//!
//! Run it with `cargo run -p sommelier-protocol --example alone`.

use sommelier_protocol::{
    Asking, ContentBlock, Message, ModelRequest, RawJson, Reply, ToolDefinition, ToolName, ToolResult,
    ToolUse, sequence,
};
use std::error::Error;

#[cfg_attr(test, test)]
fn main() -> Result<(), Box<dyn Error>> {
    // Built here: the types say what may come next, so no call is left without a result.
    let call = ToolUse::scripted("tu_1", "get_quote", r#"{"room":"Focus","hours":3}"#);
    let Reply::Called(called) = Asking::open("What does Focus cost?")?.replied(vec![call.clone().into()])
    else {
        return Err("the reply holds a call".into());
    };
    let asking = called.owing.answer(vec![ToolResult::text("tu_1", r#"{"total_cents":6000}"#)])?;
    let mut request = ModelRequest::new("claude-sonnet-5", 1024, asking.messages());
    let schema = RawJson::parse(r#"{"type":"object"}"#)?;
    request.tools = vec![ToolDefinition::new(ToolName::new("get_quote")?, "Tells a price.", schema)].into();
    println!("{}", serde_json::to_string_pretty(&request)?);
    assert_eq!(sequence::check(&request), []);

    // Made elsewhere: the call was never answered, and the checker says where.
    let foreign = [
        Message::user("hello"),
        Message::assistant(vec![ContentBlock::ToolUse(call)]),
        Message::user("and?"),
    ];
    let broken = sequence::check_messages(&foreign);
    for violation in &broken {
        println!("{} at {}: {}", violation.rule.code(), violation.path, violation.detail);
    }
    assert_eq!(broken.len(), 1);
    Ok(())
}
