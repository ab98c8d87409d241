//! Whether what a tool declares of itself is true.
//!
//! After a crash a driver goes on with a call by what its tool declares of its [effect](Effect), and nobody can see then
//! whether that was true. So it is looked at before, in a test of the tool's own: the kit makes the calls that a driver may
//! make, against a double of the other side, and compares what the double looks like in between. What a tool says of itself
//! and is not so comes back as [`Finding`]s, and a tool that panics is one of them.
//!
//! ```
//! use sommelier_runtime::tool::conformance::{Claim, Conformance, Finding, Moment, Seen};
//! use sommelier_runtime::tool::{CallContext, Effect, Failure};
//! use sommelier_runtime::{Agent, Tool, tool_args};
//! use std::sync::{Arc, Mutex};
//!
//! tool_args! {
//!     /// A seat.
//!     pub struct Seat {
//!         /// The row.
//!         pub row: String,
//!     }
//! }
//!
//! let seen = Arc::new(Mutex::new(Vec::new()));
//! let log = seen.clone();
//! let look = Tool::new("look", "Tells what a seat costs.", move |seat: Seat, _: &CallContext<'_>| {
//!     log.lock().unwrap().push(seat.row);
//!     Ok::<_, Failure>(1200)
//! });
//! let clerk = Agent::new("clerk", "").tools([look.read_only()]).build()?;
//! let found = Conformance::of(&clerk, "look", || seen.lock().unwrap().len()).check(r#"{"row":"B"}"#).unwrap_err();
//! assert_eq!(
//!     found.all()[0],
//!     Finding {
//!         claim: Claim::Effect(Effect::ReadOnly),
//!         at: Moment::First,
//!         seen: Seen::Changed { before: "0".into(), after: "1".into() },
//!     }
//! );
//! # Ok::<(), sommelier_runtime::DefinitionError>(())
//! ```
//!
//! | declared | what is looked at |
//! |---|---|
//! | [read only](crate::Tool::read_only) | nothing changes: by a call, by the same call again, by another one, by one that fails |
//! | [transactional](crate::Tool::transactional) | nothing is there after a transaction that is rolled back, and the effect is after one that is committed; without a transaction it has its effect or fails, and [which](Report::alone) is told |
//! | [keyed](crate::Tool::keyed) | the same call under its key changes nothing more and gives the same; under another key it is another effect |
//! | [queried](crate::Tool::queried) | a key that was not used is absent; one that was is done, with the call's own output; asking changes nothing |
//! | nothing | that cannot be untrue; what it [could declare](Report::could_be) is told |
//! | [undoes](crate::Tool::undoes) | what is undone is found by the other's result; undoing it again is a success and changes nothing |
//! | [key argument](crate::Tool::key_argument) | a call made again has another key in its place, as a model may write one; that it is not used is seen by what is declared of the effect |
//! | [secret result](crate::Tool::secret_result) | each such member is in the result |
//!
//! Of every tool: a call that fails and does not say that it is in doubt has changed nothing. Members of arguments that are
//! declared and are not there are told when the agent is built. What a test of minutes cannot see is in
//! [`Report::unchecked`].
//!
//! The double is what decides: an effect that the snapshot does not show is not found, nor one that comes later.

mod finding;
mod report;

pub use finding::{Claim, Finding, Findings, Moment, Seen};
pub use report::{Alone, Better, Report, Unchecked};

use serde_json::Value;
use sommelier_protocol::{RawJson, ToolUse};
use std::any::Any;
use std::fmt;

use super::{Effect, Found, Members, Undoes, Within, dispatch_within, is_in_doubt, query_within};
use crate::{Definition, ToolOutput};

/// The places of the kit's calls in the one reply to which they belong; each makes a key.
const BEFORE: usize = 0;
const FAILING: usize = 1;
const FIRST: usize = 2;
const ANOTHER: usize = 3;

/// What a model may write where the key is filled in.
const A_MODELS_KEY: &str = "a key that a model wrote";

/// How a transaction of a test's own is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// What was written is there.
    Commit,
    /// Nothing of it is.
    RollBack,
}

