//! A server that runs as long as somebody holds it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::fault::Fault;

/// How long a look at its health may take.
const LOOK: Duration = Duration::from_secs(5);

/// A server on a port of this machine alone. It ends when this is dropped, and where this process ends without dropping
/// anything.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    watcher: Option<Child>,
    port: u16,
}

/// How a server is started.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    /// The command, with the port in it.
    pub(crate) command: Command,
    /// Where it listens.
    pub(crate) port: u16,
    /// The path at which it says whether it can be asked.
    pub(crate) health: &'a str,
    /// How long it may take until then.
    pub(crate) patience: Duration,
    /// The file for what it says.
    pub(crate) log: &'a Path,
}

impl Server {
    /// Starts it, and waits until it can be asked.
    pub(crate) fn start(start: Start<'_>) -> Result<Self, Fault> {
        let Start { mut command, port, health, patience, log } = start;
        let out = File::create(log).map_err(Fault::system(format!("write {}", log.display())))?;
        let err = out.try_clone().map_err(Fault::system("write the server's log"))?;
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .map_err(Fault::system(format!("start {program}")))?;
        let watcher = watch(child.id());
        let mut server = Self { child, watcher, port };
        server.wait(health, patience).map_err(|why| {
            let told = std::fs::read_to_string(log).unwrap_or_default();
            let last = told.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
            Fault::Failed(format!("the server {why}: {last}\nall that it said is in {}", log.display()))
        })?;
        Ok(server)
    }

    /// Where it is asked.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Waits until it is well.
    fn wait(&mut self, health: &str, patience: Duration) -> Result<(), String> {
        let start = Instant::now();
        while start.elapsed() < patience {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("has ended before it was ready, {status}"));
            }
            if is_well(self.port, health).unwrap_or(false) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(200));
        }
        Err(format!("was not ready after {} s", patience.as_secs()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The watcher goes first: once the server has been waited for, its number may be another process's.
        if let Some(watcher) = &mut self.watcher {
            let _ = watcher.kill();
            let _ = watcher.wait();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process that ends the server where this one is killed before it can: it holds the other end of a pipe, reads nothing from
/// it, and sees it close. Where there is no shell for it, the server is ended by [`Server`] alone.
fn watch(server: u32) -> Option<Child> {
    // An interrupt from the keyboard reaches every process of the terminal, and this one must live through it.
    const SCRIPT: &str =
        "trap '' INT HUP TERM; cat >/dev/null; kill -TERM \"$0\"; sleep 3; kill -KILL \"$0\"";
    if !cfg!(unix) {
        return None;
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", SCRIPT, &server.to_string()]).stdin(Stdio::piped());
    shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
}

/// Ports that were free a moment ago, each another.
pub(crate) fn free_ports<const N: usize>() -> Result<[u16; N], Fault> {
    let held: io::Result<Vec<TcpListener>> =
        (0..N).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect();
    let ports = held.and_then(|held| held.iter().map(|it| it.local_addr().map(|at| at.port())).collect());
    let ports: Vec<u16> = ports.map_err(Fault::system("find a free port"))?;
    ports.try_into().map_err(|_| Fault::Failed("there are not enough free ports".to_owned()))
}

/// Whether the server says that it can be asked. While it gets ready it may answer with a 503.
fn is_well(port: u16, health: &str) -> io::Result<bool> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, LOOK)?;
    stream.set_read_timeout(Some(LOOK))?;
    stream.set_write_timeout(Some(LOOK))?;
    let request = format!("GET {health} HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut status = [0; 12];
    stream.read_exact(&mut status)?;
    Ok(status.ends_with(b" 200"))
}

#[cfg(all(test, unix))]
#[expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
mod tests {
    use std::fs;

    use super::*;
    use std::io::{BufRead, BufReader};

    /// Longer than any test machine needs, so that a failure is a failed test and not one that hangs.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// A port that is given to nobody who asks for any: one that was free a moment ago may be another test's by now.
    const NOBODYS: u16 = 1;

    fn is_alive(process: u32) -> bool {
        Command::new("kill")
            .args(["-0", &process.to_string()])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    fn until(mut what: impl FnMut() -> bool) {
        let start = Instant::now();
        while !what() {
            assert!(start.elapsed() < PATIENCE, "it did not come to it");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn sleeper() -> Server {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        let watcher = watch(child.id());
        Server { child, watcher, port: 0 }
    }

    #[test]
    fn a_server_that_ends_by_itself_is_told_with_its_last_words() {
        // A file that was just written cannot be run while a process that another test starts still holds it; a shell can.
        let mut command = Command::new("sh");
        command.args(["-c", "echo loading; echo 'no such model' >&2; exit 3"]);
        let log = std::env::temp_dir().join(format!("sommelier-server-{}.log", std::process::id()));
        let start = Start { command, port: NOBODYS, health: "/health", patience: PATIENCE, log: &log };
        let fault = Server::start(start).unwrap_err().to_string();
        fs::remove_file(&log).unwrap();
        assert_eq!(
            fault,
            format!(
                "the server has ended before it was ready, exit status: 3: no such model\nall that it said is in {}",
                log.display()
            )
        );
    }

    #[test]
    fn a_server_ends_with_whoever_holds_it() {
        let server = sleeper();
        let (child, watcher) = (server.child.id(), server.watcher.as_ref().unwrap().id());
        assert!(is_alive(child) && is_alive(watcher));
        drop(server);
        assert!(!is_alive(child) && !is_alive(watcher));
    }

    /// What becomes of it when this process is killed: the pipe closes.
    #[test]
    fn a_server_ends_when_its_holder_is_gone() {
        let mut server = sleeper();
        drop(server.watcher.as_mut().unwrap().stdin.take());
        until(|| server.child.try_wait().unwrap().is_some());
    }

    #[test]
    fn only_a_server_that_says_so_is_well() {
        for (said, is_ready) in [("HTTP/1.1 200 OK", true), ("HTTP/1.1 503 Service Unavailable", false)] {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let port = listener.local_addr().unwrap().port();
            let answers = thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                // The whole of it, however it comes: a part that is left unread would break the connection off.
                let asked = BufReader::new(&stream).lines().map_while(Result::ok);
                let asked: Vec<String> = asked.take_while(|line| !line.is_empty()).collect();
                assert_eq!(asked.first().map(String::as_str), Some("GET /healthz HTTP/1.0"), "{asked:?}");
                // In one piece: who has read the status may be gone before a second one comes.
                stream.write_all(format!("{said}\r\n\r\n").as_bytes()).unwrap();
            });
            assert_eq!(is_well(port, "/healthz").unwrap(), is_ready, "{said}");
            answers.join().unwrap();
        }
        let [one, other] = free_ports().unwrap();
        assert_ne!(one, other);
        assert!(is_well(NOBODYS, "/healthz").is_err(), "nobody listens there");
    }
}
