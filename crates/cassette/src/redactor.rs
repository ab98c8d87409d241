//! What must not stand in a cassette.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{PoisonError, RwLock};

use sommelier_handoff::Relay;
use sommelier_runtime::ModelError;

use crate::node::Node;

/// What stands where a key was.
const KEY: &str = "[key]";
/// What stands where a secret value was.
pub(crate) const SECRET: &str = "[secret]";
/// What stands where a redactor has failed: nothing is kept then.
const WITHHELD: &str = "[withheld]";

/// The shortest value that is looked for within texts. What is shorter would be found everywhere.
const SHORTEST: usize = 4;

/// How keys of well-known services begin, where no other word has such a thing in it.
const PREFIXES: [&str; 18] = [
    "sk-ant-",
    "sk-proj-",
    "sk-or-v1-",
    "sk-svcacct-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AIza",
    "hf_",
];
/// How they begin where the same stands in the middle of other words too, such as of `risk-`.
const AT_THE_START: [&str; 2] = ["sk-", "eyJ"];
/// How the names of keys of one service begin, behind which there are capitals and digits.
const CAPITALS: [&str; 2] = ["AKIA", "ASIA"];
/// How many characters a key has behind its prefix at least.
const KEY_LENGTH: usize = 16;

/// The words that the API goes by in a request or a reply, and the members of each that are known. One of them stays even where a
/// value that is to be taken out is the same word.
const STRUCTURE: [&str; 40] = [
    "any",
    "assistant",
    "auto",
    "cache_control",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "citations",
    "content",
    "data",
    "end_turn",
    "id",
    "image",
    "input",
    "input_tokens",
    "is_error",
    "max_tokens",
    "message",
    "model",
    "model_context_window_exceeded",
    "name",
    "none",
    "output_tokens",
    "pause_turn",
    "redacted_thinking",
    "refusal",
    "role",
    "signature",
    "source",
    "stop_reason",
    "stop_sequence",
    "system",
    "text",
    "thinking",
    "tool",
    "tool_result",
    "tool_use",
    "tool_use_id",
    "type",
    "usage",
    "user",
];

type Words = dyn Fn(&str) -> String + Send + Sync;

/// What is taken out of everything before it comes into a cassette; a placeholder stands in its place. The model and the run
/// see what they would see without it.
///
/// It takes out what looks like a key of a well-known service, the [values](Self::value) that it is told, what tools
/// [declare](Self::secrets_of) secret, and whatever a function of yours [takes out](Self::words). It reads texts, names of
/// members and numbers, also within JSON that stands in a text. It does **not** find what is split over two texts or is
/// encoded, such as in base64, nor what nobody told it and looks like nothing: whoever keeps recordings of customers looks at
/// them first.
///
/// What was recorded with a redactor is replayed with an equal one, since it is the redacted requests that are compared. And a
/// run that needs what was taken out goes another way when it is replayed: its tools get the placeholder.
///
/// ```
/// use sommelier_cassette::Redactor;
///
/// let redactor = Redactor::new().value("Rosebud").words(|text| text.replace("ada@example.org", "[address]"));
/// assert_eq!(
///     redactor.redact("I am ada@example.org, my key is sk-ant-api03-0123456789abcdef, my word Rosebud."),
///     "I am [address], my key is [key], my word [secret].",
/// );
/// ```
#[derive(Default)]
pub struct Redactor {
    /// What takes keys out that it alone knows.
    keys: Vec<Box<Words>>,
    words: Vec<Box<Words>>,
    /// The members of tools' arguments that are secret, by the tool.
    declared: BTreeMap<Box<str>, BTreeSet<Box<str>>>,
    /// What must not be in any text: what was told, and what has come up where a tool declares a secret.
    values: RwLock<BTreeSet<String>>,
}

impl Redactor {
    /// A redactor that takes out what looks like a key.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes out a value wherever it stands; one of less than four bytes only where it is all of a text.
    #[must_use]
    pub fn value(self, value: impl Into<String>) -> Self {
        self.remember(value.into());
        self
    }

    /// Takes out what `words` leaves out of a text that it is given. It is called from any thread, and should be a function of
    /// the text alone: a replay calls it again. Where it panics, nothing of the text is kept.
    #[must_use]
    pub fn words(mut self, words: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.words.push(Box::new(words));
        self
    }

