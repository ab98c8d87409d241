//! A socket, and a thread for each connection.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::{Stop, locked};

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    house: Arc<House>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at `address`, at a free port when that is 0, and has `serve` answer each connection on a thread of its own.
    /// Beyond `most` connections at a time one more is closed at once; who does not take an answer for `patience` is given up.
    ///
    /// # Errors
    /// What the system says when the port is taken or no thread can be had.
    pub fn start(
        address: SocketAddr,
        most: usize,
        patience: Duration,
        serve: impl Fn(&TcpStream, &Stop) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let house = Arc::new(House {
            serve: Box::new(serve),
            most,
            patience,
            stop: Stop::default(),
            open: Mutex::default(),
        });
        let keeper = house.clone();
        let thread = thread::Builder::new().name("http".to_owned()).spawn(move || keeper.keep(&listener))?;
        Ok(Self { address, house, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until the server ends, which it does not by itself.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    /// Closes every connection and waits for their threads.
    fn drop(&mut self) {
        self.house.stop.set();
        for stream in locked(&self.house.open).values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // The listener hears of it by one more connection.
        let _ = TcpStream::connect(reachable(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Where a server that listens at every address is reached from here.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Answers what comes over one connection.
type Serve = Box<dyn Fn(&TcpStream, &Stop) + Send + Sync>;

/// What the threads share.
struct House {
    serve: Serve,
    most: usize,
    patience: Duration,
    stop: Stop,
    open: Mutex<BTreeMap<u64, TcpStream>>,
}

impl fmt::Debug for House {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("House").field("most", &self.most).field("open", &self.open).finish_non_exhaustive()
    }
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
        if open.len() >= self.most {
            return false;
        }
        let Ok(copy) = stream.try_clone() else { return false };
        open.insert(number, copy);
        true
    }

    /// Answers what comes over one connection, and closes it.
    fn serve(&self, stream: &TcpStream) {
        let _ = stream.set_nodelay(true);
        let _ = stream.set_write_timeout(Some(self.patience));
        (self.serve)(stream, &self.stop);
        let _ = stream.shutdown(Shutdown::Both);
    }
}
