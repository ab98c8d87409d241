//! A story from the records of a journal.

use std::collections::BTreeMap;

use sommelier_handoff::{
    Announced, Announcement, Answer, Asks, Divergence, Entry, Hop as HopOnRecord, HopOutcome, Input,
    InputKind, Link, LinkOutcome, Measure, Millis, Relay, Replay, Run, Step,
};
use sommelier_protocol::{Message, ModelResponse};
use sommelier_runner::journal::{Event, LEASE_TAKEN, Record};

use crate::draft::{Draft, json};
use crate::routes;
use crate::story::{
    Ask, Decision, Finding, Hop, Kind, Outcome, Passage, Piece, Question, Source, Spent, Story, What,
};

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
        reader.draft.story.source = Source::Journal { records: records.len(), told };
        Ok(reader.finish())
    }
}

/// Reads records, one after the other.
struct Reader<'r> {
    relay: &'r Relay,
    conversation: &'r str,
    replay: Replay<'r>,
    draft: Draft,
    /// When the open request of each run was made, and how often its call was tried.
    requested: BTreeMap<String, (Millis, u32)>,
    /// When the open calls of each run were begun, by place.
    begun: BTreeMap<(String, usize), Millis>,
    /// How many of the links of each run have been told.
    linked: BTreeMap<String, usize>,
    /// Who answers each question, where they are named.
    answers: BTreeMap<String, String>,
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
    left_behind: Vec<Piece>,
}

