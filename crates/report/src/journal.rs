//! A story from the records of a journal.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use sommelier_handoff::{
    Announced, Announcement, Answer, Chronicle, Divergence, Entry, Hop as HopOnRecord, HopOutcome, Input,
    InputKind, Link, LinkOutcome, Millis, Relay, Replay, Step,
};
use sommelier_protocol::ModelResponse;
use sommelier_runner::journal::{LEASE_TAKEN, Record};

use crate::draft::{Draft, json};
use crate::reading::{
    Kept, approval, asked_about, asks_for_a_handoff, branches, budget, done, last_budget, micros,
    named_answer, outcome, words_of,
};
use crate::routes;
use crate::shown::duration;
use crate::story::{Ask, Decision, Finding, Hop, Kind, Passage, Question, Source, Story, What};

/// What a person is called whom nobody has named.
const SOMEBODY: &str = "a person";

impl Story {
    /// The story of a conversation in `relay`, by its records in order. Records that do not follow from those before, or are
    /// not known to this release, end it: what is told goes as far as that, and a remark says so.
    ///
    /// # Errors
    /// [`Divergence`] when it is another definition that the conversation began with: nothing of it can be told then.
    pub fn of_run(relay: &Relay, conversation: &str, records: &[Record]) -> Result<Self, Divergence> {
        let mut reader = Reader::new(relay, conversation, records);
        let mut told = 0;
        for record in records {
            match reader.read(record) {
                Ok(()) => told += 1,
                Err(why @ Divergence::OtherDefinition(_)) => return Err(why),
                Err(why) => {
                    let remark =
                        format!("Record {} does not follow, so the story ends there: {why}.", record.seq);
                    reader.draft.story.remarks.push(remark);
                    break;
                }
            }
        }
        let by_time = records.iter().take(told).map(|record| (record.seq, record.event.at()));
        reader.draft.story.remarks.extend(went_back(by_time));
        reader.draft.story.source = Source::Journal { records: records.len(), told };
        Ok(reader.finish())
    }
}

/// A clock that goes back by less than this may be another process's, and confuses nobody.
const SLIGHT: Millis = 1_000;

/// That the clock has gone back between two of these records, the furthest that it has.
fn went_back(records: impl Iterator<Item = (u64, Millis)> + Clone) -> Option<String> {
    let steps = records.clone().zip(records.skip(1));
    let back = steps.map(|((_, before), (seq, at))| (before.saturating_sub(at), seq));
    let (by, seq) = back.filter(|(by, _)| *by >= SLIGHT).max_by_key(|(by, seq)| (*by, Reverse(*seq)))?;
    let by = duration(micros(by));
    Some(format!(
        "The clock went back by {by} before record {seq}, so times from before and after it cannot be compared."
    ))
}

/// Reads records, one after the other.
struct Reader<'r> {
    relay: &'r Relay,
    replay: Replay<'r>,
    draft: Draft,
    /// The relay of each branch.
    relays: BTreeMap<usize, &'r Relay>,
    /// When the open request of each run was made.
    requested: BTreeMap<usize, Millis>,
    /// When the open calls of each run were begun, by place.
    begun: BTreeMap<(usize, usize), Millis>,
    /// How many of the links of each run have been told.
    linked: BTreeMap<usize, usize>,
    /// The pieces of each sender's conversation before its newest reply, where that asks for a handoff.
    kept: BTreeMap<usize, Kept>,
    /// The questions whose return has been told.
    returned: BTreeSet<usize>,
    /// The hops by their ids: one may be refused more than once, and taken in the end.
    hops: BTreeMap<String, Vec<usize>>,
    /// What people were asked, by its id.
    asks: BTreeMap<String, usize>,
    /// Who answers each question, where they are named.
    answers: BTreeMap<String, String>,
    /// What tools have done.
    chronicle: Chronicle,
    /// When the user spoke last.
    spoke: Millis,
    last: Millis,
}

/// What has to be known of a run before an input comes to it.
#[derive(Default)]
struct Before {
    agent: String,
    /// The tool that is meant by a place, with its arguments, and whether a person has allowed it.
    call: Option<(String, String, bool)>,
    left_behind: Kept,
}

