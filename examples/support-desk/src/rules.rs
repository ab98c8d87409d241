//! What executes the agents when no model does: rules over the request, and nothing but the request.

use serde_json::{Value, json};
use sommelier_handoff::{COMPLETE_HANDOFF, HANDOFF_TO_SPECIALIST};
use sommelier_protocol::{Message, ModelRequest, ModelResponse, Role as Speaker, ToolResult, ToolUse};
use sommelier_runtime::{Model, ModelError, script};

use crate::desk::Role;
use crate::intent::{Intent, Reading, classify_intent, speaks_of};

/// Rules in a model's place, one set for each role. They remember nothing: what they do follows from the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeskRules;

impl DeskRules {
    /// What stands for a model's name.
    const NAME: &'static str = "desk-rules";

    /// The label of whatever they decide.
    pub const LABEL: &'static str = "desk rules (no model)";
}

impl Model for DeskRules {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let seen = Seen::of(&request);
        let caller = Some(&*request.caller);
        let mut reply = if caller == Role::Billing.agent() {
            billing(&seen)
        } else if caller == Role::Technical.agent() {
            technical(&seen)
        } else {
            triage(&seen)
        };
        reply.model = Self::NAME.into();
        Ok(reply)
    }

    fn name(&self) -> Option<&str> {
        Some(Self::NAME)
    }

    fn label(&self) -> Option<&str> {
        Some(Self::LABEL)
    }
}

/// What an agent has before it: what it is to work on, and what its calls since then have brought.
struct Seen {
    /// What the customer said, in order: for a specialist what came after the package.
    said: Vec<String>,
    /// The package that a specialist works on; null for triage.
    package: Value,
    /// Name, whether it failed, and result of each call since.
    results: Vec<(String, bool, String)>,
    /// The id for the next call.
    next_id: String,
}

impl Seen {
    fn of(request: &ModelRequest<'_>) -> Self {
        let messages: &[Message] = &request.messages;
        let calls: Vec<&ToolUse> = messages.iter().flat_map(Message::tool_uses).collect();
        let name_of = |result: &ToolResult| {
            calls
                .iter()
                .find(|call| call.id() == result.tool_use_id())
                .map_or("", |call| call.name())
                .to_owned()
        };
        // The agent got the turn by words that stand by themselves or after its own handoff; what the customer says in the
        // middle of its work comes with the results of other calls.
        let has_turn_by = |message: &Message| {
            let gave_away =
                |result: &ToolResult| !result.is_error() && name_of(result) == HANDOFF_TO_SPECIALIST;
            is_spoken(message) && message.tool_results().all(gave_away)
        };
        let start = messages.iter().rposition(has_turn_by).unwrap_or(0);
        let since = messages.get(start..).unwrap_or_default();
        let mut said: Vec<String> = since
            .iter()
            .filter(|message| is_spoken(message))
            .flat_map(Message::texts)
            .map(str::to_owned)
            .collect();
        let is_triage = Role::Triage.agent() == Some(&*request.caller);
        let prompt = if is_triage || said.is_empty() { String::new() } else { said.remove(0) };
        let package = prompt.lines().find(|line| line.starts_with('{')).unwrap_or_default();
        let results = since.iter().skip(1).flat_map(Message::tool_results);
        Self {
            said,
            package: serde_json::from_str(package).unwrap_or_default(),
            results: results.map(|result| (name_of(result), result.is_error(), result.words())).collect(),
            next_id: format!("call_{}", 1 + calls.len()),
        }
    }

    /// What a call of this tool brought: whether it failed, and the result.
    fn result(&self, tool: &str) -> Option<(bool, Value)> {
        let (_, is_error, words) = self.results.iter().rev().find(|(name, ..)| name == tool)?;
        Some((*is_error, serde_json::from_str(words).unwrap_or_default()))
    }

    /// How often a handoff was refused since.
    fn refusals(&self) -> usize {
        self.results.iter().filter(|(name, is_error, _)| name == HANDOFF_TO_SPECIALIST && *is_error).count()
    }