type World<'a, W> = Box<dyn Fn() -> W + 'a>;
type Transact<'a> = Box<dyn Fn(&mut dyn FnMut(&dyn Any), Ending) + 'a>;

/// A check of one tool, with what it needs. See the [module](self).
pub struct Conformance<'a, W> {
    agent: &'a Definition,
    tool: &'a str,
    world: World<'a, W>,
    fails: Option<&'a str>,
    another: Option<&'a str>,
    after: Option<(&'a str, &'a str)>,
    transact: Option<Transact<'a>>,
}

impl<'a, W: PartialEq + fmt::Debug> Conformance<'a, W> {
    /// A check of the tool of this name. `world` takes a snapshot of all that the tool may change outside: the rows of a
    /// table, the letters that a double was given. What is in it and changes by itself is held against the tool.
    pub fn of(agent: &'a Definition, tool: &'a str, world: impl Fn() -> W + 'a) -> Self {
        let world = Box::new(world);
        Self { agent, tool, world, fails: None, another: None, after: None, transact: None }
    }

    /// Arguments that the tool takes and fails on. It is called with them first.
    #[must_use]
    pub fn fails(mut self, arguments: &'a str) -> Self {
        self.fails = Some(arguments);
        self
    }

    /// Arguments of an effect that can be had beside the first one, such as another seat. Not wanted where the same one can
    /// be had twice.
    #[must_use]
    pub fn another(mut self, arguments: &'a str) -> Self {
        self.another = Some(arguments);
        self
    }

    /// A call of another tool of the agent, that is made before all others. Where it is the one that this tool
    /// [undoes](crate::Tool::undoes), what names its effect is put into the arguments of [`check`](Self::check).
    #[must_use]
    pub fn after(mut self, tool: &'a str, arguments: &'a str) -> Self {
        self.after = Some((tool, arguments));
        self
    }

    /// How a transactional tool is given its transaction: `transact` begins one, hands it to the work that it is given, as
    /// the journal's store would, and ends it as it is told.
    #[must_use]
    pub fn transaction(mut self, transact: impl Fn(&mut dyn FnMut(&dyn Any), Ending) + 'a) -> Self {
        self.transact = Some(Box::new(transact));
        self
    }

    /// Calls the tool with `arguments`, which must work, several times and in the ways in which a driver may, and compares.
    /// The world is left as the calls have made it.
    ///
    /// # Errors
    /// What is not as it was declared, or as the test says that it is.
    ///
    /// # Panics
    /// Where the test's own functions do; never because of the tool.
    pub fn check(self, arguments: &str) -> Result<Report, Findings> {
        let effect = self.agent.table().effect(self.tool);
        let mut trial = Trial { of: &self, effect, found: Vec::new() };
        let mut report = Report::of(effect, self.fails.is_some());
        trial.all(arguments, &mut report);
        match Findings::of(self.tool, trial.found) {
            Some(findings) => Err(findings),
            None => Ok(report),
        }
    }

    /// Several tools may be looked at over one double, each once.
    fn scope(&self) -> String {
        format!("conformance/{}", self.tool)
    }

    fn undoes(&self) -> Option<&'a Undoes> {
        self.agent.table().declaration(self.tool)?.undoes()
    }
}

impl<W> fmt::Debug for Conformance<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conformance")
            .field("agent", &self.agent.name())
            .field("tool", &self.tool)
            .field("fails", &self.fails)
            .field("another", &self.another)
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}

/// A call that was made, and the world around it.
struct Made<W> {
    at: Moment,
    output: ToolOutput,
    before: W,
    after: W,
}

impl<W: PartialEq> Made<W> {
    fn panicked(&self) -> bool {
        self.output.error.as_deref() == Some("panic") && is_in_doubt(&self.output.content)
    }

    fn has_changed(&self) -> bool {
        self.before != self.after
    }
}

/// A check under way.
struct Trial<'c, 'a, W> {
    of: &'c Conformance<'a, W>,
    effect: Effect,
    found: Vec<Finding>,
}

