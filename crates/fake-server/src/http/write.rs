//! One answer onto a connection.

use std::io;
use std::time::Duration;

use super::{Incoming, Line};
use crate::stop::Stop;

/// An answer, with what goes wrong on its way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Body,
    /// How long nothing is sent, not even the head.
    pub(crate) delay: Duration,
    /// How long nothing is sent between two pieces.
    pub(crate) pause: Duration,
    /// Where the connection is closed.
    pub(crate) cut: Option<Cut>,
}

/// The bytes behind the head.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    /// All at once, with their length.
    Whole(String),
    /// One after the other, each on the wire before the next.
    Pieces(Vec<String>),
    /// Some, and then one without end.
    Endless(Vec<String>, String),
}

/// Where a connection is closed in the middle of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Before the head.
    Unanswered,
    /// After so many bytes of the body.
    Bytes(usize),
    /// After so many pieces; a whole body is cut in half.
    Pieces(usize),
}

impl Answer {
    pub(crate) fn json(status: u16, body: String) -> Self {
        Self::new(status, "application/json", Body::Whole(body))
    }

    pub(crate) fn new(status: u16, kind: &str, body: Body) -> Self {
        Self {
            status,
            headers: vec![("content-type", kind.to_owned())],
            body,
            delay: Duration::ZERO,
            pause: Duration::ZERO,
            cut: None,
        }
    }
}

/// Sends `answer`; whether another one can be sent on the same connection.
pub(crate) fn send(
    answer: &Answer,
    to: &Incoming,
    stays: bool,
    line: &mut impl Line,
    stop: &Stop,
) -> io::Result<bool> {
    if stop.wait(answer.delay) || answer.cut == Some(Cut::Unanswered) {
        return Ok(false);
    }
    // Without pieces an answer of unknown length ends with the connection.
    let stays = stays && (!to.is_old || matches!(answer.body, Body::Whole(_)));
    let mut out = Out { line, is_chunked: !to.is_old, left: usize::MAX };
    out.plain(head(answer, to, stays).as_bytes())?;
    if to.method == "HEAD" {
        return Ok(stays);
    }
    if let Some(Cut::Bytes(most)) = answer.cut {
        out.left = most;
    }
    let is_whole = match &answer.body {
        Body::Whole(body) => {
            if let Some(Cut::Pieces(_)) = answer.cut {
                out.left = body.len() / 2;
            }
            out.body(body.as_bytes())?;
            true
        }
        Body::Pieces(pieces) => {
            let most = if let Some(Cut::Pieces(most)) = answer.cut { most } else { usize::MAX };
            out.pieces(pieces.iter().take(most), answer.pause, stop)?
        }
        Body::Endless(first, again) => {
            out.pieces(first.iter().chain(std::iter::repeat(again)), answer.pause, stop)?
        }
    };
    if !is_whole || answer.cut.is_some() {
        return Ok(false);
    }
    if out.is_chunked && !matches!(answer.body, Body::Whole(_)) {
        out.plain(b"0\r\n\r\n")?;
    }
    Ok(stays)
}

struct Out<'a, L> {
    line: &'a mut L,
    is_chunked: bool,
    /// Bytes of the body that may still be sent.
    left: usize,
}

impl<L: Line> Out<'_, L> {
    fn plain(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.line.write_all(bytes)
    }

    /// As much as may be sent.
    fn body(&mut self, bytes: &[u8]) -> io::Result<()> {
        let len = bytes.len().min(self.left);
        self.left -= len;
        self.plain(bytes.get(..len).unwrap_or_default())
    }

    /// Sends one piece after the other; whether all were sent.
    fn pieces<'b>(
        &mut self,
        pieces: impl Iterator<Item = &'b String>,
        pause: Duration,
        stop: &Stop,
    ) -> io::Result<bool> {
        for piece in pieces {
            if !self.piece(piece)? || stop.wait(pause) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// As much of the piece as may be sent; whether that was all.
    fn piece(&mut self, piece: &str) -> io::Result<bool> {
        if !self.is_chunked {
            self.body(piece.as_bytes())?;
            return Ok(self.left > 0);
        }
        let len = piece.len().min(self.left);
        let is_all = len == piece.len();
        self.left -= len;
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend(piece.as_bytes().iter().take(len));
        if is_all {
            chunk.extend(b"\r\n");
        }
        self.plain(&chunk)?;
        Ok(is_all)
    }
}

fn head(answer: &Answer, to: &Incoming, stays: bool) -> String {
    let mut head = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match &answer.body {
        Body::Whole(body) => head.push_str(&format!("content-length: {}\r\n", body.len())),
        _ if to.is_old => {}
        _ => head.push_str("transfer-encoding: chunked\r\n"),
    }
    head.push_str(if stays { "connection: keep-alive\r\n\r\n" } else { "connection: close\r\n\r\n" });
    head
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => "Other",
    }
}
