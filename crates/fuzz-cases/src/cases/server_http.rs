//! The fake server, sent any bytes.

use serde_json::Value;
use sommelier_fake_server::{Log, Settings, converse};

use crate::pieces::{Arriving, ways};
use crate::written::same;

/// What is sent is answered by whole answers and nothing else, and by the same ones in any pieces.
pub(crate) fn run(bytes: &[u8]) {
    let [whole, single, pieces] = ways(bytes).map(talk);
    same(&whole, &single, "a byte at a time");
    same(&whole, &pieces, "in pieces");
    let (told, log) = whole;
    assert!(log.entries.iter().all(|entry| entry.status >= 200));
    // An answer to HEAD has the head of a body and no body, so that nobody can say where the next one begins.
    if !log.entries.iter().any(|entry| entry.method == "HEAD") {
        answers(&told);
    }
}

fn talk(pieces: Vec<&[u8]>) -> (Vec<u8>, Log) {
    let settings = Settings { max_body: 2048, ..Settings::default() };
    let mut told = Vec::new();
    let log = converse(settings, Arriving(pieces.into_iter()), &mut told);
    (told, log)
}

/// Each answer has a head that says how long its body is, and a body that is what its head says.
pub(crate) fn answers(mut told: &[u8]) {
    while !told.is_empty() {
        let (head, rest) = cut(told, b"\r\n\r\n").unwrap_or_else(|| panic!("no head: {}", lossy(told)));
        let head = lossy(head);
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse::<u16>().ok());
        told = match status {
            Some(100) => rest,
            Some(status) => body(status, &head, rest),
            None => panic!("no status: {head}"),
        };
    }
}

/// Looks at a body, and gives what stands behind it.
fn body<'a>(status: u16, head: &str, rest: &'a [u8]) -> &'a [u8] {
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let Some(length) = length else {
        assert_eq!(status, 200, "only a stream has pieces: {head}");
        return if head.contains("transfer-encoding: chunked") { chunks(rest) } else { &[] };
    };
    let body = rest.get(..length).unwrap_or_else(|| panic!("a body is cut: {head}"));
    let json: Value = serde_json::from_slice(body).unwrap_or_else(|error| panic!("{error}: {}", lossy(body)));
    if status != 200 {
        let error = json.get("error").unwrap_or_else(|| panic!("{json}"));
        let has = |of: &Value, name: &str| of.get(name).is_some_and(Value::is_string);
        assert!(has(error, "type") && has(error, "message") && has(&json, "request_id"), "{json}");
        assert!((400..600).contains(&status), "{head}");
    }
    rest.get(length..).unwrap_or_default()
}

fn chunks(mut rest: &[u8]) -> &[u8] {
    loop {
        let (size, behind) = cut(rest, b"\r\n").unwrap_or_else(|| panic!("no chunk: {}", lossy(rest)));
        let size = usize::from_str_radix(&lossy(size), 16).unwrap_or_else(|error| panic!("{error}"));
        let end = behind.get(size..size + 2).unwrap_or_else(|| panic!("a chunk is cut"));
        assert_eq!(end, b"\r\n");
        rest = behind.get(size + 2..).unwrap_or_default();
        if size == 0 {
            return rest;
        }
    }
}

fn cut<'a>(bytes: &'a [u8], at: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let place = bytes.windows(at.len()).position(|window| window == at)?;
    Some((bytes.get(..place)?, bytes.get(place + at.len()..)?))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
