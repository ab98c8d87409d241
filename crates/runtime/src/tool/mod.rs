//! Tools: typed functions, the table of an agent's own, and their dispatch.

mod args;
mod canonical;
pub mod conformance;
mod declaration;
mod dispatch;
mod effect;
mod members;
mod output;

#[doc(hidden)]
pub use args::support as tool_args_support;
pub use args::{ArgType, ToolArgs};
pub use declaration::{Declaration, Mark, ToolFault, Undoes};
pub use dispatch::{
    MOST_AT_ONCE, Within, at_once, dispatch, dispatch_one, dispatch_parallel, dispatch_whole,
    dispatch_within, idempotency_key, in_parallel, query_whole, query_within,
};
pub use effect::{Effect, Found};
pub use members::Members;
pub use output::{Failure, ToolFailure, ToolOutput, denied, is_in_doubt, shortened};
pub(crate) use output::{arguments_too_large, in_doubt, not_run, too_many_calls, unknown_tool};

use serde::Serialize;
use sommelier_protocol::{IllegalName, RawJson, ToolDefinition, ToolName, ToolUse};
use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::AgentName;

/// What a tool's function is told besides its arguments. No model sees or sets any of it.
#[derive(Clone, Copy, Debug)]
pub struct CallContext<'a> {
    /// The agent that calls.
    pub agent: &'a AgentName,
    /// The id of the call.
    pub call_id: &'a str,
    /// A key that is the same whenever this very call is made again, and no other call has: a tool with an
    /// effect passes it on, so that the effect happens once.
    pub idempotency_key: &'a str,
    /// How many milliseconds the call may take from now on, when that is limited. Nobody stops a tool that does not
    /// look.
    pub time_left: Option<u64>,
    /// The transaction by which the result will be kept, when there is one: what a [transactional](Tool::transactional) tool
    /// writes through, so that both are there or neither. Of what type it is the journal's store says: for `SqliteStore` of
    /// `sommelier-store` a `rusqlite::Connection`, for its `MemoryStore` a `()`, which there is nothing to write through. Only
    /// a transactional tool is handed one, and only by a driver that keeps a journal.
    pub transaction: Option<&'a dyn Any>,
    /// The number of the lease under which the run is driven, when there is one. It only grows: another side that has seen
    /// a larger one can refuse the call, since somebody else drives the run by now.
    pub epoch: Option<u64>,
}

