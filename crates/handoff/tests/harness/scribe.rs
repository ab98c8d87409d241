//! Drives a conversation as a driver with a journal does: each input is written down with what follows from it, and what is
//! to be done outside is written down before.

use sommelier_handoff::{
    Announced, Announcement, AskedCall, Chronicle, Divergence, ENTRY_VERSION, Entry, Glimpse, Input,
    InputKind, Relay, Replay, Step,
};
use sommelier_runtime::Model;
use sommelier_runtime::tool::dispatch;

/// A record, as a journal keeps it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) kind: String,
    pub(crate) body: String,
}

impl Record {
    pub(crate) fn of(input: &Input) -> Self {
        Self { kind: input.what.name().to_owned(), body: input.body().unwrap() }
    }

    fn told(told: &Announced) -> Self {
        Self { kind: told.what.name().to_owned(), body: told.body().unwrap() }
    }

    pub(crate) fn read(&self) -> Entry {
        Entry::read(&self.kind, ENTRY_VERSION, &self.body).unwrap()
    }

    /// The record with these words in place of others, which must be there.
    #[track_caller]
    pub(crate) fn edited(&self, from: &str, to: &str) -> Self {
        assert!(self.body.contains(from), "{from} is not in {}", self.body);
        Self { kind: self.kind.clone(), body: self.body.replace(from, to) }
    }
}

/// The run of these records.
pub(crate) fn replay<'r>(relay: &'r Relay, records: &[Record]) -> Result<Replay<'r>, Divergence> {
    let mut replay = Replay::new(relay, "c");
    records.iter().try_for_each(|record| replay.read(&record.kind, ENTRY_VERSION, &record.body))?;
    Ok(replay)
}

/// A conversation that is driven, with its records.
pub(crate) struct Scribe<'a> {
    relay: &'a Relay,
    model: &'a dyn Model,
    step: Option<Step>,
    chronicle: Chronicle,
    clock: u64,
    pub(crate) records: Vec<Record>,
    /// Where the run stood when each record was there.
    pub(crate) stood: Vec<Option<Step>>,
}

impl<'a> Scribe<'a> {
    /// A conversation `c` without words.
    pub(crate) fn new(relay: &'a Relay, model: &'a dyn Model) -> Self {
        let (chronicle, records, stood) = (Chronicle::default(), Vec::new(), Vec::new());
        let mut scribe = Self { relay, model, step: None, chronicle, clock: 1000, records, stood };
        let (definition, agent) = (relay.definition_id().into(), relay.entry().clone());
        let opened = scribe.input("c", InputKind::Opened { definition, agent });
        scribe.keep(&opened);
        scribe
    }

    /// The same conversation with another model.
    pub(crate) fn with(self, model: &'a dyn Model) -> Self {
        Self { model, ..self }
    }

