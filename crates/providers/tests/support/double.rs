//! A server that answers as it was told, and remembers what it was asked.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses its part, and a test ends where something unexpected stands"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// One answer: its status, its headers, its body.
#[derive(Clone)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// The length that the head claims, when it is another.
    claimed: Option<usize>,
    /// How long to wait before the head, and before the end of the body.
    slow: [Duration; 2],
    /// The body is sent over and over, until the client goes away.
    is_endless: bool,
}

impl Answer {
    pub(crate) fn json(status: u16, body: impl ToString) -> Self {
        Self::of(status, "application/json", body)
    }

    pub(crate) fn stream(body: impl ToString) -> Self {
        Self::of(200, "text/event-stream; charset=utf-8", body)
    }

    pub(crate) fn of(status: u16, media: &str, body: impl ToString) -> Self {
        let headers = vec![("content-type".to_owned(), media.to_owned())];
        let (body, slow) = (body.to_string().into_bytes(), [Duration::ZERO; 2]);
        Self { status, headers, body, claimed: None, slow, is_endless: false }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The connection ends after so many bytes of the body.
    pub(crate) fn cut(mut self, bytes: usize) -> Self {
        self.claimed = Some(self.body.len());
        self.body.truncate(bytes);
        self
    }

    pub(crate) fn slow_head(mut self, pause: Duration) -> Self {
        self.slow[0] = pause;
        self
    }

    pub(crate) fn slow_end(mut self, pause: Duration) -> Self {
        self.slow[1] = pause;
        self
    }

    pub(crate) fn endless(mut self) -> Self {
        self.is_endless = true;
        self
    }

    fn write(&self, mut to: &TcpStream) -> std::io::Result<()> {
        std::thread::sleep(self.slow[0]);
        write!(to, "HTTP/1.1 {} Said\r\nconnection: close\r\n", self.status)?;
        for (name, value) in &self.headers {
            write!(to, "{name}: {value}\r\n")?;
        }
        if self.is_endless {
            write!(to, "\r\n")?;
            while to.write_all(&self.body).is_ok() {}
            return Ok(());
        }
        write!(to, "content-length: {}\r\n\r\n", self.claimed.unwrap_or(self.body.len()))?;
        let (first, last) = self.body.split_at(self.body.len() / 2);
        to.write_all(first)?;
        std::thread::sleep(self.slow[1]);
        to.write_all(last)
    }
}

/// A request as it came: its first line, its headers in lower case, its body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
}

/// The server. It ends with its answers.
pub(crate) struct Double {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    thread: JoinHandle<()>,
}

impl Double {
    pub(crate) fn answering(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (answers, asked): (Vec<Answer>, Arc<Mutex<Vec<Asked>>>) =
            (answers.into_iter().collect(), Arc::default());
        let heard = Arc::clone(&asked);
        let thread = std::thread::spawn(move || {
            for answer in answers {
                let (stream, _) = listener.accept().unwrap();
                heard.lock().unwrap().push(read(&stream));
                // A client that has gone away is part of some tests.
                let _ = answer.write(&stream);
            }
        });
        Self { url, asked, thread }
    }

    /// What was asked, once every answer was given.
    pub(crate) fn asked(self) -> Vec<Asked> {
        self.thread.join().unwrap();
        self.asked.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> Asked {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let line = lines.remove(0);
    let headers: Vec<String> = lines.iter().map(|line| line.to_ascii_lowercase()).collect();
    let length =
        headers.iter().find_map(|header| header.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Asked { line, headers, body: String::from_utf8(body).unwrap() }
}