/// `Err` is what is wrong with arguments that do not fit.
type Run = dyn Fn(&RawJson, &CallContext<'_>) -> Result<ToolOutput, String> + Send + Sync;
type Check = fn(&RawJson) -> Result<(), String>;

/// A typed function that a model may call.
///
/// What else is to be known of it its author declares: what its effect is like
/// ([`read_only`](Self::read_only), [`transactional`](Self::transactional), [`keyed`](Self::keyed),
/// [`queried`](Self::queried)), which calls are for the same effect ([`business_key`](Self::business_key),
/// [`undoes`](Self::undoes)), and what must not be kept of its calls ([`secret`](Self::secret),
/// [`secret_result`](Self::secret_result)). Whether that is true a test can look at: [`conformance`].
#[derive(Clone)]
pub struct Tool {
    /// As a model is told of it.
    definition: Result<ToolDefinition, IllegalName>,
    needs_approval: bool,
    /// All arguments, also those that no model is told of.
    schema: fn() -> RawJson,
    check: Check,
    run: Arc<Run>,
    /// `None` for a tool that declares nothing.
    declares: Option<Box<Declaration>>,
}

impl Tool {
    /// A tool from a function of typed arguments. The schema comes from the arguments' type.
    ///
    /// `Ok` of the function says that the call worked: its effect stands, also where the result is too large or has no JSON
    /// form, and so cannot be told. An `Err` becomes an error result with its JSON, and says that the call has had no effect;
    /// a function that does not know says so by [`Failure::in_doubt`], see [`ToolFailure`].
    ///
    /// An illegal name is told when the agent is built.
    pub fn new<A, R, E>(
        name: &str,
        description: impl Into<Box<str>>,
        function: impl Fn(A, &CallContext<'_>) -> Result<R, E> + Send + Sync + 'static,
    ) -> Self
    where
        A: ToolArgs,
        R: Serialize,
        E: ToolFailure,
    {
        let run = move |input: &RawJson, context: &CallContext<'_>| {
            Ok(output::from_result(function(arguments::<A>(input)?, context)))
        };
        Self {
            definition: ToolName::new(name).map(|name| ToolDefinition::new(name, description, A::schema())),
            needs_approval: false,
            schema: A::schema,
            check: |input| arguments::<A>(input).map(drop),
            run: Arc::new(run),
            declares: None,
        }
    }

    /// Marks the tool as one whose effect cannot be undone, or not for free: a gate decides on each call.
    pub fn needs_approval(mut self) -> Self {
        self.needs_approval = true;
        self
    }

    /// Declares that the tool only looks: [`Effect::ReadOnly`].
    pub fn read_only(self) -> Self {
        self.declare(|of| of.effect = Effect::ReadOnly)
    }

    /// Declares that the tool writes through the transaction by which its result is kept: [`Effect::Transactional`]. It
    /// finds it in [`CallContext::transaction`], and it writes into the journal's own database or not at all: what it does
    /// elsewhere no transaction undoes.
    ///
    /// - **It gives a result:** what it wrote and the record of its result are one commit.
    /// - **It fails or panics:** what it wrote is undone. That it failed is on record, its model is told, and the run goes on;
    ///   of a panic the model is told that the call has had no effect. So an error is a way to take everything back.
    /// - **The process dies:** nothing of it is there, and the call is made again.
    ///
    /// A driver without a journal hands it no transaction, and another store may hand it one of a type that it does not know.
    /// Then it may write through a connection of its own, to its own database, as any other tool does: that is a commit by
    /// itself. Or it refuses, as the one below. What it must not do is to open a connection of its own while it has a
    /// transaction: the transaction has the lock, so its write would wait until the store's time for waiting is over (five
    /// seconds, unless set) and fail as busy.
    ///
    /// Others that want to write wait while it runs, so it had better be short; and of one reply transactional tools run one
    /// after the other. A second call of the model, or of a second conversation, is a second effect: that a table refuses it,
    /// or a [business key](Self::business_key) has a person asked.
    ///
    /// Below, a cell stands for the database. The docs of `sommelier-store` have the same with SQLite and a journal.
    ///
    /// ```
    /// use sommelier_protocol::ToolUse;
    /// use sommelier_runtime::tool::{CallContext, Failure, Within, dispatch_within};
    /// use sommelier_runtime::{Agent, Tool, tool_args};
    /// use std::cell::RefCell;
    ///
    /// tool_args! {
    ///     /// A seat.
    ///     pub struct Seat {
    ///         /// Its number.
    ///         pub seat: u32,
    ///     }
    /// }
    ///
    /// let take = Tool::new("take_seat", "Takes a seat.", |wanted: Seat, call: &CallContext<'_>| {
    ///     let seats = call.transaction.and_then(|transaction| transaction.downcast_ref::<RefCell<Vec<u32>>>());
    ///     let Some(seats) = seats else {
    ///         return Err(Failure::new("no_transaction", "seats are taken together with a record of it"));
    ///     };
    ///     seats.borrow_mut().push(wanted.seat);
    ///     Ok("taken")
    /// });
    /// let agent = Agent::new("clerk", "").tools([take.transactional()]).build()?;
    /// let call = ToolUse::scripted("tu_1", "take_seat", r#"{"seat":7}"#);
    ///
    /// let transaction = RefCell::new(Vec::<u32>::new());
    /// let within = Within { transaction: Some(&transaction), ..Within::default() };
    /// assert_eq!(dispatch_within(&agent, 0, &call, "demo/1", within).error, None);
    /// assert_eq!(*transaction.borrow(), [7]);
    /// let without = dispatch_within(&agent, 0, &call, "demo/1", Within::default());
    /// assert_eq!(without.error.as_deref(), Some("no_transaction"));
    /// # Ok::<(), sommelier_runtime::DefinitionError>(())
    /// ```
    pub fn transactional(self) -> Self {
        self.declare(|of| of.effect = Effect::Transactional)
    }

    /// Declares that the other side does one idempotency key once, and remembers keys for `retention` milliseconds:
    /// [`Effect::Keyed`]. The function passes [`CallContext::idempotency_key`] on.
    ///
    /// `retention` is what the other side's documents say, less a margin for two clocks and for a request that is long on its
    /// way: of a service that keeps keys for 24 hours, 23. Too short has a person asked who need not have been; too long does
    /// the effect twice. Where nothing is documented, the tool is not keyed.
    ///
    /// ```
    /// use sommelier_protocol::ToolUse;
    /// use sommelier_runtime::tool::{CallContext, Effect, Failure, dispatch_one};
    /// use sommelier_runtime::{Agent, Tool, tool_args};
    /// use std::collections::BTreeMap;
    /// use std::sync::{Arc, Mutex};
    ///
    /// tool_args! {
    ///     /// What is paid.
    ///     pub struct Pay {
    ///         /// The invoice.
    ///         pub invoice: String,
    ///         /// In cents.
    ///         pub cents: u64,
    ///     }
    /// }
    ///
    /// const HOUR: u64 = 3_600_000;
    ///
    /// // A bank that does each key once, and has the first answer for whoever asks again.
    /// let bank = Arc::new(Mutex::new(BTreeMap::<String, String>::new()));
    /// let paying = bank.clone();
    /// let pay = Tool::new("pay", "Pays an invoice.", move |pay: Pay, call: &CallContext<'_>| {
    ///     let mut payments = paying.lock().unwrap();
    ///     let number = format!("payment {} of {} cents", payments.len() + 1, pay.cents);
    ///     Ok::<_, Failure>(payments.entry(call.idempotency_key.to_owned()).or_insert(number).clone())
    /// })
    /// .keyed(23 * HOUR)
    /// .business_key(["invoice"])
    /// .needs_approval();
    /// let agent = Agent::new("till", "").tools([pay]).build()?;
    /// assert_eq!(agent.table().effect("pay"), Effect::Keyed { retention: 23 * HOUR });
    ///
    /// // The answer was lost, and the call is made again under the same key.
    /// let call = ToolUse::scripted("tu_1", "pay", r#"{"invoice":"INV-311","cents":4900}"#);
    /// let first = dispatch_one(&agent, 0, &call, "guest-7/1/1");
    /// assert_eq!(dispatch_one(&agent, 0, &call, "guest-7/1/1"), first);
    /// assert_eq!(bank.lock().unwrap().len(), 1);
    /// # Ok::<(), sommelier_runtime::DefinitionError>(())
    /// ```
    pub fn keyed(self, retention: u64) -> Self {
        self.declare(|of| of.effect = Effect::Keyed { retention })
    }

    /// Declares that the other side can be asked what became of a call: [`Effect::Queried`]. `query` asks by the context's
    /// idempotency key. What was not done after `settle` milliseconds will not be done any more.
    ///
    /// `settle` is the longest time that a request which was sent may still be under way before the other side has done it:
    /// the time-out of the client, what proxies and queues between may hold it back for, and how late the other side's own
    /// list may be. A driver that goes on after a crash waits for what is left of it, so it is seconds and not hours; a side
    /// that may take hours is better declared as nothing at all, and a person looks. 0 says that nothing is ever under way.
    ///
    /// ```
    /// use sommelier_protocol::ToolUse;
    /// use sommelier_runtime::tool::{CallContext, Failure, Found, Within, query_within};
    /// use sommelier_runtime::{Agent, Tool, tool_args};
    /// use std::collections::BTreeMap;
    /// use std::sync::{Arc, Mutex};
    ///
    /// tool_args! {
    ///     /// What is ordered.
    ///     pub struct Order {
    ///         /// The article.
    ///         pub article: String,
    ///     }
    /// }
    ///
    /// let shop = Arc::new(Mutex::new(BTreeMap::new()));
    /// let (ordering, asking) = (shop.clone(), shop.clone());
    /// let order = Tool::new("order", "Orders an article.", move |order: Order, context: &CallContext<'_>| {
    ///     ordering.lock().unwrap().insert(context.idempotency_key.to_owned(), order.article);
    ///     Ok::<_, Failure>("ordered")
    /// })
    /// .queried(5_000, move |context| match asking.lock().unwrap().contains_key(context.idempotency_key) {
    ///     true => Found::done(&"ordered"),
    ///     false => Found::Absent,
    /// });
    /// let agent = Agent::new("buyer", "").tools([order]).build()?;
    /// let call = ToolUse::scripted("tu_1", "order", r#"{"article":"chalk"}"#);
    /// let ask = || query_within(&agent, 0, &call, "demo/1", Within::default());
    /// assert_eq!(ask(), Some(Found::Absent));
    /// sommelier_runtime::tool::dispatch_one(&agent, 0, &call, "demo/1");
    /// assert_eq!(ask(), Some(Found::done(&"ordered")));
    /// # Ok::<(), sommelier_runtime::DefinitionError>(())
    /// ```
    pub fn queried(
        self,
        settle: u64,
        query: impl Fn(&CallContext<'_>) -> Found + Send + Sync + 'static,
    ) -> Self {
        self.declare(|of| {
            of.effect = Effect::Queried { settle };
            of.query = Some(Arc::new(query));
        })
    }

    /// Names the members of the arguments that say which effect a call is for, such as the room, the day and the hour of a
    /// booking: two calls that have them alike are for the same one, whichever keys and ids they carry. It should be what was
    /// fixed before a model ran, and nothing that a model words. A customer who asks for the same in a second conversation
    /// asks for it twice too, so all conversations of a journal count, unless it is [of one](Self::per_conversation).
    ///
    /// Every effect that must not be had twice wants one, of whatever kind it is: keyed and transactional make *one call*
    /// happen once, and a model that plans anew makes another call. Only where a second one is harmless, or the tool's own
    /// database refuses it and says so, is there nothing to ask a person about.
    ///
    /// A member that the arguments do not have is told when the agent is built.
    pub fn business_key(self, members: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.declare(|of| of.business_key = owned(members))
    }

    /// Declares that the business key tells effects of one conversation apart and says nothing of others: that two guests ask
    /// for the same room is no repetition, and whether both can have it the tool itself knows.
    pub fn per_conversation(self) -> Self {
        self.declare(|of| of.per_conversation = true)
    }

    /// Declares that the tool undoes the effect of another one of its agent: of that call of `tool` in whose result stands,
    /// at `member`, what this tool's call has there in its arguments.
    ///
    /// A tool that the agent does not have is told when it is built.
    pub fn undoes(self, tool: impl Into<Box<str>>, member: impl Into<Box<str>>) -> Self {
        let undoes = Undoes { tool: tool.into(), member: member.into() };
        self.declare(|of| of.undoes = Some(undoes))
    }

    /// Names members of the arguments that must not be kept anywhere, such as the number of a card. A path of names with
    /// dots between them leads to a member of a member; where a list is on the way, to those of all its items.
    ///
    /// A driver that keeps secrets also takes out what a model writes under a name that the arguments do not have, since it may be
    /// a misspelt one. It cannot know a secret in the place of another argument, unless it has seen it as a secret. And it
    /// does not reach what the function itself tells others: a log, the other side, or a panic, whose words Rust's
    /// [hook](std::panic::set_hook) writes to stderr before anybody can catch it. So a function with secrets puts none into a
    /// panic, and a program that cannot be sure of that sets a hook that writes no words.
    pub fn secret(self, paths: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.declare(|of| of.secrets = owned(paths))
    }

    /// Names members of the result that must not be kept anywhere, as [`secret`](Self::secret) does for the arguments.
    pub fn secret_result(self, paths: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.declare(|of| of.secret_results = owned(paths))
    }

    /// Names the member of the arguments in which the function gets the call's idempotency key, for one that takes it there
    /// and not from the context. It must be a text. No model is told of it; what a model writes there is not used, and
    /// [`ToolTable::ignores_key_of`] tells of it.
    ///
    /// ```
    /// use sommelier_protocol::ToolUse;
    /// use sommelier_runtime::tool::{CallContext, Failure, dispatch_one};
    /// use sommelier_runtime::{Agent, Tool, tool_args};
    ///
    /// tool_args! {
    ///     /// What is paid.
    ///     pub struct Pay {
    ///         /// In cents.
    ///         pub cents: u32,
    ///         /// Makes it happen once.
    ///         pub idempotency_key: String,
    ///     }
    /// }
    ///
    /// let pay = Tool::new("pay", "Pays.", |pay: Pay, _: &CallContext<'_>| Ok::<_, Failure>(pay.idempotency_key));
    /// let agent = Agent::new("clerk", "").tools([pay.key_argument("idempotency_key")]).build()?;
    /// assert!(!agent.definitions()[0].input_schema.get().contains("idempotency_key"));
    /// let call = ToolUse::scripted("tu_1", "pay", r#"{"cents":5,"idempotency_key":"mine"}"#);
    /// assert!(agent.table().ignores_key_of(&call));
    /// assert_eq!(&*dispatch_one(&agent, 0, &call, "demo/1").content, r#""demo/1/0""#);
    /// # Ok::<(), sommelier_runtime::DefinitionError>(())
    /// ```
    pub fn key_argument(mut self, member: impl Into<Box<str>>) -> Self {
        let member = member.into();
        if let Ok(definition) = &mut self.definition {
            definition.input_schema = without(&(self.schema)(), &member);
        }
        self.declare(|of| of.key_argument = Some(member))
    }

    fn declare(mut self, change: impl FnOnce(&mut Declaration)) -> Self {
        change(self.declares.get_or_insert_default());
        self
    }

    pub(crate) fn definition(&self) -> Result<&ToolDefinition, IllegalName> {
        self.definition.as_ref().map_err(Clone::clone)
    }

    /// What it declares of itself and cannot be, as one of `tools`.
    pub(crate) fn fault(&self, tools: &[Self]) -> Option<ToolFault> {
        let declares = self.declares.as_ref()?;
        let is_there = |name: &str| {
            tools.iter().filter_map(|tool| tool.definition.as_ref().ok()).any(|of| of.name.as_str() == name)
        };
        let undoes = declares.undoes.as_ref().filter(|undoes| !is_there(&undoes.tool));
        let nothing = undoes.map(|undoes| ToolFault::UndoesNothing { tool: undoes.tool.clone() });
        nothing.or_else(|| declares.fault(&(self.schema)()))
    }

    /// The arguments as the function takes them: `input`, with `key` in its place where the tool wants it there.
    fn filled<'a>(&self, input: &'a RawJson, key: &str) -> Cow<'a, RawJson> {
        let filled = self.declares.as_ref().and_then(|declares| declares.filled(input, key));
        filled.map_or(Cow::Borrowed(input), Cow::Owned)
    }

    /// What a model is told whose arguments do not fit.
    fn misfit(&self, detail: &str) -> ToolOutput {
        let schema = self.definition.as_ref().map(|definition| Cow::Borrowed(&definition.input_schema));
        output::invalid_arguments(detail, &schema.unwrap_or_else(|_| Cow::Owned((self.schema)())))
    }
}

