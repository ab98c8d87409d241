//! Thinking: whether it is asked for rightly, and whether what was thought has come back.

use serde_json::Value;
use sommelier_protocol::sequence::{self, check_echo};
use sommelier_protocol::{ContentBlock, Message, ModelRequest, Role};

use super::model::Traits;
use super::word;
use crate::Rule;
use crate::breach::{ApiError, Breach};
use crate::memory::Memory;

/// The least budget of tokens that thinking may be given.
const LEAST: u64 = 1024;
/// What signatures of this server begin with.
const MARK: &str = "fake_";

pub(super) fn check(body: &Value) -> Result<(), Breach> {
    let Some(thinking) = body.get("thinking").filter(|thinking| !thinking.is_null()) else { return Ok(()) };
    let refuse = |path: &str, what: String| Err(Breach::at(Rule::Thinking, path, what));
    match word(thinking, "type") {
        "disabled" | "adaptive" | "between_tools" => return Ok(()),
        "enabled" => {}
        other => {
            let what = format!(
                "Input tag '{other}' found using 'type' does not match any of the expected tags: 'adaptive', 'between_tools', 'disabled', 'enabled'"
            );
            return refuse("thinking", what);
        }
    }
    if !Traits::of(word(body, "model")).takes_budget {
        return refuse(
            "thinking.type",
            "\"enabled\" is not supported for this model. Use \"adaptive\"".to_owned(),
        );
    }
    let Some(budget) = thinking.get("budget_tokens") else {
        return refuse("thinking.enabled.budget_tokens", "Field required".to_owned());
    };
    match budget.as_u64() {
        Some(LEAST..) => {}
        _ => {
            let what = format!("Input should be greater than or equal to {LEAST}");
            return refuse("thinking.enabled.budget_tokens", what);
        }
    }
    if budget.as_u64() >= body.get("max_tokens").and_then(Value::as_u64) {
        let what = "`max_tokens` must be greater than `thinking.budget_tokens`";
        return Err(Breach::new(Rule::Thinking, ApiError::invalid(what)));
    }
    if body.get("tool_choice").is_some_and(|choice| matches!(word(choice, "type"), "any" | "tool")) {
        let what = "Thinking may not be enabled when tool_choice forces tool use.";
        return Err(Breach::new(Rule::Thinking, ApiError::invalid(what)));
    }
    Ok(())
}

/// Whether thinking has come back as it was sent: each block has the signature of its text, and the latest reply, when
/// this server made it, has all its blocks.
pub(super) fn echoed(messages: &[Message], memory: &Memory) -> Result<(), Breach> {
    for (at, message) in messages.iter().enumerate() {
        for (place, block) in message.content.blocks().iter().enumerate() {
            if !is_signed(block) {
                let path = format!("messages.{at}.content.{place}");
                return Err(Breach::at(
                    Rule::Sequence(sequence::Rule::ThinkingIsWhole),
                    path,
                    "Invalid `signature` in `thinking` block",
                ));
            }
        }
    }
    let Some((at, latest)) =
        messages.iter().enumerate().rfind(|(_, message)| message.role == Role::Assistant)
    else {
        return Ok(());
    };
    let Some(sent) = latest.tool_uses().find_map(|call| memory.reply_of(call.id())) else { return Ok(()) };
    let request = ModelRequest::new("", 0, messages);
    match check_echo(sent, &request).into_iter().next() {
        None => Ok(()),
        Some(violation) => {
            // A block that is missing has no place of its own.
            let path = if violation.path == "messages" { format!("messages.{at}") } else { violation.path };
            let what = "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These \
                        blocks must remain as they were in the original response.";
            Err(Breach::at(Rule::Sequence(violation.rule), path, what))
        }
    }
}

fn is_signed(block: &ContentBlock) -> bool {
    let ContentBlock::Other(block) = block else { return true };
    let Ok(members) = block.raw().read::<Value>() else { return true };
    let signature = word(&members, "signature");
    // One that this server did not make may be the service's own, and nobody else can check it.
    block.kind() != "thinking"
        || !signature.starts_with(MARK)
        || signature == sign(word(&members, "thinking"))
}

/// The signature of a thought: 64 bits of FNV-1a over its bytes, in hexadecimal, behind `fake_`.
///
/// The service's signature is a secret of the service; this one anybody can make, so that a case in a file can be right.
pub(crate) fn sign(thought: &str) -> String {
    let hash = thought.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{MARK}{hash:016x}")
}
