//! A server that sends what it is given, and the key that must not come back.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// A variable of the environment and the key in it: one that holds letters without a gap, of which each process has some.
pub(crate) fn key() -> (&'static str, &'static str) {
    static KEY: OnceLock<(&str, String)> = OnceLock::new();
    let (name, key) = KEY.get_or_init(|| {
        let is_key =
            |text: &String| text.len() >= 8 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        ["SOMMELIER_FUZZ_KEY", "CARGO_PKG_NAME"]
            .into_iter()
            .find_map(|name| Some((name, std::env::var(name).ok().filter(is_key)?)))
            .unwrap_or(("SOMMELIER_FUZZ_KEY", String::new()))
    });
    (name, key)
}

/// A server on the loopback address that answers one request after the other with what it is given. There is one in a
/// process, since a fuzzer calls a case many thousand times in a second.
pub(crate) struct Double {
    pub(crate) url: String,
    answers: Mutex<Sender<Vec<u8>>>,
}

impl Double {
    /// The process's own; `None` where it cannot listen.
    pub(crate) fn get() -> Option<&'static Self> {
        static DOUBLE: OnceLock<Option<Double>> = OnceLock::new();
        DOUBLE.get_or_init(Self::start).as_ref()
    }

    fn start() -> Option<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).ok()?;
        let url = format!("http://{}", listener.local_addr().ok()?);
        let (sender, answers) = channel::<Vec<u8>>();
        std::thread::spawn(move || {
            for answer in answers {
                let Ok((stream, _)) = listener.accept() else { return };
                give(&stream, &answer);
            }
        });
        Some(Self { url, answers: Mutex::new(sender) })
    }

    /// The next request is answered with these bytes, and then the connection ends.
    pub(crate) fn answer(&self, bytes: Vec<u8>) {
        let _ = self.answers.lock().unwrap_or_else(PoisonError::into_inner).send(bytes);
    }
}

/// Takes a request in and sends the answer, whatever it is.
fn give(mut stream: &TcpStream, answer: &[u8]) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let mut request = Vec::new();
    let mut part = [0; 4096];
    while !is_whole(&request) {
        match stream.read(&mut part) {
            Ok(len @ 1..) => request.extend(part.iter().take(len)),
            _ => return,
        }
    }
    // A client that has gone away is part of it.
    let _ = stream.write_all(answer);
    let _ = stream.shutdown(Shutdown::Both);
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok());
    body.len() >= length.unwrap_or(0)
}
