//! A whole call over HTTP, answered with any bytes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sommelier_protocol::{Message, ModelRequest};
use sommelier_providers::{Heard, Live, LiveBuilder, Observer, ReplyLimits, anthropic, openai};

use crate::double::{Double, key};
use crate::written::is_bounded;

/// What stands in the place of the key in a file of the corpus.
const MARK: &[u8] = b"{key}";

/// What a server sends, head and body, is a reply or an error of bounded length, in bounded time, plain and streamed, in
/// either form; and no error shows the key, whether the server has sent it back or not.
pub(crate) fn run(bytes: &[u8]) {
    let Some(double) = Double::get() else { return };
    let answer = with_key(bytes);
    // One of the two and one way, as the bytes have it: a call is a hundred times as slow as a decoder.
    let chance = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(*byte));
    let builder = match chance & 1 {
        0 => Live::anthropic(anthropic::Settings::default()),
        _ => Live::openai(openai::Settings::default()),
    };
    let words = Words::default();
    let builder = if chance & 2 == 0 { builder } else { builder.stream_to(words.clone()) };
    double.answer(answer);
    ask(builder, double, &words);
}

fn ask(builder: LiveBuilder, double: &Double, words: &Words) {
    let (variable, key) = key();
    let limits = ReplyLimits { event_bytes: 2000, total_bytes: 6000, blocks: 8 };
    let builder = builder.base_url(&double.url).limits(limits).retries(0).deadline(Duration::from_secs(5));
    let builder = if key.is_empty() { builder.without_key() } else { builder.key_variable(variable) };
    let Ok(live) = builder.build() else { return };
    let messages = [Message::user("Quote Focus")];
    match live.ask(&ModelRequest::new("claude-sonnet-5", 64, &messages)) {
        Ok(reply) => {
            let told = words.0.lock().unwrap_or_else(PoisonError::into_inner);
            let whole: String = reply.content.iter().filter_map(|block| block.as_text()).collect();
            assert!(told.is_empty() || *told == whole, "{told:?} of {whole:?}");
        }
        Err(error) => {
            is_bounded(&error);
            let said = format!("{error} {error:?}");
            assert!(key.is_empty() || !said.contains(key), "{said}");
        }
    }
}

fn with_key(bytes: &[u8]) -> Vec<u8> {
    let (mut rest, mut whole) = (bytes, Vec::new());
    while let Some((&first, others)) = rest.split_first() {
        match rest.strip_prefix(MARK) {
            Some(behind) => {
                whole.extend(key().1.bytes());
                rest = behind;
            }
            None => {
                whole.push(first);
                rest = others;
            }
        }
    }
    whole
}

#[derive(Clone, Default)]
struct Words(Arc<Mutex<String>>);

impl Observer for Words {
    fn hear(&self, _caller: &str, heard: Heard<'_>) {
        if let Heard::Text(text) = heard {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        }
    }
}
