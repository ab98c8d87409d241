//! The program, as somebody starts it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use harness::{Told, bytes, hello, read};
use serde_json::json;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sommelier-fake-server"))
}

/// The program while it runs; it ends with the test.
struct Running {
    child: Child,
    address: String,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let child = program().args(["--port", "0"]).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        // From here on it is ended, whatever it says.
        let mut running = Self { child, address: String::new() };
        let mut line = String::new();
        BufReader::new(running.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        running.address = line.trim().strip_prefix("listening on http://").unwrap().to_owned();
        running
    }

    fn ask(&self) -> Told {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(&bytes("POST", "/v1/messages", &json!({}), &hello().to_string())).unwrap();
        read(&mut stream)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A file for one test, removed with it.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fake-server-{}-{name}", std::process::id()));
        fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        fs::remove_file(&self.0).unwrap();
    }
}

fn failed(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = program().args(arguments).output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

#[test]
fn it_serves_its_script_and_its_faults() {
    let script = File::new("script.json", r#"{"replies": [{"text": "It is 60 euros.", "repeat": true}]}"#);
    let faults = File::new("faults.json", r#"{"faults": [{"at": 1, "fault": "overloaded"}]}"#);
    let running = Running::start(&["--script", script.path(), "--faults", faults.path()]);
    assert_eq!(running.ask().status, 529);
    assert_eq!(running.ask().json()["content"][0]["text"], "It is 60 euros.");
}

#[test]
fn it_knows_the_models_and_keys_that_it_is_told() {
    let running = Running::start(&["--model", "claude-sonnet-5"]);
    assert_eq!(running.ask().status, 404);
    let running =
        Running::start(&["--model", "claude-opus-5", "--model", "claude-sonnet-5", "--key", "test-key"]);
    assert_eq!(running.ask().status, 200);
    let running = Running::start(&["--key", "another"]);
    assert_eq!(running.ask().status, 401);
}

#[test]
fn it_says_what_is_wrong_with_how_it_was_started() {
    let bad = File::new("bad.json", r#"{"replies": [{"txt": "hi"}]}"#);
    let seen = File::new("seen.json", r#"{"faults": [{"at": 1, "fault": "\u001b[31mred"}]}"#);
    let cases: [(&[&str], &str); 6] = [
        (&[], "--port is missing"),
        (&["--port", "0", "--fault", "x"], "invalid option '--fault'"),
        (&["--port", "0", "--script", "nowhere.json"], "nowhere.json: "),
        (&["--port", "0", "--script", bad.path()], "this is no script: unknown field `txt`"),
        (&["--port", "0", "--script", "/dev/zero"], "larger than 67108864 bytes"),
        (&["--port", "0", "--faults", seen.path()], "unknown variant `\\u{1b}[31mred`"),
    ];
    for (arguments, expected) in cases {
        let (code, told) = failed(arguments);
        assert_eq!(code, Some(2));
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn a_port_that_is_taken_is_told() {
    let running = Running::start(&[]);
    let port = running.address.rsplit(':').next().unwrap();
    let (code, told) = failed(&["--port", port]);
    assert_eq!(code, Some(2));
    assert!(told.contains(&format!("cannot listen on port {port}")), "{told}");
}
