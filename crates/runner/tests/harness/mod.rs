//! What the tests of the runner share: agents and scripts in a line, a model that is watched, and the spans of
//! a run as one value.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]
#![allow(dead_code, reason = "each test file uses its own part of the harness")]

use reservo::{Cents, Entry, Plan, Reservo, Room, demo, facts, specialists};
use serde_json::Value;
use sommelier_handoff::{Agent, Delegate, HANDOFF_TO_SPECIALIST, Hop, HopOutcome, Relay, RelayBuilder, Run};
use sommelier_protocol::{Message, ModelRequest, ModelResponse, sequence};
use sommelier_runner::{Outcome, Report, RunError, Runner};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Model, ModelError, ScriptedModel, Tool, script, tool_args};
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use tracing::field::{Field, Visit};
use tracing::{Dispatch, Subscriber, dispatcher, span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

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

/// The tools of every agent of a [`team`]: `look`, which finds what is asked for, and `fail`.
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

/// Agents and routes from `a -> b, b -> c`; the first agent named is the entry.
pub(crate) fn team(routes: &str) -> RelayBuilder {
    let routes: Vec<(&str, &str)> = routes
        .split(',')
        .map(|route| route.split_once("->").unwrap())
        .map(|(a, b)| (a.trim(), b.trim()))
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for name in routes.iter().flat_map(|(from, to)| [*from, *to]) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let builder =
        names.iter().fold(Relay::builder().entry(routes[0].0), |builder, name| builder.agent(agent(name)));
    routes.into_iter().fold(builder, |builder, (from, to)| builder.route(from, to))
}

/// The relay of a [`team`].
pub(crate) fn relay(routes: &str) -> Relay {
    team(routes).build().unwrap()
}

/// A supervisor that asks `billing`, and `shipping`, which may hand over to `customs`.
pub(crate) fn supervised() -> RelayBuilder {
    Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::new("ask_billing", agent("billing")))
        .delegate("supervisor", Delegate::team("ask_shipping", relay("shipping -> customs")))
        .entry("supervisor")
}

/// The arguments of a question.
pub(crate) fn question(text: &str) -> String {
    format!(r#"{{"question":"{text}"}}"#)
}

/// Every delegation of a run and of its branches, a branch's own after it: the branch's id, and what came of it.
pub(crate) fn links(run: &Run) -> Vec<[String; 2]> {
    let all = run.links().iter().flat_map(|link| {
        let status = link.result().map_or("refused", |result| result.status.as_str());
        let own = [link.id.to_string(), status.to_owned()];
        let inside = link.run().map(|done| links(done.run())).unwrap_or_default();
        std::iter::once(own).chain(inside)
    });
    all.collect()
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

/// Several calls in one reply; the ids are `tu_<reply>_<place>`.
pub(crate) fn calls<A: Into<String>>(calls: impl IntoIterator<Item = (&'static str, A)>) -> Turn {
    let calls: Vec<(&str, String)> = calls.into_iter().map(|(name, args)| (name, args.into())).collect();
    Box::new(move |request| {
        let ids: Vec<String> = (0..calls.len()).map(|n| format!("tu_{}_{n}", request.replies + 1)).collect();
        let parts = ids.iter().zip(&calls).map(|(id, (name, args))| (id.as_str(), *name, args.as_str()));
        script::calls(parts)
    })
}

/// The arguments of a handoff.
pub(crate) fn to(specialist: &str, task: &str) -> String {
    format!(r#"{{"specialist":"{specialist}","task":"{task}","context":{{}}}}"#)
}

/// One handoff with the task "Go on."
pub(crate) fn hands_to(specialist: &str) -> Turn {
    calls([(HANDOFF_TO_SPECIALIST, to(specialist, "Go on."))])
}

/// A runner whose clock stands still, so that two runs compare as whole values.
pub(crate) fn runner<'m>(model: impl Model + 'm) -> Runner<'m> {
    awake();
    Runner::new(model).clock(|| 1000)
}

/// Keeps a subscriber alive that wants every span. Tests run side by side: a span that is met for the first time where
/// nobody watches would be switched off, and a watcher who comes at that moment would miss it.
pub(crate) fn awake() {
    static WATCHER: OnceLock<Dispatch> = OnceLock::new();
    WATCHER.get_or_init(|| Dispatch::new(tracing_subscriber::registry()));
}

/// What came of a run, which must have ended.
#[track_caller]
pub(crate) fn ended(outcome: Result<Outcome, RunError>) -> Report {
    match outcome.unwrap() {
        Outcome::Ended(report) => report,
        other => panic!("not ended: {other:?}"),
    }
}

/// The conversation of one agent, a message a line: a call as `name#id{input}`, a result as `id=words`, an error
/// as `id!words`.
pub(crate) fn story(messages: &[Message]) -> Vec<String> {
    let line = |message: &Message| {
        let role = serde_json::to_value(message.role).unwrap();
        let texts = message.texts().map(str::to_owned);
        let calls = message.tool_uses().map(|call| format!("{}#{}{}", call.name(), call.id(), call.input()));
        let results = message.tool_results().map(|result| {
            let sign = if result.is_error() { '!' } else { '=' };
            format!("{}{sign}{}", result.tool_use_id(), result.words())
        });
        let parts: Vec<String> = results.chain(texts).chain(calls).collect();
        format!("{}: {}", role.as_str().unwrap(), parts.join(" | "))
    };
    messages.iter().map(line).collect()
}

/// The story of an agent that has had its turn.
#[track_caller]
pub(crate) fn story_of(report: &Report, agent: &str) -> Vec<String> {
    story(report.done().run().idle(agent).unwrap().messages())
}

/// The handoffs that were asked for, as `from -> to: what became of it`.
pub(crate) fn trail<'a>(hops: impl IntoIterator<Item = &'a Hop>) -> Vec<String> {
    let what = |hop: &Hop| match &hop.outcome {
        HopOutcome::Taken { number } => format!("taken {number}"),
        HopOutcome::Refused { refusal } => refusal.code().to_owned(),
    };
    hops.into_iter().map(|hop| format!("{} -> {}: {}", hop.from, hop.to, what(hop))).collect()
}

/// A model that writes down who asked what, and holds each request against the rules of the sequence.
pub(crate) struct Watched<M> {
    model: M,
    asked: Mutex<Vec<(String, String)>>,
}

impl<M: Model> Watched<M> {
    pub(crate) fn new(model: M) -> Self {
        Self { model, asked: Mutex::default() }
    }

    /// The requests so far: the agent that asked, and the request as it goes out.
    pub(crate) fn asked(&self) -> Vec<(String, String)> {
        self.asked.lock().unwrap().clone()
    }

    /// The agents in the order in which they asked.
    pub(crate) fn order(&self) -> String {
        self.asked().into_iter().map(|(agent, _)| agent).collect::<Vec<_>>().join(" ")
    }
}

impl<M: Model> Model for Watched<M> {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        assert_eq!(sequence::check(&request), []);
        let json = serde_json::to_string(&request).unwrap();
        self.asked.lock().unwrap().push((request.caller.to_string(), json));
        self.model.complete(request)
    }

    fn label(&self) -> Option<&str> {
        self.model.label()
    }
}