impl<W: PartialEq + fmt::Debug> Trial<'_, '_, W> {
    fn all(&mut self, arguments: &str, report: &mut Report) {
        let Some(arguments) = self.prepare(arguments) else { return };
        self.fail();
        let arguments = &*arguments;
        let first = match self.effect {
            Effect::ReadOnly => self.read_only(arguments),
            Effect::Transactional => self.transactional(arguments, report),
            Effect::Keyed { .. } => self.keyed(arguments),
            Effect::Queried { .. } => self.queried(arguments),
            Effect::AtMostOnce => self.at_most_once(arguments, report),
        };
        if let Some(output) = first {
            self.secrets(&output);
        }
    }

    /// Makes the call that has to come first. Gives the arguments, with what names its effect where that is to be undone.
    fn prepare(&mut self, arguments: &str) -> Option<String> {
        let of = self.of;
        let Some((tool, before)) = of.after else { return Some(arguments.to_owned()) };
        let is_written = of.agent.table().effect(tool) == Effect::Transactional;
        let ending = of.transact.as_ref().filter(|_| is_written).map(|_| Ending::Commit);
        let made = self.make_of(tool, Moment::Before, BEFORE, before, ending)?;
        if !self.works(Claim::Test, &made) {
            return None;
        }
        let Some(undoes) = of.undoes().filter(|undoes| undoes.tool() == tool) else {
            return Some(arguments.to_owned());
        };
        let filled = undoes
            .named_in(&made.output.content)
            .and_then(|name| with_member(arguments, undoes.member(), RawJson::parse(&name).ok()?));
        if filled.is_none() {
            let seen = Seen::Missing { member: undoes.member().into(), output: made.output };
            self.saw(Claim::Undoes, Moment::Before, seen);
        }
        filled
    }

    /// A call that fails has no effect, unless it says that this is not known.
    fn fail(&mut self) {
        let Some(arguments) = self.of.fails else { return };
        let call = self.call(self.of.tool, arguments);
        if let Err(output) = self.of.agent.table().check(self.of.agent.name(), &call) {
            self.saw(Claim::Test, Moment::Failing, Seen::Output(output));
            return;
        }
        let is_undone = self.effect == Effect::Transactional;
        if is_undone && self.of.transact.is_none() {
            return;
        }
        let ending = is_undone.then_some(Ending::RollBack);
        let Some(made) = self.make(Moment::Failing, FAILING, arguments, ending) else { return };
        if made.output.error.is_none() {
            self.saw(Claim::Test, Moment::Failing, Seen::Output(made.output));
            return;
        }
        match self.effect {
            Effect::ReadOnly | Effect::Transactional => {
                self.changes_nothing(Claim::Effect(self.effect), &made);
            }
            _ if is_in_doubt(&made.output.content) => {}
            _ => self.changes_nothing(Claim::Failure, &made),
        }
    }

    fn read_only(&mut self, arguments: &str) -> Option<ToolOutput> {
        let of = self.of;
        let claim = Claim::Effect(self.effect);
        let first = self.make(Moment::First, FIRST, arguments, None)?;
        self.changes_nothing(claim, &first);
        if !self.works(Claim::Test, &first) {
            return None;
        }
        let again = self.make(Moment::Again, FIRST, arguments, None)?;
        self.changes_nothing(claim, &again);
        let another = self.make(Moment::Another, ANOTHER, of.another.unwrap_or(arguments), None)?;
        self.changes_nothing(claim, &another);
        Some(first.output)
    }

