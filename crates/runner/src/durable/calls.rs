//! Running the tools of a reply so that no effect is lost or repeated.
//!
//! Each call is written down before it starts and its output before any model sees it. A call that was begun and of which
//! no output is on record, as after a crash, is gone on with by what its tool declares of its effect.

use std::any::Any;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use sommelier_handoff::{AskedCall, CallTools, Effect as Begun, Input, InputKind, Millis, Relay, Step};
use sommelier_protocol::ToolUse;
use sommelier_runtime::tool::{
    Declaration, Effect, Failure, Found, MOST_AT_ONCE, Within, at_once, idempotency_key, query_whole,
};
use sommelier_runtime::{Definition, ToolOutput};
use tracing::{Span, dispatcher};

use super::log::{Log, Worked};
use super::{DurableRunner, Works};
use crate::dispatch::{self, Pass};
use crate::journal::JournalError;
use crate::secrets::Vault;
use crate::{RunError, Runner, spans};

/// The calls of one reply, with what they are run with.
struct Desk<'a> {
    runner: &'a Runner<'a>,
    agent: &'a Definition,
    calls: &'a CallTools,
    log: &'a Log<'a>,
    vault: &'a Vault<'a>,
    span: &'a Span,
    scope: String,
}

/// How often a call is begun.
const MOST_ATTEMPTS: u32 = DurableRunner::MOST_ATTEMPTS;

/// What is to be done with each call of a reply, in order of their places.
type Courses<'a> = Vec<(usize, &'a ToolUse, Course)>;

/// The effect that a call is for: two calls with equal ones are for the same.
#[derive(PartialEq, Eq)]
struct Meant<'a> {
    tool: &'a str,
    business_key: String,
}

/// What is to be done with a call.
enum Course {
    /// It runs, past the gate.
    Run(Pass),
    /// It was begun before, and runs again under its key.
    Again,
    /// Its output is known without a run.
    Known(ToolOutput),
    /// Nobody here knows, so a person is asked.
    Doubt,
    /// The same effect was had before under another key: a person is asked, and shown this of it.
    Repeats(Box<str>),
}

impl Runner<'_> {
    /// Runs the tools of a reply, each call and each output on record, and gives the step after it.
    pub(crate) fn run_tools_logged(
        &self,
        relay: &Relay,
        calls: CallTools,
        span: &Span,
        (log, vault): (&Log<'_>, &Vault<'_>),
    ) -> Result<Step, RunError> {
        let Some(agent) = calls.agent(relay) else {
            return Err(RunError::Driver("the relay is not the one that the run began with".to_owned()));
        };
        let scope = calls.scope();
        let desk = Desk { runner: self, agent, calls: &calls, log, vault, span, scope };
        let mut tries = 1;
        let courses = loop {
            let courses = desk.courses().map_err(RunError::Unkept)?;
            if let Some(what) = desk.instead(&courses) {
                let step = Step::CallTools(calls);
                return log.feed_at(relay, step, what, self.now()).map_err(RunError::misfit);
            }
            match log.intend_calls(relay, &calls, &starts(&courses), self.now()) {
                Ok(()) => break courses,
                // Another conversation was faster, and a person is asked about that now.
                Err(JournalError::Claimed { .. }) if tries < MOST_ATTEMPTS => tries += 1,
                Err(why) => return Err(RunError::Unkept(why)),
            }
        };
        let said = desk.run(&courses).map_err(RunError::Unkept)?;
        let step = said.iter().try_fold(Step::CallTools(calls), |step, input| log.follow(relay, step, input));
        step.map_err(RunError::misfit)
    }
}

/// The places of the calls that are to run.
fn starts(courses: &[(usize, &ToolUse, Course)]) -> Vec<usize> {
    places(courses, |course| matches!(course, Course::Run(Pass::Runs | Pass::Approved(_)) | Course::Again))
}

/// A call that a person is to be asked about before it runs.
fn asked((place, _, course): &(usize, &ToolUse, Course)) -> Option<AskedCall> {
    let repeats = match course {
        Course::Run(Pass::Asks) => None,
        Course::Repeats(earlier) => Some(earlier.clone()),
        Course::Run(_) | Course::Again | Course::Known(_) | Course::Doubt => return None,
    };
    Some(AskedCall { place: *place, repeats })
}