impl<'r> Reader<'r> {
    fn new(relay: &'r Relay, conversation: &'r str, records: &[Record]) -> Self {
        let mut draft = Draft::default();
        draft.story.title = conversation.to_owned();
        draft.user();
        Self {
            relay,
            conversation,
            replay: Replay::new(relay, conversation),
            draft,
            requested: BTreeMap::new(),
            begun: BTreeMap::new(),
            linked: BTreeMap::new(),
            answers: records.iter().filter_map(|record| named_answer(&record.event)).collect(),
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
                let before = self.before(&input);
                self.replay.take((*input).clone())?;
                self.tell(&input, before);
            }
            Entry::Announced(told) => {
                self.last = self.last.max(told.at);
                self.replay.compare((*told).clone())?;
                self.announce(&told);
            }
        }
        Ok(())
    }

    /// The step of a run of the tree.
    fn step(&self, run: &str) -> Option<&Step> {
        self.replay.step()?.at(self.relay, run).map(|(_, step)| step)
    }

    fn before(&self, input: &Input) -> Before {
        let Some(step) = self.step(&input.run) else { return Before::default() };
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
            (Step::HandOff(handoff), InputKind::HandoffCommitted { .. }) => pieces(handoff.messages()),
            _ => Vec::new(),
        };
        Before { agent, call, left_behind }
    }

    /// Tells what came in.
    fn tell(&mut self, input: &Input, before: Before) {
        let (run, at, at_us) = (&*input.run, input.at, micros(input.at));
        let agent = |this: &mut Self| this.draft.agent(run, &before.agent);
        match &input.what {
            InputKind::Opened { agent, .. } => {
                self.draft.agent(run, agent.as_str());
            }
            InputKind::TurnReceived { text, .. } => self.spoken(run, at, text),
            InputKind::ModelResponded { response } => {
                let agent = agent(self);
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
                let begun = self.begun.remove(&(run.to_owned(), *place));
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

    fn spoken(&mut self, run: &str, at: Millis, text: &str) {
        self.spoke = at;
        let hears = self.step(run).map(|step| step.run().active().to_string()).unwrap_or_default();
        let (from, to) = (self.draft.user(), self.draft.agent(run, &hears));
        self.draft.event(micros(at), run, What::Said { from, to, text: Some(text.to_owned()) });
    }

    fn replied(&mut self, run: &str, at: Millis, agent: usize, reply: &ModelResponse) {
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
    fn took(&mut self, run: &str, at: Millis) -> Option<u64> {
        self.requested.remove(run).map(|(asked, _)| micros(at.saturating_sub(asked)))
    }

    /// What follows from a reply without a record of its own: questions to delegates, and a turn that comes back.
    fn after_reply(&mut self, run: &str, at: Millis, agent: usize) {
        let Some(step) = self.step(run) else { return };
        let now = step.run().active().to_string();
        let branches = match step {
            Step::Delegate(delegation) => delegation.branches(),
            _ => &[],
        };
        let opened: Vec<_> = branches
            .iter()
            .map(|branch| {
                let (path, from, tool) =
                    (branch.path().to_owned(), branch.from().to_string(), branch.tool().to_string());
                (path, from, tool, branch.step().run().active().to_string(), branch.package().clone())
            })
            .collect();
        for (path, from, tool, to, package) in opened {
            self.draft.branch(&path, run, &tool);
            let question = Question {
                from: self.draft.agent(run, &from),
                to: Some(self.draft.agent(&path, &to)),
                id: path,
                tool,
                at_us: micros(at),
                until_us: None,
                package_bytes: package.bytes() as u64,
                package: Some(json(&package.to_json())),
                outcome: Finding::Open,
            };
            self.draft.question(run, question);
        }
        self.new_links(run).iter().for_each(|link| self.link(run, link));
        let back = self.draft.agent(run, &now);
        if back != agent {
            self.draft.event(micros(at), run, What::CameBack { from: agent, to: back });
        }
    }

    /// The links of a run that have come since it was looked at last.
    fn new_links(&mut self, run: &str) -> Vec<Link> {
        let links = self.step(run).map(|step| step.run().links()).unwrap_or_default();
        let told = self.linked.get(run).copied().unwrap_or_default();
        let new = links.get(told..).unwrap_or_default().to_vec();
        let count = links.len();
        self.linked.insert(run.to_owned(), count);
        new
    }

    fn joined(&mut self, run: &str, at: Millis) {
        for link in self.new_links(run) {
            self.link(run, &link);
        }
        // What the answers of branches led to in the run that asked is told as of a reply.
        let Some(agent) = self.step(run).map(|step| step.run().active().to_string()) else { return };
        let agent = self.draft.agent(run, &agent);
        self.after_reply(run, at, agent);
    }

    /// What came of a question.
    fn link(&mut self, run: &str, link: &Link) {
        let asked = self.draft.story.questions.iter().position(|question| question.id == *link.id);
        match &link.outcome {
            LinkOutcome::Returned { at, result, run: done } => {
                let Some(place) = asked else { return };
                let is_told = self.is_returned(place);
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
                if !is_told {
                    let by = self.draft.agent(&link.id, done.run().active().as_str());
                    self.draft.event(micros(*at), run, What::Returned { question: place, by });
                }
            }
            LinkOutcome::Refused { refusal } if asked.is_none() => {
                let question = Question {
                    id: link.id.to_string(),
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
                self.draft.question(run, question);
            }
            LinkOutcome::Refused { .. } => {}
        }
    }

    fn is_returned(&self, place: usize) -> bool {
        let is_it = |what: &What| matches!(what, What::Returned { question, .. } if *question == place);
        self.draft.story.events.iter().any(|event| is_it(&event.what))
    }

    fn handed_over(&mut self, run: &str, hop: &HopOnRecord, left_behind: Vec<Piece>) {
        let hop = self.hop(run, hop, left_behind);
        self.draft.hop(hop);
    }

    fn hop(&mut self, run: &str, hop: &HopOnRecord, left_behind: Vec<Piece>) -> Hop {
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
            run: run.to_owned(),
            number,
            from,
            to,
            to_name: hop.to.to_string(),
            at_us: micros(hop.at),
            package_bytes: hop.package_bytes as u64,
            history_bytes: hop.history_bytes as u64,
            reference_bytes: package.map_or(0, |package| package.bytes_by_reference() as u64),
            package: package.map(|package| json(&package.to_json())),
            left_behind,
            outcome,
            end: None,
            open_items: Vec::new(),
        }
    }

    fn answered(&mut self, run: &str, at: Millis, id: &str, answer: &Answer, by: Option<&str>) {
        let Some(place) = self.draft.story.asks.iter().position(|ask| ask.id == id) else { return };
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
    fn announce(&mut self, told: &Announced) {
        let (run, at) = (&*told.run, told.at);
        match &told.what {
            Announcement::ModelRequested { agent, attempt, .. } => {
                let agent = self.draft.agent(run, agent.as_str());
                if *attempt > 1 {
                    let note = format!("asked again, attempt {attempt}");
                    self.draft.note(micros(at), run, Some(agent), &note, None);
                }
                self.requested.insert(run.to_owned(), (at, *attempt));
            }
            Announcement::ToolIntended { place, .. } => {
                self.begun.insert((run.to_owned(), *place), at);
            }
            Announcement::HandoffRefused { hop, .. } => self.refused(run, hop),
            Announcement::ObligationClosed { hop, how, open } => {
                let hops = self.draft.story.hops.iter_mut();
                for told in hops.filter(|told| told.id.as_deref() == Some(hop) && told.number.is_some()) {
                    told.end = Some(how.as_str().to_owned());
                    told.open_items = open.iter().map(ToString::to_string).collect();
                }
            }
            Announcement::ObligationReopened { hop } => {
                let hops = self.draft.story.hops.iter_mut();
                hops.filter(|told| told.id.as_deref() == Some(hop)).for_each(|told| told.end = None);
            }
            Announcement::Escalated { questions } => {
                let ids: Vec<&str> = questions.iter().map(|asked| &*asked.id).collect();
                self.escalated(run, at, &ids);
            }
            Announcement::Closed { end, answer, .. } => self.closed(run, at, end, answer.as_deref()),
            Announcement::Planned { .. } | Announcement::ReceiverAccepted { .. } => {}
        }
    }

    fn refused(&mut self, run: &str, id: &str) {
        let hops = self.step(run).map(|step| step.run().trail().hops()).unwrap_or_default();
        let is_it = |hop: &&HopOnRecord| *hop.id == *id && !hop.outcome.is_taken();
        let Some(hop) = hops.iter().rev().find(is_it).cloned() else { return };
        let hop = self.hop(run, &hop, Vec::new());
        let is_told = |told: &Hop| told.id == hop.id && told.outcome == hop.outcome;
        if !self.draft.story.hops.iter().any(is_told) {
            self.draft.hop(hop);
        }
    }

    fn escalated(&mut self, run: &str, at: Millis, ids: &[&str]) {
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
            self.draft.story.asks.push(ask);
            self.draft.event(micros(at), run, What::Waited { ask: self.draft.story.asks.len() - 1 });
        }
    }

    /// Who will answer a question: drawn once, and not as somebody else while it is open.
    fn who_answers(&self, id: &str) -> String {
        self.answers.get(id).map_or(SOMEBODY, |by| by).to_owned()
    }

    fn closed(&mut self, run: &str, at: Millis, end: &str, answer: Option<&str>) {
        if run != self.conversation {
            let asked = self.draft.story.questions.iter().position(|question| question.id == run);
            let Some(place) = asked.filter(|place| !self.is_returned(*place)) else { return };
            if let Some(question) = self.draft.story.questions.get_mut(place) {
                question.until_us = Some(micros(at));
            }
            let asker = run.rsplitn(4, '/').last().unwrap_or_default();
            let by = self.step(run).map(|step| step.run().active().to_string()).unwrap_or_default();
            let by = self.draft.agent(run, &by);
            self.draft.event(micros(at), asker, What::Returned { question: place, by });
            return;
        }
        let agent = self.step(run).map(|step| step.run().active().to_string());
        let agent = agent.map(|agent| self.draft.agent(run, &agent));
        let (end, text) = (end.to_owned(), answer.map(str::to_owned));
        self.draft.event(micros(at), run, What::Ended { agent, end, text });
    }

    fn is_over(&self, run: &str) -> bool {
        matches!(self.step(run), Some(Step::Done(_)))
    }

    fn finish(self) -> Story {
        let Self { relay, replay, mut draft, spoke, last, .. } = self;
        let step = replay.step();
        draft.story.outcome = outcome(step);
        if let Some(step) = step {
            draft.story.budget = budget(relay, step.run(), last.saturating_sub(spoke));
        }
        let relays = routes::all(relay, |place| draft.has_place(place));
        draft.finish(relays)
    }
}

/// The question that a record answers, and who does.
fn named_answer(event: &Event) -> Option<(String, String)> {
    if event.kind() != "human_answered" {
        return None;
    }
    let Ok(Entry::Input(input)) = Entry::read(event.kind(), event.version(), event.body()) else {
        return None;
    };
    match input.what {
        InputKind::HumanAnswered { id, by: Some(by), .. } => Some((id.into(), by.into())),
        _ => None,
    }
}

/// Where the run stands.
fn outcome(step: Option<&Step>) -> Outcome {
    let named = |status: &str| Outcome { status: status.to_owned(), answer: None, why: None };
    match step {
        None => named("opened"),
        Some(Step::Done(done)) => {
            let (status, said) = (done.end().as_str(), done.end().to_string());
            let why = said.strip_prefix(status).map(|why| why.trim_start_matches(": ").to_owned());
            Outcome {
                status: status.to_owned(),
                answer: done.answer(),
                why: why.filter(|why| !why.is_empty()),
            }
        }
        Some(step) if step.is_at_rest() => named("waiting"),
        Some(_) => named("open"),
    }
}

/// What was used since the user spoke, of what there was.
fn budget(relay: &Relay, run: &Run, millis: Millis) -> Vec<Spent> {
    let spent = |measure: &str, used, allowed| Spent { measure: measure.to_owned(), used, allowed };
    let mut budget = Vec::new();
    for measure in [Measure::ModelCalls, Measure::ToolCalls, Measure::Tokens, Measure::Hops] {
        if let (Some(given), Some(left)) = (run.given(measure), run.left(measure)) {
            budget.push(spent(&measure.to_string(), given.saturating_sub(left), Some(given)));
        }
    }
    if let Some(given) = run.given(Measure::Millis) {
        budget.push(spent(&Measure::Millis.to_string(), millis, Some(given)));
    }
    let (trail, guards) = (run.trail(), relay.guards());
    let taken = trail.count_since_user().into();
    budget.push(spent("handoffs, by the cap of the guards", taken, Some(guards.max_handoffs.into())));
    if let Some(most) = guards.max_handoffs_per_conversation {
        budget.push(spent("handoffs in the whole conversation", trail.count().into(), Some(most.into())));
    }
    budget
}

/// What stays behind: the messages of the sender, one piece each, but for the one by which it hands over.
fn pieces(messages: &[Message]) -> Vec<Piece> {
    let messages = messages.split_last().map(|(_, before)| before).unwrap_or_default();
    let piece = |message: &Message| {
        let names: Vec<&str> = message.tool_uses().map(|call| call.name()).collect();
        let results = message.tool_results().count();
        let what = match (names.is_empty(), results) {
            (false, _) => format!("reply that calls {}", names.join(", ")),
            (true, 0) if message.role == sommelier_protocol::Role::Assistant => "reply".to_owned(),
            (true, 0) => "what it was told".to_owned(),
            (true, 1) => "result of a tool".to_owned(),
            (true, _) => format!("results of {results} tools"),
        };
        Piece { what, bytes: message.wire_len() as u64 }
    };
    let mut pieces: Vec<Piece> = messages.iter().map(piece).collect();
    if !pieces.is_empty() {
        let what = "the brackets of the list and the commas in it".to_owned();
        pieces.push(Piece { what, bytes: pieces.len() as u64 + 1 });
    }
    pieces
}

/// Who allowed a call, or did not, as far as the records say.
fn approval(is_approved: bool, has_begun: bool, error: Option<&str>) -> Option<String> {
    match error {
        _ if is_approved => Some("approved_by_person".to_owned()),
        Some("approval_denied") if !has_begun => Some("denied".to_owned()),
        _ => None,
    }
}

/// What a question is about, in a few words, and all of it.
fn asked_about(asks: &Asks) -> (String, Option<String>) {
    match asks {
        Asks::Tool { tool, input, .. } | Asks::InDoubt { tool, input, .. } => {
            (tool.to_string(), Some(input.get().to_owned()))
        }
        Asks::Repeat { tool, input, earlier, .. } => {
            (tool.to_string(), Some(format!("{}\nearlier: {earlier}", input.get())))
        }
        Asks::Handoff { to, package, .. } => (to.to_string(), Some(package.to_json())),
        Asks::Words { question, choices, .. } => {
            let choices = (!choices.is_empty()).then(|| choices.join(" | "));
            (question.to_string(), choices)
        }
        Asks::Escalation { refusal } => (refusal.guard().as_str().to_owned(), Some(refusal.to_string())),
    }
}

fn words_of(answer: &Answer) -> Option<&str> {
    match answer {
        Answer::Reject { reason } => Some(reason),
        Answer::Say { text } => Some(text),
        Answer::TakeOver { note } => Some(note),
        Answer::Happened { result } => Some(result),
        Answer::Approve | Answer::DidNotHappen | Answer::Undone => None,
    }
}

fn micros(millis: Millis) -> u64 {
    millis.saturating_mul(1000)
}