    fn transactional(&mut self, arguments: &str, report: &mut Report) -> Option<ToolOutput> {
        let of = self.of;
        let claim = Claim::Effect(self.effect);
        if of.transact.is_none() {
            self.saw(Claim::Test, Moment::RolledBack, Seen::NoTransaction);
            return None;
        }
        let undone = self.make(Moment::RolledBack, FIRST, arguments, Some(Ending::RollBack))?;
        self.changes_nothing(claim, &undone);
        if !self.works(Claim::Test, &undone) {
            return None;
        }
        // As a driver makes it after a crash: under the same key, and nothing is left of the first attempt.
        let first = self.make(Moment::Committed, FIRST, arguments, Some(Ending::Commit))?;
        if !self.works(claim, &first) {
            return None;
        }
        self.changes(claim, &first);
        if of.undoes().is_some() {
            self.undo_again(arguments, Some(Ending::Commit));
        } else {
            let alone = self.make(Moment::Alone, ANOTHER, of.another.unwrap_or(arguments), None)?;
            if alone.output.error.is_some() {
                self.changes_nothing(Claim::Failure, &alone);
                report.alone = Some(Alone::Fails);
            } else {
                self.changes(claim, &alone);
                report.alone = Some(Alone::Writes);
            }
        }
        Some(first.output)
    }

    fn keyed(&mut self, arguments: &str) -> Option<ToolOutput> {
        let claim = Claim::Effect(self.effect);
        let first = self.make(Moment::First, FIRST, arguments, None)?;
        if !self.works(Claim::Test, &first) {
            return None;
        }
        self.changes(claim, &first);
        let again = self.make(Moment::Again, FIRST, &self.with_a_models_key(arguments), None)?;
        self.changes_nothing(claim, &again);
        if again.output != first.output && !again.panicked() {
            let seen = Seen::Outputs { first: first.output.clone(), again: again.output };
            self.saw(claim, Moment::Again, seen);
        }
        self.another(arguments);
        Some(first.output)
    }

    fn queried(&mut self, arguments: &str) -> Option<ToolOutput> {
        let claim = Claim::Effect(self.effect);
        self.asks(Moment::AskedBefore, FIRST, arguments, Found::Absent);
        let first = self.make(Moment::First, FIRST, arguments, None)?;
        if !self.works(Claim::Test, &first) {
            return None;
        }
        self.changes(claim, &first);
        self.asks(Moment::AskedAfter, FIRST, arguments, Found::Done(first.output.clone()));
        self.asks(Moment::AskedOfAnother, ANOTHER, arguments, Found::Absent);
        self.another(arguments);
        Some(first.output)
    }

    /// Nothing is promised, so it is looked at what could be.
    fn at_most_once(&mut self, arguments: &str, report: &mut Report) -> Option<ToolOutput> {
        let first = self.make(Moment::First, FIRST, arguments, None)?;
        if !self.works(Claim::Test, &first) {
            return None;
        }
        let again = self.make(Moment::Again, FIRST, &self.with_a_models_key(arguments), None)?;
        report.could_be = match (first.has_changed(), again.has_changed()) {
            (false, false) => Some(Better::ReadOnly),
            (true, false) if again.output == first.output => Some(Better::Keyed),
            _ => None,
        };
        if self.of.undoes().is_some() {
            self.undo_again(arguments, None);
        }
        Some(first.output)
    }

    /// Under another key it is another effect; where something is undone, that is so by then.
    fn another(&mut self, arguments: &str) {
        if self.of.undoes().is_some() {
            return self.undo_again(arguments, None);
        }
        let arguments = self.of.another.unwrap_or(arguments);
        let Some(made) = self.make(Moment::Another, ANOTHER, arguments, None) else { return };
        if self.works(Claim::Effect(self.effect), &made) {
            self.changes(Claim::Effect(self.effect), &made);
        }
    }

    fn undo_again(&mut self, arguments: &str, ending: Option<Ending>) {
        let Some(made) = self.make(Moment::Another, ANOTHER, arguments, ending) else { return };
        self.works(Claim::Undoes, &made);
        self.changes_nothing(Claim::Undoes, &made);
    }

    fn secrets(&mut self, output: &ToolOutput) {
        let Some(declared) = self.of.agent.table().declaration(self.of.tool) else { return };
        let result: Value = serde_json::from_str(&output.content).unwrap_or_default();
        for path in declared.secret_results() {
            if !has(&result, &path.split('.').collect::<Vec<_>>()) {
                let seen = Seen::Missing { member: path.clone(), output: output.clone() };
                self.saw(Claim::SecretResult, Moment::First, seen);
            }
        }
    }

    fn call(&self, tool: &str, arguments: &str) -> ToolUse {
        ToolUse::scripted("call_1", tool, arguments)
    }

