//! A reply in OpenAI's form, in pieces.

use sommelier_protocol::ModelResponse;
use sommelier_providers::openai::{JsonMode, Stream};
use sommelier_providers::{ProviderError, ReplyLimits};

use crate::pieces::ways;
use crate::written::{holds, is_bounded, same};

/// In any pieces it is the same reply or the same error, told in the same words; what exceeds a cap is no reply; in JSON
/// mode nothing is told before it is whole.
pub(crate) fn run(bytes: &[u8]) {
    let narrow = ReplyLimits { event_bytes: 300, total_bytes: 1500, blocks: 2 };
    for (limits, mode) in
        [(ReplyLimits::default(), None), (ReplyLimits::default(), Some(JsonMode::default())), (narrow, None)]
    {
        let [whole, single, pieces] = ways(bytes).map(|way| read(&way, limits, mode));
        same(&whole, &single, "a byte at a time");
        same(&whole, &pieces, "in pieces");
        assert!(mode.is_none() || whole.1.is_empty(), "{}", whole.1);
        match whole.0 {
            Ok(reply) => {
                let calls = reply.content.iter().filter(|block| block.as_tool_use().is_some()).count();
                assert!(calls <= limits.blocks, "{calls} calls");
                holds(&reply, bytes);
            }
            Err(error) => is_bounded(&error),
        }
    }
}

/// What comes of the pieces, and the words that were told on the way.
pub(crate) fn read(
    pieces: &[&[u8]],
    limits: ReplyLimits,
    mode: Option<JsonMode>,
) -> (Result<ModelResponse, ProviderError>, String) {
    let (mut stream, mut words) = (Stream::new(limits, mode), String::new());
    for piece in pieces {
        if let Err(error) = stream.push(piece, &mut |text| words.push_str(text)) {
            return (Err(error), words);
        }
    }
    (stream.finish(), words)
}
