//! Names that were made by chance, put in the order in which they come up: so two recordings differ in what was said.

use crate::node::Node;
use crate::redactor::SECRET;

/// How a handle begins that stands for a secret value, and how many hexadecimal digits follow.
const HANDLE: &str = "secret:";
const DIGITS: usize = 32;

/// What stands in the place of a conversation's name that is by chance.
const CONVERSATION: &str = "conversation";

/// Whether a text is a handle by its form.
pub(crate) fn is_handle(text: &str) -> bool {
    handle_at(text) == Some(text.len())
}

fn handle_at(text: &str) -> Option<usize> {
    let digits = text.strip_prefix(HANDLE)?.as_bytes().get(..DIGITS)?;
    digits.iter().all(u8::is_ascii_hexdigit).then_some(HANDLE.len() + DIGITS)
}

/// The names of one request and its reply. It is made of the request alone, which holds all that came before.
pub(crate) struct Names {
    /// Ids and names by chance, each with what stands in its place.
    ids: Vec<(String, String)>,
    /// How many different ids of calls there were.
    calls: Vec<String>,
    handles: Vec<String>,
}

impl Names {
    /// Renames in a request of the conversation `root` what is by chance.
    pub(crate) fn rename(root: &str, request: &mut Node) -> Self {
        let mut names = Self { ids: Vec::new(), calls: Vec::new(), handles: Vec::new() };
        if is_by_chance(root) {
            names.ids.push((root.to_owned(), CONVERSATION.to_owned()));
        }
        let messages = request.get("messages").map(Node::items).unwrap_or_default();
        messages.iter().filter_map(|message| message.get("content")).for_each(|content| names.read(content));
        let Node::Object(members) = request else { return names };
        for (_, value) in members.iter_mut().filter(|(name, _)| name != "tools" && name != "model") {
            names.in_node(value, true);
        }
        names
    }

    /// Renames in the content of the reply. A handle that was not in the request stands for a value that the model has written,
    /// and so does any in words, which nothing goes by.
    pub(crate) fn rename_reply(mut self, content: &mut Node) {
        self.read(content);
        let (calls, words) = (std::mem::take(&mut self.handles), Vec::new());
        for (block, is_call) in blocks(content) {
            self.handles = if is_call { calls.clone() } else { words.clone() };
            self.in_node(block, false);
        }
    }

    /// Puts the names that a run has in the place of those in a recorded reply to its request. Ids of calls that the reply
    /// makes are what they are.
    pub(crate) fn restore(&self, content: &mut Node) {
        let number = |place: usize| format!("{HANDLE}{:0DIGITS$x}", place + 1);
        let handles = self.handles.iter().enumerate().map(|(place, handle)| (number(place), handle.clone()));
        let ids = self.ids.iter().filter(|(_, name)| name != CONVERSATION);
        let back: Vec<_> = handles.chain(ids.map(|(id, name)| (name.clone(), id.clone()))).collect();
        if !back.is_empty() {
            // At once, as one name may be another's id.
            put_back(content, &back);
        }
    }

    fn read(&mut self, content: &Node) {
        let is_call = |block: &&Node| block.get("type").and_then(Node::as_text) == Some("tool_use");
        let ids = content.items().iter().filter(is_call).filter_map(|block| block.get("id")?.as_text());
        for id in ids {
            if self.calls.iter().any(|known| known == id) {
                continue;
            }
            self.calls.push(id.to_owned());
            if is_by_chance(id) {
                self.ids.push((id.to_owned(), format!("call_{}", self.calls.len())));
            }
        }
    }

    fn in_node(&mut self, node: &mut Node, learns: bool) {
        match node {
            Node::Object(members) => {
                for (name, value) in members {
                    self.in_text(name, learns);
                    self.in_node(value, learns);
                }
            }
            Node::List(items) => items.iter_mut().for_each(|item| self.in_node(item, learns)),
            Node::Text(text) => self.in_text(text, learns),
            Node::Number(_) | Node::Word(_) => {}
        }
    }

    fn in_text(&mut self, text: &mut String, learns: bool) {
        if self.ids.iter().any(|(id, _)| text.contains(&**id)) {
            *text = replaced(text, &self.ids);
        }
        if text.contains(HANDLE) {
            *text = self.with_handles(text, learns);
        }
    }

    fn with_handles(&mut self, text: &str, learns: bool) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(place) = rest.find(HANDLE) {
            let (before, from) = rest.split_at(place);
            out.push_str(before);
            let Some(length) = handle_at(from) else {
                out.push_str(HANDLE);
                rest = &from[HANDLE.len()..];
                continue;
            };
            let (handle, after) = from.split_at(length);
            match self.number_of(handle, learns) {
                Some(number) => out.push_str(&format!("{HANDLE}{number:0DIGITS$x}")),
                None => out.push_str(SECRET),
            }
            rest = after;
        }
        out + rest
    }

    /// Which handle it is, from 1; `None` for a new one where none is to be learned.
    fn number_of(&mut self, handle: &str, learns: bool) -> Option<usize> {
        let known = self.handles.iter().position(|known| known == handle);
        let place = known.or_else(|| {
            learns.then(|| {
                self.handles.push(handle.to_owned());
                self.handles.len() - 1
            })
        });
        Some(place? + 1)
    }
}

