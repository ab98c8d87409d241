//! Drives a conversation through its steps, writes down what was asked, and checks on the way what must hold
//! in every run: each request is legal, each call is answered once, each step survives JSON, and the counts
//! are those of what happened.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]
#![allow(dead_code, reason = "each test file uses its own part of the harness")]

pub(crate) mod doubts;
pub(crate) mod references;
pub(crate) mod scribe;

use sommelier_handoff::{
    Agent, AgentName, Answer, Budget, Delegate, Done, HANDOFF_TO_SPECIALIST, HandoffPackage, Hop, HopOutcome,
    PackageError, Question, Refusal, Rejected, Relay, RelayBuilder, Route, Run, RunEnd, Step,
};
use sommelier_protocol::{
    ContentBlock, Message, ModelRequest, ModelResponse, System, ToolName, Usage, Words, sequence,
};
use sommelier_runtime::tool::{CallContext, Failure, dispatch};
use sommelier_runtime::{Model, ModelError, ScriptedModel, Tool, script, tool_args};
use std::collections::{BTreeMap, BTreeSet};

tool_args! {
    /// What to look up.
    pub(crate) struct Look {
        /// The word.
        pub(crate) word: String,
    }
}

tool_args! {
    /// Nothing is asked for.
    pub(crate) struct Nothing {}
}

/// The tools that every agent of a [`team`] has: `look`, which finds what is asked for, and `fail`.
pub(crate) fn tools() -> [Tool; 2] {
    [
        Tool::new("look", "Looks a word up.", |look: Look, _: &CallContext<'_>| Ok::<_, Failure>(look.word)),
        Tool::new("fail", "Fails.", |_: Nothing, _: &CallContext<'_>| -> Result<(), Failure> {
            Err(Failure::new("no_luck", "it does not work today"))
        }),
    ]
}

/// An agent with the [`tools`], whose instructions are `You are <name>.`
pub(crate) fn agent(name: &str) -> Agent {
    Agent::new(name, format!("You are {name}.")).tools(tools())
}

tool_args! {
    /// What to pay.
    pub(crate) struct Pay {
        /// The invoice.
        pub(crate) invoice: String,
    }
}

/// An agent with the [`tools`] and one that needs approval, `pay`.
pub(crate) fn payer(name: &str) -> Agent {
    let pay = Tool::new("pay", "Pays an invoice.", |pay: Pay, _: &CallContext<'_>| {
        Ok::<_, Failure>(format!("{} is paid", pay.invoice))
    });
    agent(name).tools([pay.needs_approval()])
}

