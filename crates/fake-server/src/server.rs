//! The server: a socket, and a thread for each connection.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use sommelier_http::{Pair, Server, Stop};

use crate::service::Service;
use crate::{Log, Settings};

/// Connections at a time; for one more the one is closed that has waited longest for its client.
const MOST_CONNECTIONS: usize = 256;

/// A server that runs until it is dropped, on the loopback address alone.
///
/// ```
/// use sommelier_fake_server::{FakeServer, Settings};
///
/// let server = FakeServer::start(0, Settings::default())?;
/// // A client is given `server.url()` as the service's address.
/// assert!(server.url().starts_with("http://127.0.0.1:"));
/// assert_eq!(server.log().requests, 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct FakeServer {
    server: Server,
    service: Arc<Service>,
}

impl FakeServer {
    /// Listens on `port`, or on a free one when that is 0.
    ///
    /// # Errors
    /// What the system says when the port is taken or no thread can be had.
    pub fn start(port: u16, settings: Settings) -> io::Result<Self> {
        let (service, patience) = (Arc::new(Service::new(settings.clone())), settings.patience);
        let serving = service.clone();
        let address = (Ipv4Addr::LOCALHOST, port).into();
        let server = Server::start(address, MOST_CONNECTIONS, patience, move |connection, stop| {
            serving.converse(connection, stop);
        })?;
        Ok(Self { server, service })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The base address that a client is given, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// What was asked so far. A request is in it from the moment at which its answer is decided on, which is before the
    /// first byte of it is sent.
    pub fn log(&self) -> Log {
        self.service.log()
    }

    /// Waits until the server ends, which it does not by itself.
    pub fn wait(self) {
        self.server.wait();
    }
}

/// One connection without a socket: what comes `from` one side is answered `to` the other, one request after the other,
/// by a server that begins and ends with it. It ends where `from` does, where `to` fails, and where a connection would be
/// closed. There is no thread in it and no clock, but that the pauses of a plan of faults are waited for.
///
/// For fuzzers, and for clients that bring a transport of their own.
///
/// ```
/// use sommelier_fake_server::{Settings, converse};
///
/// let mut told = Vec::new();
/// let log = converse(Settings::default(), &b"GET /v1/messages HTTP/1.1\r\n\r\n"[..], &mut told);
/// assert!(told.starts_with(b"HTTP/1.1 405 Method Not Allowed\r\n"));
/// assert_eq!((log.requests, log.refused), (1, 1));
/// ```
pub fn converse(settings: Settings, from: impl Read, to: impl Write) -> Log {
    let service = Service::new(settings);
    service.converse(Pair { from, to }, &Stop::default());
    service.log()
}
