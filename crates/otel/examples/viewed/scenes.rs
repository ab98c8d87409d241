//! What is shown to Phoenix, and what it is to make of it.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use sommelier_handoff::{Answer, Relay};
use sommelier_otel::TraceContext;
use sommelier_runner::{DurableRunner, Gate, Outcome, Runner, Settled, Turn};
use sommelier_runtime::tool::Failure;
use sommelier_store::SqliteStore;

use crate::Failed;
use crate::houses::{self, Counted};
use crate::trees;

/// Where the scenes are sent.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) url: String,
    pub(crate) project: String,
}

/// A scene that was played.
pub(crate) struct Played {
    pub(crate) title: &'static str,
    pub(crate) conversation: String,
    /// Whether the words are to be there; everywhere else none may be.
    pub(crate) shows_contents: bool,
    pub(crate) traces: Vec<Trace>,
}

/// A trace as it is to come back.
pub(crate) struct Trace {
    pub(crate) id: String,
    pub(crate) tree: &'static str,
    /// The trace whose turn it goes on with.
    pub(crate) resumed: Option<String>,
}

impl Stage {
    /// Plays all scenes.
    pub(crate) fn play(&self) -> Result<Vec<Played>, Failed> {
        Ok(vec![self.lesson()?, self.shown()?, self.desks()?, self.cellar()?, self.approval()?])
    }

    /// Lesson 05: one handoff.
    fn lesson(&self) -> Result<Played, Failed> {
        let scene = self.scene("the running case, as in lesson 05", "lesson-05");
        let model = Counted(reservo::case::decisions());
        let trace = run(
            Runner::new(model).conversation(&*scene.conversation),
            &houses::reservo()?,
            reservo::case::REQUEST,
        )?;
        Ok(scene.with(trace, trees::LESSON))
    }

    /// The same, with what was said.
    fn shown(&self) -> Result<Played, Failed> {
        let scene = self.scene("the same, and what was said", "shown");
        let model = Counted(reservo::case::decisions());
        let runner = Runner::new(model).conversation(&*scene.conversation).show_contents();
        let trace = run(runner, &houses::reservo()?, reservo::case::REQUEST)?;
        Ok(Played { shows_contents: true, ..scene.with(trace, trees::LESSON) })
    }

    /// Two delegates at the same time, a handoff within a branch, one that is refused, a tool that fails.
    fn desks(&self) -> Result<Played, Failed> {
        let scene = self.scene("two delegates at the same time, a handoff within, another refused", "desks");
        let runner = Runner::new(houses::at_the_desks()).conversation(&*scene.conversation);
        let trace = run(runner, &houses::desks()?, "Was INV-311 paid twice? And where is A-7?")?;
        Ok(scene.with(trace, trees::DESKS))
    }

    /// A tool starts a process, whose run stands in the same trace.
    fn cellar(&self) -> Result<Played, Failed> {
        let scene = self.scene("one trace over two processes", "cellar");
        let trace = TraceContext::begin();
        let Self { url, project } = self.clone();
        let conversation = scene.conversation.clone();
        let rung = move || {
            let mut other = other(&["cellar", &url, &project, &conversation])?;
            other.env("TRACEPARENT", trace.traceparent());
            said(other)
        };
        let ring = move || rung().map_err(|why| Failure::new("unreachable", why.to_string()));
        let runner = Runner::new(houses::at_the_table()).conversation(&*scene.conversation);
        run_in(trace, runner, &houses::waiter(ring)?, "Which wine is there, from shelf A-7?")?;
        Ok(scene.with(trace, trees::CELLAR))
    }

