//! An answer on its way.

use std::io;

use crate::{Line, Request};

/// An answer whose head is on the wire.
#[derive(Debug)]
pub struct Sender<'a, L> {
    line: &'a mut L,
    is_chunked: bool,
    /// Whether the connection can take another answer behind this one.
    stays: bool,
}

impl<'a, L: Line> Sender<'a, L> {
    /// Sends the head; `length` is that of the body, where it is known. There is nothing more to send to who asked for the head
    /// alone.
    ///
    /// # Errors
    /// What the system says when nobody listens.
    pub fn begin(
        line: &'a mut L,
        to: &Request,
        stays: bool,
        status: u16,
        headers: &[(&'static str, String)],
        length: Option<usize>,
    ) -> io::Result<Option<Self>> {
        // Without pieces an answer of unknown length ends with the connection.
        let is_chunked = length.is_none() && !to.is_old;
        let stays = stays && (length.is_some() || is_chunked);
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
        for (name, value) in headers {
            // A line end in a value would begin a header of somebody else's.
            let value: String = value.chars().filter(|c| !c.is_control()).collect();
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        match length {
            Some(length) => head.push_str(&format!("content-length: {length}\r\n")),
            None if is_chunked => head.push_str("transfer-encoding: chunked\r\n"),
            None => {}
        }
        head.push_str(if stays { "connection: keep-alive\r\n\r\n" } else { "connection: close\r\n\r\n" });
        line.write_all(head.as_bytes())?;
        Ok((to.method != "HEAD").then_some(Self { line, is_chunked, stays }))
    }

    /// Sends a part of the body, at once. One without bytes is not sent, since it would end the body.
    ///
    /// # Errors
    /// What the system says when nobody listens.
    pub fn piece(&mut self, piece: &[u8]) -> io::Result<()> {
        self.broken_piece(piece, piece.len())
    }

    /// Begins to send a piece, and sends `len` bytes of it. Where that is less than all, the connection can only be closed.
    ///
    /// # Errors
    /// What the system says when nobody listens.
    pub fn broken_piece(&mut self, piece: &[u8], len: usize) -> io::Result<()> {
        let sent = piece.get(..len).unwrap_or(piece);
        if !self.is_chunked || piece.is_empty() {
            return self.line.write_all(sent);
        }
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend(sent);
        if sent.len() == piece.len() {
            chunk.extend(b"\r\n");
        }
        self.line.write_all(&chunk)
    }

    /// The body is whole. Whether another answer can be sent on the same connection.
    ///
    /// # Errors
    /// What the system says when nobody listens.
    pub fn end(self) -> io::Result<bool> {
        if self.is_chunked {
            self.line.write_all(b"0\r\n\r\n")?;
        }
        Ok(self.stays)
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        303 => "See Other",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => "Other",
    }
}