// The running case.

pub(crate) const REQUEST: &str = "Quote Focus pro 3h. And what happens if I don't show up?";
pub(crate) const TASK: &str = "What happens if the customer does not show up for the booking?";

/// The house with another no-show fee, or another rate for Focus pro.
pub(crate) fn house(fee: i64, rate: i64) -> Arc<Reservo> {
    let mut house = demo();
    house.library.no_show.fee_cents = Cents(fee);
    house.prices.set_rate(Room::Focus, Plan::Pro, Cents(rate)).unwrap();
    Arc::new(house)
}

/// The specialists of a house; the booking desk hears the user first.
pub(crate) fn desk(house: &Arc<Reservo>) -> Relay {
    specialists::relay(house, Entry::Booking).build().unwrap()
}

/// The decisions of the running case. Each is a function of what the agent has before it, and of nothing else.
pub(crate) fn decisions() -> ScriptedModel {
    ScriptedModel::new()
        .turn("booking_agent", |_| {
            script::call("tu_1", "get_quote", r#"{"room":"Focus","plan":"pro","hours":3}"#)
        })
        .turn("booking_agent", |request| {
            let quoted = number(&script::last_result(request), "total_cents");
            let package = format!(
                r#"{{"specialist":"policy_agent","task":"{TASK}","context":{{"quoted_cents":{quoted}}}}}"#
            );
            script::call("tu_2", HANDOFF_TO_SPECIALIST, &package)
        })
        .turn("policy_agent", |_| {
            script::call("tu_1", "search_docs", r#"{"query":"customer does not show up"}"#)
        })
        .turn("policy_agent", |request| {
            let quoted = number(script::first_words(request), "quoted_cents");
            let hits: Value = serde_json::from_str(&script::last_result(request)).unwrap_or_default();
            let document = hits[0]["text"].as_str().unwrap_or_default();
            let charge = facts::no_show(document).and_then(|charge| charge.of(Cents(quoted)));
            let charge = charge.map_or("an unknown sum".to_owned(), |charge| charge.0.to_string());
            script::say(format!("Quoted: {quoted}. A no-show is charged {charge} [POL-NOSHOW]."))
        })
}

/// The number after `"name":` in a text of JSON; 0 when there is none.
fn number(text: &str, name: &str) -> i64 {
    let after = text.split_once(&format!("\"{name}\":")).map_or("", |(_, after)| after);
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

// Spans.

/// All spans of some work, in the order in which they were opened.
#[derive(Clone, Default)]
pub(crate) struct Spans(Arc<Mutex<Vec<Seen>>>);

/// One span. Other spans are named by their place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) name: &'static str,
    pub(crate) parent: Option<usize>,
    pub(crate) follows: Vec<usize>,
    pub(crate) fields: Vec<(&'static str, String)>,
    pub(crate) closed: bool,
}

/// The place of a span, kept with it in the registry.
struct Place(usize);

impl Spans {
    /// Does `work` under a subscriber of its own, which must see every span close.
    #[track_caller]
    pub(crate) fn of<T>(work: impl FnOnce() -> T) -> (T, Self) {
        awake();
        let spans = Self::default();
        let dispatch = Dispatch::new(tracing_subscriber::registry().with(spans.clone()));
        let done = dispatcher::with_default(&dispatch, work);
        assert!(spans.all().iter().all(|span| span.closed), "a span is still open: {:#?}", spans.lines());
        (done, spans)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Seen>> {
        self.0.lock().unwrap()
    }

    pub(crate) fn all(&self) -> Vec<Seen> {
        self.lock().clone()
    }

    /// The spans of this name.
    pub(crate) fn named(&self, name: &str) -> Vec<Seen> {
        self.all().into_iter().filter(|span| span.name == name).collect()
    }

    /// A span a line: `number name in parent after predecessors: field=value, ...`, numbers counted from 1.
    ///
    /// Spans stand below their parents, each with all that is in it: so the lines of branches that run at the same time
    /// are the same in every run.
    pub(crate) fn lines(&self) -> Vec<String> {
        let all = self.all();
        let all = &all;
        let under = |above: Option<usize>| (0..all.len()).filter(move |place| all[*place].parent == above);
        let mut order: Vec<usize> = Vec::new();
        let mut waiting: Vec<usize> = under(None).collect();
        waiting.reverse();
        while let Some(place) = waiting.pop() {
            order.push(place);
            let below: Vec<usize> = under(Some(place)).collect();
            waiting.extend(below.into_iter().rev());
        }
        let number = |place: usize| 1 + order.iter().position(|other| *other == place).unwrap();
        let line = |place: &usize| {
            let span = &all[*place];
            let mut line = format!("{} {}", number(*place), span.name);
            if let Some(parent) = span.parent {
                write!(line, " in {}", number(parent)).unwrap();
            }
            for follows in &span.follows {
                write!(line, " after {}", number(*follows)).unwrap();
            }
            let fields: Vec<String> =
                span.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("{line}: {}", fields.join(", "))
        };
        order.iter().map(line).collect()
    }

    /// The conversation of the user that a span belongs to: it is on the root.
    pub(crate) fn conversation_of(&self, span: &Seen) -> String {
        let all = self.all();
        let mut above = span;
        while let Some(parent) = above.parent {
            above = &all[parent];
        }
        above.field("gen_ai.conversation.id").to_owned()
    }
}

impl Seen {
    /// The value of a field; empty when it has none.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(field, _)| *field == name).map_or("", |(_, value)| value)
    }

    /// Some fields, in the order asked for.
    pub(crate) fn pick<const N: usize>(&self, names: [&str; N]) -> [&str; N] {
        names.map(|name| self.field(name))
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        let place_of = |span: &tracing_subscriber::registry::SpanRef<'_, S>| {
            span.extensions().get::<Place>().map(|Place(place)| *place)
        };
        let span = context.span(id).unwrap();
        let mut fields = Written::default();
        attributes.record(&mut fields);
        let mut all = self.lock();
        span.extensions_mut().insert(Place(all.len()));
        all.push(Seen {
            name: attributes.metadata().name(),
            parent: span.parent().as_ref().and_then(place_of),
            follows: Vec::new(),
            fields: fields.0,
            closed: false,
        });
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, context: Context<'_, S>) {
        let mut fields = Written::default();
        values.record(&mut fields);
        self.change(id, &context, |span| span.fields.append(&mut fields.0));
    }

    fn on_follows_from(&self, id: &span::Id, follows: &span::Id, context: Context<'_, S>) {
        let before = context.span(follows).unwrap();
        let place = before.extensions().get::<Place>().unwrap().0;
        self.change(id, &context, |span| span.follows.push(place));
    }

    fn on_close(&self, id: span::Id, context: Context<'_, S>) {
        self.change(&id, &context, |span| span.closed = true);
    }
}

impl Spans {
    fn change<S: for<'a> LookupSpan<'a> + Subscriber>(
        &self,
        id: &span::Id,
        context: &Context<'_, S>,
        change: impl FnOnce(&mut Seen),
    ) {
        let span = context.span(id).unwrap();
        let place = span.extensions().get::<Place>().unwrap().0;
        change(&mut self.lock()[place]);
    }
}

/// Fields as text, in the order in which they came.
#[derive(Default)]
struct Written(Vec<(&'static str, String)>);

impl Visit for Written {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }
}
