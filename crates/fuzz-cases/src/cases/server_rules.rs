//! The fake server, sent any body.

use serde_json::{Value, json};
use sommelier_fake_server::{Settings, converse};
use sommelier_protocol::ModelRequest;
use sommelier_protocol::sequence::check;
use sommelier_providers::{ReplyLimits, anthropic};

use crate::cases::anthropic_stream::read;
use crate::cases::server_http::answers;
use crate::written::{json, same};

/// A body is answered with a reply that our own decoder reads, the same plain and streamed, or with an error in the
/// service's form. What a strict server takes breaks no rule of this project.
pub(crate) fn run(bytes: &[u8]) {
    let told = sent(bytes, Settings::default());
    answers(&told);
    if status(&told) == 200
        && let Some(body) = json(bytes)
    {
        taken(&body);
    }
    let strict = sent(bytes, Settings { strict: true, ..Settings::default() });
    answers(&strict);
    if status(&strict) != 200 {
        return;
    }
    assert_eq!(status(&told), 200, "a strict server takes no more than another");
    // Two members of one name are one to the server, and an error to this project.
    if let Ok(request) = serde_json::from_slice::<ModelRequest<'_>>(bytes) {
        let broken = check(&request);
        assert!(broken.is_empty(), "a strict server takes what breaks {broken:?}");
    }
}

/// The reply to a request that is taken, whole and in pieces.
fn taken(body: &Value) {
    let ask = |stream: bool| {
        let mut body = body.clone();
        if let Some(members) = body.as_object_mut() {
            members.insert("stream".into(), json!(stream));
        }
        sent(body.to_string().as_bytes(), Settings::default())
    };
    let (plain, stream) = (ask(false), ask(true));
    let reply = anthropic::decode(&body_of(&plain));
    assert!(reply.is_ok(), "{reply:?}");
    let pieces = unchunked(&body_of(&stream));
    same(&read(&[&pieces], ReplyLimits::default()).0, &reply, "the same reply in pieces");
}

/// What a server answers to a body.
fn sent(body: &[u8], settings: Settings) -> Vec<u8> {
    let mut request = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-api-key: any\r\nanthropic-version: 2026-10-21\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    request.extend(body);
    let mut told = Vec::new();
    converse(settings, &*request, &mut told);
    told
}

fn status(told: &[u8]) -> u16 {
    let text = told.get(9..12).map(String::from_utf8_lossy).unwrap_or_default();
    text.parse().unwrap_or_default()
}

fn body_of(told: &[u8]) -> Vec<u8> {
    let place = told.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or_default();
    told.get(place + 4..).unwrap_or_default().to_vec()
}

fn unchunked(body: &[u8]) -> Vec<u8> {
    let (mut rest, mut whole) = (body, Vec::new());
    while let Some(place) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = rest.get(..place).map(String::from_utf8_lossy).unwrap_or_default();
        let size = usize::from_str_radix(&size, 16).unwrap_or_default();
        whole.extend(rest.iter().skip(place + 2).take(size));
        rest = rest.get(place + 2 + size + 2..).unwrap_or_default();
    }
    whole
}
