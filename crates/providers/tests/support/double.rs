//! A server that answers as it was told, and remembers what it was asked.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses its part, and a test ends where something unexpected stands"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

#[derive(Clone, Copy, PartialEq)]
enum Held {
    Nothing,
    /// Every byte.
    All,
    /// The second half of the body.
    End,
}

/// One answer: its status, its headers, its body.
#[derive(Clone)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// The length that the head claims, when it is another.
    claimed: Option<usize>,
    /// What is held back until the test is over.
    held: Held,
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
        let body = body.to_string().into_bytes();
        Self { status, headers, body, claimed: None, held: Held::Nothing, is_endless: false }
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

    /// Nothing of it comes as long as the server is there: whoever gives up has done so by itself.
    pub(crate) fn without_head(mut self) -> Self {
        self.held = Held::All;
        self
    }

    /// As [`without_head`](Self::without_head), of the second half of the body.
    pub(crate) fn without_end(mut self) -> Self {
        self.held = Held::End;
        self
    }

    pub(crate) fn endless(mut self) -> Self {
        self.is_endless = true;
        self
    }

    /// Writes it in one piece, but for what is held back until `over` says that the test is.
    fn write(&self, mut to: &TcpStream, over: &Receiver<()>) -> std::io::Result<()> {
        let mut all = format!("HTTP/1.1 {} Said\r\nconnection: close\r\n", self.status).into_bytes();
        for (name, value) in &self.headers {
            write!(all, "{name}: {value}\r\n")?;
        }
        if self.is_endless {
            write!(all, "\r\n")?;
            to.write_all(&all)?;
            while to.write_all(&self.body).is_ok() {}
            return Ok(());
        }
        write!(all, "content-length: {}\r\n\r\n", self.claimed.unwrap_or(self.body.len()))?;
        let head = all.len();
        all.extend(&self.body);
        let at_once = match self.held {
            Held::Nothing => all.len(),
            Held::All => 0,
            Held::End => head + self.body.len() / 2,
        };
        let (first, held) = all.split_at(at_once);
        to.write_all(first)?;
        if self.held != Held::Nothing {
            // Nothing is ever sent on it: it ends where the server is asked what it heard, or dropped.
            let _ = over.recv();
        }
        to.write_all(held)
    }
}

/// A request as it came: its first line, its headers in lower case, its body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
}

/// The server. It ends with its answers, or when it is asked what it heard.
pub(crate) struct Double {
    pub(crate) url: String,
    over: Sender<()>,
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
        let (over, is_over) = channel();
        let thread = std::thread::spawn(move || {
            for answer in answers {
                let (stream, _) = listener.accept().unwrap();
                // A client that has gone away is part of some tests: in mid-request too, where its time is short.
                let Some(asked) = read(&stream) else { continue };
                heard.lock().unwrap().push(asked);
                let _ = answer.write(&stream, &is_over);
            }
        });
        Self { url, over, asked, thread }
    }

    /// What was asked. Answers that nobody came for are not waited for.
    pub(crate) fn asked(self) -> Vec<Asked> {
        drop(self.over);
        // Whoever comes now says nothing, and takes an answer each.
        let address = self.url.strip_prefix("http://").unwrap();
        while !self.thread.is_finished() {
            let _ = TcpStream::connect(address);
            std::thread::sleep(Duration::from_millis(1));
        }
        self.thread.join().unwrap();
        self.asked.lock().unwrap().clone()
    }
}

/// A whole request; none where the client has left before its end.
fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
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
    reader.read_exact(&mut body).ok()?;
    Some(Asked { line, headers, body: String::from_utf8(body).unwrap() })
}
