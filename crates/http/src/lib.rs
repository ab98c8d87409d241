//! HTTP/1.1, as much of it as a server for a handful of clients needs, over the threads of the standard library.
//!
//! **What this crate knows:** how a request is read within limits of size and time ([`Wire`]), how an answer is sent, whole or
//! in pieces as they come ([`Sender`], [`Answer`]), and how connections get a thread each, until the server is dropped
//! ([`Server`]). **What it does not know:** any path, any header's meaning but those of the connection itself, TLS, or what may
//! go wrong on purpose: the fake server's faults are its own.
//!
//! `httparse` reads the head. It does no more than that, which is why it was taken: a server crate decides by itself when to
//! flush and when to close, and that is what the fake server's faults and live events are about.
//!
//! ```
//! use std::io::Read;
//! use std::net::TcpStream;
//! use std::time::Duration;
//! use sommelier_http::{Answer, Limits, Server, converse};
//!
//! let limits = Limits { head: Duration::from_secs(5), patience: Duration::from_secs(30), max_body: 1024 };
//! let server = Server::start(([127, 0, 0, 1], 0).into(), 8, limits.patience, move |connection, stop| {
//!     converse(connection, limits, stop, |_| None, |heard| match heard {
//!         Ok(request) => Answer::whole(200, "text/plain", format!("you asked for {}", request.path())),
//!         Err(wrong) => Answer::whole(wrong.status, "text/plain", wrong.why.clone()),
//!     });
//! })?;
//! let mut client = TcpStream::connect(server.address())?;
//! std::io::Write::write_all(&mut client, b"GET /tea HTTP/1.1\r\nconnection: close\r\n\r\n")?;
//! let mut told = String::new();
//! client.read_to_string(&mut told)?;
//! assert!(told.starts_with("HTTP/1.1 200 OK\r\n") && told.ends_with("\r\n\r\nyou asked for /tea"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod ahead;
mod answer;
mod line;
mod read;
mod sender;
mod server;
mod stop;

pub use answer::{Answer, Body, Next, converse};
pub use line::{Line, Pair};
pub use read::{Limits, Request, Unreadable, Wire, Wrong};
pub use sender::Sender;
pub use server::{Connection, Server};
pub use stop::{Stop, locked};