/// The blocks of a reply, and which of them are calls.
fn blocks(content: &mut Node) -> impl Iterator<Item = (&mut Node, bool)> {
    let items = if let Node::List(items) = content { &mut items[..] } else { &mut [] };
    items.iter_mut().map(|block| {
        let is_call = block.get("type").and_then(Node::as_text) == Some("tool_use");
        (block, is_call)
    })
}

fn put_back(node: &mut Node, names: &[(String, String)]) {
    match node {
        Node::Object(members) => {
            for (name, value) in members {
                *name = replaced(name, names);
                put_back(value, names);
            }
        }
        Node::List(items) => items.iter_mut().for_each(|item| put_back(item, names)),
        Node::Text(text) => *text = replaced(text, names),
        Node::Number(_) | Node::Word(_) => {}
    }
}

/// `text` with the second of a pair wherever the first stands by itself.
fn replaced(text: &str, pairs: &[(String, String)]) -> String {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let is_apart = !out.ends_with(is_part);
        let found = pairs.iter().filter(|_| is_apart).find_map(|(of, with)| {
            let after =
                rest.strip_prefix(&**of).filter(|after| !of.is_empty() && !after.starts_with(is_part))?;
            Some((with, after))
        });
        match found {
            Some((with, after)) => {
                out.push_str(with);
                rest = after;
            }
            None => {
                out.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    out
}

/// Whether nobody would write a name like that: letters and digits are mixed in a long piece of it. A script's author writes
/// `tu_1`, a service `toolu_01A09q90qw90lq917835lq9`.
fn is_by_chance(name: &str) -> bool {
    const LONG: usize = 8;
    let is_mixed = |piece: &str| {
        piece.len() >= LONG
            && piece.bytes().any(|byte| byte.is_ascii_digit())
            && piece.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    name.split(|character: char| !character.is_ascii_alphanumeric()).any(is_mixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "secret:0123456789abcdef0123456789abcdef";
    const B: &str = "secret:ffffffffffffffffffffffffffffffff";

    #[test]
    fn what_is_by_chance_is_told_from_what_an_author_writes() {
        for chance in
            ["toolu_01A09q90qw90lq917835lq9", "call_a1b2c3d4", "D681PevKs", "c-17-1-00ff00ff00ff00ff"]
        {
            assert!(is_by_chance(chance), "{chance}");
        }
        for written in ["tu_1", "call_12", "booking_agent", "tu_1_2_3", "lesson-05", "order-2026-11-30", ""] {
            assert!(!is_by_chance(written), "{written}");
        }
    }

    #[test]
    fn ids_and_handles_are_numbered_as_they_come_up() {
        let mut request = Node::of_json(&format!(
            r#"{{"system":"call_a1b2c3d4 call_a1b2c3d4x","messages":[
            {{"role":"assistant","content":[
                {{"type":"tool_use","id":"tu_1","name":"t","input":{{"pin":"{B}"}}}},
                {{"type":"tool_use","id":"call_a1b2c3d4","name":"t","input":{{}}}}]}},
            {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"call_a1b2c3d4","content":"{A} {B}"}}]}}]}}"#
        ))
        .unwrap();
        let names = Names::rename("conversation-1-00ff00ff00ff00ff", &mut request);
        let mut reply = Node::of_json(&format!(
            r#"[{{"type":"tool_use","id":"call_ffff0000","name":"t","input":{{"a":"{A}","new":"secret:{}"}}}}]"#,
            "0".repeat(32)
        ))
        .unwrap();
        names.rename_reply(&mut reply);
        let numbered = |number: u32| format!("secret:{number:032x}");
        assert_eq!(
            request.json(),
            format!(
                r#"{{"system":"call_2 call_a1b2c3d4x","messages":[{{"role":"assistant","content":[{{"type":"tool_use","id":"tu_1","name":"t","input":{{"pin":"{one}"}}}},{{"type":"tool_use","id":"call_2","name":"t","input":{{}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"call_2","content":"{two} {one}"}}]}}]}}"#,
                one = numbered(1),
                two = numbered(2)
            )
        );
        assert_eq!(
            reply.json(),
            format!(
                r#"[{{"type":"tool_use","id":"call_3","name":"t","input":{{"a":"{}","new":"[secret]"}}}}]"#,
                numbered(2)
            )
        );
    }
}