    /// Takes out what `key` leaves out, wherever it stands, also where [`words`](Self::words) are not asked: for a key that this
    /// redactor need not know itself, such as the one that is sent to a model. A service may send it back anywhere in a reply.
    /// Where it panics, nothing of the text is kept.
    #[must_use]
    pub fn key(mut self, key: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.keys.push(Box::new(key));
        self
    }

    /// Takes out of calls what the tools of this relay, and of its delegates, declare
    /// [secret](sommelier_runtime::Tool::secret), and what stands in the calls of those tools under names that they do not take.
    /// The same values are taken out wherever they come up later. A recorder stands before the runner, which keeps such values
    /// from all others, so it has to be told.
    #[must_use]
    pub fn secrets_of(mut self, relay: &Relay) -> Self {
        self.declare(relay);
        self
    }

    fn declare(&mut self, relay: &Relay) {
        for agent in relay.agents() {
            for (tool, declared) in agent.table().declarations().filter(|(_, of)| !of.secrets().is_empty()) {
                let paths = self.declared.entry(tool.as_str().into()).or_default();
                paths.extend(declared.secrets().iter().cloned());
            }
        }
        let below =
            relay.delegates().filter_map(|(asker, tool)| relay.delegate(asker.as_str(), tool.as_str()));
        for relay in below {
            self.declare(relay);
        }
    }

    /// A text as it may be kept.
    pub fn redact(&self, text: &str) -> String {
        passed(self.hard(text), &self.words)
    }

    /// An error of a model as it may be kept: whichever it is, each text in it passes.
    pub(crate) fn error(&self, error: &ModelError) -> ModelError {
        let node = serde_json::to_string(error).ok().and_then(|json| Node::of_json(&json));
        let redacted = node.and_then(|mut node| {
            if let Node::Object(_) = node {
                self.values_of(&mut node);
            }
            serde_json::from_str(&node.json()).ok()
        });
        redacted.unwrap_or_else(|| ModelError::Unreachable { detail: WITHHELD.to_owned() })
    }

    /// The texts of an object whose names are a program's.
    fn values_of(&self, node: &mut Node) {
        match node {
            Node::Object(members) => members.iter_mut().for_each(|(_, value)| self.values_of(value)),
            Node::Text(text) => *text = self.redact(text),
            Node::List(_) | Node::Number(_) | Node::Word(_) => {}
        }
    }

    /// A tree as it may be kept: every text, name and number of it passes.
    pub(crate) fn node(&self, node: &mut Node) {
        match node {
            Node::Object(members) => {
                for (name, value) in members {
                    *name = self.redact(name);
                    self.node(value);
                }
            }
            Node::List(items) => items.iter_mut().for_each(|item| self.node(item)),
            Node::Text(text) => *text = self.text(text),
            Node::Number(number) => {
                let redacted = self.redact(number);
                if redacted != *number {
                    *node = Node::Text(redacted);
                }
            }
            Node::Word(_) => {}
        }
    }

    /// What a message or a reply holds: a text, or blocks. What the API goes by stays what it is, but for keys and values.
    pub(crate) fn content(&self, content: &mut Node) {
        let Node::List(blocks) = content else { return self.node(content) };
        for block in blocks {
            let Node::Object(members) = block else {
                self.node(block);
                continue;
            };
            for (name, value) in members {
                match (&**name, &mut *value) {
                    ("type" | "id" | "name" | "tool_use_id" | "signature", Node::Text(text)) => {
                        self.word(text);
                    }
                    ("content", Node::List(_)) => self.content(value),
                    _ => self.node(value),
                }
                self.word(name);
            }
        }
    }

    /// A word that may be one which the API goes by.
    pub(crate) fn word(&self, word: &mut String) {
        if STRUCTURE.binary_search(&&**word).is_err() {
            *word = self.hard(word);
        }
    }

    /// What the API goes by, without keys and values. A number under a name that is known counts something.
    pub(crate) fn structure(&self, node: &mut Node) {
        match node {
            Node::Object(members) => {
                for (name, value) in members {
                    let is_count =
                        matches!(value, Node::Number(_)) && STRUCTURE.binary_search(&&**name).is_ok();
                    if !is_count {
                        self.structure(value);
                    }
                    self.word(name);
                }
            }
            Node::List(items) => items.iter_mut().for_each(|item| self.structure(item)),
            Node::Text(text) => self.word(text),
            Node::Number(number) => {
                let redacted = self.hard(number);
                if redacted != *number {
                    *node = Node::Text(redacted);
                }
            }
            Node::Word(_) => {}
        }
    }

