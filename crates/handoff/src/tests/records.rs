//! Writes down what the driver does, as a driver with a journal would, and plays it again from the text.
//!
//! A replay goes side by side with the run, a record behind it at most. Once in a scenario the process is taken to have
//! ended: a fresh replay begins from the records that were there by then, be it between an input and what followed from it,
//! and it is the one that goes on.

use super::auditor::Auditor;
use super::coverage::Coverage;
use super::driver::{AT, CALLED_OFF, Input, find};
use super::person::drawn;
use super::scenario::{ROOT, Switch};
use crate::input::AskedCall;
use crate::{Announced, Announcement, CallTools, ENTRY_VERSION, Glimpse, InputKind, Relay, Replay, Step};
use sommelier_protocol::ToolName;
use sommelier_runtime::{AgentName, ToolOutput};

pub(super) struct Records<'a> {
    relay: &'a Relay,
    replay: Replay<'a>,
    /// Kind and body of each.
    written: Vec<(&'static str, String)>,
    /// So many records are there when the process ends.
    last: usize,
    auditor: Auditor,
    coverage: &'a Coverage,
}

impl<'a> Records<'a> {
    /// The conversation has begun with these words; `seed` says when the process ends.
    pub(super) fn of(relay: &'a Relay, words: &str, step: &Step, seed: &str, coverage: &'a Coverage) -> Self {
        let replay = Replay::new(relay, ROOT);
        let last = 2 + drawn(seed) % 40;
        let mut records =
            Self { relay, replay, written: Vec::new(), last, auditor: Auditor::default(), coverage };
        let opened =
            InputKind::Opened { definition: relay.definition_id().into(), agent: relay.entry().clone() };
        records.keep(&input(ROOT, opened));
        let spoken = InputKind::TurnReceived { key: None, text: words.into(), trace: None, begun: false };
        records.takes(step, input(ROOT, spoken), &Glimpse::default());
        records
    }

    pub(super) fn switched(&mut self, before: &Step, switch: Switch, after: &Step) {
        let (agent, tool) = (AgentName::new(switch.agent).unwrap(), ToolName::new(switch.tool).unwrap());
        let what = InputKind::ToolsSwitched { agent, tool, on: switch.is_on };
        self.goes_on(before, ROOT, what, after);
    }

    /// The user has said something in mid-run.
    pub(super) fn heard(&mut self, before: &Step, words: &str, after: &Step) {
        let what = InputKind::TurnReceived { key: None, text: words.into(), trace: None, begun: true };
        self.goes_on(before, ROOT, what, after);
    }

    pub(super) fn called_off(&mut self, before: &Step, path: &str, after: &Step) {
        let what = InputKind::Cancelled { reason: CALLED_OFF.into(), begun: true };
        self.goes_on(before, path, what, after);
    }

    /// The run at `path` has gone on by this.
    pub(super) fn passed(&mut self, before: &Step, path: &str, by: &Input, after: &Step) {
        let (relay, step) = find(self.relay, before, path).unwrap();
        let what = match (step, by) {
            (Step::CallModel(call), Input::Reply(_, reply)) => {
                let asked = self.replay.chronicle().attempts(path, call.number());
                self.tell(told(path, call.intent(relay, asked + 1)));
                match &**reply {
                    Ok(response) => InputKind::ModelResponded { response: Box::new(response.clone()) },
                    Err(error) => InputKind::ModelFailed { error: error.clone() },
                }
            }
            (Step::CallTools(calls), Input::Outputs(outputs)) => {
                return self.ran((relay, before, path), calls, outputs, after);
            }
            (Step::CallTools(_), Input::Ask(places)) => {
                let asked = places.iter().map(|place| AskedCall { place: *place, repeats: None });
                InputKind::ApprovalAsked { calls: asked.collect() }
            }
            (_, Input::Decide(id, answer)) => {
                let (id, answer) = (id.as_str().into(), answer.clone());
                InputKind::HumanAnswered { id, answer, by: None }
            }
            (_, Input::Join) => InputKind::Joined,
            (Step::HandOff(handoff), Input::Take) => match handoff.stands(relay, AT) {
                true => InputKind::HandoffCommitted { hop: Box::new(handoff.hop_at(AT)) },
                false => InputKind::HandoffReconsidered,
            },
            (_, Input::Hear(_, words)) => {
                InputKind::TurnReceived { key: None, text: words.as_str().into(), trace: None, begun: false }
            }
            // What cannot be tried again is no input.
            (Step::Done(done), Input::Retry) if done.clone().retry(relay).is_err() => return,
            (_, Input::Retry) => InputKind::Retried,
            (step, input) => panic!("{input:?} is no input of {step:?}"),
        };
        self.goes_on(before, path, what, after);
    }

