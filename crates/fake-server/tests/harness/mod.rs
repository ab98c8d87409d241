//! A server, and a client that sees every byte of what it sends.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sommelier_fake_server::{FakeServer, Faults, Script, Settings};

/// Longer than any test machine needs, so that a failure is a failed test and not one that hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server on a free port.
pub(crate) fn server(settings: Settings) -> FakeServer {
    FakeServer::start(0, settings).unwrap()
}

pub(crate) fn scripted(script: &Value) -> FakeServer {
    server(Settings { script: Script::read(&script.to_string()).unwrap(), ..Settings::default() })
}

/// A server on which the first request meets these faults, and none later.
pub(crate) fn faulty(faults: &[Value]) -> FakeServer {
    let faults: Vec<Value> = faults.iter().map(|fault| json!({"at": 1, "fault": fault})).collect();
    let faults = Faults::read(&json!({ "faults": faults }).to_string()).unwrap();
    server(Settings { faults, ..Settings::default() })
}

/// A request with one message of the user.
pub(crate) fn hello() -> Value {
    json!({"model": "claude-opus-5", "max_tokens": 1024, "messages": [{"role": "user", "content": "hello"}]})
}

pub(crate) fn with(mut request: Value, members: &[(&str, Value)]) -> Value {
    for (name, value) in members {
        request[*name] = value.clone();
    }
    request
}

pub(crate) fn streamed(request: Value) -> Value {
    with(request, &[("stream", json!(true))])
}

pub(crate) fn tool(name: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"room": {"type": "string"}}, "required": ["room"]});
    json!({"name": name, "input_schema": schema})
}

/// What came back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// The body has come as whole as its head said.
    pub(crate) is_whole: bool,
}

impl Told {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| &**value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    pub(crate) fn message(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap_or_default().to_owned()
    }

    /// The data of each event; null where it is no JSON.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap_or(Value::Null)).collect()
    }

    pub(crate) fn kinds(&self) -> Vec<String> {
        self.events().iter().map(|event| event["type"].as_str().unwrap_or("?").to_owned()).collect()
    }
}

/// The bytes of a request as a usual client sends it. Where `headers` has a name of ours its value is taken, or the
/// header is left out.
pub(crate) fn bytes(method: &str, target: &str, headers: &Value, body: &str) -> Vec<u8> {
    let mut all = json!({
        "host": "localhost",
        "x-api-key": "test-key",
        "anthropic-version": "2026-10-21",
        "content-type": "application/json",
        "content-length": body.len().to_string(),
    });
    for (name, value) in headers.as_object().into_iter().flatten() {
        all[name] = value.clone();
    }
    let mut text = format!("{method} {target} HTTP/1.1\r\n");
    for (name, value) in all.as_object().unwrap() {
        if let Some(value) = value.as_str() {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    format!("{text}\r\n{body}").into_bytes()
}

pub(crate) fn post(server: &FakeServer, request: &Value) -> Told {
    send(server, &bytes("POST", "/v1/messages", &json!({}), &request.to_string()))
}

pub(crate) fn get(server: &FakeServer, target: &str) -> Told {
    send(server, &bytes("GET", target, &json!({"content-length": null}), ""))
}

/// Sends bytes over a connection of their own and reads one answer.
pub(crate) fn send(server: &FakeServer, bytes: &[u8]) -> Told {
    let mut stream = connect(server);
    // A server that has refused already takes the rest in and may close before its end.
    let _ = stream.write_all(bytes);
    read(&mut stream)
}

pub(crate) fn connect(server: &FakeServer) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Waits until it is so.
pub(crate) fn until_so(mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "it does not come to it");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Says that nothing more will be sent.
pub(crate) fn hang_up(stream: &TcpStream) {
    stream.shutdown(Shutdown::Write).unwrap();
}

/// One answer; one without a status when the connection was closed before its head was whole.
pub(crate) fn read(stream: &mut TcpStream) -> Told {
    let mut bytes = Vec::new();
    let Some(end) = until(stream, &mut bytes, |bytes| find(bytes, b"\r\n\r\n")) else {
        return Told::default();
    };
    let head = String::from_utf8(bytes.drain(..end + 4).collect()).unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut told = Told { status, headers, ..Told::default() };
    match told.header("content-length").map(|length| length.parse::<usize>().unwrap()) {
        Some(length) => {
            told.is_whole =
                until(stream, &mut bytes, |bytes| (bytes.len() >= length).then_some(())).is_some();
            told.body = String::from_utf8_lossy(&bytes).into_owned();
        }
        None if told.header("transfer-encoding") == Some("chunked") => {
            (told.body, told.is_whole) = chunks(stream, bytes);
        }
        None => {
            stream.read_to_end(&mut bytes).unwrap();
            (told.body, told.is_whole) = (String::from_utf8(bytes).unwrap(), true);
        }
    }
    told
}

/// Reads on until `found` finds something; nothing when the connection is closed before.
fn until<T>(stream: &mut TcpStream, bytes: &mut Vec<u8>, found: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
    let mut part = vec![0; 64 * 1024];
    loop {
        if let Some(found) = found(bytes) {
            return Some(found);
        }
        match stream.read(&mut part) {
            Ok(0) => return None,
            Ok(len) => bytes.extend(&part[..len]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
            Err(error) => panic!("the server said nothing: {error}"),
        }
    }
}

/// The chunks joined, and whether the last one came.
fn chunks(stream: &mut TcpStream, mut bytes: Vec<u8>) -> (String, bool) {
    let mut body = Vec::new();
    while let Some(end) = until(stream, &mut bytes, |bytes| find(bytes, b"\r\n")) {
        let line: Vec<u8> = bytes.drain(..end + 2).collect();
        let len = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim(), 16).unwrap();
        let whole = until(stream, &mut bytes, |bytes| (bytes.len() >= len + 2).then_some(()));
        if whole.is_none() {
            body.extend(bytes);
            break;
        }
        body.extend(bytes.drain(..len + 2).take(len));
        if len == 0 {
            return (String::from_utf8(body).unwrap(), true);
        }
    }
    (String::from_utf8_lossy(&body).into_owned(), false)
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
