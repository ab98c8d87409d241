//! JSON as a tree in which nothing is lost but white space: members keep their order and their doubles, numbers their text.

use serde::de::{Deserialize, IgnoredAny};

/// How deep lists and objects may be nested. What is deeper is [`TOO_DEEP`].
pub(crate) const DEEPEST: usize = 200;

/// How deep a whole cassette may be nested: what is read of a request or a reply stands that much deeper in it.
pub(crate) const DEEPEST_FILE: usize = DEEPEST + 8;

/// How many characters a line for people has at most, where it can be broken.
const LINE: usize = 100;

/// What stands in the place of what is nested deeper than [`DEEPEST`].
const TOO_DEEP: &str = "[nested too deeply]";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Object(Vec<(String, Self)>),
    List(Vec<Self>),
    Text(String),
    Number(String),
    /// `true`, `false` or `null`.
    Word(&'static str),
}

/// Why a text is no tree, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoNode {
    /// It is no JSON.
    Json(String),
    /// Something is nested deeper than [`DEEPEST`].
    Deep,
}

impl Node {
    pub(crate) const NULL: Self = Self::Word("null");

    /// Reads JSON from which nothing may be missing.
    pub(crate) fn read(json: &str) -> Result<Self, NoNode> {
        let (node, is_whole) = Self::read_whole_or_not(json, DEEPEST)?;
        if is_whole { Ok(node) } else { Err(NoNode::Deep) }
    }

    /// Reads a file from which nothing may be missing.
    pub(crate) fn read_file(json: &str) -> Result<Self, NoNode> {
        let (node, is_whole) = Self::read_whole_or_not(json, DEEPEST_FILE)?;
        if is_whole { Ok(node) } else { Err(NoNode::Deep) }
    }

    /// Reads JSON; what is nested too deeply is left out. `None` for what is none.
    pub(crate) fn of_json(json: &str) -> Option<Self> {
        Self::read_whole_or_not(json, DEEPEST).ok().map(|(node, _)| node)
    }

    fn read_whole_or_not(json: &str, deepest: usize) -> Result<(Self, bool), NoNode> {
        let told = |error: serde_json::Error| NoNode::Json(error.to_string());
        let mut check = serde_json::Deserializer::from_str(json);
        IgnoredAny::deserialize(&mut check).map_err(told)?;
        check.end().map_err(told)?;
        let mut reader = Reader { json, at: 0, is_whole: true, fault: None };
        let node = reader.value(deepest);
        match reader.fault {
            None => Ok((node, reader.is_whole)),
            Some(why) => Err(NoNode::Json(why)),
        }
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn number(number: impl ToString) -> Self {
        Self::Number(number.to_string())
    }

    /// The first member of this name; nothing of what is no object.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }

    pub(crate) fn items_mut(&mut self) -> &mut [Self] {
        if let Self::List(items) = self { items } else { &mut [] }
    }

    /// What it is, for people.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Object(_) => "an object",
            Self::List(_) => "a list",
            Self::Text(_) => "a text",
            Self::Number(_) => "a number",
            Self::Word(word) => word,
        }
    }

    /// Compact JSON.
    pub(crate) fn json(&self) -> String {
        let mut out = String::new();
        self.write(",", ":", &mut out);
        out
    }

    /// JSON for people, with one LF at the end: what fits in a line is one, and of what does not each member and item begins
    /// one.
    pub(crate) fn pretty(&self) -> String {
        let mut out = String::new();
        self.write_lines(0, 0, &mut out);
        out.push('\n');
        out
    }

    fn write_lines(&self, depth: usize, before: usize, out: &mut String) {
        let line = self.line(LINE.saturating_sub(2 * depth + before));
        match (line, self) {
            (None, Self::Object(members)) => {
                for (place, (name, value)) in members.iter().enumerate() {
                    out.push(if place == 0 { '{' } else { ',' });
                    new_line(depth + 1, out);
                    let name = literal(name);
                    out.push_str(&name);
                    out.push_str(": ");
                    value.write_lines(depth + 1, name.chars().count() + 2, out);
                }
                new_line(depth, out);
                out.push('}');
            }
            (None, Self::List(items)) => {
                for (place, item) in items.iter().enumerate() {
                    out.push(if place == 0 { '[' } else { ',' });
                    new_line(depth + 1, out);
                    item.write_lines(depth + 1, 0, out);
                }
                new_line(depth, out);
                out.push(']');
            }
            (Some(line), _) => out.push_str(&line),
            (None, of) => of.write(", ", ": ", out),
        }
    }

    /// The tree in one line of at most so many characters.
    fn line(&self, most: usize) -> Option<String> {
        // Each part takes a character at least, so what is large is not written to no end.
        if self.has_more_than(most) {
            return None;
        }
        let mut out = String::new();
        self.write(", ", ": ", &mut out);
        (out.chars().count() <= most).then_some(out)
    }

    fn has_more_than(&self, most: usize) -> bool {
        fn left(node: &Node, most: usize) -> Option<usize> {
            let most = most.checked_sub(1)?;
            match node {
                Node::Object(members) => members.iter().try_fold(most, |most, (_, value)| left(value, most)),
                Node::List(items) => items.iter().try_fold(most, |most, item| left(item, most)),
                Node::Text(text) => most.checked_sub(text.len() / 4),
                Node::Number(_) | Node::Word(_) => Some(most),
            }
        }
        left(self, most).is_none()
    }

    /// Writes the tree in one line, with these marks behind an item and behind a name.
    fn write(&self, next: &str, names: &str, out: &mut String) {
        match self {
            Self::Object(members) => {
                out.push('{');
                for (place, (name, value)) in members.iter().enumerate() {
                    out.push_str(if place == 0 { "" } else { next });
                    out.push_str(&literal(name));
                    out.push_str(names);
                    value.write(next, names, out);
                }
                out.push('}');
            }
            Self::List(items) => {
                out.push('[');
                for (place, item) in items.iter().enumerate() {
                    out.push_str(if place == 0 { "" } else { next });
                    item.write(next, names, out);
                }
                out.push(']');
            }
            Self::Text(text) => out.push_str(&literal(text)),
            Self::Number(number) => out.push_str(number),
            Self::Word(word) => out.push_str(word),
        }
    }
}

