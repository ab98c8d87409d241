//! The task, and what is known of it so far.

use reservo::{Cents, facts};
use serde_json::{Map, Value, json};

/// What the customer asks first. booking_agent can do it.
const FIRST: (&str, &str) = ("Quote Focus pro 3h.", "Quote Focus pro for 3 hours.");

/// What the customer asks after it, and the task that an agent makes of it. Each is beyond the agent that does the
/// one before.
const FURTHER: [(&str, &str); 6] = [
    (
        "And what happens if I don't show up?",
        "What happens if the customer does not show up for the booking?",
    ),
    ("Which room is cheapest for 3h?", "Which room is the cheapest for 3 hours?"),
    ("Quote me that one.", "Quote the cheapest room for 3 hours."),
    (
        "And what if I don't show up there?",
        "What happens if the customer does not show up for the cheapest room?",
    ),
    ("Which room is cheapest for 4h?", "Which room is the cheapest for 4 hours?"),
    ("Quote me that one too.", "Quote the cheapest room for 4 hours."),
];

/// The most limits that a request can meet.
pub(crate) const MOST_LIMITS: usize = FURTHER.len();

/// The customer's words, in which `limits` things are beyond the agent that is at work when they come up.
pub(crate) fn request(limits: usize) -> String {
    FURTHER.iter().take(limits).fold(FIRST.0.to_owned(), |words, (said, _)| format!("{words} {said}"))
}

/// The specialist for a task.
pub(crate) fn whose(task: &str) -> &'static str {
    match task.split(' ').next() {
        Some("Which") => "pricing_agent",
        Some("What") => "policy_agent",
        _ => "booking_agent",
    }
}

/// What an agent has before it: a task, what was found before, and what is to be done after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Work {
    pub(crate) task: String,
    pub(crate) findings: Map<String, Value>,
    pub(crate) open: Vec<String>,
}

impl Work {
    /// Reads it out of the newest words: the customer's, or a package.
    pub(crate) fn read(words: &str) -> Self {
        let package = words.lines().find(|line| line.starts_with('{'));
        let Some(mut package) = package.and_then(|line| serde_json::from_str::<Value>(line).ok()) else {
            let said = FURTHER.iter().filter(|(said, _)| words.contains(said));
            let open = said.map(|(_, task)| (*task).to_owned()).collect();
            return Self { task: FIRST.1.to_owned(), open, ..Self::default() };
        };
        Self {
            task: package["task"].as_str().unwrap_or_default().to_owned(),
            open: serde_json::from_value(package["open_items"].take()).unwrap_or_default(),
            findings: serde_json::from_value(package["context"].take()).unwrap_or_default(),
        }
    }

    /// The same as the arguments of a handoff to `to`.
    pub(crate) fn handed_to(&self, to: &str) -> String {
        let Self { task, findings, open } = self;
        let (task, findings, open) = (json!(task), json!(findings), json!(open));
        match self.open.len() {
            0 => format!(r#"{{"specialist":"{to}","task":{task},"context":{findings}}}"#),
            _ => format!(r#"{{"specialist":"{to}","task":{task},"context":{findings},"open_items":{open}}}"#),
        }
    }

    /// With what the newest tool result says on the task.
    pub(crate) fn find(&mut self, result: &str) {
        let result: Value = serde_json::from_str(result).unwrap_or_default();
        let (name, value) = match whose(&self.task) {
            "booking_agent" => ("quoted_cents", result["total_cents"].clone()),
            "policy_agent" => {
                let quoted = Cents(newest(&self.findings, "quoted_cents").as_i64().unwrap_or_default());
                let charge = facts::no_show(result[0]["text"].as_str().unwrap_or_default());
                ("no_show_cents", json!(charge.and_then(|charge| charge.of(quoted)).map(|cents| cents.0)))
            }
            _ => {
                let row = &result[0];
                let (room, plan, hours) = (&row["room"], &row["plan"], &row["hours"]);
                (
                    "cheapest",
                    json!({ "room": room, "plan": plan, "hours": hours, "cents": row["total_cents"] }),
                )
            }
        };
        let before = numbered(&self.findings, name).count();
        self.findings.insert(key(name, before), value);
    }

    /// The whole hours that the task speaks of.
    pub(crate) fn hours(&self) -> u64 {
        self.task.split(' ').find_map(|word| word.parse().ok()).unwrap_or_default()
    }

    /// The room, plan and hours to be quoted: those asked for, or the cheapest that was found.
    pub(crate) fn to_quote(&self) -> Value {
        match newest(&self.findings, "cheapest") {
            Value::Null => json!({ "room": "Focus", "plan": "pro", "hours": self.hours() }),
            row => json!({ "room": row["room"], "plan": row["plan"], "hours": row["hours"] }),
        }
    }
}

/// The answer that the findings give, and that names no number which is not among them.
pub(crate) fn answer(findings: &Map<String, Value>) -> String {
    let mut sentences = Vec::new();
    for place in 0..=MOST_LIMITS / 3 {
        let [quote, of_it] = if place == 0 { ["The quote", ""] } else { ["The quote for it", " for it"] };
        let found = |name| findings.get(&key(name, place));
        sentences.extend(found("quoted_cents").map(|cents| format!("{quote} is {cents} cents.")));
        sentences.extend(found("no_show_cents").map(|cents| {
            format!("If you do not show up{of_it}, you are charged {cents} cents [POL-NOSHOW].")
        }));
        sentences.extend(found("cheapest").map(|row| {
            let [room, plan] = ["room", "plan"].map(|name| row[name].as_str().unwrap_or_default());
            format!("The cheapest for {} hours is {room} {plan} at {} cents.", row["hours"], row["cents"])
        }));
    }
    sentences.join(" ")
}

/// The name of a finding that has `before` others of its kind before it.
fn key(name: &str, before: usize) -> String {
    if before == 0 { name.to_owned() } else { format!("{name}_{}", before + 1) }
}

fn numbered<'a>(findings: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a Value> {
    (0..).map_while(move |before| findings.get(&key(name, before)))
}

fn newest(findings: &Map<String, Value>, name: &str) -> Value {
    numbered(findings, name).last().cloned().unwrap_or_default()
}
