//! What a person is asked, with all that is needed to decide.

use serde::Serialize;
use sommelier_handoff::{Asks, Millis, Question, Run, Step};
use sommelier_protocol::RawJson;
use sommelier_protocol::sight::in_sight;
use sommelier_runner::journal::Record;

use crate::desk::Desk;
use crate::done::last_model;
use crate::file::quoted;
use crate::rows::HopRow;
use crate::time::shown;
use crate::words::named;

/// A question that is open.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct QuestionRow {
    pub(crate) id: String,
    /// The run, by which `show` and `cancel` know it.
    pub(crate) run: String,
    /// The place in the tree of the run: the run itself, or a branch of it.
    pub(crate) path: String,
    /// Who asks.
    pub(crate) agent: String,
    /// Since when, in milliseconds since 1970.
    pub(crate) since: Millis,
    /// The model that has replied last in the run.
    pub(crate) model: Option<String>,
    /// That it goes on with another model, unless one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remark: Option<String>,
    /// What is asked, in a word: tool, handoff, words, escalation, in_doubt, repeat.
    pub(crate) asks: &'static str,
    /// What an answer is bound to.
    pub(crate) digest: String,
    /// The tool that may run or not, or may have run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<String>,
    /// What is asked in full: the arguments of the tool, or the question. What cannot be seen in it stands as escapes of
    /// JSON.
    pub(crate) input: Option<RawJson>,
    /// What came of an earlier call that had the same effect, where that is why a person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) earlier: Option<String>,
    /// The answers that are possible.
    pub(crate) choices: &'static [&'static str],
    /// The commands that give them.
    pub(crate) commands: Vec<String>,
    /// The handoffs so far; for an escalation those that were refused too.
    pub(crate) hops: Vec<HopRow>,
}

impl QuestionRow {
    /// All that a run with these records waits for.
    pub(crate) fn all(desk: &Desk, name: &str, step: &Step, records: &[Record]) -> Vec<Self> {
        let questions = step.questions();
        if questions.is_empty() {
            return Vec::new();
        }
        let model = last_model(records);
        let model = model.as_deref();
        questions.into_iter().map(|(run, question)| Self::of(desk, (name, model), run, question)).collect()
    }

    fn of(desk: &Desk, (name, model): (&str, Option<&str>), run: &Run, question: &Question) -> Self {
        let (tool, input) = asked(&question.asks);
        let earlier = match &question.asks {
            Asks::Repeat { earlier, .. } => Some(earlier.to_string()),
            _ => None,
        };
        let is_escalation = matches!(question.asks, Asks::Escalation { .. });
        let digest = question.digest();
        let command = |choice: &&str| command(desk, &question.id, choice, &digest);
        Self {
            id: question.id.to_string(),
            run: name.to_owned(),
            path: run.conversation().to_owned(),
            agent: question.from.to_string(),
            since: question.at,
            model: model.map(str::to_owned),
            remark: desk.decider.remark(model),
            asks: question.asks.as_str(),
            tool,
            input: RawJson::parse(&in_sight(&input)).ok(),
            earlier,
            choices: question.asks.choices(),
            commands: question.asks.choices().iter().map(command).collect(),
            hops: HopRow::all(run).into_iter().filter(|hop| is_escalation || hop.number.is_some()).collect(),
            digest: digest.into(),
        }
    }
}

/// The tool that is asked about, and what is asked as JSON.
fn asked(asks: &Asks) -> (Option<String>, String) {
    match asks {
        Asks::Tool { tool, input, .. }
        | Asks::InDoubt { tool, input, .. }
        | Asks::Repeat { tool, input, .. } => (Some(tool.to_string()), input.get().to_owned()),
        Asks::Handoff { to, package, .. } => {
            (None, serde_json::json!({ "to": to, "package": package }).to_string())
        }
        Asks::Words { question, choices, .. } => {
            (None, serde_json::json!({ "question": question, "choices": choices }).to_string())
        }
        Asks::Escalation { refusal } => {
            let refused = serde_json::json!({
                "guard": refusal.guard().as_str(), "error": refusal.code(), "detail": refusal.to_string(),
            });
            (None, refused.to_string())
        }
    }
}

