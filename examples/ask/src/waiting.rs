//! What a run waits for, as people and programs read it.

use serde::Serialize;
use sommelier_handoff::{Asks, Millis, Question, Run};
use sommelier_runner::Parked;
use sommelier_runner::protocol::RawJson;

/// A question as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct WaitingRow {
    id: String,
    /// Who asks.
    agent: String,
    /// The run that it is asked in, by its place in the tree.
    path: String,
    /// The tool that may run or not; of a question that is about no tool, its kind.
    tool: String,
    /// The arguments as they will run, with what cannot be seen in them as escapes of JSON.
    input: Option<RawJson>,
    /// Milliseconds since 1970-01-01 UTC.
    since: Millis,
    choices: &'static [&'static str],
}

impl WaitingRow {
    pub(crate) fn all(parked: &Parked) -> Vec<Self> {
        parked.questions().into_iter().map(|(run, question)| Self::of(run, question)).collect()
    }

    fn of(run: &Run, question: &Question) -> Self {
        let (tool, input) = asked(&question.asks);
        Self {
            id: question.id.to_string(),
            agent: question.from.to_string(),
            path: run.conversation().to_owned(),
            tool,
            input: RawJson::parse(&input).ok(),
            since: question.at,
            choices: question.asks.choices(),
        }
    }
}

/// Tells what the run waits for, and how to answer.
pub(crate) fn told(parked: &Parked) -> String {
    let questions = parked.questions();
    let mut text = match questions.len() {
        1 => "The run waits for an answer. What is asked has not been done.".to_owned(),
        count => format!("The run waits for {count} answers. Nothing that is asked has been done."),
    };
    for (run, question) in questions {
        let (tool, input) = asked(&question.asks);
        let hops: Vec<String> = run
            .trail()
            .taken()
            .map(|hop| format!("{} → {} with {} bytes", hop.from, hop.to, hop.package_bytes))
            .collect();
        let hops = if hops.is_empty() { "none".to_owned() } else { hops.join(", ") };
        let (id, from, path) = (&question.id, &question.from, run.conversation());
        text.push_str(&format!(
            "\n\n{id}\n  asked by   {from}, in {path}\n  may run    {tool} {input}\n  handoffs   {hops}"
        ));
    }
    text.push_str(
        "\n\nTo answer, make the same call with --answer ID=approve, --answer ID=reject or \
         --answer \"ID=reject:WHY\" for each.",
    );
    text
}

/// What is asked: the tool, and its arguments as JSON that can be printed.
fn asked(asks: &Asks) -> (String, String) {
    match asks {
        Asks::Tool { tool, input, .. } => (tool.to_string(), in_sight(input.get())),
        other => (other.as_str().to_owned(), in_sight(&serde_json::to_string(other).unwrap_or_default())),
    }
}

/// The same JSON in one line, in which all can be seen: what a terminal would obey, what turns the direction of text,
/// what shows as nothing and each space but the plain one is an escape of JSON. Else a person approves what they
/// do not see.
fn in_sight(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    let (mut in_string, mut is_escaped) = (false, false);
    for c in json.chars() {
        match c {
            // White space between values means nothing, and may hide what stands beside it.
            _ if !in_string && c.is_whitespace() => {}
            _ if is_hidden(c) => {
                let mut units = [0; 2];
                c.encode_utf16(&mut units).iter().for_each(|unit| shown.push_str(&format!("\\u{unit:04x}")));
            }
            _ => shown.push(c),
        }
        in_string ^= c == '"' && !is_escaped;
        is_escaped = in_string && c == '\\' && !is_escaped;
    }
    shown
}

fn is_hidden(c: char) -> bool {
    let shows_nothing = matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    shows_nothing || c.is_control() || (c.is_whitespace() && c != ' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn arguments_are_shown_in_one_line_as_json_that_says_the_same() {
        let odd = "A\u{7f}\u{9b}31md\u{202e}a\u{200b} \u{a0}\u{2028}\u{e0041}\u{fe0f} ü \\\"}, {\\\\";
        let json = format!("{{\r\n\t\"name\" : \"{odd}\",\n \"hours\":\t2.50 }}");
        let shown = in_sight(&json);
        let escaped = r#"A\u007f\u009b31md\u202ea\u200b \u00a0\u2028\udb40\udc41\ufe0f ü \"}, {\\"#;
        assert_eq!(shown, format!(r#"{{"name":"{escaped}","hours":2.50}}"#));
        let read = |json: &str| serde_json::from_str::<Value>(json).unwrap();
        assert_eq!(read(&shown), read(&json));
    }
}