fn new_line(depth: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

fn literal(text: &str) -> String {
    sommelier_protocol::RawJson::string(text).get().to_owned()
}

/// Reads what is known to be JSON by its grammar.
struct Reader<'j> {
    json: &'j str,
    at: usize,
    is_whole: bool,
    /// A text that is JSON by its grammar and no text, as half a surrogate pair is.
    fault: Option<String>,
}

impl Reader<'_> {
    fn value(&mut self, deeper: usize) -> Node {
        match self.peek() {
            Some(b'{' | b'[') if deeper == 0 => {
                self.skip();
                self.is_whole = false;
                Node::text(TOO_DEEP)
            }
            Some(b'{') => Node::Object(self.list(b'}', |reader| {
                let name = reader.string();
                reader.peek();
                reader.at += 1;
                (name, reader.value(deeper - 1))
            })),
            Some(b'[') => Node::List(self.list(b']', |reader| reader.value(deeper - 1))),
            Some(b'"') => Node::Text(self.string()),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => Node::Number(self.while_(|byte| !matches!(byte, b',' | b']' | b'}') && !is_space(byte))),
        }
    }

    fn list<T>(&mut self, end: u8, item: impl Fn(&mut Self) -> T) -> Vec<T> {
        let mut items = Vec::new();
        self.at += 1;
        while let Some(byte) = self.peek() {
            if byte == b',' || byte == end {
                self.at += 1;
                if byte == end {
                    break;
                }
                continue;
            }
            items.push(item(self));
        }
        items
    }

    fn word(&mut self, word: &'static str) -> Node {
        self.at += word.len();
        Node::Word(word)
    }

    fn string(&mut self) -> String {
        self.peek();
        let start = self.at;
        self.pass_string();
        let written = self.json.get(start..self.at).unwrap_or_default();
        serde_json::from_str(written).unwrap_or_else(|error| {
            self.fault.get_or_insert(format!("a text that is none, at byte {start}: {error}"));
            String::new()
        })
    }

    fn pass_string(&mut self) {
        self.at += 1;
        let mut is_escaped = false;
        while let Some(byte) = self.byte() {
            self.at += 1;
            if byte == b'"' && !is_escaped {
                break;
            }
            is_escaped = byte == b'\\' && !is_escaped;
        }
    }

    /// Passes a list or an object, however deep.
    fn skip(&mut self) {
        let mut open = 0_usize;
        while let Some(byte) = self.byte() {
            match byte {
                b'"' => {
                    self.pass_string();
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open -= 1,
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                break;
            }
        }
    }

    fn while_(&mut self, holds: impl Fn(u8) -> bool) -> String {
        let start = self.at;
        while self.byte().is_some_and(&holds) {
            self.at += 1;
        }
        self.json.get(start..self.at).unwrap_or_default().to_owned()
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        while self.byte().is_some_and(is_space) {
            self.at += 1;
        }
        self.byte()
    }

    fn byte(&self) -> Option<u8> {
        self.json.as_bytes().get(self.at).copied()
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_doubles_and_the_text_of_numbers_stay() {
        let json = r#"{"b":1.50,"a":[18446744073709551617,-0,1e400],"b":{"c":"\"\\é","d":[]},"e":{},"f":[true,false,null]}"#;
        let node = Node::read(json).unwrap();
        assert_eq!(node.json(), json);
        assert_eq!(Node::read(&node.pretty()).unwrap(), node);
        assert_eq!(Node::read(r#"{ "a" : [1 , {"b":2}] }"#).unwrap().pretty(), "{\"a\": [1, {\"b\": 2}]}\n");
        let long = "x".repeat(93);
        let written = format!("{{\n  \"a\": [1, 2],\n  \"b\": [\n    \"{long}\"\n  ]\n}}\n");
        assert_eq!(Node::read(&written).unwrap().pretty(), written);
    }

    #[test]
    fn what_is_nested_too_deeply_is_told_or_left_out() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(Node::read(&deep), Err(NoNode::Deep));
        let mut node = &Node::of_json(&format!(r#"[{deep},"}}"]"#)).unwrap();
        assert_eq!(node.items().last(), Some(&Node::text("}")));
        for _ in 0..DEEPEST {
            node = &node.items()[0];
        }
        assert_eq!(node, &Node::text(TOO_DEEP));
    }

    #[test]
    fn half_a_surrogate_pair_is_no_text() {
        let Err(NoNode::Json(why)) = Node::read(r#"["\ud800"]"#) else { panic!() };
        assert!(why.starts_with("a text that is none, at byte 1"), "{why}");
        assert!(Node::read("[1,]").is_err());
    }
}