    fn call(&self, tool: &str, arguments: &Value) -> ModelResponse {
        script::call(&self.next_id, tool, &arguments.to_string())
    }

    /// All that the customer said, as far as it is known here: what code has put into the package (the task where it
    /// could not), what was said before that, and what came since.
    fn customer(&self) -> String {
        let said_before = self.package["context"]["said_before"].as_str();
        let words = self.package["artifacts"]["user_words"].as_str().or(self.package["task"].as_str());
        let said: Vec<&str> =
            said_before.into_iter().chain(words).chain(self.said.iter().map(String::as_str)).collect();
        said.join("\n")
    }

    /// The end of a specialist's work: the answer, and whether the open items of its package are done with it.
    fn finish(&self, answer: &str, is_done: bool) -> ModelResponse {
        let items = &self.package["open_items"];
        if items.as_array().is_none_or(Vec::is_empty) {
            return script::say(answer);
        }
        let (done, open) = if is_done { (items.clone(), json!([])) } else { (json!([]), items.clone()) };
        self.call(COMPLETE_HANDOFF, &json!({ "done": done, "open": open, "answer": answer }))
    }

    /// Whether a constraint of the package speaks of this.
    fn is_bound_by(&self, what: &str) -> bool {
        let constraints = self.package["constraints"].as_array().map(Vec::as_slice).unwrap_or_default();
        constraints.iter().filter_map(Value::as_str).any(|constraint| constraint.contains(what))
    }
}

fn is_spoken(message: &Message) -> bool {
    message.role == Speaker::User && message.texts().next().is_some()
}

/// What a customer reads whose query cannot be passed on. It names no agent: that would be a handoff in prose.
const NOT_PASSED_ON: &str =
    "Nobody can take this right now. It is noted as you wrote it, and you will not have to say it again.";

fn triage(seen: &Seen) -> ModelResponse {
    let reading = classify_intent(&seen.said.join("\n"));
    let is_mendable = seen
        .result(HANDOFF_TO_SPECIALIST)
        .is_none_or(|(_, told)| told["error"] == "invalid_package" && seen.refusals() == 1);
    match Role::of(reading.intent).agent() {
        None if reading.word.as_deref() == Some("hello") => {
            script::say("Hello. What can we do for you? Say what went wrong, and whoever can help gets it.")
        }
        None => script::say("You are welcome. Good-bye."),
        Some(_) if !is_mendable => script::say(NOT_PASSED_ON),
        Some(to) => seen.call(HANDOFF_TO_SPECIALIST, &query_package(to, &reading, &seen.said)),
    }
}

/// The package of a query.
fn query_package(to: &str, reading: &Reading, words: &[String]) -> Value {
    let (kind, task) = match reading.intent {
        Intent::Billing => {
            ("billing", "Find out what is wrong with the customer's charges, and put it right.")
        }
        _ => ("technical", "Find out why something does not work for the customer, and say what helps."),
    };
    let all = words.join("\n").to_lowercase();
    let said: Vec<&str> = all.split(|c: char| !c.is_alphanumeric()).collect();
    let mut constraints = vec!["be concise".to_owned(), "do not ask again for what was said".to_owned()];
    if said.contains(&"trial") {
        constraints.push("the account is on a trial".to_owned());
    }
    let plan = said.windows(2).find(|pair| pair[1] == "plan" && ["basic", "pro", "team"].contains(&pair[0]));
    constraints.extend(plan.map(|pair| format!("the plan is {}", pair[0])));
    let mut context = json!({ "intent": kind, "decided_by": reading.word });
    // Code puts the newest words into the package; what was said just before them is triage's to pass on.
    if let [before @ .., _] = words
        && !before.is_empty()
    {
        context["said_before"] = before.join("\n").into();
    }
    json!({
        "specialist": to,
        "task": task,
        "context": context,
        "completed_steps": ["query received", format!("read as {kind}")],
        "open_items": ["resolve the query"],
        "constraints": constraints,
    })
}

