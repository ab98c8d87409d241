//! A reply in Anthropic's form, in pieces.

use sommelier_protocol::ModelResponse;
use sommelier_providers::anthropic::Stream;
use sommelier_providers::{ProviderError, ReplyLimits};

use crate::pieces::ways;
use crate::written::{holds, is_bounded, same};

/// In any pieces it is the same reply or the same error, told in the same words; what exceeds a cap is no reply.
pub(crate) fn run(bytes: &[u8]) {
    let narrow = ReplyLimits { event_bytes: 300, total_bytes: 1500, blocks: 2 };
    for limits in [ReplyLimits::default(), narrow] {
        let [whole, single, pieces] = ways(bytes).map(|way| read(&way, limits));
        same(&whole, &single, "a byte at a time");
        same(&whole, &pieces, "in pieces");
        match whole.0 {
            Ok(reply) => {
                assert!(reply.content.len() <= limits.blocks);
                holds(&reply, bytes);
            }
            Err(error) => is_bounded(&error),
        }
    }
}

/// What comes of the pieces, and the words that were told on the way.
pub(crate) fn read(pieces: &[&[u8]], limits: ReplyLimits) -> (Result<ModelResponse, ProviderError>, String) {
    let (mut stream, mut words) = (Stream::new(limits), String::new());
    for piece in pieces {
        if let Err(error) = stream.push(piece, &mut |text| words.push_str(text)) {
            return (Err(error), words);
        }
    }
    (stream.finish(), words)
}