fn places(courses: &[(usize, &ToolUse, Course)], is_one: impl Fn(&Course) -> bool) -> Vec<usize> {
    courses.iter().filter(|(.., course)| is_one(course)).map(|(place, ..)| *place).collect()
}

impl<'a> Desk<'a> {
    fn run_name(&self) -> &'a str {
        self.calls.run().conversation()
    }

    /// What comes before any of the calls can run; `None` where nothing does.
    fn instead(&self, courses: &Courses<'_>) -> Option<InputKind> {
        let mut doubted = places(courses, |course| matches!(course, Course::Doubt));
        doubted.extend(self.switched_off());
        if !doubted.is_empty() {
            return Some(InputKind::ToolInDoubt { places: doubted });
        }
        let asked: Vec<AskedCall> = courses.iter().filter_map(asked).collect();
        if !asked.is_empty() {
            return Some(InputKind::ApprovalAsked { calls: asked });
        }
        // What the reply called was switched off meanwhile.
        courses.is_empty().then_some(InputKind::ToolsSkipped)
    }

    fn courses(&self) -> Result<Courses<'a>, JournalError> {
        let mut courses: Courses<'a> = Vec::new();
        // Those of earlier calls of the reply that are to run or may have run.
        let mut meant: Vec<(Meant<'a>, &ToolUse)> = Vec::new();
        for (place, call) in self.calls.calls() {
            let effect = self.meant(call);
            let mut course = self.course(place, call, effect.as_ref())?;
            if let Some(effect) = effect {
                let twin = meant.iter().find(|(other, _)| *other == effect);
                if let (Course::Run(_), false, Some((_, twin))) =
                    (&course, self.calls.may_repeat(place), twin)
                {
                    course = Course::Repeats(
                        format!("call {} of the same reply is for the same", twin.id()).into(),
                    );
                }
                if !matches!(course, Course::Run(Pass::Answered(_) | Pass::Denied(_))) {
                    meant.push((effect, call));
                }
            }
            courses.push((place, call, course));
        }
        Ok(courses)
    }

    fn course(
        &self,
        place: usize,
        call: &ToolUse,
        effect: Option<&Meant<'_>>,
    ) -> Result<Course, JournalError> {
        if let Some(begun) = self.log.begun(self.run_name(), place) {
            return Ok(self.gone_on(place, call, &begun));
        }
        if !self.calls.may_repeat(place)
            && let Some(effect) = effect
            && let Some(earlier) = self.repeated(place, effect)?
        {
            return Ok(Course::Repeats(earlier));
        }
        if self.calls.is_approved(place) {
            return Ok(Course::Run(Pass::Approved(spans::APPROVED_BY_PERSON)));
        }
        let gate = self.runner.decides();
        Ok(Course::Run(dispatch::pass(self.agent, (place, call), &self.scope, gate, self.vault)))
    }

    /// What is to be told of an effect that stands and is the one that this call is for: a model that plans anew calls for
    /// it under another key, and a customer who is in a hurry asks for it in a second conversation.
    fn repeated(&self, place: usize, effect: &Meant<'_>) -> Result<Option<Box<str>>, JournalError> {
        let Meant { tool, business_key } = effect;
        let key = idempotency_key(&self.scope, place);
        let unknown = || format!("{tool} may have happened; nobody knows").into();
        let here = self.log.chronicle(|chronicle| {
            let earlier = chronicle.live(tool, business_key, &key)?;
            Some(earlier.result.clone().unwrap_or_else(unknown))
        });
        let declared = self.agent.table().declaration(tool);
        if here.is_some() || declared.is_none_or(Declaration::is_per_conversation) {
            return Ok(here);
        }
        let by = self.log.claimed_elsewhere(&Begun::claim_of(tool, business_key))?;
        Ok(by.map(|by| {
            // The model may come to read what the question says, and another customer's name is not for it.
            tracing::info!(parent: self.span, conversation = by, tool, "the same effect stands in another conversation");
            format!("{tool} for the same stands in another conversation, or is under way there").into()
        }))
    }

    /// Which effect a call is for, where it has one, says which and can be run.
    fn meant(&self, call: &'a ToolUse) -> Option<Meant<'a>> {
        let table = self.agent.table();
        let business_key =
            table.business_key(call).filter(|_| table.effect(call.name()) != Effect::ReadOnly)?;
        dispatch::check(self.agent, call, self.vault).ok()?;
        Some(Meant { tool: call.name(), business_key })
    }

    /// Calls that were begun and whose tool was switched off since. They are not called again, and what came of them is
    /// asked all the same, where there is anything to know.
    fn switched_off(&self) -> Vec<usize> {
        let waits = |place: usize| self.calls.calls().any(|(at, _)| at == place);
        let may_have_happened = |class: &str| !matches!(class, "read_only" | "transactional");
        self.log.chronicle(|chronicle| {
            let begun = chronicle.begun().filter(|(run, ..)| *run == self.run_name());
            let off = begun.filter(|(_, place, effect)| !waits(*place) && may_have_happened(&effect.class));
            off.map(|(_, place, _)| place).collect()
        })
    }

    /// A call that was begun and of which no output is on record.
    fn gone_on(&self, place: usize, call: &ToolUse, begun: &Begun) -> Course {
        let since = self.runner.now().saturating_sub(begun.since);
        match self.agent.table().effect(call.name()) {
            Effect::ReadOnly | Effect::Transactional if begun.attempts < MOST_ATTEMPTS => Course::Again,
            // What reads alone, or is undone with its record, has had no effect: it may have failed.
            Effect::ReadOnly | Effect::Transactional => Course::Known(without_effect(call)),
            // With its secrets gone it cannot be made again, and whether it has happened is as little known.
            Effect::Keyed { retention }
                if since < retention
                    && begun.attempts < MOST_ATTEMPTS
                    && self.vault.reveal(self.agent, call).is_ok() =>
            {
                Course::Again
            }
            Effect::Queried { settle } => self.asked(place, call, begun, settle),
            Effect::Keyed { .. } | Effect::AtMostOnce => Course::Doubt,
        }
    }

    /// Asks the other side. What it does not know yet it may still come to know, until the call has settled.
    fn asked(&self, place: usize, call: &ToolUse, begun: &Begun, settle: Millis) -> Course {
        let within = Within { epoch: Some(self.log.epoch().get()), ..Within::default() };
        let ask = || query_whole(self.agent, place, call, &self.scope, within).unwrap_or(Found::Unknown);
        let mut found = ask();
        let settled_in = begun.at.saturating_add(settle).saturating_sub(self.runner.now()).min(settle);
        if found == Found::Absent && settled_in > 0 {
            thread::sleep(Duration::from_millis(settled_in));
            found = ask();
        }
        match found {
            Found::Done(output) => Course::Known(self.vault.told(self.agent, call.name(), output)),
            Found::Absent if begun.attempts < MOST_ATTEMPTS => Course::Again,
            Found::Absent | Found::Unknown => Course::Doubt,
        }
    }

    /// Runs what is to run, at the same time, and gives what was said in the order in which it is on record. A call that is
    /// in doubt has said nothing.
    fn run(&self, courses: &[(usize, &ToolUse, Course)]) -> Result<Vec<Input>, JournalError> {
        let said = Mutex::new(Vec::new());
        let total = courses.len();
        // A subscriber that was set for this thread alone is carried to the threads of the tools.
        let dispatch = dispatcher::get_default(Clone::clone);
        let works = Works::here();
        let done = at_once(courses, MOST_AT_ONCE, |(place, call, course)| {
            works.with(|| {
                dispatcher::with_default(&dispatch, || self.run_one(*place, call, course, &said, total))
            })
        });
        for done in done {
            done.unwrap_or_else(|| Err(JournalError::Broken("a tool's thread panicked".to_owned())))?;
        }
        Ok(said.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn run_one(
        &self,
        place: usize,
        call: &ToolUse,
        course: &Course,
        said: &Mutex<Vec<Input>>,
        total: usize,
    ) -> Result<(), JournalError> {
        // What does not run, for now or at all, has no span.
        if matches!(course, Course::Doubt | Course::Repeats(_) | Course::Run(Pass::Asks)) {
            return Ok(());
        }
        let span = spans::tool(self.span, self.agent, call, self.vault);
        let output = match course {
            Course::Known(output) => output.clone(),
            Course::Doubt | Course::Repeats(_) => return Ok(()),
            Course::Again => return self.effect(place, call, &span, said, total),
            Course::Run(pass) => {
                spans::record_approval(&span, pass.approval());
                match pass {
                    Pass::Runs | Pass::Approved(_) => return self.effect(place, call, &span, said, total),
                    Pass::Denied(output) | Pass::Answered(output) => output.clone(),
                    Pass::Asks => return Ok(()),
                }
            }
        };
        spans::record_output(&span, &output, self.vault);
        self.keep(place, output, said, total)
    }

    /// Runs a tool. Whether it had its effect may not be known afterwards: then nothing is kept, and the call counts as
    /// begun.
    fn effect(
        &self,
        place: usize,
        call: &ToolUse,
        span: &Span,
        said: &Mutex<Vec<Input>>,
        total: usize,
    ) -> Result<(), JournalError> {
        self.log.assure(self.runner.now())?;
        let effect = self.agent.table().effect(call.name());
        if effect == Effect::Transactional {
            return self.transact(place, call, span, said);
        }
        let output = span.in_scope(|| self.dispatched(place, call, self.within()));
        spans::record_output(span, &output, self.vault);
        if output.is_in_doubt() && effect != Effect::ReadOnly {
            return Ok(());
        }
        self.keep(place, output, said, total)
    }

    fn within(&self) -> Within<'static> {
        let time_left = self.runner.time_left(self.calls.run());
        Within { time_left, epoch: Some(self.log.epoch().get()), ..Within::default() }
    }

    fn dispatched(&self, place: usize, call: &ToolUse, within: Within<'_>) -> ToolOutput {
        dispatch::run_revealed(self.agent, place, call, &self.scope, within, self.vault)
    }

    /// Runs a tool in the transaction that its output is kept by. Where it fails nothing that it wrote stays.
    fn transact(
        &self,
        place: usize,
        call: &ToolUse,
        span: &Span,
        said: &Mutex<Vec<Input>>,
    ) -> Result<(), JournalError> {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        let at = self.runner.now();
        // The log is held while the work is done.
        let around = self.within();
        let mut work = |transaction: &dyn Any| {
            let within = Within { transaction: Some(transaction), ..around };
            let output = span.in_scope(|| self.dispatched(place, call, within));
            match output.error {
                None => Worked { output, keeps: true },
                Some(_) if output.is_in_doubt() => Worked { output: without_effect(call), keeps: false },
                Some(_) => Worked { output, keeps: false },
            }
        };
        let (output, is_kept) = match self.log.transact(self.run_name(), place, at, &mut work) {
            Ok(output) => (output, true),
            // What it wrote is nothing that the tables take, and nothing of it is there.
            Err(JournalError::Refused(_)) => (without_effect(call), false),
            Err(why) => return Err(why),
        };
        spans::record_output(span, &output, self.vault);
        let input = Input { run: self.run_name().into(), at, what: InputKind::tool_output(place, output) };
        if !is_kept {
            self.log.completed(&input, false)?;
        }
        said.push(input);
        Ok(())
    }

    /// Keeps an output. The order in which outputs are on record is the order in which the run takes them.
    fn keep(
        &self,
        place: usize,
        output: ToolOutput,
        said: &Mutex<Vec<Input>>,
        total: usize,
    ) -> Result<(), JournalError> {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        let what = InputKind::tool_output(place, output);
        let input = Input { run: self.run_name().into(), at: self.runner.now(), what };
        self.log.completed(&input, said.len() + 1 < total)?;
        said.push(input);
        Ok(())
    }
}

/// What a model is told of a call that failed inside, and that has had no effect: it only reads, or what it wrote was undone.
fn without_effect(call: &ToolUse) -> ToolOutput {
    let why = format!("{} failed inside; it has had no effect", call.name());
    ToolOutput::failed(&Failure::new("failed_inside", why))
}