fn owned(names: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<Box<str>> {
    names.into_iter().map(|name| name.as_ref().into()).collect()
}

/// A schema of an object without one of its members.
fn without(schema: &RawJson, member: &str) -> RawJson {
    let shorter = || {
        let mut schema: Members = schema.read().ok()?;
        let mut properties: Members = schema.get("properties")?.read().ok()?;
        properties.remove(member);
        schema.set("properties", RawJson::of(&properties).ok()?);
        if let Some(required) =
            schema.get("required").and_then(|required| required.read::<Vec<Box<str>>>().ok())
        {
            let others: Vec<_> = required.into_iter().filter(|name| **name != *member).collect();
            schema.set("required", RawJson::of(&others).ok()?);
        }
        RawJson::of(&schema).ok()
    };
    shorter().unwrap_or_else(|| schema.clone())
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("definition", &self.definition)
            .field("needs_approval", &self.needs_approval)
            .field("declares", &self.declares)
            .finish_non_exhaustive()
    }
}

/// The tools of one agent, by name.
#[derive(Clone, Debug, Default)]
pub struct ToolTable(BTreeMap<ToolName, Tool>);

impl ToolTable {
    /// A table of `tools`; those with an illegal name are left out, as no agent with one can be built.
    pub fn new(tools: impl IntoIterator<Item = Tool>) -> Self {
        let named =
            tools.into_iter().filter_map(|tool| Some((tool.definition.as_ref().ok()?.name.clone(), tool)));
        Self(named.collect())
    }

