//! One request to a driver of browsers, over HTTP/1.1.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::Fault;

/// Asks, and gives the member `value` of the answer.
pub(crate) fn ask(port: u16, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Fault> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(120)))?;
    let body = body.map(Value::to_string).unwrap_or_default();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json; charset=utf-8\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let text = whole(&mut stream)?;
    let mut answer: Value = serde_json::from_str(&text)?;
    let value = answer["value"].take();
    match &value["error"] {
        Value::String(error) => Err(format!("{method} {path}: {error}: {}", value["message"]).into()),
        _ => Ok(value),
    }
}

/// The body of the answer, by its length: a driver may leave the connection open.
fn whole(stream: &mut TcpStream) -> Result<String, Fault> {
    let (mut bytes, mut part) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let place = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(place) = place {
            let (head, body) = bytes.split_at(place + 4);
            let head = String::from_utf8_lossy(head).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.ok_or("an answer without a length")?.trim().parse()?;
            if body.len() >= length {
                return Ok(String::from_utf8(body.iter().take(length).copied().collect())?);
            }
        }
        match stream.read(&mut part)? {
            0 => return Err("the driver has hung up in the middle of an answer".into()),
            len => bytes.extend(part.iter().take(len)),
        }
    }
}