/// The command by which a person answers.
fn command(desk: &Desk, id: &str, choice: &str, digest: &str) -> String {
    let said = typed(choice);
    let store = desk.file.flag().map(|flag| format!("{flag} ")).unwrap_or_default();
    // An id that begins like a flag is none.
    let dashes = if id.starts_with('-') { "-- " } else { "" };
    let model = desk.decider.flags();
    format!("sommelier {store}answer {model}--digest {digest} {dashes}{} {said}", quoted(id))
}

/// The command by which an invited person answers, with the token on stdin.
pub(crate) fn command_by_token(desk: &Desk, choice: &str) -> String {
    let store = desk.file.flag().map(|flag| format!("{flag} ")).unwrap_or_default();
    format!("sommelier {store}answer --token - {}", typed(choice))
}

/// A choice as it is typed, with what belongs to it.
fn typed(choice: &str) -> &str {
    match choice {
        "reject" => "reject 'WHY'",
        "say" => "say 'TEXT'",
        "take_over" => "take-over 'NOTE'",
        "happened" => "happened 'RESULT'",
        "did_not_happen" => "did-not-happen",
        other => other,
    }
}

/// Tells what is asked, and how to answer.
pub(crate) fn text(questions: &[QuestionRow]) -> String {
    let mut text = match questions.len() {
        1 => "The run waits for an answer. What is asked has not been done.".to_owned(),
        count => format!("The run waits for {count} answers. Nothing that is asked has been done."),
    };
    for question in questions {
        text.push_str(&format!("\n\n{}", one(question)));
    }
    text
}

/// Tells one question.
pub(crate) fn one(question: &QuestionRow) -> String {
    one_with(question, [])
}

/// Tells one question, with more that is known of it, each in a word and what it is.
pub(crate) fn one_with(
    question: &QuestionRow,
    more: impl IntoIterator<Item = (&'static str, String)>,
) -> String {
    let QuestionRow { id, agent, path, since, digest, .. } = question;
    let input = question.input.as_ref().map(RawJson::get).unwrap_or_default();
    let what = match question.asks {
        "tool" => "may run",
        "handoff" => "may go",
        "words" => "asks",
        "escalation" => "refused",
        "in_doubt" => "in doubt",
        "repeat" => "may repeat",
        other => other,
    };
    let tool = question.tool.as_deref().map(|tool| format!("{} ", named(tool))).unwrap_or_default();
    let (id, agent, path) = (named(id), named(agent), named(path));
    let mut text = format!(
        "{id}\n  asked by   {agent}, in {path}\n  since      {}\n  {what:<10} {tool}{input}",
        shown(*since)
    );
    if let Some(remark) = &question.remark {
        text.push_str(&format!("\n  model      {remark}"));
    }
    if let Some(earlier) = &question.earlier {
        text.push_str(&format!("\n  earlier    {}", in_sight(RawJson::string(earlier).get())));
    }
    text.push_str(&format!("\n  digest     {digest}"));
    if question.hops.is_empty() {
        text.push_str("\n  handoffs   none");
    }
    for hop in &question.hops {
        text.push_str(&format!("\n  handoffs   {}", hop.line()));
    }
    if question.asks == "escalation"
        && let Some(package) = question.hops.last().and_then(|hop| hop.package.as_ref())
    {
        text.push_str(&format!("\n  package    {}", in_sight(&package.to_json())));
    }
    for (name, more) in more {
        text.push_str(&format!("\n  {name:<10} {more}"));
    }
    for command in &question.commands {
        text.push_str(&format!("\n  {command}"));
    }
    text
}
