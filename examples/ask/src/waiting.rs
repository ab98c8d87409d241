//! What a run waits for, as people and programs read it.

use serde::Serialize;
use sommelier_handoff::{Asks, Millis, Question, Run};
use sommelier_runner::Parked;
use sommelier_runner::protocol::sight::in_sight;
use sommelier_runner::protocol::{RawJson, ToolName};

/// A question as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct WaitingRow {
    id: String,
    /// Who asks.
    agent: String,
    /// The run that it is asked in, by its place in the tree.
    path: String,
    /// The tool that may run or not, or that is in doubt; of a question that is about no tool, its kind.
    tool: String,
    /// The arguments as they will run, or as they were begun, with what cannot be seen in them as escapes of JSON.
    input: Option<RawJson>,
    /// Of what may be a repeat: the earlier call, what it gave or its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<RawJson>,
    /// Milliseconds since 1970-01-01 UTC.
    since: Millis,
    choices: &'static [&'static str],
}

impl WaitingRow {
    pub(crate) fn all(parked: &Parked) -> Vec<Self> {
        parked.questions().into_iter().map(|(run, question)| Self::of(run, question)).collect()
    }

    fn of(run: &Run, question: &Question) -> Self {
        let Asked { tool, input, earlier, .. } = Asked::of(&question.asks);
        Self {
            id: question.id.to_string(),
            agent: question.from.to_string(),
            path: run.conversation().to_owned(),
            tool,
            input: RawJson::parse(&input).ok(),
            earlier: earlier.and_then(|earlier| RawJson::parse(&earlier).ok()),
            since: question.at,
            choices: question.asks.choices(),
        }
    }
}

/// Tells what the run waits for, and how to answer.
pub(crate) fn told(parked: &Parked) -> String {
    let questions = parked.questions();
    let in_doubt =
        questions.iter().filter(|(_, question)| matches!(question.asks, Asks::InDoubt { .. })).count();
    let mut text = match (questions.len(), in_doubt) {
        (1, 0) => "The run waits for an answer. What is asked has not been done.".to_owned(),
        (count, 0) => format!("The run waits for {count} answers. Nothing that is asked has been done."),
        (1, _) => "The run waits for an answer. Nobody knows whether what is asked was done.".to_owned(),
        (count, _) => format!(
            "The run waits for {count} answers. Of what is in doubt nobody knows whether it was done, and nothing else has \
             been done."
        ),
    };
    for (run, question) in &questions {
        text.push_str(&of_question(run, question));
    }
    text.push_str(&how_to_answer(questions.len() > in_doubt, in_doubt > 0));
    text
}

fn of_question(run: &Run, question: &Question) -> String {
    let Asked { about, tool, input, earlier } = Asked::of(&question.asks);
    let hops: Vec<String> = run
        .trail()
        .taken()
        .map(|hop| format!("{} → {} with {} bytes", hop.from, hop.to, hop.package_bytes))
        .collect();
    let hops = if hops.is_empty() { "none".to_owned() } else { hops.join(", ") };
    let (id, from, path) = (&question.id, &question.from, run.conversation());
    let earlier = earlier.map(|earlier| format!("\n  earlier    {earlier}")).unwrap_or_default();
    format!(
        "\n\n{id}\n  asked by   {from}, in {path}\n  {about:<10} {tool} {input}{earlier}\n  handoffs   {hops}"
    )
}

fn how_to_answer(may_run: bool, in_doubt: bool) -> String {
    let mut text = String::new();
    if may_run {
        text.push_str(
            "\n\nTo answer, make the same call with --answer ID=approve, --answer ID=reject or \
             --answer \"ID=reject:WHY\" for each.",
        );
    }
    if in_doubt {
        text.push_str(
            "\n\nOf what is in doubt, find out whether it was done. Then make the same call with --answer \
             \"ID=happened:RESULT\", --answer ID=did_not_happen or --answer ID=undone for each.",
        );
    }
    text
}

/// What is asked, as it can be printed.
struct Asked {
    /// What is the matter with the tool, in a word or two.
    about: &'static str,
    tool: String,
    /// The arguments as JSON.
    input: String,
    /// The earlier call, as a string of JSON.
    earlier: Option<String>,
}

impl Asked {
    fn of(asks: &Asks) -> Self {
        let of_tool = |about, tool: &ToolName, input: &RawJson| Self {
            about,
            tool: tool.to_string(),
            input: in_sight(input.get()),
            earlier: None,
        };
        match asks {
            Asks::Tool { tool, input, .. } => of_tool("may run", tool, input),
            Asks::InDoubt { tool, input, .. } => of_tool("in doubt", tool, input),
            Asks::Repeat { tool, input, earlier, .. } => {
                let earlier = Some(in_sight(RawJson::string(earlier).get()));
                Self { earlier, ..of_tool("may repeat", tool, input) }
            }
            other => Self {
                about: "may run",
                tool: other.as_str().to_owned(),
                input: in_sight(&serde_json::to_string(other).unwrap_or_default()),
                earlier: None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// What stands in the text for a question about mail, and in its row.
    #[track_caller]
    fn shown(asks: Asks, text: &str, row: Value) {
        let relay = sommelier_handoff::Relay::builder();
        let relay = relay.agent(sommelier_handoff::Agent::new("clerk", "")).entry("clerk").build().unwrap();
        let step = relay.start("c", "hello").unwrap();
        let question = Question { id: "c/1/1/0".into(), from: step.run().active().clone(), at: 7, asks };
        assert_eq!(of_question(step.run(), &question), text);
        assert_eq!(serde_json::to_value(WaitingRow::of(step.run(), &question)).unwrap(), row);
    }

    #[test]
    fn what_is_in_doubt_and_what_may_be_a_repeat_are_shown_as_that() {
        let (call_id, tool) = (|| "tu_1".into(), || ToolName::new("mail").unwrap());
        let input = || RawJson::parse(r#"{ "to": "Ada" }"#).unwrap();
        shown(
            Asks::InDoubt { call_id: call_id(), tool: tool(), input: input() },
            "\n\nc/1/1/0\n  asked by   clerk, in c\n  in doubt   mail {\"to\":\"Ada\"}\n  handoffs   none",
            serde_json::json!({
                "id": "c/1/1/0", "agent": "clerk", "path": "c", "tool": "mail", "input": {"to": "Ada"}, "since": 7,
                "choices": ["happened", "did_not_happen", "undone", "take_over"],
            }),
        );
        let earlier = "sent\u{202e}".into();
        shown(
            Asks::Repeat { call_id: call_id(), tool: tool(), input: input(), earlier },
            "\n\nc/1/1/0\n  asked by   clerk, in c\n  may repeat mail {\"to\":\"Ada\"}\n  earlier    \"sent\\u202e\"\n  handoffs   none",
            serde_json::json!({
                "id": "c/1/1/0", "agent": "clerk", "path": "c", "tool": "mail", "input": {"to": "Ada"}, "since": 7,
                "earlier": "sent\u{202e}", "choices": ["approve", "reject", "take_over"],
            }),
        );
    }

    #[test]
    fn how_to_answer_is_told_of_what_is_asked() {
        let both = how_to_answer(true, true);
        assert_eq!(both, [how_to_answer(true, false), how_to_answer(false, true)].concat());
        assert!(both.contains("ID=reject:WHY") && both.contains("ID=happened:RESULT"), "{both}");
        assert!(
            !how_to_answer(false, true).contains("approve") && !how_to_answer(true, false).contains("doubt")
        );
    }
}
