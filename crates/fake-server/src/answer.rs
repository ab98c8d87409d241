//! One answer onto a connection, with what goes wrong on its way.

use std::io;
use std::time::Duration;

use sommelier_http::{Line, Request, Sender, Stop};

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
    to: &Request,
    stays: bool,
    line: &mut impl Line,
    stop: &Stop,
) -> io::Result<bool> {
    if stop.wait(answer.delay) || answer.cut == Some(Cut::Unanswered) {
        return Ok(false);
    }
    let length = if let Body::Whole(body) = &answer.body { Some(body.len()) } else { None };
    let Some(sender) = Sender::begin(line, to, stays, answer.status, &answer.headers, length)? else {
        return Ok(stays);
    };
    let mut out = Out { sender, left: usize::MAX };
    if let Some(Cut::Bytes(most)) = answer.cut {
        out.left = most;
    }
    let is_whole = match &answer.body {
        Body::Whole(body) => {
            if let Some(Cut::Pieces(_)) = answer.cut {
                out.left = body.len() / 2;
            }
            out.piece(body)?;
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
    out.sender.end()
}

struct Out<'a, L> {
    sender: Sender<'a, L>,
    /// Bytes of the body that may still be sent.
    left: usize,
}

impl<L: Line> Out<'_, L> {
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
        let len = piece.len().min(self.left);
        self.left -= len;
        if len == piece.len() {
            self.sender.piece(piece.as_bytes())?;
            return Ok(true);
        }
        self.sender.broken_piece(piece.as_bytes(), len)?;
        Ok(false)
    }
}
