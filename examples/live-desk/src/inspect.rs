//! Whether the rules held in a case: functions over the evidence.

use std::collections::BTreeMap;

use serde_json::Value;
use sommelier_handoff::{HANDOFF_TO_SPECIALIST, HandoffPackage, Hop, HopOutcome, Relay};
use sommelier_protocol::sequence::check_messages;
use sommelier_protocol::{Message, ModelResponse, Role, ToolResult, ToolUse};

use crate::{End, Evidence, Exchange, Heard, Rule, Tally, schema};

/// Looks at every rule in a case, and counts what it finds. `relay` is what the desk is: its tools, routes and limits.
pub fn inspect(relay: &Relay, evidence: &Evidence, tally: &mut Tally) {
    for (agent, messages) in evidence.transcripts() {
        let at = format!("{}, {agent}", evidence.case.name);
        let executed = executed(relay, agent, messages).map(|call| misfit(relay, agent, call));
        executed.for_each(|wrong| tally.look(Rule::ValidCall, &at, wrong));
        tally.look(Rule::LegalSequence, &at, illegal(messages));
    }
    let (mut crossed, mut ran_before): (Vec<&Hop>, usize) = (Vec::new(), 0);
    for heard in &evidence.heard {
        let at = format!("{}, {:?}", evidence.case.name, heard.says);
        for exchange in &heard.exchanges {
            let wrong = exchange.violations.first().map(ToString::to_string);
            tally.look(Rule::LegalSequence, &format!("{at}, to {}", exchange.agent), wrong);
        }
        budget(relay, heard, &at, tally);
        if let Some(most) = relay.budget().tool_calls {
            let ran = ran(relay, heard);
            let now = ran.saturating_sub(ran_before);
            let wrong = (now > most as usize).then(|| format!("{now} ran, {most} may"));
            tally.look(Rule::ToolCalls, &at, wrong);
            ran_before = ran;
        }
        tally.look(Rule::Handoffs, &at, too_many(relay, heard));
        for hop in &heard.hops {
            let at = format!("{at}, {} to {}", hop.from, hop.to);
            match &hop.outcome {
                HopOutcome::Taken { .. } => {
                    tally.look(Rule::ValidPackage, &at, invalid(relay, hop));
                    tally.look(Rule::OwnCall, &at, foreign(heard, &crossed, hop));
                    tally.look(Rule::PackageIsRead, &at, unread(heard, hop));
                    crossed.push(hop);
                }
                HopOutcome::Refused { .. } => {
                    tally.look(Rule::RefusedByGuard, &at, unheard(heard, hop));
                }
            }
        }
        if let End::Person { asked_after, .. } = &heard.end {
            let wrong = (*asked_after > 0).then(|| format!("the model was asked {asked_after} time(s)"));
            tally.look(Rule::PersonHasIt, &at, wrong);
        }
        tally.look(Rule::KnownEnd, &at, unknown(&heard.end));
    }
}

/// The ends that a model may bring about. A model that cannot be asked, a reply that is none and an end that nobody has
/// thought of are none of them.
const ENDS: [&str; 9] = [
    "answered",
    "unresolved",
    "model_refused",
    "handoff_refused",
    "hop_limit",
    "truncated",
    "turn_limit",
    "budget_spent",
    "no_progress",
];

fn unknown(end: &End) -> Option<String> {
    match end {
        End::Run { code, .. } if ENDS.contains(code) => None,
        End::Run { told, .. } => Some(format!("it ended as {told}")),
        End::Person { guard: "cap" | "pair", code: "taken_over", .. } => None,
        End::Person { guard, code, .. } => {
            Some(format!("a person was asked by {guard}, and it ended as {code}"))
        }
        End::Broken { why } => Some(why.clone()),
    }
}

/// What is told of a call that was not run: arguments that do not fit, and calls that are too many, too late, or beyond the
/// budget.
const NOT_RUN: [&str; 6] = [
    "invalid_arguments",
    "unknown_tool",
    "arguments_too_large",
    "too_many_calls",
    "not_run",
    "tool_calls_spent",
];

/// The calls of a conversation that were executed. One of an agent's own tools was, whatever came of it, unless it is told that
/// it was not; one of the pseudo-tools was when its result is no error.
fn executed<'a>(
    relay: &'a Relay,
    agent: &'a str,
    messages: &'a [Message],
) -> impl Iterator<Item = &'a ToolUse> {
    let results: BTreeMap<&str, &ToolResult> = messages
        .iter()
        .flat_map(Message::tool_results)
        .map(|result| (result.tool_use_id(), result))
        .collect();
    messages.iter().flat_map(Message::tool_uses).filter(move |call| {
        let was_run = |result: &&ToolResult| match is_own(relay, agent, call) {
            true => !result.is_error() || !NOT_RUN.contains(&&*code(result)),
            false => !result.is_error(),
        };
        results.get(call.id()).is_some_and(was_run)
    })
}