    /// As a model may write the call: with a key of its own where the tool takes ours.
    fn with_a_models_key(&self, arguments: &str) -> String {
        let declared = self.of.agent.table().declaration(self.of.tool);
        let member = declared.and_then(|declared| declared.key_argument());
        let written = member.and_then(|member| with_member(arguments, member, RawJson::string(A_MODELS_KEY)));
        written.unwrap_or_else(|| arguments.to_owned())
    }

    fn make(&mut self, at: Moment, place: usize, arguments: &str, ending: Option<Ending>) -> Option<Made<W>> {
        self.make_of(self.of.tool, at, place, arguments, ending)
    }

    /// Makes a call, in a transaction that ends so if there is one. `None` where the test did not hand its transaction on.
    fn make_of(
        &mut self,
        tool: &str,
        at: Moment,
        place: usize,
        arguments: &str,
        ending: Option<Ending>,
    ) -> Option<Made<W>> {
        let of = self.of;
        let call = self.call(tool, arguments);
        // Whoever makes a call again after a crash has a later lease.
        let epoch = Some(1 + u64::from(at == Moment::Again));
        let run = |transaction: Option<&dyn Any>| {
            let within = Within { transaction, epoch, ..Within::default() };
            dispatch_within(of.agent, place, &call, &of.scope(), within)
        };
        let before = (of.world)();
        let output = match (&of.transact, ending) {
            (Some(transact), Some(ending)) => {
                let mut output = None;
                transact(&mut |transaction| output = Some(run(Some(transaction))), ending);
                output
            }
            _ => Some(run(None)),
        };
        let Some(output) = output else {
            self.saw(Claim::Test, at, Seen::NoTransaction);
            return None;
        };
        let made = Made { at, output, before, after: (of.world)() };
        if made.panicked() {
            self.saw(Claim::Answer, at, Seen::Panicked);
        }
        Some(made)
    }

    /// Asks what became of a call, which changes nothing.
    fn asks(&mut self, at: Moment, place: usize, arguments: &str, expected: Found) {
        let of = self.of;
        let claim = Claim::Effect(self.effect);
        let call = self.call(of.tool, arguments);
        let within = Within { epoch: Some(2), ..Within::default() };
        let before = (of.world)();
        let found = query_within(of.agent, place, &call, &of.scope(), within).unwrap_or(Found::Unknown);
        let after = (of.world)();
        if before != after {
            self.saw(claim, at, Seen::changed(&before, &after));
        }
        if found != expected {
            self.saw(claim, at, Seen::Found { expected, found });
        }
    }

    /// A panic has been told of as that already.
    fn works(&mut self, claim: Claim, made: &Made<W>) -> bool {
        if made.output.error.is_some() && !made.panicked() {
            self.saw(claim, made.at, Seen::Output(made.output.clone()));
        }
        made.output.error.is_none()
    }

    fn changes(&mut self, claim: Claim, made: &Made<W>) {
        if !made.has_changed() {
            self.saw(claim, made.at, Seen::Unchanged);
        }
    }

    fn changes_nothing(&mut self, claim: Claim, made: &Made<W>) {
        if made.has_changed() {
            self.saw(claim, made.at, Seen::changed(&made.before, &made.after));
        }
    }

    fn saw(&mut self, claim: Claim, at: Moment, seen: Seen) {
        self.found.push(Finding { claim, at, seen });
    }
}

/// The arguments with this member; `None` where they are no object.
fn with_member(arguments: &str, member: &str, value: RawJson) -> Option<String> {
    let mut members: Members = serde_json::from_str(arguments).ok()?;
    members.set(member, value);
    serde_json::to_string(&members).ok()
}

/// Whether there is something at `path`, in any item where a list is on the way.
fn has(value: &Value, path: &[&str]) -> bool {
    match (value, path) {
        (Value::Array(items), _) => items.iter().any(|item| has(item, path)),
        (_, []) => true,
        (_, [member, rest @ ..]) => value.get(member).is_some_and(|value| has(value, rest)),
    }
}