    /// Tools have run: all intents come first, and then the outputs, in some order.
    fn ran(
        &mut self,
        (relay, before, path): (&Relay, &Step, &str),
        calls: &CallTools,
        outputs: &[ToolOutput],
        after: &Step,
    ) {
        let places: Vec<usize> = calls.calls().map(|(place, _)| place).collect();
        for place in &places {
            let intent = calls.intent(relay, *place, self.replay.chronicle()).unwrap();
            self.tell(told(path, intent));
        }
        let mut said: Vec<InputKind> = places
            .iter()
            .zip(outputs)
            .map(|(place, output)| InputKind::tool_output(*place, output.clone()))
            .collect();
        let first = drawn(&calls.scope()) % said.len().max(1);
        said.rotate_left(first);
        let Some(last) = said.pop() else {
            self.coverage.saw("tools skipped");
            return self.goes_on(before, path, InputKind::ToolsSkipped, after);
        };
        for one in said {
            self.keep(&input(path, one));
            let step = self.replay.step().unwrap();
            let loaded = self.relay.load(&step.save().unwrap());
            assert_eq!(loaded.as_ref(), Ok(step), "a step with some of its outputs is loaded as it was");
            self.ends_here(None);
            assert_eq!(
                self.replay.owed().collect::<Vec<_>>(),
                [],
                "nothing follows from one of several outputs"
            );
        }
        self.goes_on(before, path, last, after);
    }

    fn goes_on(&mut self, before: &Step, path: &str, what: InputKind, after: &Step) {
        let (_, was) = find(self.relay, before, path).unwrap();
        let glimpse = was.glimpse();
        self.takes(after, input(path, what), &glimpse);
    }

    /// The tree is `after` the input, and what has followed is written down.
    fn takes(&mut self, after: &Step, input: crate::Input, before: &Glimpse) {
        let (_, is) = after.at(self.relay, &input.run).unwrap();
        let mut followed = is.announced_since(before, &input);
        self.keep(&input);
        assert_eq!(self.replay.step(), Some(after), "the run from its records is the run");
        while !followed.is_empty() {
            let mut owed: Vec<Announced> = self.replay.owed().collect();
            let by_run = |told: &Announced| told.run.clone();
            let mut expected = followed.clone();
            owed.sort_by_key(by_run);
            expected.sort_by_key(by_run);
            assert_eq!(owed, expected, "what follows and is not on record is owed");
            self.ends_here(Some(after));
            self.tell(followed.remove(0));
        }
        assert_eq!(self.replay.owed().collect::<Vec<_>>(), [], "what is on record is not owed");
        self.ends_here(Some(after));
        self.auditor.sees(self.relay, after);
    }

    fn keep(&mut self, input: &crate::Input) {
        self.auditor.reads(input);
        self.write(input.what.name(), input.body().unwrap());
    }

    fn tell(&mut self, told: Announced) {
        self.auditor.is_told(&told);
        self.write(told.what.name(), told.body().unwrap());
    }

    fn write(&mut self, kind: &'static str, body: String) {
        self.replay.read(kind, ENTRY_VERSION, &body).unwrap();
        self.written.push((kind, body));
    }

    /// The process ends here, if it is to: what is on record is all that is left of it.
    fn ends_here(&mut self, step: Option<&Step>) {
        if self.written.len() != self.last {
            return;
        }
        let owed: Vec<Announced> = self.replay.owed().collect();
        self.coverage.saw(match owed.is_empty() {
            true => "cut after all that was told",
            false => "cut between an input and what followed",
        });
        let mut replay = Replay::new(self.relay, ROOT);
        for (kind, body) in &self.written {
            replay.read(kind, ENTRY_VERSION, body).unwrap();
        }
        assert_eq!(replay.step(), step.or(self.replay.step()), "the records lead to where the run was");
        assert_eq!(replay.owed().collect::<Vec<_>>(), owed);
        assert_eq!(replay.chronicle(), self.replay.chronicle());
        self.replay = replay;
    }

    /// The scenario is over.
    pub(super) fn end(&self, step: &Step) {
        self.auditor.sees_all(self.relay, step);
    }
}

fn input(path: &str, what: InputKind) -> crate::Input {
    crate::Input { run: path.into(), at: AT, what }
}

fn told(path: &str, what: Announcement) -> Announced {
    Announced { run: path.into(), at: AT, what }
}