fn is_own(relay: &Relay, agent: &str, call: &ToolUse) -> bool {
    relay.agent(agent).is_some_and(|agent| agent.table().has(call.name()))
}

fn code(result: &ToolResult) -> String {
    let told: Value = serde_json::from_str(&result.words()).unwrap_or_default();
    told["error"].as_str().unwrap_or_default().to_owned()
}

/// What is wrong with a call by the schema of its tool.
fn misfit(relay: &Relay, agent: &str, call: &ToolUse) -> Option<String> {
    let known = relay.agent(agent).into_iter();
    let mut known = known.flat_map(|agent| agent.definitions().iter().chain(agent.unoffered()));
    let Some(tool) = known.find(|tool| tool.name.as_str() == call.name()) else {
        return Some(format!("{agent} has no tool {:?}, and it was executed", call.name()));
    };
    let (schema, input) = match (tool.input_schema.read(), serde_json::from_str(call.input().get())) {
        (Ok(schema), Ok(input)) => (schema, input),
        (Err(error), _) | (_, Err(error)) => return Some(format!("{}: {error}", call.name())),
    };
    let found = schema::misfits(&schema, &input);
    (!found.is_empty()).then(|| format!("{}: {}", call.name(), found.join("; ")))
}

/// What is wrong with a conversation at its end. The model's words may stand last there, as the user's would come next.
fn illegal(messages: &[Message]) -> Option<String> {
    let mut messages = messages.to_vec();
    if messages.last().is_some_and(|last| last.role == Role::Assistant) {
        messages.push(Message::user("And then?"));
    }
    check_messages(&messages).first().map(ToString::to_string)
}

/// Whether the model was asked within what was left, call by call: counted from what passed.
fn budget(relay: &Relay, heard: &Heard, at: &str, tally: &mut Tally) {
    let budget = relay.budget();
    let (mut replies, mut tokens) = (0, 0_u64);
    for exchange in &heard.exchanges {
        let over = |spent: u64, most: u64| (spent >= most).then(|| format!("{spent} of {most} were spent"));
        tally.look(Rule::ModelCalls, at, over(replies, u64::from(budget.model_calls)));
        if let Some(most) = budget.tokens {
            tally.look(Rule::Tokens, at, over(tokens, most));
        }
        if let Ok(reply) = &exchange.reply {
            replies += 1;
            tokens = tokens.saturating_add(spent(reply));
        }
    }
}

fn spent(reply: &ModelResponse) -> u64 {
    reply.usage.total_input_tokens().saturating_add(reply.usage.output_tokens)
}

/// How many tools of the agents' own had run by the end of a message.
fn ran(relay: &Relay, heard: &Heard) -> usize {
    let of = |(agent, messages): &(String, Vec<Message>)| {
        executed(relay, agent, messages).filter(|call| is_own(relay, agent, call)).count()
    };
    heard.transcripts.iter().map(of).sum()
}

/// The handoffs of a message that are more than may be.
fn too_many(relay: &Relay, heard: &Heard) -> Option<String> {
    let taken: Vec<(&str, &str)> = heard.hops.iter().filter(|hop| hop.outcome.is_taken()).map(ends).collect();
    let guards = relay.guards();
    if taken.len() > guards.max_handoffs as usize {
        return Some(format!("{} were taken, {} may be", taken.len(), guards.max_handoffs));
    }
    let repeats = |place: usize| taken[..place].contains(&taken[place]);
    let again = (0..taken.len()).find(|place| guards.refuse_repeated_pairs && repeats(*place))?;
    Some(format!("{} has handed over to {} twice", taken[again].0, taken[again].1))
}

fn ends(hop: &Hop) -> (&str, &str) {
    (hop.from.as_str(), &hop.to)
}