impl<'r> Reader<'r> {
    fn new(relay: &'r Relay, conversation: &'r str, records: &[Record]) -> Self {
        let mut draft = Draft::default();
        draft.story.title = conversation.to_owned();
        draft.user();
        draft.run(conversation);
        Self {
            relay,
            replay: Replay::new(relay, conversation),
            draft,
            relays: BTreeMap::new(),
            requested: BTreeMap::new(),
            begun: BTreeMap::new(),
            linked: BTreeMap::new(),
            kept: BTreeMap::new(),
            returned: BTreeSet::new(),
            hops: BTreeMap::new(),
            asks: BTreeMap::new(),
            answers: records.iter().filter_map(|record| named_answer(&record.event)).collect(),
            chronicle: Chronicle::default(),
            spoke: 0,
            last: 0,
        }
    }

    fn read(&mut self, record: &Record) -> Result<(), Divergence> {
        let event = &record.event;
        if event.kind() == LEASE_TAKEN {
            return Ok(());
        }
        match Entry::read(event.kind(), event.version(), event.body())? {
            Entry::Input(input) => {
                self.last = self.last.max(input.at);
                let run = self.draft.run(&input.run);
                let before = self.before(run, &input);
                self.replay.take((*input).clone())?;
                self.chronicle.note_input(&input);
                self.tell(run, &input, before);
            }
            Entry::Announced(told) => {
                self.last = self.last.max(told.at);
                self.replay.compare((*told).clone())?;
                self.chronicle.note_announced(&self.draft.story.title, &told);
                let run = self.draft.run(&told.run);
                self.announce(run, &told);
            }
        }
        Ok(())
    }

    /// The step of a run of the tree.
    fn step(&self, run: usize) -> Option<&Step> {
        let path = &self.draft.story.runs.get(run)?.path;
        self.replay.step()?.at(self.relay, path).map(|(_, step)| step)
    }

    fn before(&self, run: usize, input: &Input) -> Before {
        let Some(step) = self.step(run) else { return Before::default() };
        let agent = step.run().active().to_string();
        let call = match (step, &input.what) {
            (
                Step::CallTools(calls),
                InputKind::ToolCompleted { place, .. } | InputKind::ToolFailed { place, .. },
            ) => calls.calls().find(|(at, _)| at == place).map(|(_, call)| {
                (call.name().to_owned(), call.input().get().to_owned(), calls.is_approved(*place))
            }),
            _ => None,
        };
        let left_behind = match (step, &input.what) {
            (Step::HandOff(handoff), InputKind::HandoffCommitted { .. }) => {
                // The last is the reply by which it hands over.
                let messages = handoff.messages().split_last().map(|(_, before)| before);
                Kept::of(messages.unwrap_or_default())
            }
            (Step::CallModel(call), InputKind::ModelResponded { response })
                if asks_for_a_handoff(response) =>
            {
                Kept::of(&call.request(self.relay_of(run)).messages)
            }
            _ => Kept::default(),
        };
        Before { agent, call, left_behind }
    }