    /// The user says something, and the run is driven until nothing goes on by itself.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        let text = text.into();
        self.gets("c", InputKind::TurnReceived { key: None, text, trace: None, begun: false }).drives()
    }

    /// This comes to a run.
    #[track_caller]
    pub(crate) fn gets(mut self, run: &str, what: InputKind) -> Self {
        let input = self.input(run, what);
        let (before, after) = match self.step.take() {
            Some(step) => {
                let before = step.at(self.relay, run).unwrap().1.glimpse();
                (before, step.feed(self.relay, &input).unwrap())
            }
            None => {
                let InputKind::TurnReceived { text, .. } = &input.what else { panic!("the user begins") };
                (Glimpse::default(), self.relay.start("c", text.clone()).unwrap())
            }
        };
        let followed = after.at(self.relay, run).unwrap().1.announced_since(&before, &input);
        self.step = Some(after);
        self.keep(&input);
        followed.iter().for_each(|told| self.tell(told));
        self
    }

    /// As long as anything goes on by itself.
    #[track_caller]
    pub(crate) fn drives(mut self) -> Self {
        loop {
            let (next, end) = self.does();
            self = next;
            if end {
                return self;
            }
        }
    }

    /// The first open step goes on; whether there is none.
    #[track_caller]
    pub(crate) fn does(mut self) -> (Self, bool) {
        let goes_on = |step: &&Step| !matches!(step, Step::AskHuman(_) | Step::Done(_));
        let open = self.step().open().into_iter().find(goes_on);
        let Some(path) = open.map(|step| step.run().conversation().to_owned()) else { return (self, true) };
        let step = self.step().clone();
        let (relay, step) = step.at(self.relay, &path).unwrap();
        let what = match step {
            Step::CallModel(call) => {
                self.intend(&path, call.intent(relay, self.chronicle.attempts(&path, call.number()) + 1));
                match self.model.complete(call.request(relay)) {
                    Ok(response) => InputKind::ModelResponded { response: Box::new(response) },
                    Err(error) => InputKind::ModelFailed { error },
                }
            }
            Step::CallTools(calls) => {
                let agent = calls.agent(relay).unwrap();
                let is_gated = |place, name| agent.table().needs_approval(name) && !calls.is_approved(place);
                let gated = calls.calls().filter(|(place, call)| is_gated(*place, call.name()));
                let gated: Vec<AskedCall> =
                    gated.map(|(place, _)| AskedCall { place, repeats: None }).collect();
                if !gated.is_empty() {
                    return (self.gets(&path, InputKind::ApprovalAsked { calls: gated }), false);
                }
                let places: Vec<usize> = calls.calls().map(|(place, _)| place).collect();
                for place in &places {
                    self.intend(&path, calls.intent(relay, *place, &self.chronicle).unwrap());
                }
                let outputs = dispatch(agent, calls.calls(), &calls.scope());
                let said = places.into_iter().zip(outputs);
                let said = said.map(|(place, output)| InputKind::tool_output(place, output));
                return (said.fold(self, |scribe, what| scribe.gets(&path, what)), false);
            }
            Step::Delegate(_) => InputKind::Joined,
            Step::HandOff(handoff) => match handoff.stands(relay, self.clock + 1) {
                true => InputKind::HandoffCommitted { hop: Box::new(handoff.hop_at(self.clock + 1)) },
                false => InputKind::HandoffReconsidered,
            },
            Step::AskHuman(_) | Step::Done(_) => panic!("nothing goes on here by itself"),
        };
        (self.gets(&path, what), false)
    }

    /// The calls of the open step are about to be made.
    #[track_caller]
    pub(crate) fn intends(mut self) -> Self {
        let step = self.step().clone();
        let Step::CallTools(calls) = &step else { panic!("no tools are to run") };
        for (place, _) in calls.calls() {
            self.intend("c", calls.intent(self.relay, place, &self.chronicle).unwrap());
        }
        self
    }

    /// A person answers.
    #[track_caller]
    pub(crate) fn answers(self, id: &str, answer: sommelier_handoff::Answer) -> Self {
        let asked_in = |(run, question): &(&sommelier_handoff::Run, &sommelier_handoff::Question)| {
            (*question.id == *id).then(|| run.conversation().to_owned())
        };
        let run = self.step().questions().iter().find_map(asked_in).unwrap();
        self.gets(&run, InputKind::HumanAnswered { id: id.into(), answer, by: None }).drives()
    }

    /// Where the run stands.
    #[track_caller]
    pub(crate) fn step(&self) -> &Step {
        self.step.as_ref().unwrap()
    }

    /// The time of the next input.
    pub(crate) fn input(&mut self, run: &str, what: InputKind) -> Input {
        self.clock += 1;
        Input { run: run.into(), at: self.clock, what }
    }

    /// Lets time pass.
    pub(crate) fn waits(mut self, millis: u64) -> Self {
        self.clock += millis;
        self
    }

    fn keep(&mut self, input: &Input) {
        self.chronicle.note_input(input);
        self.write(Record::of(input));
    }

    fn tell(&mut self, told: &Announced) {
        self.chronicle.note_announced("c", told);
        self.write(Record::told(told));
    }

    fn intend(&mut self, run: &str, what: Announcement) {
        self.tell(&Announced { run: run.into(), at: self.clock, what });
    }

    fn write(&mut self, record: Record) {
        self.records.push(record);
        self.stood.push(self.step.clone());
    }

    pub(crate) fn chronicle(&self) -> &Chronicle {
        &self.chronicle
    }

    /// The run of the records so far, which is this one.
    #[track_caller]
    pub(crate) fn replayed(&self) -> Replay<'a> {
        let replay = replay(self.relay, &self.records).unwrap();
        assert_eq!((replay.step(), replay.chronicle()), (self.step.as_ref(), &self.chronicle));
        assert_eq!(replay.owed().collect::<Vec<_>>(), []);
        replay
    }

    /// The place of the first record of this kind.
    #[track_caller]
    pub(crate) fn place(&self, kind: &str) -> usize {
        self.records.iter().position(|record| record.kind == kind).unwrap()
    }

    /// The records in a few words each, those of a branch after its path. Each end of a run is on a line of its own.
    pub(crate) fn story(&self) -> Vec<String> {
        self.records.iter().map(|record| shown(&record.read())).collect()
    }
}

/// A record in a few words.
fn shown(entry: &Entry) -> String {
    let (run, kind, more) = match entry {
        Entry::Input(input) => (&input.run, input.what.name(), of_input(&input.what)),
        Entry::Announced(told) => (&told.run, told.what.name(), of_announcement(&told.what)),
    };
    let run = if &**run == "c" { String::new() } else { format!("{run}: ") };
    let more = if more.is_empty() { more } else { format!(" {more}") };
    format!("{run}{kind}{more}")
}

fn of_input(what: &InputKind) -> String {
    match what {
        InputKind::HandoffCommitted { hop } => hop.id.to_string(),
        InputKind::HumanAnswered { answer, .. } => answer.as_str().to_owned(),
        _ => String::new(),
    }
}

fn of_announcement(what: &Announcement) -> String {
    match what {
        Announcement::ModelRequested { agent, attempt, activates, .. } => {
            let attempt = if *attempt == 1 { String::new() } else { format!(", attempt {attempt}") };
            let activates = activates.iter().map(|hop| format!(", by {hop}"));
            format!("of {agent}{attempt}{}", activates.collect::<String>())
        }
        Announcement::Planned { tools, branches, handoff } => {
            let tools = tools.iter().map(|call| format!("{} at {}", call.tool, call.place));
            let others = branches.iter().chain(handoff).map(ToString::to_string);
            tools.chain(others).collect::<Vec<_>>().join(", ")
        }
        Announcement::ToolIntended { tool, .. } => tool.to_string(),
        Announcement::HandoffRefused { hop, refusal, .. } => format!("{hop}: {}", refusal.code()),
        Announcement::ReceiverAccepted { hop, .. } | Announcement::ObligationReopened { hop } => {
            hop.to_string()
        }
        Announcement::ObligationClosed { hop, how, open } => {
            let open = open.iter().map(|item| format!(", {item} is open"));
            format!("{hop}: {}{}", how.as_str(), open.collect::<String>())
        }
        Announcement::Escalated { questions } => questions
            .iter()
            .map(|asked| format!("{} ({})", asked.id, asked.asks))
            .collect::<Vec<_>>()
            .join(", "),
        Announcement::Closed { answer_id, end, .. } => format!("{answer_id}: {end}"),
    }
}