    /// Puts a placeholder in the place of what the tools that are called declare secret. `tools` are those on offer.
    pub(crate) fn calls(&self, content: &mut Node, tools: Option<&Node>) {
        let Node::List(blocks) = content else { return };
        for block in blocks {
            let Some(tool) = block.get("name").and_then(Node::as_text).map(str::to_owned) else { continue };
            let Some(paths) = self.declared.get(&*tool) else { continue };
            let is_it = |of: &&Node| of.get("name").and_then(Node::as_text) == Some(&tool);
            let offered = tools.and_then(|tools| tools.items().iter().find(is_it));
            let schema = offered.and_then(|of| of.get("input_schema")?.get("properties"));
            let Node::Object(members) = block else { continue };
            let Some((_, input)) = members.iter_mut().find(|(name, _)| name == "input") else { continue };
            for path in paths {
                self.hide_at(input, &path.split('.').collect::<Vec<_>>());
            }
            let Node::Object(members) = input else { continue };
            let astray = members.iter_mut().filter(|(name, _)| {
                schema.is_none_or(|schema| schema.get(name).is_none())
                    && !paths.iter().any(|path| path.split('.').next() == Some(name))
            });
            astray.for_each(|(_, value)| self.hide(value));
        }
    }

    /// Hides what stands at a path of names, in each item of a list on the way. Where something else is on the way, it is
    /// taken for the value.
    fn hide_at(&self, node: &mut Node, path: &[&str]) {
        match (path.split_first(), node) {
            (None, node) => self.hide(node),
            (Some(_), Node::List(items)) => items.iter_mut().for_each(|item| self.hide_at(item, path)),
            (Some((name, rest)), Node::Object(members)) => {
                let named = members.iter_mut().filter(|(member, _)| member == name);
                named.for_each(|(_, value)| self.hide_at(value, rest));
            }
            (Some(_), node) => self.hide(node),
        }
    }

    fn hide(&self, node: &mut Node) {
        match node {
            Node::Word("null") => return,
            // What stands for a value already is no value.
            Node::Text(text) if text.is_empty() || crate::names::is_handle(text) => return,
            _ => {}
        }
        self.remember_all(node);
        *node = Node::text(SECRET);
    }

    fn remember_all(&self, node: &Node) {
        match node {
            Node::Object(members) => members.iter().for_each(|(_, value)| self.remember_all(value)),
            Node::List(items) => items.iter().for_each(|item| self.remember_all(item)),
            Node::Text(text) | Node::Number(text) => self.remember(text.clone()),
            Node::Word(_) => {}
        }
    }

    fn remember(&self, value: String) {
        if !value.is_empty() {
            self.values.write().unwrap_or_else(PoisonError::into_inner).insert(value);
        }
    }

    /// A text that may be JSON itself. What stands in it is looked at first, since a text may be written in JSON in many ways.
    fn text(&self, text: &str) -> String {
        let is_json = text.trim_start().starts_with(['{', '[']);
        let inside = is_json.then(|| Node::read(text).ok()).flatten();
        let cleaned = inside.and_then(|inside| {
            let mut cleaned = inside.clone();
            self.node(&mut cleaned);
            (cleaned != inside).then(|| cleaned.json())
        });
        self.redact(cleaned.as_deref().unwrap_or(text))
    }

    /// Without keys and values; what else is taken out is for words.
    fn hard(&self, text: &str) -> String {
        let cleaned = self.hard_as_it_stands(text);
        // A letter of a key may be written by its number, as in JSON that stands behind other words.
        let plain = text.contains("\\u").then(|| unescaped(text)).filter(|plain| plain != text);
        let found = plain.and_then(|plain| {
            let cleaned = self.hard_as_it_stands(&plain);
            (cleaned != plain).then_some(cleaned)
        });
        found.unwrap_or(cleaned)
    }

