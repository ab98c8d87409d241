//! A reply in OpenAI's form, whole.

use sommelier_providers::openai::{JsonMode, decode};
use sommelier_providers::{ProviderError, ReplyLimits};

use crate::cases::openai_stream::read;
use crate::pieces::ways;
use crate::told;
use crate::written::{holds, is_bounded, json, same};

/// It is a reply that can be written in the other form and read again, or an error; in JSON mode as well; and sent in
/// pieces, it is the one sent whole.
pub(crate) fn run(bytes: &[u8]) {
    for mode in [None, Some(JsonMode::default())] {
        match decode(bytes, mode) {
            Ok(reply) => holds(&reply, bytes),
            Err(error @ (ProviderError::Malformed { .. } | ProviderError::Service(_))) => is_bounded(&error),
            Err(error) => panic!("{error:?}"),
        }
        let Some((whole, wire)) =
            json(bytes).and_then(|value| Some((value.to_string(), told::openai(&value)?)))
        else {
            continue;
        };
        let Ok(reply) = decode(whole.as_bytes(), mode) else { continue };
        let [_, _, pieces] = ways(wire.as_bytes());
        same(&read(&pieces, ReplyLimits::default(), mode).0, &Ok(reply), "a reply in pieces");
    }
}
