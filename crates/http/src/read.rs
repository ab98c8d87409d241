//! One request off a connection.

use std::io;
use std::time::{Duration, Instant};

use super::Line;

/// Bytes of a head, request line and headers.
const LONGEST_HEAD: usize = 16 * 1024;
const MOST_HEADERS: usize = 100;
/// How long the rest of a request that was refused unread is still taken in, so that the refusal arrives.
const LINGER: Duration = Duration::from_millis(500);

/// How much of a request is taken, and how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long a client may be silent between two requests, and how long one request may take from its first byte.
    pub patience: Duration,
    /// Bytes of a body. A larger one is refused before it is read.
    pub max_body: usize,
}

/// A request as it came.
#[derive(Debug, Default)]
pub struct Request {
    /// Such as `GET`, as it was written.
    pub method: String,
    /// The path with its query, as it was written.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, without the frames of its pieces.
    pub body: Vec<u8>,
    /// The client speaks HTTP/1.0, which has no pieces.
    pub is_old: bool,
}

impl Request {
    /// The first header of this name, which is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| &**value)
    }

    /// All headers of this name, which is given in lower case.
    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(found, _)| found == name).map(|(_, value)| &**value)
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The query of the target, without its question mark; empty where there is none.
    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    /// Whether the client wants to ask again on the same connection.
    pub fn stays(&self) -> bool {
        let wish = self.header("connection").unwrap_or_default();
        if self.is_old {
            wish.eq_ignore_ascii_case("keep-alive")
        } else {
            !wish.eq_ignore_ascii_case("close")
        }
    }
}

/// Why there is no request to answer.
#[derive(Debug)]
pub enum Unreadable {
    /// The client has left, or said nothing.
    Gone,
    /// This is told, and the connection is closed.
    Told(Box<Wrong>),
}

/// A request that could not be read.
#[derive(Debug, Default)]
pub struct Wrong {
    /// The status that says so.
    pub status: u16,
    /// What is wrong, in words.
    pub why: String,
    /// Its head, as far as that was read.
    pub head: Request,
}

fn told<T>(status: u16, why: impl Into<String>) -> Result<T, Unreadable> {
    Err(Unreadable::Told(Box::new(Wrong { status, why: why.into(), head: Request::default() })))
}

/// A connection and what was read of it ahead.
#[derive(Debug)]
pub struct Wire<L> {
    line: L,
    ahead: Vec<u8>,
    limits: Limits,
}

impl<L: Line> Wire<L> {
    /// A connection of which nothing was read yet.
    pub fn new(line: L, limits: Limits) -> Self {
        Self { line, ahead: Vec::new(), limits }
    }

    /// Where answers go.
    pub fn out(&mut self) -> &mut L {
        &mut self.line
    }

    /// The next request. It has to be here whole within the limits' patience, counted from its first byte.
    ///
    /// # Errors
    /// [`Unreadable`] when there is none that could be answered.
    pub fn read(&mut self) -> Result<Request, Unreadable> {
        if self.ahead.is_empty() {
            // Between two requests a client may be silent, and is not told when that was too long.
            let deadline = Instant::now() + self.limits.patience;
            self.fill(deadline).map_err(|_| Unreadable::Gone)?;
        }
        let deadline = Instant::now() + self.limits.patience;
        let mut incoming = self.head(deadline)?;
        match self.body(&incoming, deadline) {
            Ok(body) => {
                incoming.body = body;
                Ok(incoming)
            }
            Err(Unreadable::Told(wrong)) => {
                Err(Unreadable::Told(Box::new(Wrong { head: incoming, ..*wrong })))
            }
            Err(gone) => Err(gone),
        }
    }

    /// Takes in for a moment what the client still sends, and closes: with unread bytes the system would cut the
    /// answer off as well.
    pub fn linger(mut self) {
        self.line.end_writing();
        let deadline = Instant::now() + LINGER;
        let mut rest = [0; 16 * 1024];
        while let Some(left) = left_until(deadline) {
            if !matches!(self.line.read(&mut rest, left), Ok(1..)) {
                break;
            }
        }
    }

    fn head(&mut self, deadline: Instant) -> Result<Request, Unreadable> {
        loop {
            // A head ends with a line end, so nothing is gained by looking before there is one.
            if self.ahead.contains(&b'\n')
                && let Some((incoming, len)) = parse(&self.ahead)?
            {
                self.ahead.drain(..len);
                return Ok(incoming);
            }
            if self.ahead.len() >= LONGEST_HEAD {
                return told(431, "the request's head is too long");
            }
            self.fill(deadline)?;
        }
    }