fn billing(seen: &Seen) -> ModelResponse {
    let Some((_, charges)) = seen.result("find_charges") else {
        return seen.call("find_charges", &json!({}));
    };
    let charges = charges.as_array().map(Vec::as_slice).unwrap_or_default();
    let customer = seen.customer().to_lowercase();
    let wants_back = ["twice", "double", "refund"].iter().any(|word| customer.contains(word));
    let is_same = |pair: &&[Value]| pair[0]["what"] == pair[1]["what"] && pair[0]["day"] == pair[1]["day"];
    let mut is_done = true;
    let answer = match charges.windows(2).find(is_same).filter(|_| wants_back) {
        None => {
            let told = charges.iter().map(|charge| {
                format!("{} {} cents ({})", text(&charge["charge"]), charge["cents"], text(&charge["what"]))
            });
            format!("Your charges: {}.", told.collect::<Vec<_>>().join(", "))
        }
        Some([again, first]) if seen.is_bound_by("trial") => format!(
            "On a trial nothing is collected: {} and {} are reservations and lapse by themselves.",
            text(&first["charge"]),
            text(&again["charge"])
        ),
        Some(pair) => {
            let again = &pair[0];
            let twice = format!(
                "You were charged {} cents twice on {} for the {}.",
                again["cents"],
                text(&again["day"]),
                text(&again["what"])
            );
            match seen.result("refund_charge") {
                None => return seen.call("refund_charge", &json!({ "charge": again["charge"] })),
                Some((false, refund)) => {
                    format!(
                        "{twice} {} cents go back to you, as {}.",
                        refund["cents"],
                        text(&refund["refund"])
                    )
                }
                Some((true, _)) => {
                    is_done = false;
                    format!("{twice} A person decides on the refund of {}.", text(&again["charge"]))
                }
            }
        }
    };
    if speaks_of(&customer, Intent::Technical) && seen.package["context"]["answer_so_far"].is_null() {
        return hand_on(seen, &answer);
    }
    seen.finish(&answer, is_done)
}

/// The money is settled, and the customer spoke of something that does not work too. What is done goes along as done.
fn hand_on(seen: &Seen, answer: &str) -> ModelResponse {
    if seen.refusals() > 0 {
        return seen.finish(&format!("{answer} {NOT_PASSED_ON}"), false);
    }
    // What was open is handed on in other words. An item that is not named as done would go along as it is.
    let listed = |name: &str| seen.package[name].as_array().cloned().unwrap_or_default();
    let done = listed("completed_steps").into_iter().chain(listed("open_items"));
    let done: Vec<Value> = done.chain([json!("the charges are settled")]).collect();
    let package = json!({
        "specialist": Role::Technical.agent(),
        "task": "The customer's charges are settled. Say what helps against what does not work.",
        "context": { "intent": "technical", "answer_so_far": answer },
        "completed_steps": done,
        "open_items": ["solve what does not work"],
        "constraints": seen.package["constraints"],
    });
    seen.call(HANDOFF_TO_SPECIALIST, &package)
}

fn technical(seen: &Seen) -> ModelResponse {
    let Some((_, issues)) = seen.result("search_issues") else {
        return seen.call("search_issues", &json!({ "query": seen.customer() }));
    };
    let so_far = seen.package["context"]["answer_so_far"].as_str();
    let issue = &issues[0];
    let answer = match issue {
        Value::Null => "This is not known yet. It is on record as you described it.".to_owned(),
        issue => format!(
            "This is known as {}, \"{}\". {}",
            text(&issue["issue"]),
            text(&issue["title"]),
            text(&issue["fix"])
        ),
    };
    let answer = so_far.map_or_else(|| answer.clone(), |so_far| format!("{so_far} {answer}"));
    seen.finish(&answer, !issue.is_null())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