    /// Whether there is a tool of this name.
    pub fn has(&self, tool: &str) -> bool {
        self.0.contains_key(tool)
    }

    /// Whether a gate decides on each call of this tool.
    pub fn needs_approval(&self, tool: &str) -> bool {
        self.0.get(tool).is_some_and(|tool| tool.needs_approval)
    }

    /// What the effect of this tool is like; [`Effect::AtMostOnce`] for one that says nothing, or is not here.
    pub fn effect(&self, tool: &str) -> Effect {
        self.declaration(tool).map(|of| of.effect).unwrap_or_default()
    }

    /// What this tool declares of itself; `None` for one that declares nothing, or is not here.
    pub fn declaration(&self, tool: &str) -> Option<&Declaration> {
        self.0.get(tool)?.declares.as_deref()
    }

    /// The tools that declare something, with what it is, in the order of their names.
    pub fn declarations(&self) -> impl Iterator<Item = (&ToolName, &Declaration)> {
        self.0.iter().filter_map(|(name, tool)| Some((name, tool.declares.as_deref()?)))
    }

    /// Which effect `call` is for: an object of the members that its tool declares, in the order in which they are declared,
    /// as compact JSON. Equal values give the same text, however they were written: numbers by their exact value; a member
    /// that is not there is null. `None` where the tool declares no business key, and where it cannot be run since the
    /// arguments are no object.
    ///
    /// ```
    /// # use sommelier_protocol::ToolUse;
    /// # use sommelier_runtime::tool::{CallContext, Failure};
    /// # use sommelier_runtime::{Agent, Tool, tool_args};
    /// # tool_args! {
    /// #     /// A seat.
    /// #     pub struct Seat {
    /// #         /// The row.
    /// #         pub row: String,
    /// #         /// The number.
    /// #         pub number: u32,
    /// #         /// A wish.
    /// #         pub wish: Option<String>,
    /// #     }
    /// # }
    /// let book = Tool::new("book", "Books a seat.", |_: Seat, _: &CallContext<'_>| Ok::<_, Failure>("booked"));
    /// let agent = Agent::new("clerk", "").tools([book.business_key(["row", "number"])]).build()?;
    /// let call = ToolUse::scripted("tu_1", "book", r#"{"number": 7, "wish": "quiet", "row": "B"}"#);
    /// assert_eq!(agent.table().business_key(&call).as_deref(), Some(r#"{"row":"B","number":7}"#));
    /// # Ok::<(), sommelier_runtime::DefinitionError>(())
    /// ```
    pub fn business_key(&self, call: &ToolUse) -> Option<String> {
        self.declaration(call.name())?.key_of(call)
    }