    /// Tells what came in.
    fn tell(&mut self, run: usize, input: &Input, before: Before) {
        let (at, at_us) = (input.at, micros(input.at));
        let agent = |this: &mut Self| this.draft.agent(run, &before.agent);
        match &input.what {
            InputKind::Opened { agent, .. } => {
                self.draft.agent(run, agent.as_str());
            }
            InputKind::TurnReceived { text, .. } => self.spoken(run, at, text),
            InputKind::ModelResponded { response } => {
                let agent = agent(self);
                self.kept.insert(run, before.left_behind);
                self.replied(run, at, agent, response);
                self.after_reply(run, at, agent);
            }
            InputKind::ModelFailed { error } => {
                let (agent, took_us) = (agent(self), self.took(run, at));
                let (model, text, calls) = (None, None, Vec::new());
                let error = Some(error.to_string());
                let (input_tokens, output_tokens) = (None, None);
                let what = What::Replied { agent, model, text, calls, input_tokens, output_tokens, error };
                self.draft.timed(at_us, took_us, run, what);
            }
            InputKind::ToolCompleted { place, output } | InputKind::ToolFailed { place, output } => {
                let agent = agent(self);
                let (tool, arguments, is_approved) = before.call.unwrap_or_default();
                let begun = self.begun.remove(&(run, *place));
                let error = output.error.as_deref().map(str::to_owned);
                let what = What::Ran {
                    agent,
                    tool,
                    input: Some(arguments),
                    output: Some(output.content.to_string()),
                    approval: approval(is_approved, begun.is_some(), error.as_deref()),
                    error,
                };
                let took = begun.map(|begun| micros(at.saturating_sub(begun)));
                self.draft.timed(at_us, took, run, what);
            }
            InputKind::HandoffCommitted { hop } => self.handed_over(run, hop, before.left_behind),
            InputKind::Joined => self.joined(run, at),
            InputKind::HumanAnswered { id, answer, by } => self.answered(run, at, id, answer, by.as_deref()),
            InputKind::Cancelled { reason, .. } => {
                self.draft.note(at_us, run, None, "called off", Some(reason.to_string()));
            }
            InputKind::Deadline { .. } if self.is_over(run) => {
                self.draft.note(at_us, run, None, "the time is over", None);
            }
            InputKind::ToolsSwitched { agent, tool, on } => {
                let note = format!("{tool} switched {}", if *on { "on" } else { "off" });
                let agent = self.draft.known(run, agent.as_str());
                self.draft.note(at_us, run, agent, &note, None);
            }
            InputKind::ArtifactPut { name, value } => {
                self.draft.note(
                    at_us,
                    run,
                    None,
                    &format!("artifact {name} put"),
                    Some(value.get().to_owned()),
                );
            }
            InputKind::MoreGiven { .. } => self.draft.note(at_us, run, None, "more given", None),
            InputKind::Retried => self.draft.note(at_us, run, None, "tried again", None),
            InputKind::HandoffReconsidered => {
                let agent = agent(self);
                self.draft.note(at_us, run, Some(agent), "the handoff did not stand any more", None);
            }
            InputKind::ToolsSkipped => {
                let agent = agent(self);
                self.draft.note(at_us, run, Some(agent), "no tool was left to run", None);
            }
            InputKind::ApprovalAsked { .. } | InputKind::ToolInDoubt { .. } | InputKind::Deadline { .. } => {}
        }
    }

    fn spoken(&mut self, run: usize, at: Millis, text: &str) {
        self.spoke = at;
        let hears = self.step(run).map(|step| step.run().active().to_string()).unwrap_or_default();
        let (from, to) = (self.draft.user(), self.draft.agent(run, &hears));
        self.draft.event(micros(at), run, What::Said { from, to, text: Some(text.to_owned()) });
    }

    fn replied(&mut self, run: usize, at: Millis, agent: usize, reply: &ModelResponse) {
        let texts: Vec<&str> = reply.content.iter().filter_map(|block| block.as_text()).collect();
        let calls = reply.content.iter().filter_map(|block| block.as_tool_use());
        let what = What::Replied {
            agent,
            model: Some(reply.model.to_string()).filter(|model| !model.is_empty()),
            text: Some(texts.join("\n")).filter(|text| !text.is_empty()),
            calls: calls.map(|call| call.name().to_owned()).collect(),
            input_tokens: Some(reply.usage.total_input_tokens()),
            output_tokens: Some(reply.usage.output_tokens),
            error: None,
        };
        let took_us = self.took(run, at);
        self.draft.timed(micros(at), took_us, run, what);
    }

    /// How long the open request of a run took.
    fn took(&mut self, run: usize, at: Millis) -> Option<u64> {
        self.requested.remove(&run).map(|asked| micros(at.saturating_sub(asked)))
    }

