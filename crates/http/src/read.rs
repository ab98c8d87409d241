//! One request off a connection.

use std::io;
use std::time::{Duration, Instant};

use super::Line;
use super::ahead::Ahead;

/// Bytes of a head, request line and headers.
const LONGEST_HEAD: usize = 16 * 1024;
const MOST_HEADERS: usize = 100;
/// Bytes of a line of a chunk, with the CR of its end.
const LONGEST_LINE: usize = 512;
/// How long the rest of a request that was refused unread is still taken in, so that the refusal arrives.
const LINGER: Duration = Duration::from_millis(500);

/// How much of a request is taken, and how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long a connection that is new may be silent, and how long a head may take from its first byte. Whoever connects has
    /// something to ask, so this can be short.
    pub head: Duration,
    /// How long a client may be silent between two requests, and how long one request may take from its first byte to its last.
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

    /// Whether there are two headers of this name, which is given in lower case, that differ. Which of them is meant nobody knows.
    pub fn disagrees(&self, name: &str) -> bool {
        let mut values = self.all(name);
        let first = values.next();
        values.any(|other| Some(other) != first)
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

    /// Whether the client wants to ask again on the same connection. Whoever says both wants to close.
    pub fn stays(&self) -> bool {
        let has = |wish: &str| {
            let mut said = self.all("connection").flat_map(|value| value.split(','));
            said.any(|said| said.trim_matches([' ', '\t']).eq_ignore_ascii_case(wish))
        };
        !has("close") && (!self.is_old || has("keep-alive"))
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
    ahead: Ahead,
    limits: Limits,
    /// When the present request has to be here whole.
    deadline: Instant,
    is_new: bool,
}

impl<L: Line> Wire<L> {
    /// A connection of which nothing was read yet.
    pub fn new(line: L, limits: Limits) -> Self {
        Self { line, ahead: Ahead::default(), limits, deadline: Instant::now() + limits.head, is_new: true }
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
        let head = self.head()?;
        self.body(head)
    }

    /// The head of the next request. What it announces is read by [`body`](Self::body), and where that is not wanted the
    /// connection cannot be used any more.
    ///
    /// # Errors
    /// [`Unreadable`] when there is none that could be answered.
    pub fn head(&mut self) -> Result<Request, Unreadable> {
        self.waiting(|wire| {
            if wire.ahead.is_empty() {
                // Between two requests a client may be silent, and is not told when that was too long.
                let silent = if wire.is_new { wire.limits.head } else { wire.limits.patience };
                wire.fill(Instant::now() + silent).map_err(|_| Unreadable::Gone)?;
            }
            wire.is_new = false;
            let now = Instant::now();
            wire.deadline = now + wire.limits.patience;
            wire.read_head(wire.deadline.min(now + wire.limits.head))
        })
    }

    /// The request of this head, with its body.
    ///
    /// # Errors
    /// [`Unreadable`] when the body is not one that is taken; the head is in it.
    pub fn body(&mut self, mut head: Request) -> Result<Request, Unreadable> {
        match self.waiting(|wire| wire.read_body(&head)) {
            Ok(body) => {
                head.body = body;
                Ok(head)
            }
            Err(Unreadable::Told(wrong)) => Err(Unreadable::Told(Box::new(Wrong { head, ..*wrong }))),
            Err(gone) => Err(gone),
        }
    }

    /// Reads, while whoever keeps the lines knows that this one waits for its client.
    fn waiting<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        self.line.waits(true);
        let read = read(self);
        self.line.waits(false);
        read
    }

    /// Takes in for a moment what the client still sends, and closes: with unread bytes the system would cut the
    /// answer off as well.
    pub fn linger(mut self) {
        // In this order: as soon as its client knows that this is the end, it is in nobody's way.
        self.line.waits(true);
        self.line.end_writing();
        let deadline = Instant::now() + LINGER;
        let mut rest = [0; 16 * 1024];
        while let Some(left) = left_until(deadline) {
            if !matches!(self.line.read(&mut rest, left), Ok(1..)) {
                break;
            }
        }
    }

    fn read_head(&mut self, deadline: Instant) -> Result<Request, Unreadable> {
        loop {
            let bytes = self.ahead.bytes();
            // A head ends with a line end, so nothing is gained by looking before there is one.
            if bytes.contains(&b'\n')
                && let Some((incoming, len)) = parse(bytes)?
            {
                self.ahead.skip(len);
                return Ok(incoming);
            }
            if bytes.len() >= LONGEST_HEAD {
                return told(431, "the request's head is too long");
            }
            self.fill(deadline)?;
        }
    }

    fn read_body(&mut self, head: &Request) -> Result<Vec<u8>, Unreadable> {
        let length = length(head)?;
        let is_chunked = is_chunked(head, length.is_some())?;
        match length {
            None if !is_chunked && head.method == "POST" => {
                return told(411, "content-length: header is required");
            }
            None if !is_chunked => return Ok(Vec::new()),
            Some(length) if length > self.limits.max_body => return self.too_large(),
            _ => {}
        }
        // An old client knows no answer before the answer.
        let waits = head.header("expect").is_some_and(|wish| wish.eq_ignore_ascii_case("100-continue"));
        if waits && !head.is_old {
            let _ = self.line.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        let mut body = Vec::new();
        match length {
            Some(length) => self.take(length, &mut body)?,
            None => self.take_chunks(&mut body)?,
        }
        Ok(body)
    }

    fn too_large<T>(&self) -> Result<T, Unreadable> {
        told(413, "Request exceeds the maximum size")
    }

    fn take_chunks(&mut self, body: &mut Vec<u8>) -> Result<(), Unreadable> {
        loop {
            let len = self.chunk_size()?;
            if len == 0 {
                // What stands behind the last chunk would be headers that came too late to be looked at.
                return match self.line(Vec::is_empty)? {
                    true => Ok(()),
                    false => told(400, "headers behind a body are not taken"),
                };
            }
            if len > self.limits.max_body.saturating_sub(body.len()) {
                return self.too_large();
            }
            self.take(len, body)?;
            if !self.line(Vec::is_empty)? {
                return told(400, "a chunk is longer than its length");
            }
        }
    }

    /// The length of the next chunk. What may stand behind it, an extension, says nothing to us.
    fn chunk_size(&mut self) -> Result<usize, Unreadable> {
        let size = self.line(|line| {
            let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
            let is_hex = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
            let digits = std::str::from_utf8(digits).ok().filter(|_| is_hex)?;
            usize::from_str_radix(digits, 16).ok()
        })?;
        size.map_or_else(|| told(400, "a chunk has no length"), Ok)
    }

    /// What is read out of a line of at most a few hundred bytes. It ends as a line of a chunk ends, and nothing in it could be
    /// taken for an end.
    fn line<T>(&mut self, read: impl FnOnce(&Vec<u8>) -> T) -> Result<T, Unreadable> {
        loop {
            let bytes = self.ahead.bytes();
            let end = bytes.iter().take(LONGEST_LINE + 1).position(|&byte| byte == b'\n');
            // Also of a line that is here whole: in whatever pieces it comes, it is told the same.
            if end.is_none() && bytes.len() > LONGEST_LINE {
                return told(400, "a line of a chunk is too long");
            }
            if let Some(end) = end {
                let line = bytes.get(..end).and_then(|line| line.strip_suffix(b"\r")).map(<[u8]>::to_vec);
                self.ahead.skip(end + 1);
                return match line
                    .filter(|line| !line.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t'))
                {
                    Some(line) => Ok(read(&line)),
                    None => told(400, "a line of a chunk ends in CR and LF, and has neither before"),
                };
            }
            self.fill(self.deadline)?;
        }
    }

    /// Adds the next bytes to a body.
    fn take(&mut self, mut len: usize, body: &mut Vec<u8>) -> Result<(), Unreadable> {
        loop {
            let here = self.ahead.bytes();
            let part = here.get(..len).unwrap_or(here);
            body.extend(part);
            len -= part.len();
            let taken = part.len();
            self.ahead.skip(taken);
            if len == 0 {
                return Ok(());
            }
            self.fill(self.deadline)?;
        }
    }

    fn fill(&mut self, deadline: Instant) -> Result<(), Unreadable> {
        let slow = || told(408, "the request took too long");
        let mut part = [0; 16 * 1024];
        loop {
            let Some(left) = left_until(deadline) else { return slow() };
            match self.line.read(&mut part, left) {
                Ok(0) => return Err(Unreadable::Gone),
                Ok(len) => {
                    self.ahead.add(part.get(..len).unwrap_or(&part));
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
        (
            header.name.to_ascii_lowercase(),
            String::from_utf8_lossy(header.value).trim_matches([' ', '\t']).to_owned(),
        )
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
    let Some(first) = incoming.header("content-length") else { return Ok(None) };
    if incoming.disagrees("content-length") {
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
