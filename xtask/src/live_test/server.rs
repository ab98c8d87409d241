//! A server that runs as long as somebody holds it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::fault::Fault;

/// How long a server may take until it has read its model.
const PATIENCE: Duration = Duration::from_secs(180);

/// How long a look at its health may take.
const LOOK: Duration = Duration::from_secs(5);

/// The options beside model and port. The model goes by a name and not by its file, whose folder is nobody's business. One thread: on a machine that does other work too, threads that spin while they wait
/// for each other cost a factor of 20 and more.
const OPTIONS: &str =
    "--alias smollm2-135m-instruct -c 8192 -np 1 -t 1 -tb 1 --poll 0 --jinja --no-ui --offline";

/// llama.cpp's server on a free port of this machine alone. It ends when this is dropped, and where this process ends
/// without dropping anything.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    watcher: Option<Child>,
    port: u16,
}

impl Server {
    /// Starts `program` on `model`, and waits until it can be asked. What it says goes into the file `log`.
    pub(super) fn start(program: &Path, model: &Path, log: &Path) -> Result<Self, Fault> {
        let port = free_port().map_err(Fault::system("find a free port"))?;
        let out = File::create(log).map_err(Fault::system(format!("write {}", log.display())))?;
        let err = out.try_clone().map_err(Fault::system("write the server's log"))?;
        let child = Command::new(program)
            .arg("-m")
            .arg(model)
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .args(OPTIONS.split(' '))
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .map_err(Fault::system(format!("start {}", program.display())))?;
        let watcher = watch(child.id());
        let mut server = Self { child, watcher, port };
        server.wait().map_err(|why| {
            let told = std::fs::read_to_string(log).unwrap_or_default();
            let last = told.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
            Fault::Failed(format!("the server {why}: {last}\nall that it said is in {}", log.display()))
        })?;
        Ok(server)
    }

    /// Where it is asked.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Waits until it is well.
    fn wait(&mut self) -> Result<(), String> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("has ended before it was ready, {status}"));
            }
            if is_well(self.port).unwrap_or(false) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(200));
        }
        Err(format!("was not ready after {} s", PATIENCE.as_secs()))
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

/// A port that was free a moment ago.
fn free_port() -> io::Result<u16> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr().map(|address| address.port())
}

/// Whether the server says that it can be asked. While it reads its model it answers with a 503.
fn is_well(port: u16) -> io::Result<bool> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, LOOK)?;
    stream.set_read_timeout(Some(LOOK))?;
    stream.set_write_timeout(Some(LOOK))?;
    stream.write_all(b"GET /health HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
    let mut status = [0; 12];
    stream.read_exact(&mut status)?;
    Ok(status.ends_with(b" 200"))
}

#[cfg(all(test, unix))]
#[expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    /// A program that stands for the server, in a folder of its own.
    fn program(name: &str, script: &str) -> (PathBuf, PathBuf) {
        let folder = std::env::temp_dir().join(format!("sommelier-live-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join("llama-server");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        (folder, program)
    }

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
            assert!(start.elapsed() < Duration::from_secs(30), "it did not come to it");
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
        let (folder, program) = program("ends", "echo loading; echo 'no such model' >&2; exit 3");
        let log = folder.join("server.log");
        let fault = Server::start(&program, Path::new("x.gguf"), &log).unwrap_err().to_string();
        fs::remove_dir_all(&folder).unwrap();
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
                let _ = stream.read(&mut [0; 256]).unwrap();
                write!(stream, "{said}\r\n\r\n").unwrap();
            });
            assert_eq!(is_well(port).unwrap(), is_ready, "{said}");
            answers.join().unwrap();
        }
        assert!(is_well(free_port().unwrap()).is_err(), "nobody listens there");
    }
}
