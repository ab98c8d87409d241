//! The server: a socket, and a thread for each connection.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use crate::http::Pair;
use crate::service::Service;
use crate::stop::{Stop, locked};
use crate::{Log, Settings};

/// Connections at a time; one more is closed at once.
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
    address: SocketAddr,
    house: Arc<House>,
    thread: Option<JoinHandle<()>>,
}

impl FakeServer {
    /// Listens on `port`, or on a free one when that is 0.
    ///
    /// # Errors
    /// What the system says when the port is taken or no thread can be had.
    pub fn start(port: u16, settings: Settings) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let house = Arc::new(House {
            service: Service::new(settings),
            stop: Stop::default(),
            open: Mutex::default(),
        });
        let keeper = house.clone();
        let thread =
            thread::Builder::new().name("fake-server".to_owned()).spawn(move || keeper.keep(&listener))?;
        Ok(Self { address, house, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base address that a client is given, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was asked so far. A request is in it from the moment at which its answer is decided on, which is before the
    /// first byte of it is sent.
    pub fn log(&self) -> Log {
        self.house.service.log()
    }

    /// Waits until the server ends, which it does not by itself.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for FakeServer {
    /// Closes every connection and waits for their threads.
    fn drop(&mut self) {
        self.house.stop.set();
        for stream in locked(&self.house.open).values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // The listener hears of it by one more connection.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the threads share.
#[derive(Debug)]
struct House {
    service: Service,
    stop: Stop,
    open: Mutex<BTreeMap<u64, TcpStream>>,
}

impl House {
    fn keep(&self, listener: &TcpListener) {
        thread::scope(|scope| {
            for (number, stream) in (0..).zip(listener.incoming()) {
                if self.stop.is_set() {
                    return;
                }
                // A connection that is gone before it was taken, or one too many.
                let Ok(stream) = stream else { continue };
                if !self.admit(number, &stream) {
                    continue;
                }
                let serve = move || {
                    self.serve(&stream);
                    locked(&self.open).remove(&number);
                };
                if thread::Builder::new().spawn_scoped(scope, serve).is_err() {
                    locked(&self.open).remove(&number);
                }
            }
        });
    }

    fn admit(&self, number: u64, stream: &TcpStream) -> bool {
        let mut open = locked(&self.open);
        if open.len() >= MOST_CONNECTIONS {
            return false;
        }
        let Ok(copy) = stream.try_clone() else { return false };
        open.insert(number, copy);
        true
    }

    /// Answers what comes over one connection, and closes it.
    fn serve(&self, stream: &TcpStream) {
        let _ = stream.set_nodelay(true);
        let _ = stream.set_write_timeout(Some(self.service.settings.patience));
        self.service.converse(stream, &self.stop);
        let _ = stream.shutdown(Shutdown::Both);
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
