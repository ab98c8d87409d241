//! A reply in Anthropic's form, whole.

use sommelier_providers::{ProviderError, anthropic};

use crate::cases::anthropic_stream::read;
use crate::pieces::ways;
use crate::told;
use crate::written::{holds, is_bounded, json, same};

/// It is a reply that can be written and read again, a malformed one, or an error; and sent in pieces, it is the one sent whole.
pub(crate) fn run(bytes: &[u8]) {
    match anthropic::decode(bytes) {
        Ok(reply) => holds(&reply, bytes),
        Err(error @ (ProviderError::Malformed { .. } | ProviderError::Service(_))) => is_bounded(&error),
        Err(error) => panic!("{error:?}"),
    }
    let Some((whole, wire)) =
        json(bytes).and_then(|value| Some((value.to_string(), told::anthropic(&value)?)))
    else {
        return;
    };
    let Ok(reply) = anthropic::decode(whole.as_bytes()) else { return };
    let [_, _, pieces] = ways(wire.as_bytes());
    let (streamed, words) = read(&pieces, sommelier_providers::ReplyLimits::default());
    let texts: String = reply.content.iter().filter_map(|block| block.as_text()).collect();
    same(&words, &texts, "what is told of a stream is what it says");
    same(&streamed, &Ok(reply), "a reply in pieces");
}