/// What is wrong with a package that crossed.
fn invalid(relay: &Relay, hop: &Hop) -> Option<String> {
    let mut routes = relay.routes();
    let Some(route) = routes.find(|route| (route.from(), route.to()) == ends(hop)) else {
        return Some("there is no such route".to_owned());
    };
    let Some(package) = &hop.package else { return Some("nothing crossed".to_owned()) };
    let errors = package.validate(route.package_policy());
    (!errors.is_empty()).then(|| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

/// What of a package the sender's model has not written in a call of its own. What code may put there besides is what was
/// handed to the sender before, and the customer's words.
fn foreign(heard: &Heard, crossed: &[&Hop], hop: &Hop) -> Option<String> {
    let Some((_, call)) = call_for(heard, hop) else {
        return Some("no reply of the model holds the call".to_owned());
    };
    let written: Value = serde_json::from_str(call.input().get()).unwrap_or_default();
    let Some(package) = &hop.package else { return Some("nothing crossed".to_owned()) };
    let package: Value = serde_json::from_str(&package.to_json()).unwrap_or_default();
    // A package leaves out what is empty.
    let is_empty = |it: &Value| it.is_null() || it.as_object().is_some_and(serde_json::Map::is_empty);
    let differs = |name: &str| {
        let (said, has) = (&written[name], &package[name]);
        said != has && !(is_empty(said) && is_empty(has))
    };
    if let Some(name) = ["task", "context"].into_iter().find(|name| differs(name)) {
        return Some(format!("`{name}` is {}, and the call said {}", package[name], written[name]));
    }
    if written["specialist"] != *hop.to {
        return Some(format!("the call named {}", written["specialist"]));
    }
    let texts = |of: &Value, name: &str| of[name].as_array().cloned().unwrap_or_default();
    for name in ["constraints", "completed_steps", "open_items"] {
        let handed = crossed.iter().filter_map(|hop| hop.package.as_ref()).map(HandoffPackage::to_json);
        let handed = handed.map(|json| serde_json::from_str(&json).unwrap_or_default());
        let handed: Vec<Value> = handed.flat_map(|package: Value| texts(&package, name)).collect();
        let (said, has) = (texts(&written, name), texts(&package, name));
        if let Some(text) = has.iter().find(|text| !said.contains(text) && !handed.contains(text)) {
            return Some(format!("{text} of `{name}` is from nobody"));
        }
        if let Some(text) = said.iter().find(|text| !has.contains(text)) {
            return Some(format!("{text} of `{name}` was lost"));
        }
    }
    let by_code = ["user_words", "user_words_left_out"];
    let mut artifacts = package["artifacts"].as_object().into_iter().flatten();
    let stray = artifacts
        .find(|(name, value)| !by_code.contains(&&***name) && written["artifacts"][&**name] != **value);
    stray.map(|(name, _)| format!("the artifact {name:?} is from nobody"))
}

/// The exchange in which the sender's model asked for this handoff, and the call. The id may have been replaced where it was
/// illegal or taken, so the call may also be known by what it says.
pub(crate) fn call_for<'a>(heard: &'a Heard, hop: &Hop) -> Option<(&'a Exchange, &'a ToolUse)> {
    let of_sender = heard.exchanges.iter().filter(|exchange| *exchange.agent == *hop.from.as_str());
    let calls = of_sender.flat_map(|exchange| {
        let content = exchange.reply.iter().flat_map(|reply| &reply.content);
        content.filter_map(|block| block.as_tool_use()).map(move |call| (exchange, call))
    });
    let handoffs: Vec<_> = calls.filter(|(_, call)| call.name() == HANDOFF_TO_SPECIALIST).collect();
    let task = hop.package.as_ref().map_or("", HandoffPackage::task);
    let says_so = |call: &ToolUse| {
        let written: Value = serde_json::from_str(call.input().get()).unwrap_or_default();
        written["specialist"] == *hop.to && written["task"] == task
    };
    let by_id = handoffs.iter().find(|(_, call)| call.id() == &*hop.call_id);
    by_id.or_else(|| handoffs.iter().find(|(_, call)| says_so(call))).copied()
}

/// Whether the receiver was not asked with the package as the last thing that it heard. A run may end before it is asked at
/// all, at a limit.
fn unread(heard: &Heard, hop: &Hop) -> Option<String> {
    let package = hop.package.as_ref()?.to_prompt(&hop.from);
    let is_asked = |exchange: &&Exchange| *exchange.agent == *hop.to;
    let reads = |exchange: &Exchange| {
        let last = exchange.messages.iter().rfind(|message| message.texts().next().is_some());
        last.is_some_and(|message| message.role == Role::User && message.texts().any(|text| text == package))
    };
    let mut asked = heard.exchanges.iter().filter(is_asked).peekable();
    if asked.peek().is_none() && ["budget_spent", "turn_limit"].contains(&heard.end.code()) {
        return None;
    }
    (!asked.any(reads)).then(|| "no request of the receiver has it".to_owned())
}

/// Whether nobody has heard of a refusal.
fn unheard(heard: &Heard, hop: &Hop) -> Option<String> {
    let HopOutcome::Refused { refusal } = &hop.outcome else { return None };
    let guard = refusal.guard().as_str();
    let has_ended_it = match &heard.end {
        End::Person { guard: asked, .. } => *asked == guard,
        End::Run { code, told } => {
            ["handoff_refused", "hop_limit"].contains(code) && told.contains(&refusal.to_string())
        }
        End::Broken { .. } => false,
    };
    let of_sender = heard.transcripts.iter().filter(|(agent, _)| *agent == hop.from.as_str());
    let mut results = of_sender.flat_map(|(_, messages)| messages).flat_map(Message::tool_results);
    let was_told = results.any(|result| result.tool_use_id() == &*hop.call_id && result.is_error());
    (!has_ended_it && !was_told).then(|| format!("the guard {guard} refused it, and nobody was told"))
}
