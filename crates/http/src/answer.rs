//! What is answered, and the talk over one connection.

use std::fmt;
use std::io;

use crate::{Limits, Line, Request, Sender, Stop, Unreadable, Wire, Wrong};

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// Such as 200.
    pub status: u16,
    /// The headers but those of the connection and the length.
    pub headers: Vec<(&'static str, String)>,
    /// The bytes behind the head.
    pub body: Body,
}

/// Gives the next piece of a body.
pub type Next = Box<dyn FnMut(&Stop) -> Option<String> + Send>;

/// The bytes behind a head.
pub enum Body {
    /// All at once, with their length.
    Whole(String),
    /// Pieces as they come. The function waits for the next one, hears of the server's end, and gives `None` when there are no
    /// more; an empty one is not sent.
    Live(Next),
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(body) => f.debug_tuple("Whole").field(body).finish(),
            Self::Live(_) => f.write_str("Live"),
        }
    }
}

impl Answer {
    /// An answer that is there as a whole, of this `content-type`.
    pub fn whole(status: u16, kind: &str, body: impl Into<String>) -> Self {
        Self { status, headers: vec![("content-type", kind.to_owned())], body: Body::Whole(body.into()) }
    }

    /// An answer in pieces, of this `content-type`.
    pub fn live(kind: &str, next: impl FnMut(&Stop) -> Option<String> + Send + 'static) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type", kind.to_owned())],
            body: Body::Live(Box::new(next)),
        }
    }

    /// The same with one more header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Sends it; whether another answer can be sent on the same connection.
    fn send(self, to: &Request, stays: bool, line: &mut impl Line, stop: &Stop) -> io::Result<bool> {
        let length = if let Body::Whole(body) = &self.body { Some(body.len()) } else { None };
        let Some(mut sender) = Sender::begin(line, to, stays, self.status, &self.headers, length)? else {
            return Ok(stays);
        };
        match self.body {
            Body::Whole(body) => sender.piece(body.as_bytes())?,
            Body::Live(mut next) => {
                while let Some(piece) = next(stop) {
                    sender.piece(piece.as_bytes())?;
                }
            }
        }
        sender.end()
    }
}

/// Answers what comes over one connection, one request after the other, until it ends. What cannot be read as a request is
/// answered too, and is the last one. So is what `refuse` has an answer to by its head: no body of it is read, and who is refused
/// can have many answers on their way only by as many connections.
pub fn converse(
    line: impl Line,
    limits: Limits,
    stop: &Stop,
    refuse: impl Fn(&Request) -> Option<Answer>,
    answer: impl Fn(Result<&Request, &Wrong>) -> Answer,
) {
    let mut wire = Wire::new(line, limits);
    while !stop.is_set() {
        let heard = wire.head().and_then(|head| match refuse(&head) {
            Some(refused) => Ok((refused, false, head)),
            None => wire.body(head).map(|request| (answer(Ok(&request)), request.stays(), request)),
        });
        let (answer, stays, request) = match heard {
            Ok(heard) => heard,
            Err(Unreadable::Gone) => break,
            Err(Unreadable::Told(wrong)) => (answer(Err(&wrong)), false, wrong.head),
        };
        if !answer.send(&request, stays, wire.out(), stop).unwrap_or_default() {
            break;
        }
    }
    wire.linger();
}