/// One payment.
pub(crate) fn pays(invoice: &str) -> (&'static str, String) {
    ("pay", format!(r#"{{"invoice":"{invoice}"}}"#))
}

/// Agents and routes from `a -> b, b -> c`; the first agent named is the entry.
pub(crate) fn team(routes: &str) -> RelayBuilder {
    let routes: Vec<(&str, &str)> = routes
        .split(',')
        .filter_map(|route| route.split_once("->"))
        .map(|(a, b)| (a.trim(), b.trim()))
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for name in routes.iter().flat_map(|(from, to)| [*from, *to]) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let builder =
        names.iter().fold(Relay::builder().entry(names[0]), |builder, name| builder.agent(agent(name)));
    routes.into_iter().fold(builder, |builder, (from, to)| builder.route(from, to))
}

/// The relay of a [`team`].
pub(crate) fn relay(routes: &str) -> Relay {
    team(routes).build().unwrap()
}

/// Booking hands to policy over `route`.
pub(crate) fn pair_with(route: impl FnOnce(Route) -> Route) -> Relay {
    let builder =
        Relay::builder().agent(agent("booking_agent")).agent(agent("policy_agent")).entry("booking_agent");
    builder.route_with(route(Route::new("booking_agent", "policy_agent"))).build().unwrap()
}

pub(crate) fn pair() -> Relay {
    pair_with(|route| route)
}

/// A supervisor that asks billing and shipping.
pub(crate) fn desk() -> RelayBuilder {
    Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::new("ask_billing", agent("billing")))
        .delegate("supervisor", Delegate::new("ask_shipping", agent("shipping")))
        .entry("supervisor")
}

/// One question to each delegate of the [`desk`].
pub(crate) const BOTH: [(&str, &str); 2] = [
    ("ask_billing", r#"{"question":"Was INV-311 paid twice?"}"#),
    ("ask_shipping", r#"{"question":"Where is A-7?"}"#),
];

/// The arguments of a question.
pub(crate) fn question(text: &str) -> String {
    format!(r#"{{"question":"{text}"}}"#)
}

/// One turn of a script.
pub(crate) type Turn = Box<dyn Fn(&ModelRequest<'_>) -> ModelResponse + Send + Sync>;

/// A script from the turns of each agent.
pub(crate) fn script(turns: impl IntoIterator<Item = (&'static str, Turn)>) -> ScriptedModel {
    turns.into_iter().fold(ScriptedModel::new(), |model, (agent, turn)| model.turn(agent, turn))
}

pub(crate) fn says(text: &'static str) -> Turn {
    Box::new(move |_| script::say(text))
}

/// A turn that reads and writes so many tokens.
pub(crate) fn used(turn: Turn, read: u64, written: u64) -> Turn {
    Box::new(move |request| {
        let mut reply = turn(request);
        reply.usage = Usage::new(read, written);
        reply
    })
}

/// Several calls in one reply; the ids are `tu_<reply>_<place>`.
pub(crate) fn calls<A: Into<String>>(calls: impl IntoIterator<Item = (&'static str, A)>) -> Turn {
    let calls: Vec<(&str, String)> = calls.into_iter().map(|(name, args)| (name, args.into())).collect();
    Box::new(move |request| {
        let ids: Vec<String> = (0..calls.len()).map(|n| format!("tu_{}_{n}", request.replies + 1)).collect();
        let parts = ids.iter().zip(&calls).map(|(id, (name, args))| (id.as_str(), *name, args.as_str()));
        script::calls(parts)
    })
}

/// One look at a word.
pub(crate) fn looks(word: &str) -> Turn {
    calls([("look", format!(r#"{{"word":"{word}"}}"#))])
}

/// Words beside a look at a word, in one reply: the turn goes on.
pub(crate) fn says_and_looks(text: &'static str, word: &'static str) -> Turn {
    Box::new(move |request| {
        let mut reply = looks(word)(request);
        reply.content.insert(0, ContentBlock::text(text));
        reply
    })
}

/// One handoff with these arguments.
pub(crate) fn hands(arguments: impl Into<String>) -> Turn {
    calls([(HANDOFF_TO_SPECIALIST, arguments)])
}

/// The arguments of a handoff.
pub(crate) fn to(specialist: &str, task: &str) -> String {
    format!(r#"{{"specialist":"{specialist}","task":"{task}","context":{{}}}}"#)
}

/// One handoff with the task "Go on."
pub(crate) fn hands_to(specialist: &str) -> Turn {
    hands(to(specialist, "Go on."))
}

pub(crate) fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}

pub(crate) fn names(texts: &[&str]) -> Vec<AgentName> {
    texts.iter().map(|text| name(text)).collect()
}

pub(crate) fn tool_name(text: &str) -> ToolName {
    ToolName::new(text).unwrap()
}

/// A script in which the models of some agents cannot be reached.
pub(crate) struct Down<'a> {
    pub(crate) model: &'a ScriptedModel,
    pub(crate) agents: &'a [&'a str],
}

impl Model for Down<'_> {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        match self.agents.contains(&&*request.caller) {
            true => Err(ModelError::Unreachable { detail: "no route to host".to_owned() }),
            false => self.model.complete(request),
        }
    }
}

/// One request, as it went out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    /// The conversation that asked: its place in the tree.
    pub(crate) path: String,
    pub(crate) agent: String,
    pub(crate) system: String,
    pub(crate) tools: Vec<String>,
    pub(crate) messages: Vec<Message>,
    pub(crate) json: String,
}

/// A conversation that is driven step by step.
pub(crate) struct Session<'a> {
    relay: &'a Relay,
    model: &'a dyn Model,
    unused: Box<dyn Fn() -> Vec<(String, usize)> + 'a>,
    before_take: Option<Box<dyn FnMut(Step) -> Step + 'a>>,
    at_each_step: Option<Box<dyn FnMut(Step) -> Step + 'a>>,
    /// Which of the open steps of a tree goes on; the first when not set.
    pick: Option<Box<dyn FnMut(usize) -> usize + 'a>>,
    pub(crate) asked: Vec<Asked>,
    /// The tools that ran, in order, with the keys their calls got.
    pub(crate) ran: Vec<(String, String)>,
    saves: bool,
    checks: bool,
    failed: usize,
    crossed: usize,
    hops: usize,
    clock: u64,
    tick: u64,
    /// Whether each step is told what time it is.
    tells_time: bool,
    /// Where the run stands while it waits for a person.
    waiting: Option<Step>,
    done: Option<Done>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(relay: &'a Relay, model: &'a ScriptedModel) -> Self {
        let unused =
            move || model.unused().into_iter().map(|(agent, turn)| (agent.to_owned(), turn)).collect();
        Self { unused: Box::new(unused), ..Self::with(relay, model) }
    }

    /// A session with a model that is no script.
    pub(crate) fn with(relay: &'a Relay, model: &'a dyn Model) -> Self {
        Self {
            relay,
            model,
            unused: Box::new(Vec::new),
            before_take: None,
            at_each_step: None,
            pick: None,
            asked: Vec::new(),
            ran: Vec::new(),
            saves: true,
            checks: true,
            failed: 0,
            crossed: 0,
            hops: 0,
            clock: 1000,
            tick: 1,
            tells_time: false,
            waiting: None,
            done: None,
        }
    }

    /// Leaves the saving of each step out, for conversations that are long.
    pub(crate) fn unsaved(self) -> Self {
        Self { saves: false, ..self }
    }

    /// Leaves the counts out that are held against what this session did, for a run that has begun elsewhere.
    pub(crate) fn unchecked(self) -> Self {
        Self { checks: false, ..self }
    }

    /// Stops the clock, so that runs compare whatever the order of their steps was.
    pub(crate) fn without_time(self) -> Self {
        Self { tick: 0, ..self }
    }

    /// Tells each step what time it is, with so many milliseconds from one to the next.
    pub(crate) fn telling_time(self, tick: u64) -> Self {
        Self { tells_time: true, tick, ..self }
    }

    /// What happens between the ruling on a handoff and its taking.
    pub(crate) fn before_take(mut self, change: impl FnMut(Step) -> Step + 'a) -> Self {
        self.before_take = Some(Box::new(change));
        self
    }

    pub(crate) fn at_each_step(mut self, change: impl FnMut(Step) -> Step + 'a) -> Self {
        self.at_each_step = Some(Box::new(change));
        self
    }

    /// Which of so many open steps goes on.
    pub(crate) fn pick(mut self, pick: impl FnMut(usize) -> usize + 'a) -> Self {
        self.pick = Some(Box::new(pick));
        self
    }

    /// The user says something: the conversation begins, or goes on. It is driven until it ends, or until nothing goes
    /// on before a person has answered.
    #[track_caller]
    pub(crate) fn say(mut self, text: &str) -> Self {
        let step = match (self.done.take(), self.waiting.take()) {
            (Some(done), _) => done.hear(self.relay, Words::new(text).unwrap()),
            (None, Some(waiting)) => waiting.hear(self.relay, Words::new(text).unwrap()),
            (None, None) => self.relay.start("conv", text).unwrap(),
        };
        self.drive(step)
    }

    /// A person answers a question that the run waits for, and it goes on. As each step was loaded from JSON, so was the
    /// one that is answered.
    #[track_caller]
    pub(crate) fn answer(mut self, id: &str, answer: Answer) -> Self {
        self.clock += self.tick;
        let waiting = self.waiting.take().unwrap();
        let step = waiting.answer(self.relay, id, answer, self.clock).unwrap();
        self.drive(step)
    }

    #[track_caller]
    pub(crate) fn approve(self, id: &str) -> Self {
        self.answer(id, Answer::Approve)
    }

    #[track_caller]
    pub(crate) fn reject(self, id: &str, reason: &str) -> Self {
        self.answer(id, Answer::Reject { reason: reason.into() })
    }

    /// Why an answer is not taken. The run is as it was.
    #[track_caller]
    pub(crate) fn rejected(&self, id: &str, answer: Answer) -> Rejected {
        let waiting = self.waiting();
        let (step, why) = waiting.clone().answer(self.relay, id, answer, 7).unwrap_err();
        assert_eq!(*step, *waiting);
        why
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Where the run stands, which waits for a person.
    #[track_caller]
    pub(crate) fn waiting(&self) -> &Step {
        self.waiting.as_ref().unwrap()
    }

    /// The questions that are open, each with its path in the tree.
    #[track_caller]
    pub(crate) fn questions(&self) -> Vec<(String, Question)> {
        let questions = self.waiting().questions();
        questions.into_iter().map(|(run, one)| (run.conversation().to_owned(), one.clone())).collect()
    }

    /// The ids of the questions that are open.
    #[track_caller]
    pub(crate) fn open(&self) -> Vec<String> {
        self.questions().into_iter().map(|(_, question)| question.id.into()).collect()
    }

    #[track_caller]
    pub(crate) fn retry(mut self) -> Self {
        let step = self.done.take().unwrap().retry(self.relay).unwrap();
        self.drive(step)
    }

    /// Goes on from the run's end with so much more.
    #[track_caller]
    pub(crate) fn with_more(mut self, more: Budget) -> Self {
        let step = self.done.take().unwrap().with_more(self.relay, more).unwrap();
        self.drive(step)
    }

    #[track_caller]
    pub(crate) fn drive(mut self, mut step: Step) -> Self {
        loop {
            if self.tells_time {
                step = step.now(self.relay, self.clock);
            }
            if let Some(change) = &mut self.at_each_step {
                step = change(step);
            }
            // Every step survives JSON, and goes on equally: the one that was loaded is driven on.
            if self.saves {
                let loaded = self.relay.load(&step.save().unwrap()).unwrap();
                assert_eq!(loaded, step);
                step = loaded;
            }
            if let Step::Done(done) = step {
                if self.checks {
                    self.check(&done);
                }
                self.done = Some(done);
                return self;
            }
            let mut open = step.open();
            open.retain(|step| !matches!(step, Step::AskHuman(_)));
            if open.is_empty() {
                self.waiting = Some(step);
                return self;
            }
            let which = self.pick.as_mut().map_or(0, |pick| pick(open.len()));
            let path = open[which].run().conversation().to_owned();
            step = step.go_on_at(self.relay, &path, |relay, step| self.go_on(relay, step)).unwrap();
        }
    }

    /// The open step after its answer. Of a tool that needs approval a person is asked.
    fn go_on(&mut self, relay: &Relay, step: Step) -> Step {
        self.clock += self.tick;
        match step {
            Step::CallModel(call) => {
                let response = self.ask(call.run().conversation(), call.request(relay));
                self.failed += usize::from(response.is_err());
                call.resume(relay, response, self.clock)
            }
            Step::CallTools(calls) => {
                let agent = calls.agent(relay).unwrap();
                let is_gated = |place, name| agent.table().needs_approval(name) && !calls.is_approved(place);
                let gated = calls.calls().filter(|(place, call)| is_gated(*place, call.name()));
                let gated: Vec<usize> = gated.map(|(place, _)| place).collect();
                if !gated.is_empty() {
                    return calls.ask(&gated, self.clock).unwrap();
                }
                let scope = calls.scope();
                let keys = calls.calls().map(|(n, call)| (call.name().to_owned(), format!("{scope}/{n}")));
                self.ran.extend(keys);
                let outputs = dispatch(agent, calls.calls(), &scope);
                calls.resume(relay, outputs, self.clock).unwrap()
            }
            Step::AskHuman(_) => panic!("a person answers, not the driver"),
            Step::Delegate(delegation) => delegation.join(relay, self.clock).unwrap(),
            Step::HandOff(handoff) => {
                let (package, before) = (handoff.package().clone(), handoff.run().trail().count());
                let changed = match &mut self.before_take {
                    Some(change) => change(Step::HandOff(handoff)),
                    None => Step::HandOff(handoff),
                };
                let Step::HandOff(handoff) = changed else { panic!("still a handoff") };
                let next = handoff.take(relay, self.clock);
                if next.run().trail().count() > before {
                    self.crossed += package.bytes();
                    self.hops += 1;
                }
                next
            }
            Step::Done(_) => panic!("a run that has ended is not open"),
        }
    }

    fn ask(&mut self, path: &str, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        assert_eq!(sequence::check(&request), [], "{}", story(&request.messages));
        self.asked.push(Asked {
            path: path.to_owned(),
            agent: request.caller.to_string(),
            system: match request.system.as_deref() {
                Some(System::Text(text)) => text.to_string(),
                Some(System::Blocks(blocks)) => blocks.to_string(),
                None => String::new(),
            },
            tools: request.tools.iter().map(|tool| tool.name.to_string()).collect(),
            messages: request.messages.to_vec(),
            json: serde_json::to_string(&request).unwrap(),
        });
        self.model.complete(request)
    }

    #[track_caller]
    fn check(&self, done: &Done) {
        let run = done.run();
        let runs = runs(run);
        let hops: Vec<&Hop> = runs.iter().flat_map(|run| run.trail().taken()).collect();
        let crossed: usize = hops.iter().map(|hop| hop.package_bytes).sum();
        let calls = (run.cost().model_calls as usize, run.tool_calls_over_tree() as usize);
        assert_eq!(
            (calls, hops.len(), crossed),
            ((self.asked.len() - self.failed, self.ran.len()), self.hops, self.crossed),
            "model calls, tool runs, hops, bytes crossing"
        );
        let agents: BTreeSet<&str> = self.asked.iter().map(|asked| asked.agent.as_str()).collect();
        for turn in runs.iter().flat_map(|run| agents.iter().filter_map(|agent| run.idle(agent))) {
            let mut answers: BTreeMap<&str, usize> = BTreeMap::new();
            for call in turn.messages().iter().flat_map(Message::tool_uses) {
                answers.insert(call.id(), 0);
            }
            for result in turn.messages().iter().flat_map(Message::tool_results) {
                *answers.get_mut(result.tool_use_id()).unwrap() += 1;
            }
            assert!(answers.values().all(|count| *count == 1), "{answers:?}");
        }
    }

    /// Checks how the run ended, and that the script was used up.
    #[track_caller]
    pub(crate) fn ends(self, end: RunEnd) -> Self {
        self.ends_leaving(end, &[])
    }

    /// Checks how the run ended, and which turns of the script are left over.
    #[track_caller]
    pub(crate) fn ends_leaving(self, end: RunEnd, unused: &[(&str, usize)]) -> Self {
        assert_eq!(self.done().end(), &end);
        let left: Vec<(String, usize)> =
            unused.iter().map(|(agent, turn)| ((*agent).to_owned(), *turn)).collect();
        assert_eq!((self.unused)(), left, "turns of the script that are left");
        self
    }

    pub(crate) fn done(&self) -> &Done {
        self.done.as_ref().unwrap()
    }

    pub(crate) fn into_done(self) -> Done {
        self.done.unwrap()
    }

    pub(crate) fn run(&self) -> &Run {
        self.done().run()
    }

    /// The agents in the order in which they were asked.
    pub(crate) fn order(&self) -> String {
        self.asked.iter().map(|asked| asked.agent.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// The nth request of an agent, from 0.
    #[track_caller]
    pub(crate) fn request(&self, agent: &str, n: usize) -> &Asked {
        self.asked.iter().filter(|asked| asked.agent == agent).nth(n).unwrap()
    }

    /// The handoffs that were asked for, as `from -> to: what became of it`.
    pub(crate) fn trail(&self) -> Vec<String> {
        let what = |hop: &Hop| match &hop.outcome {
            HopOutcome::Taken { number } => format!("taken {number}"),
            HopOutcome::Refused { refusal } => refusal.code().to_owned(),
        };
        self.run()
            .trail()
            .hops()
            .iter()
            .map(|hop| format!("{} -> {}: {}", hop.from, hop.to, what(hop)))
            .collect()
    }

    pub(crate) fn refusals(&self) -> Vec<Refusal> {
        self.run().trail().refusals().cloned().collect()
    }

    /// The conversation of an agent, a message a line.
    #[track_caller]
    pub(crate) fn story(&self, agent: &str) -> String {
        story(self.run().idle(agent).unwrap().messages())
    }

    /// The results that answered the nth reply with calls of the entry, as `id=words` or `id!words`.
    #[track_caller]
    pub(crate) fn results(&self, agent: &str, n: usize) -> Vec<String> {
        let messages = self.run().idle(agent).unwrap().messages();
        let answers =
            messages.iter().filter(|message| message.tool_results().next().is_some()).nth(n).unwrap();
        answers.content.blocks().iter().filter(|block| block.as_tool_result().is_some()).map(show).collect()
    }
}

/// A run and those of all its branches.
pub(crate) fn runs(run: &Run) -> Vec<&Run> {
    let branches = run.links().iter().filter_map(|link| link.run());
    std::iter::once(run).chain(branches.flat_map(|done| runs(done.run()))).collect()
}

/// Messages as lines: `role: block | block`, a call as `name#id{input}`, a result as `id=words`, an error as
/// `id!words`.
pub(crate) fn story(messages: &[Message]) -> String {
    let line = |message: &Message| {
        let role = serde_json::to_value(message.role).unwrap();
        let mut blocks: Vec<String> = message.content.blocks().iter().map(show).collect();
        if blocks.is_empty() {
            blocks.extend(message.texts().map(str::to_owned));
        }
        format!("{}: {}", role.as_str().unwrap(), blocks.join(" | "))
    };
    messages.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn show(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.as_str().to_owned(),
        ContentBlock::ToolUse(call) => format!("{}#{}{}", call.name(), call.id(), call.input()),
        ContentBlock::ToolResult(result) => {
            let sign = if result.is_error() { '!' } else { '=' };
            format!("{}{sign}{}", result.tool_use_id(), result.words())
        }
        ContentBlock::Other(block) => block.raw().to_string(),
    }
}

/// What the guards say of one handoff from booking to policy with these arguments, over `relay`; `None` when
/// it is taken.
#[track_caller]
pub(crate) fn ruling(relay: &Relay, arguments: &str) -> Option<Refusal> {
    let arguments = arguments.to_owned();
    let model = ScriptedModel::new()
        .turn("booking_agent", hands(arguments))
        .turn("booking_agent", says("Never mind."))
        .turn("policy_agent", says("Here you are."));
    let session = Session::new(relay, &model).say("hello");
    let mut refusals = session.refusals();
    assert_eq!(session.done().end(), &RunEnd::Answered);
    assert_eq!(session.run().trail().hops().len(), 1);
    assert_eq!(session.run().trail().count() as usize, 1 - refusals.len());
    refusals.pop()
}

/// What is wrong with a package: asked of the reader and of the minimal policy.
pub(crate) fn errors(package: &str) -> Vec<PackageError> {
    match HandoffPackage::read(package) {
        Ok(package) => package.validate(&sommelier_handoff::PackagePolicy::minimal()),
        Err(errors) => errors,
    }
}

/// A package as read, which must be legal.
#[track_caller]
pub(crate) fn read(package: &str) -> HandoffPackage {
    HandoffPackage::read(package).unwrap()
}