    /// Whether a model has written in `call` the key that is [filled in](Tool::key_argument) for it, and that is not used.
    pub fn ignores_key_of(&self, call: &ToolUse) -> bool {
        self.declaration(call.name()).is_some_and(|of| of.ignores_key_of(call))
    }

    /// Asks the other side of `tool` what became of the call with the key of `context`. `None` for a tool that cannot
    /// ask. What panics is not known.
    pub fn query(&self, tool: &str, context: &CallContext<'_>) -> Option<Found> {
        let query = self.declaration(tool)?.query.as_ref()?;
        // As with the tool's function, what it shares is its own to guard.
        let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| query(context)));
        Some(asked.unwrap_or(Found::Unknown))
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &ToolName> {
        self.0.keys()
    }

    /// Runs one call. Whatever happens is an output: a name that is not here, arguments that do not fit, a
    /// failure of the function, and a panic in it.
    pub fn run(&self, call: &ToolUse, context: &CallContext<'_>) -> ToolOutput {
        let tool = match self.of(context.agent, call) {
            Ok(tool) => tool,
            Err(output) => return output,
        };
        // The function is not looked at again after a panic, and its shared state is its own to guard.
        let run = std::panic::AssertUnwindSafe(|| {
            (tool.run)(&tool.filled(call.input(), context.idempotency_key), context)
        });
        match std::panic::catch_unwind(run) {
            Ok(output) => output.unwrap_or_else(|detail| tool.misfit(&detail)),
            Err(_) => output::panicked(call.name()),
        }
    }

    /// Whether the function could be run: `agent` has the tool, and the arguments fit. Nothing is run.
    ///
    /// # Errors
    /// The output that [`run`](Self::run) would give.
    pub fn check(&self, agent: &AgentName, call: &ToolUse) -> Result<(), ToolOutput> {
        let tool = self.of(agent, call)?;
        (tool.check)(&tool.filled(call.input(), "")).map_err(|detail| tool.misfit(&detail))
    }

    /// The tool that is called with a JSON object.
    fn of(&self, agent: &AgentName, call: &ToolUse) -> Result<&Tool, ToolOutput> {
        let Some(tool) = self.0.get(call.name()) else {
            return Err(unknown_tool(agent, call.name(), self.names().map(ToolName::as_str)));
        };
        match call.broken_input() {
            Some(text) => Err(tool.misfit(&broken(&text))),
            None => Ok(tool),
        }
    }
}

fn arguments<A: ToolArgs>(input: &RawJson) -> Result<A, String> {
    input.read().map_err(|error| error.to_string())
}

/// What is wrong with arguments that are no JSON object.
pub fn broken(text: &str) -> String {
    match RawJson::parse(text) {
        Err(error) => format!("the arguments are no JSON: {error}"),
        Ok(_) => "the arguments must be one JSON object".to_owned(),
    }
}

/// What is offered where a tool must be and there is none.
pub(crate) fn no_tool() -> Option<ToolDefinition> {
    let name = ToolName::new("no_tool").ok()?;
    Some(ToolDefinition::new(name, "There is no tool. Do not call this.", args::support::object_schema(&[])))
}
