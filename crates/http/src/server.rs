//! A socket, and a thread for each connection.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::{Line, Stop, locked};

/// How long nobody is taken where the system has no more connections.
const BREATH: Duration = Duration::from_millis(20);

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    house: Arc<House>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at `address`, at a free port when that is 0, and has `serve` answer each connection on a thread of its own.
    /// Beyond `most` connections at a time, and where the system has no more of them, the one is closed that has waited longest
    /// for its client; where none waits, the new one. Who does not take an answer for `patience` is given up.
    ///
    /// # Errors
    /// What the system says when the port is taken or no thread can be had.
    pub fn start(
        address: SocketAddr,
        most: usize,
        patience: Duration,
        serve: impl Fn(&Connection, &Stop) + Send + Sync + 'static,
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

    /// Ends it in good order: nobody is let in any more, who waits for its client is let go, what is live hears of the
    /// [`Stop`], and answers that are on their way have this long to be sent.
    pub fn end(self, within: Duration) {
        self.house.stop.set();
        self.knock();
        let start = Instant::now();
        while start.elapsed() < within {
            let open = locked(&self.house.open);
            if open.is_empty() {
                break;
            }
            open.values().filter(|connection| connection.waits_since().is_some()).for_each(|it| it.close());
            drop(open);
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Has the listener look whether it is to end, by one more connection.
    fn knock(&self) {
        let _ = TcpStream::connect(reachable(self.address));
    }
}

impl Drop for Server {
    /// Closes every connection and waits for their threads.
    fn drop(&mut self) {
        self.house.stop.set();
        locked(&self.house.open).values().for_each(|connection| connection.close());
        self.knock();
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

/// A connection that a server has taken.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    /// Since when its client is waited for, while it is.
    waits: Mutex<Option<Instant>>,
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        Self { stream, waits: Mutex::new(Some(Instant::now())) }
    }

    /// What it is made of.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    fn waits_since(&self) -> Option<Instant> {
        *locked(&self.waits)
    }

    fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Line for &Connection {
    fn read(&mut self, part: &mut [u8], time: Duration) -> io::Result<usize> {
        (&mut &self.stream).read(part, time)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        (&mut &self.stream).write_all(bytes)
    }

    fn end_writing(&mut self) {
        (&mut &self.stream).end_writing();
    }

    fn waits(&mut self, is_waiting: bool) {
        let mut waits = locked(&self.waits);
        *waits = is_waiting.then(|| waits.unwrap_or_else(Instant::now));
    }
}

/// Answers what comes over one connection.
type Serve = Box<dyn Fn(&Connection, &Stop) + Send + Sync>;

/// Connections by their numbers.
type Open = BTreeMap<u64, Arc<Connection>>;

/// What the threads share.
struct House {
    serve: Serve,
    most: usize,
    patience: Duration,
    stop: Stop,
    open: Mutex<Open>,
}

impl fmt::Debug for House {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("House").field("most", &self.most).field("open", &self.open).finish_non_exhaustive()
    }
}

impl House {
    fn keep(&self, listener: &TcpListener) {
        thread::scope(|scope| {
            for (number, taken) in (0..).zip(listener.incoming()) {
                if self.stop.is_set() {
                    return;
                }
                let stream = match taken {
                    Ok(stream) => stream,
                    Err(error) if is_of_one(&error) => continue,
                    // Whoever knocks is still there: without a pause this would be asked again at once, and for ever.
                    Err(_) => {
                        close_idlest(&mut locked(&self.open));
                        self.stop.wait(BREATH);
                        continue;
                    }
                };
                let connection = Arc::new(Connection::new(stream));
                if !self.admit(number, &connection) {
                    continue;
                }
                let serve = move || {
                    self.serve(&connection);
                    locked(&self.open).remove(&number);
                };
                if thread::Builder::new().spawn_scoped(scope, serve).is_err() {
                    locked(&self.open).remove(&number);
                }
            }
        });
    }

    fn admit(&self, number: u64, connection: &Arc<Connection>) -> bool {
        let mut open = locked(&self.open);
        if open.len() >= self.most && !close_idlest(&mut open) {
            return false;
        }
        open.insert(number, connection.clone());
        true
    }

    /// Answers what comes over one connection, and closes it.
    fn serve(&self, connection: &Connection) {
        let stream = connection.stream();
        let _ = stream.set_nodelay(true);
        let _ = stream.set_write_timeout(Some(self.patience));
        (self.serve)(connection, &self.stop);
        connection.close();
    }
}

/// Closes the connection that has waited longest for its client; whether there is one.
fn close_idlest(open: &mut Open) -> bool {
    let waiting = open.iter().filter_map(|(number, connection)| Some((connection.waits_since()?, *number)));
    let idlest = waiting.min().and_then(|(_, number)| open.remove(&number));
    idlest.is_some_and(|connection| {
        connection.close();
        true
    })
}

/// Whether the next connection may be taken all the same: this one was gone before it was taken.
fn is_of_one(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted)
}