    /// What follows from a reply without a record of its own: questions to delegates, and a turn that comes back.
    fn after_reply(&mut self, run: usize, at: Millis, agent: usize) {
        let Some(step) = self.step(run) else { return };
        let now = step.run().active().to_string();
        let opened: Vec<_> = branches(step)
            .iter()
            .map(|branch| {
                let (path, from, tool) =
                    (branch.path().to_owned(), branch.from().to_string(), branch.tool().to_string());
                (path, from, tool, branch.step().run().active().to_string(), branch.package().clone())
            })
            .collect();
        for (path, from, tool, to, package) in opened {
            let inner = self.relay_of(run).delegate(&from, &tool);
            let branch = self.draft.branch(&path, run, &tool);
            self.relays.extend(inner.map(|inner| (branch, inner)));
            let question = Question {
                run,
                branch: Some(branch),
                from: self.draft.agent(run, &from),
                to: Some(self.draft.agent(branch, &to)),
                id: path,
                tool,
                at_us: micros(at),
                until_us: None,
                package_bytes: package.bytes() as u64,
                package: Some(json(&package.to_json())),
                outcome: Finding::Open,
            };
            self.draft.question(question);
        }
        self.new_links(run).iter().for_each(|link| self.link(run, link));
        let back = self.draft.agent(run, &now);
        if back != agent {
            self.draft.event(micros(at), run, What::CameBack { from: agent, to: back });
        }
    }

    /// The links of a run that have come since it was looked at last.
    fn new_links(&mut self, run: usize) -> Vec<Link> {
        let links = self.step(run).map(|step| step.run().links()).unwrap_or_default();
        let told = self.linked.get(&run).copied().unwrap_or_default();
        let new = links.get(told..).unwrap_or_default().to_vec();
        let count = links.len();
        self.linked.insert(run, count);
        new
    }

    fn joined(&mut self, run: usize, at: Millis) {
        for link in self.new_links(run) {
            self.link(run, &link);
        }
        // What the answers of branches led to in the run that asked is told as of a reply.
        let Some(agent) = self.step(run).map(|step| step.run().active().to_string()) else { return };
        let agent = self.draft.agent(run, &agent);
        self.after_reply(run, at, agent);
    }

    /// What came of a question.
    fn link(&mut self, run: usize, link: &Link) {
        let asked = self.draft.asked(&link.id);
        match &link.outcome {
            LinkOutcome::Returned { at, result, run: done } => {
                let Some(place) = asked else { return };
                let branch = self.draft.run(&link.id);
                let used = last_budget(self.relay_of(branch), done.run(), at.saturating_sub(link.at));
                if let Some(branch) = self.draft.story.runs.get_mut(branch) {
                    branch.budget = used;
                }
                if let Some(question) = self.draft.story.questions.get_mut(place) {
                    question.until_us.get_or_insert(micros(*at));
                    question.outcome = Finding::Returned {
                        status: result.status.as_str().to_owned(),
                        end: Some(done.end().to_string()),
                        finding: result.finding.as_deref().map(str::to_owned),
                        reason: result.reason.as_deref().map(str::to_owned),
                        steps: result.steps_used.into(),
                    };
                }
                if self.returned.insert(place) {
                    let by = self.draft.agent(branch, done.run().active().as_str());
                    self.draft.event(micros(*at), run, What::Returned { question: place, by });
                }
            }
            LinkOutcome::Refused { refusal } if asked.is_none() => {
                let question = Question {
                    id: link.id.to_string(),
                    run,
                    branch: None,
                    from: self.draft.agent(run, link.from.as_str()),
                    to: None,
                    tool: link.tool.to_string(),
                    at_us: micros(link.at),
                    until_us: None,
                    package: link.package.as_ref().map(|package| json(&package.to_json())),
                    package_bytes: link.package_bytes as u64,
                    outcome: Finding::Refused {
                        code: refusal.code().to_owned(),
                        detail: Some(refusal.to_string()),
                    },
                };
                self.draft.question(question);
            }
            LinkOutcome::Refused { .. } => {}
        }
    }

