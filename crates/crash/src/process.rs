//! The process that is killed, from outside.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use sommelier_runner::journal::Head;

use crate::point::Point;
use crate::scenario::Scenario;

/// One line, in one write: what is told was acknowledged before.
pub(crate) fn tell(line: &str) {
    std::io::stdout().lock().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// How a process is started.
#[derive(Clone, Debug)]
pub struct Victim {
    program: PathBuf,
    folder: PathBuf,
    args: Vec<String>,
}

impl Victim {
    /// The program, with the folder of its scene.
    pub fn new(program: &str, folder: &Path, scenario: Scenario) -> Self {
        let args = vec![format!("scenario={}", scenario.name())];
        Self { program: program.into(), folder: folder.to_owned(), args }
    }

    fn with(mut self, arg: String) -> Self {
        self.args.push(arg);
        self
    }

    /// It kills itself there.
    pub fn point(self, point: &Point) -> Self {
        self.with(format!("point={point}"))
    }

    /// It writes each record by itself.
    pub fn splits(self) -> Self {
        self.with("splits=1".to_owned())
    }

    /// Its models and tools take so long, in milliseconds.
    pub fn pause(self, millis: u64) -> Self {
        self.with(format!("pause={millis}"))
    }

    /// Its clock starts there and goes on as clocks do. Without this it has the system's.
    pub fn clock(self, millis: u64) -> Self {
        self.with(format!("clock={millis}"))
    }

    /// The system's clock, and so many milliseconds off.
    pub fn off_by(self, millis: i64) -> Self {
        self.with(format!("off={millis}"))
    }

    /// How long its lease runs, in milliseconds.
    pub fn term(self, millis: u64) -> Self {
        self.with(format!("term={millis}"))
    }

    /// The tool that ends when there is a file `go`.
    pub fn hold(self, tool: &str) -> Self {
        self.with(format!("hold={tool}"))
    }

    /// Starts it with a command: `submit`, `resume`, `sweep`, `answer ID DIGEST`.
    pub fn start(&self, command: &str) -> Running {
        let mut child = Command::new(&self.program)
            .arg(&self.folder)
            .args(&self.args)
            .args(command.split(' '))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (send, lines) = mpsc::channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            // A line that is cut was not told.
            let whole = out.lines().map_while(Result::ok);
            whole.map_while(|line| send.send(line).ok()).for_each(drop);
        });
        Running { child, lines, told: Told::default() }
    }

    /// Runs it to its end.
    pub fn run(&self, command: &str) -> (Ended, Told) {
        self.start(command).end()
    }
}

/// A process at work.
#[derive(Debug)]
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    told: Told,
}

/// What a process has told: all of it was acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The newest head.
    pub head: Option<Head>,
    /// The turn was accepted.
    pub is_accepted: bool,
    /// The questions that wait, each with its digest.
    pub questions: Vec<(String, String)>,
    /// The answer's id, and the answer.
    pub answer: Option<(String, String)>,
    /// How it was refused.
    pub refused: Option<String>,
    /// All lines.
    pub lines: Vec<String>,
}

impl Told {
    fn hear(&mut self, line: String) {
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let pair = || rest.split_once(' ').map(|(one, other)| (one.to_owned(), other.to_owned())).unwrap();
        match word {
            "head" => self.head = Some(serde_json::from_str(rest).unwrap()),
            "accepted" => self.is_accepted = true,
            "waiting" => self.questions.push(pair()),
            "answer" => self.answer = Some(pair()),
            "refused" => self.refused = Some(rest.to_owned()),
            _ => {}
        }
        self.lines.push(line);
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By `SIGKILL`.
    Killed,
    /// By itself.
    Exited,
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        match (status.signal(), status.success()) {
            (Some(9), _) => Self::Killed,
            (None, true) => Self::Exited,
            _ => panic!("the victim ended with {status}"),
        }
    }
}

impl Running {
    /// Waits until it has told a line that begins so.
    pub fn wait_for(&mut self, beginning: &str) {
        while !self.told.lines.iter().any(|line| line.starts_with(beginning)) {
            match self.lines.recv_timeout(Duration::from_secs(30)) {
                Ok(line) => self.told.hear(line),
                Err(why) => panic!("no `{beginning}` ({why}) after {:?}", self.told.lines),
            }
        }
    }

    /// Kills it after so long, from when it is ready.
    pub fn kill_after(mut self, time: Duration) -> (Ended, Told) {
        self.wait_for("ready");
        thread::sleep(time);
        self.child.kill().unwrap();
        self.end()
    }

    /// Stops it, wherever it is.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end, and for all that it has told.
    pub fn end(mut self) -> (Ended, Told) {
        while let Ok(line) = self.lines.recv() {
            self.told.hear(line);
        }
        (self.child.wait().unwrap().into(), self.told)
    }
}