    fn body(&mut self, incoming: &Request, deadline: Instant) -> Result<Vec<u8>, Unreadable> {
        let length = length(incoming)?;
        let is_chunked = is_chunked(incoming, length.is_some())?;
        match length {
            None if !is_chunked && incoming.method == "POST" => {
                return told(411, "content-length: header is required");
            }
            None if !is_chunked => return Ok(Vec::new()),
            Some(length) if length > self.limits.max_body => return self.too_large(),
            _ => {}
        }
        if incoming.header("expect").is_some_and(|wish| wish.eq_ignore_ascii_case("100-continue")) {
            let _ = self.line.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        match length {
            Some(length) => self.take(length, deadline),
            None => self.chunks(deadline),
        }
    }

    fn too_large<T>(&self) -> Result<T, Unreadable> {
        told(413, "Request exceeds the maximum size")
    }

    fn chunks(&mut self, deadline: Instant) -> Result<Vec<u8>, Unreadable> {
        let mut body = Vec::new();
        loop {
            let line = self.line(deadline)?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            let Some(len) = usize::from_str_radix(digits, 16).ok().filter(|_| is_hex) else {
                return told(400, "a chunk has no length");
            };
            if len == 0 {
                while !self.line(deadline)?.is_empty() {}
                return Ok(body);
            }
            if len > self.limits.max_body.saturating_sub(body.len()) {
                return self.too_large();
            }
            body.append(&mut self.take(len, deadline)?);
            if !self.line(deadline)?.is_empty() {
                return told(400, "a chunk is longer than its length");
            }
        }
    }

    /// A line of at most a few hundred bytes, without its end.
    fn line(&mut self, deadline: Instant) -> Result<String, Unreadable> {
        loop {
            let end = self.ahead.iter().position(|&byte| byte == b'\n');
            // Also of a line that is here whole: in whatever pieces it comes, it is told the same.
            if end.unwrap_or(self.ahead.len()) > 512 {
                return told(400, "a line of a chunk is too long");
            }
            if let Some(end) = end {
                let line: Vec<u8> = self.ahead.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            self.fill(deadline)?;
        }
    }

    fn take(&mut self, len: usize, deadline: Instant) -> Result<Vec<u8>, Unreadable> {
        while self.ahead.len() < len {
            self.fill(deadline)?;
        }
        let rest = self.ahead.split_off(len);
        Ok(std::mem::replace(&mut self.ahead, rest))
    }

    fn fill(&mut self, deadline: Instant) -> Result<(), Unreadable> {
        let slow = || told(408, "the request took too long");
        let mut part = [0; 16 * 1024];
        loop {
            let Some(left) = left_until(deadline) else { return slow() };
            match self.line.read(&mut part, left) {
                Ok(0) => return Err(Unreadable::Gone),
                Ok(len) => {
                    self.ahead.extend(part.iter().take(len));
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return slow();
                }
                Err(_) => return Err(Unreadable::Gone),
            }
        }
    }
}

fn left_until(deadline: Instant) -> Option<Duration> {
    deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
}

/// The head at the start of `bytes` and its length, when it is whole.
fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, Unreadable> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let len = match request.parse(bytes) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return told(431, "the request has too many headers"),
        Err(error) => return told(400, format!("this is no HTTP/1.1: {error}")),
    };
    let header = |header: &httparse::Header<'_>| {
        (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).trim().to_owned())
    };
    let incoming = Request {
        method: request.method.unwrap_or_default().to_owned(),
        target: request.path.unwrap_or_default().to_owned(),
        headers: request.headers.iter().map(header).collect(),
        body: Vec::new(),
        is_old: request.version == Some(0),
    };
    Ok(Some((incoming, len)))
}

/// Whether the body comes in chunks. What two servers on the way may read in two ways is how one request is hidden in another:
/// two codings, a coding beside a length, or one from a client whose version has none.
fn is_chunked(incoming: &Request, has_length: bool) -> Result<bool, Unreadable> {
    let codings: Vec<&str> = incoming.all("transfer-encoding").collect();
    match codings.as_slice() {
        [] => Ok(false),
        [coding] if coding.eq_ignore_ascii_case("chunked") && !has_length && !incoming.is_old => Ok(true),
        _ => told(
            400,
            "transfer-encoding: only chunked is known, once, in HTTP/1.1 and without a content-length",
        ),
    }
}

/// The length of the body, when it is told. Two lengths that differ are how one request is hidden in another.
fn length(incoming: &Request) -> Result<Option<usize>, Unreadable> {
    let mut lengths = incoming.all("content-length");
    let Some(first) = lengths.next() else { return Ok(None) };
    if lengths.any(|other| other != first) {
        return told(400, "content-length: two lengths that differ");
    }
    let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    match first.parse() {
        Ok(length) if is_number => Ok(Some(length)),
        // More digits than a number has: larger than anything that would be taken.
        Err(_) if is_number => Ok(Some(usize::MAX)),
        _ => told(400, "content-length: not a number"),
    }
}