    /// The relay in which a run is held.
    fn relay_of(&self, run: usize) -> &'r Relay {
        self.relays.get(&run).copied().unwrap_or(self.relay)
    }

    fn handed_over(&mut self, run: usize, hop: &HopOnRecord, left_behind: Kept) {
        let hop = self.hop(run, hop, left_behind);
        self.told_hop(hop);
    }

    fn told_hop(&mut self, hop: Hop) {
        let id = hop.id.clone().unwrap_or_default();
        self.hops.entry(id).or_default().push(self.draft.story.hops.len());
        self.draft.hop(hop);
    }

    fn hop(&mut self, run: usize, hop: &HopOnRecord, left_behind: Kept) -> Hop {
        let from = self.draft.agent(run, hop.from.as_str());
        let (number, to, outcome) = match &hop.outcome {
            HopOutcome::Taken { number } => {
                (Some(u64::from(*number)), Some(self.draft.agent(run, &hop.to)), Passage::Taken)
            }
            HopOutcome::Refused { refusal } => {
                let refused = Passage::Refused {
                    guard: refusal.guard().as_str().to_owned(),
                    code: Some(refusal.code().to_owned()),
                    detail: Some(refusal.to_string()),
                };
                (None, self.draft.known(run, &hop.to), refused)
            }
        };
        let package = hop.package.as_ref();
        Hop {
            id: Some(hop.id.to_string()),
            run,
            number,
            from,
            to,
            to_name: hop.to.to_string(),
            at_us: micros(hop.at),
            package_bytes: hop.package_bytes as u64,
            history_bytes: hop.history_bytes as u64,
            reference_bytes: package.map_or(0, |package| package.bytes_by_reference() as u64),
            package: package.map(|package| json(&package.to_json())),
            left_behind: left_behind.pieces(hop.history_bytes as u64),
            outcome,
            end: None,
            open_items: Vec::new(),
        }
    }

    fn answered(&mut self, run: usize, at: Millis, id: &str, answer: &Answer, by: Option<&str>) {
        let Some(place) = self.asks.get(id).copied() else { return };
        if let Some(ask) = self.draft.story.asks.get_mut(place) {
            let text = words_of(answer).map(str::to_owned);
            let (word, by) = (answer.as_str().to_owned(), by.map(str::to_owned));
            ask.answer = Some(Decision { word, text, by, at_us: micros(at) });
        }
        self.draft.event(micros(at), run, What::Decided { ask: place });
        if let Some(agent) = self.step(run).map(|step| step.run().active().to_string()) {
            let agent = self.draft.agent(run, &agent);
            self.after_reply(run, at, agent);
        }
    }

    /// Tells what followed, and what was begun.
    fn announce(&mut self, run: usize, told: &Announced) {
        let at = told.at;
        match &told.what {
            Announcement::ModelRequested { agent, attempt, .. } => {
                let agent = self.draft.agent(run, agent.as_str());
                if *attempt > 1 {
                    let note = format!("asked again, attempt {attempt}");
                    self.draft.note(micros(at), run, Some(agent), &note, None);
                }
                self.requested.insert(run, at);
            }
            Announcement::ToolIntended { place, .. } => {
                self.begun.insert((run, *place), at);
            }
            Announcement::HandoffRefused { hop, .. } => self.refused(run, hop),
            Announcement::ObligationClosed { hop, how, open } => {
                self.each_hop(hop, |told| {
                    if told.number.is_some() {
                        told.end = Some(how.as_str().to_owned());
                        told.open_items = open.iter().map(ToString::to_string).collect();
                    }
                });
            }
            Announcement::ObligationReopened { hop } => {
                self.each_hop(hop, |told| told.end = None);
            }
            Announcement::Escalated { questions } => {
                let ids: Vec<&str> = questions.iter().map(|asked| &*asked.id).collect();
                self.escalated(run, at, &ids);
            }
            Announcement::Closed { end, answer, .. } => self.closed(run, at, end, answer.as_deref()),
            Announcement::Planned { .. } | Announcement::ReceiverAccepted { .. } => {}
        }
    }

    fn refused(&mut self, run: usize, id: &str) {
        let hops = self.step(run).map(|step| step.run().trail().hops()).unwrap_or_default();
        let is_it = |hop: &&HopOnRecord| *hop.id == *id && !hop.outcome.is_taken();
        let Some(hop) = hops.iter().rev().find(is_it).cloned() else { return };
        let kept = self.kept.get(&run).cloned().unwrap_or_default();
        let hop = self.hop(run, &hop, kept);
        let mut is_told = false;
        self.each_hop(id, |told| is_told |= told.outcome == hop.outcome);
        if !is_told {
            self.told_hop(hop);
        }
    }

    /// What was told of the hop of this id.
    fn each_hop(&mut self, id: &str, mut see: impl FnMut(&mut Hop)) {
        for place in self.hops.get(id).into_iter().flatten() {
            self.draft.story.hops.get_mut(*place).into_iter().for_each(&mut see);
        }
    }

    fn escalated(&mut self, run: usize, at: Millis, ids: &[&str]) {
        let questions = self.replay.step().map(Step::questions).unwrap_or_default();
        let asked: Vec<_> = questions
            .into_iter()
            .filter(|(_, question)| ids.contains(&&*question.id))
            .map(|(_, question)| question.clone())
            .collect();
        for question in asked {
            let (about, detail) = asked_about(&question.asks);
            let person = self.draft.part(Kind::Person, &self.who_answers(&question.id));
            let ask = Ask {
                from: self.draft.agent(run, question.from.as_str()),
                person,
                id: question.id.into(),
                asks: question.asks.as_str().to_owned(),
                about,
                detail,
                at_us: micros(at),
                answer: None,
            };
            self.asks.entry(ask.id.clone()).or_insert(self.draft.story.asks.len());
            self.draft.story.asks.push(ask);
            self.draft.event(micros(at), run, What::Waited { ask: self.draft.story.asks.len() - 1 });
        }
    }

    /// Who will answer a question: drawn once, and not as somebody else while it is open.
    fn who_answers(&self, id: &str) -> String {
        self.answers.get(id).map_or(SOMEBODY, |by| by).to_owned()
    }

    fn closed(&mut self, run: usize, at: Millis, end: &str, answer: Option<&str>) {
        if let Some(asker) = self.draft.story.runs.get(run).and_then(|it| it.within) {
            return self.branch_closed(run, asker, at);
        }
        let agent = self.step(run).map(|step| step.run().active().to_string());
        let agent = agent.map(|agent| self.draft.agent(run, &agent));
        let (end, text) = (end.to_owned(), answer.map(str::to_owned));
        self.draft.event(micros(at), run, What::Ended { agent, end, text });
    }

    fn branch_closed(&mut self, run: usize, asker: usize, at: Millis) {
        let asked = self.draft.story.runs.get(run).and_then(|it| self.draft.asked(&it.path));
        let Some(place) = asked.filter(|place| self.returned.insert(*place)) else { return };
        if let Some(question) = self.draft.story.questions.get_mut(place) {
            question.until_us = Some(micros(at));
        }
        let by = self.step(run).map(|step| step.run().active().to_string()).unwrap_or_default();
        let by = self.draft.agent(run, &by);
        self.draft.event(micros(at), asker, What::Returned { question: place, by });
    }

    fn is_over(&self, run: usize) -> bool {
        matches!(self.step(run), Some(Step::Done(_)))
    }

    fn finish(mut self) -> Story {
        for run in 0..self.draft.story.runs.len() {
            self.still_open(run);
        }
        let Self { relay, replay, mut draft, chronicle, spoke, last, .. } = self;
        draft.story.done = chronicle.effects().iter().chain(chronicle.in_doubt()).map(done).collect();
        let step = replay.step();
        draft.story.outcome = outcome(step);
        if let Some(step) = step {
            draft.story.budget = budget(relay, step, last.saturating_sub(spoke));
        }
        let relays = routes::all(relay, &draft.places);
        draft.finish(relays)
    }

    /// What a branch that is still open has used.
    fn still_open(&mut self, run: usize) {
        let Some(it) = self.draft.story.runs.get(run).filter(|it| it.within.is_some()) else { return };
        let asked = self.draft.asked(&it.path).and_then(|place| self.draft.story.questions.get(place));
        let since = asked.map(|question| question.at_us);
        if !it.budget.is_empty() {
            return;
        }
        let millis = self.last.saturating_sub(since.unwrap_or_default() / 1000);
        let used = self.step(run).map(|step| budget(self.relay_of(run), step, millis));
        if let (Some(used), Some(it)) = (used, self.draft.story.runs.get_mut(run)) {
            it.budget = used;
        }
    }
}
