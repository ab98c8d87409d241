//! The fake server's own files: what it says, and what goes wrong.

use std::io::{self, Write};

use serde_json::Value;
use sommelier_fake_server::{Fault, Faults, Script, Settings, converse};

use crate::written::json;

/// The most that a server's answer is read on: a fault may have it go on without an end.
const MOST: usize = 1 << 20;

const HELLO: &str =
    r#"{"model":"claude-opus-5","max_tokens":64,"messages":[{"role":"user","content":"hello"}]}"#;

/// A text is a script, a plan of faults, or neither, and is told where it is not one; `{"script": …, "faults": …,
/// "request": …}` is a server with both that is asked three times.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for error in [Script::read(text).err(), Faults::read(text).err()].into_iter().flatten() {
        assert!(error.to_string().starts_with("this is no "), "{error}");
    }
    let Some(Value::Object(files)) = json(bytes) else { return };
    let file = |name: &str| files.get(name).map(Value::to_string);
    let script = file("script").and_then(|text| Script::read(&text).ok()).unwrap_or_default();
    let faults = file("faults").and_then(|text| Faults::read(&text).ok()).unwrap_or_default();
    // A plan may have the client wait, which would be the end of fuzzing.
    let waits = |fault: &Fault| matches!(fault, Fault::SlowHeaders(1..) | Fault::SlowEvents(1..));
    if faults.faults.iter().any(|planned| waits(&planned.fault)) {
        return;
    }
    let body = file("request").unwrap_or_else(|| HELLO.to_owned());
    let request = format!(
        "POST /v1/messages HTTP/1.1\r\nx-api-key: any\r\nanthropic-version: 2026-10-21\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut told = Bounded(Vec::new());
    let log =
        converse(Settings { script, faults, ..Settings::default() }, request.repeat(3).as_bytes(), &mut told);
    assert!((1..=3).contains(&log.requests), "{log:?}");
}

/// Takes so much and no more, as a client that goes away.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MOST {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.0.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