    /// A turn waits for a person, who answers in another process.
    fn approval(&self) -> Result<Played, Failed> {
        let scene = self.scene("a turn that waits, and is answered in another process", "approval");
        let folder = Folder(env::temp_dir().join(&self.project));
        fs::create_dir_all(&folder.0)?;
        let journal = folder.0.join("journal.db");
        let trace = TraceContext::begin();
        let (id, shown) = {
            let (runner, relay, store) = (at_the_till(), houses::till()?, SqliteStore::open(&journal)?);
            let durable = DurableRunner::new(&runner, &relay, &store);
            let turn = Turn::new("Pay INV-311, please.").trace(trace.to_string());
            let Settled::Waiting(parked) = durable.submit(&scene.conversation, turn)? else {
                return Err("nobody was asked whether to pay".into());
            };
            let questions = parked.questions();
            let (_, question) = questions.first().ok_or("there is no question")?;
            (question.id.to_string(), question.digest())
        };
        let journal = journal.to_str().ok_or("the folder for temporary files has a name that is no text")?;
        let Self { url, project } = self;
        let answered = said(other(&["answer", url, project, &scene.conversation, journal, &id, &shown])?)?;
        let scene = scene.with(trace, trees::WAITING);
        let resumed = Some(trace.to_string());
        let answered = Trace { id: answered.trim().to_owned(), tree: trees::ANSWERED, resumed };
        Ok(Played { traces: scene.traces.into_iter().chain([answered]).collect(), ..scene })
    }

    /// A scene of which nothing was played yet. Phoenix knows a session by its name in all projects.
    fn scene(&self, title: &'static str, name: &str) -> Played {
        let conversation = format!("{}/{name}", self.project);
        Played { title, conversation, shows_contents: false, traces: Vec::new() }
    }
}

impl Played {
    fn with(mut self, trace: TraceContext, tree: &'static str) -> Self {
        self.traces.push(Trace { id: trace.to_string(), tree, resumed: None });
        self
    }
}

/// What the process does that [`Stage::cellar`] starts.
pub(crate) fn in_the_cellar(conversation: &str) -> Result<String, Failed> {
    let trace = TraceContext::from_environment().ok_or("nobody has said in which trace this is")?;
    let runner = Runner::new(houses::in_the_cellar()).conversation(conversation);
    run_in(trace, runner, &houses::cellar()?, "What is there on shelf A-7?")
}

/// What the process does that [`Stage::approval`] starts; it tells its trace.
pub(crate) fn answer(conversation: &str, journal: &str, id: &str, shown: &str) -> Result<String, Failed> {
    let trace = TraceContext::begin();
    let (runner, relay, store) =
        (at_the_till().trace(trace.to_string()), houses::till()?, SqliteStore::open(journal)?);
    let durable = DurableRunner::new(&runner, &relay, &store);
    let settled = durable.answer(conversation, id, Answer::Approve, Some(shown), Some("ann"))?;
    match settled.end() {
        Some("answered") => Ok(trace.to_string()),
        end => Err(format!("the turn has ended with {end:?}").into()),
    }
}

fn at_the_till() -> Runner<'static> {
    Runner::new(houses::at_the_till()).gate(Gate::ask_all())
}

/// Runs in a trace of its own.
fn run(runner: Runner<'_>, relay: &Relay, text: &str) -> Result<TraceContext, Failed> {
    let trace = TraceContext::begin();
    run_in(trace, runner, relay, text)?;
    Ok(trace)
}

fn run_in(trace: TraceContext, runner: Runner<'_>, relay: &Relay, text: &str) -> Result<String, Failed> {
    match runner.trace(trace.to_string()).run(relay, text)? {
        Outcome::Ended(report) => Ok(report.answer().to_owned()),
        _ => Err("the run waits for somebody".into()),
    }
}

/// This program as another process.
fn other(args: &[&str]) -> Result<Command, Failed> {
    let mut other = Command::new(env::current_exe()?);
    other.args(args);
    Ok(other)
}

/// What a process says, once it has ended well.
fn said(mut process: Command) -> Result<String, Failed> {
    let output = process.output()?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(format!("the other process: {}", String::from_utf8_lossy(&output.stderr).trim()).into()),
    }
}

/// A folder that is gone when it is dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays lies where temporary files lie.
        let _ = fs::remove_dir_all(&self.0);
    }
}