    fn hard_as_it_stands(&self, text: &str) -> String {
        let values = self.values.read().unwrap_or_else(PoisonError::into_inner);
        if values.contains(text) {
            return SECRET.to_owned();
        }
        // The longest first: another may be a part of it.
        let mut long: Vec<&String> = values.iter().filter(|value| value.len() >= SHORTEST).collect();
        long.sort_by_key(|value| std::cmp::Reverse(value.len()));
        let text = long.iter().fold(text.to_owned(), |text, value| text.replace(&***value, SECRET));
        without_keys(&passed(text, &self.keys))
    }
}

/// What these functions leave of a text.
fn passed(text: String, functions: &[Box<Words>]) -> String {
    functions.iter().fold(text, |text, words| {
        // One that fails has let nothing pass.
        catch_unwind(AssertUnwindSafe(|| words(&text))).unwrap_or_else(|_| WITHHELD.to_owned())
    })
}

/// A text with the letters in it that are written by their numbers, such as `\u0073`, where these are ASCII that can be seen.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\u") {
        out.push_str(before);
        let number = after.get(..4).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match number.filter(u8::is_ascii_graphic) {
            Some(letter) => {
                out.push(char::from(letter));
                rest = after.get(4..).unwrap_or_default();
            }
            None => {
                out.push_str("\\u");
                rest = after;
            }
        }
    }
    out + rest
}

/// A text with a placeholder for whatever in it looks like a key.
fn without_keys(text: &str) -> String {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
        let whole = word.trim_end_matches('.');
        let place = match whole.len() >= KEY_LENGTH && follows_bearer(&out) {
            true => Some(0),
            false => key_in(whole, &out),
        };
        match place {
            Some(place) => {
                out.push_str(&word[..place]);
                out.push_str(KEY);
                out.push_str(&word[whole.len()..]);
            }
            None => out.push_str(word),
        }
        let (between, next) = after.split_at(after.find(is_part).unwrap_or(after.len()));
        out.push_str(between);
        rest = next;
    }
    out
}

/// Where in a word a key begins. `before` is what stands before the word.
fn key_in(word: &str, before: &str) -> Option<usize> {
    let digit = word.bytes().rposition(|byte| byte.is_ascii_digit());
    let is_long = |begin: usize| word.len() >= begin + KEY_LENGTH && digit >= Some(begin);
    let begins = |place: usize| {
        let lead = &word[..place];
        !lead.ends_with(|c: char| c.is_ascii_alphanumeric()) || is_escape(lead, before)
    };
    let is_capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    let found = |prefix: &str, is_key: &dyn Fn(usize) -> bool| {
        word.match_indices(prefix).map(|(place, _)| place).find(|place| is_key(*place))
    };
    let anywhere = PREFIXES.iter().map(|prefix| found(prefix, &|place| is_long(place + prefix.len())));
    let at_start = AT_THE_START
        .iter()
        .map(|prefix| found(prefix, &|place| begins(place) && is_long(place + prefix.len())));
    let capitals = CAPITALS.iter().map(|prefix| {
        found(prefix, &|place| {
            let rest = word.as_bytes().get(place + prefix.len()..place + prefix.len() + KEY_LENGTH);
            rest.is_some_and(|rest| rest.iter().copied().all(is_capital))
        })
    });
    anywhere.chain(at_start).chain(capitals).flatten().min()
}

/// Whether the beginning of a word is the end of a character's escape, as in `\n`, `\u000a`, `\x0a` and `%22`.
fn is_escape(lead: &str, before: &str) -> bool {
    let are_digits = |digits: &str, most: usize| {
        digits.len() == most && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    if before.ends_with(['%', '=']) {
        return are_digits(lead, 2);
    }
    let by_number = |mark: char, most| lead.strip_prefix(mark).is_some_and(|digits| are_digits(digits, most));
    before.ends_with('\\') && (lead.len() == 1 || by_number('u', 4) || by_number('x', 2))
}

fn follows_bearer(before: &str) -> bool {
    let before = before.trim_end_matches(' ');
    before
        .len()
        .checked_sub("bearer".len())
        .and_then(|from| before.get(from..))
        .is_some_and(|word| word.eq_ignore_ascii_case("bearer"))
}

impl fmt::Debug for Redactor {
    /// How much it takes out, and nothing of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.values.read().unwrap_or_else(PoisonError::into_inner).len();
        f.debug_struct("Redactor")
            .field("values", &values)
            .field("declared", &self.declared)
            .field("keys", &self.keys.len())
            .field("words", &self.words.len())
            .finish()
    }
}
