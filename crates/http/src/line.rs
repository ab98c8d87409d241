//! What a connection is made of: a socket, or anything that gives bytes and takes them.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// Where requests come from and answers go to.
pub trait Line {
    /// Reads what has come, within `time`; 0 when nothing will come any more.
    ///
    /// # Errors
    /// What the system says; `WouldBlock` or `TimedOut` when nothing has come in time.
    fn read(&mut self, part: &mut [u8], time: Duration) -> io::Result<usize>;

    /// Writes all of it.
    ///
    /// # Errors
    /// What the system says: most often that nobody listens any more.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Nothing more will be written.
    fn end_writing(&mut self);

    /// Tells whether its client is waited for, or answered. Whoever keeps many lines closes one first that waits.
    fn waits(&mut self, _is_waiting: bool) {}
}

impl Line for &TcpStream {
    fn read(&mut self, part: &mut [u8], time: Duration) -> io::Result<usize> {
        self.set_read_timeout(Some(time))?;
        Read::read(self, part)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        Write::write_all(self, bytes)
    }

    fn end_writing(&mut self) {
        let _ = self.shutdown(Shutdown::Write);
    }
}

/// Bytes in one place and bytes in another, neither of which keeps anybody waiting.
#[derive(Debug)]
pub struct Pair<R, W> {
    /// What is read.
    pub from: R,
    /// What is written to.
    pub to: W,
}

impl<R: Read, W: Write> Line for Pair<R, W> {
    fn read(&mut self, part: &mut [u8], _time: Duration) -> io::Result<usize> {
        self.from.read(part)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)
    }

    fn end_writing(&mut self) {}
}
