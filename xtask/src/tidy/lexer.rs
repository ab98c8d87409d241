//! Just enough of Rust's lexical rules to tell code from comments, texts and tests.

/// A word or a sign of the code. Comments are not there; a literal is `""`, whatever it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
}

/// The code of a source file outside its tests.
pub(super) fn code(source: &str) -> Vec<Token<'_>> {
    without_tests(&tokens(source))
}

/// Do the tokens begin with these words and signs?
pub(super) fn begins(tokens: &[Token<'_>], with: &[&str]) -> bool {
    tokens.len() >= with.len() && tokens.iter().zip(with).all(|(token, text)| token.text == *text)
}

/// Is this a file of tests, by its name or folder?
pub(super) fn is_test_file(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "test" | "tests.rs" | "test.rs" | "benches"))
}

/// All words and signs of a source file, its tests included.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer { rest: source, line: 1, tokens: Vec::new() };
    while lexer.step() {}
    lexer.tokens
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    tokens: Vec<Token<'a>>,
}

impl<'a> Lexer<'a> {
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        if first.is_whitespace() {
            self.skip(first.len_utf8());
        } else if self.rest.starts_with("//") {
            self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
        } else if self.rest.starts_with("/*") {
            self.skip(block_comment(self.rest));
        } else if let Some(length) = literal(self.rest) {
            self.push("\"\"");
            self.skip(length);
        } else if first == '_' || first.is_alphanumeric() {
            let rest = self.rest.strip_prefix("r#").unwrap_or(self.rest);
            let word = &rest[..word(rest)];
            self.push(word);
            self.skip(self.rest.len() - rest.len() + word.len());
        } else if first == '\'' {
            // A lifetime: its name is no word of ours.
            self.push("'");
            self.skip(1 + word(&self.rest[1..]));
        } else {
            self.push(&self.rest[..first.len_utf8()]);
            self.skip(first.len_utf8());
        }
        true
    }

    fn push(&mut self, text: &'a str) {
        self.tokens.push(Token { text, line: self.line });
    }

    fn skip(&mut self, length: usize) {
        let (skipped, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.line += skipped.matches('\n').count();
        self.rest = rest;
    }
}

fn word(text: &str) -> usize {
    text.find(|char: char| char != '_' && !char.is_alphanumeric()).unwrap_or(text.len())
}

/// The length of a block comment, with those nested in it.
fn block_comment(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0, 0);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The length of the string or character literal that the text begins with, if it does.
fn literal(text: &str) -> Option<usize> {
    let prefix = text.find(|char: char| !matches!(char, 'b' | 'c' | 'r'))?;
    let (prefix, body) = (prefix <= 2).then(|| text.split_at(prefix))?;
    if prefix.ends_with('r') {
        let hashes = body.find(|char| char != '#')?;
        let inner = body[hashes..].strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let close = inner.find(&end).map_or(inner.len(), |at| at + end.len());
        return Some(prefix.len() + hashes + 1 + close);
    }
    match body.chars().next()? {
        '"' => Some(prefix.len() + quoted(body, '"')),
        '\'' if prefix.is_empty() || prefix == "b" => {
            let mut inner = body.chars().skip(1);
            let is_char = match inner.next()? {
                '\\' => true,
                _ => inner.next() == Some('\''),
            };
            is_char.then(|| prefix.len() + quoted(body, '\''))
        }
        _ => None,
    }
}

/// The length of a text between quotes, quotes included; `\` guards the next character.
fn quoted(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, char)) = chars.next() {
        if char == '\\' {
            chars.next();
        } else if char == quote {
            return at + 1;
        }
    }
    text.len()
}

fn without_tests<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if begins(&tokens[at..], &["#", "!", "["]) && is_test_attribute(&tokens[at + 3..]) {
            return Vec::new();
        }
        if begins(&tokens[at..], &["#", "["]) && is_test_attribute(&tokens[at + 2..]) {
            at += item(&tokens[at..]);
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}

/// `test]`, `cfg(test)]`, `cfg(all(test, …))]`. What is compiled for more than tests is no test.
fn is_test_attribute(tokens: &[Token<'_>]) -> bool {
    let inside: Vec<&str> = tokens.iter().map(|token| token.text).take_while(|text| *text != "]").collect();
    match inside.as_slice() {
        ["test"] | ["cfg", "(", "test", ")"] => true,
        ["cfg", "(", "all", rest @ ..] => {
            rest.contains(&"test") && !rest.contains(&"any") && !rest.contains(&"not")
        }
        _ => false,
    }
}

/// The number of tokens of the item that begins with an attribute.
fn item(tokens: &[Token<'_>]) -> usize {
    let mut at = 0;
    while begins(&tokens[at..], &["#", "["]) {
        at += 1 + group(&tokens[at + 1..]);
    }
    // A field, an argument or a match arm ends at a comma; an item may have commas between its generics.
    let keywords = [
        "pub",
        "fn",
        "mod",
        "use",
        "impl",
        "struct",
        "enum",
        "trait",
        "type",
        "const",
        "static",
        "unsafe",
        "async",
        "extern",
        "macro_rules",
        "let",
    ];
    let ends_at_comma = tokens.get(at).is_none_or(|token| !keywords.contains(&token.text));
    while let Some(token) = tokens.get(at) {
        match token.text {
            "{" => return at + group(&tokens[at..]),
            ";" => return at + 1,
            "," if ends_at_comma => return at + 1,
            "}" => return at,
            "(" | "[" => at += group(&tokens[at..]),
            _ => at += 1,
        }
    }
    at
}

/// The number of tokens from an opening bracket to its closing one.
fn group(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &str) {
        let words: Vec<&str> = code(source).iter().map(|token| token.text).collect();
        assert_eq!(words.join(" "), expected, "{source}");
    }

    #[test]
    fn comments_and_texts_are_no_code() {
        check("a // b\n c", "a c");
        check("a /* b /* c */ d */ e", "a e");
        check("/// docs\n//! more\nx", "x");
        check(
            r#"f("unsafe \" { ", 'x', '"', '\'', b'{', b"}")"#,
            "f ( \"\" , \"\" , \"\" , \"\" , \"\" , \"\" )",
        );
        check("r#\"a \" b\"# r\"\\\" br##\"\"# \"## c", "\"\" \"\" \"\" c");
        check("fn f<'a>(x: &'a str) {}", "fn f < ' > ( x : & ' str ) { }");
        check("r#type bar rust crab 1.5", "type bar rust crab 1 . 5");
        check("'é' '\\u{1F600}' x", "\"\" \"\" x");
        check("\"never closed", "\"\"");
    }

    #[test]
    fn tests_are_no_code() {
        check("a #[cfg(test)] mod tests { fn f() { { } } } b", "a b");
        check("#[cfg(test)] mod tests; b", "b");
        check("#[cfg(test)] #[rustfmt::skip] fn f<A, B>(a: A) -> [u8; 2] { x } b", "b");
        check("#[test] fn f() { x.unwrap() } b", "b");
        check("struct S { #[cfg(test)] a: u8, b: u8 }", "struct S { b : u8 }");
        check("struct S { b: u8, #[cfg(test)] a: u8 } c", "struct S { b : u8 , } c");
        check("#[cfg(all(test, unix))] mod t { } b", "b");
        check("#![cfg(test)] a", "");
    }

    #[test]
    fn what_others_can_switch_on_is_code() {
        check("#[cfg(not(test))] fn f() {}", "# [ cfg ( not ( test ) ) ] fn f ( ) { }");
        check("#[cfg(any(test, x))] a", "# [ cfg ( any ( test , x ) ) ] a");
        check("#[cfg(all(unix, not(test)))] a", "# [ cfg ( all ( unix , not ( test ) ) ) ] a");
    }

    #[test]
    fn lines_are_counted_through_everything() {
        let lines: Vec<usize> =
            code("a\n/* \n */ b \"\n\n\" c\r\nd").iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 3, 3, 5, 6]);
    }

    #[test]
    fn test_files_are_known_by_name() {
        for path in ["crates/a/tests/x.rs", "crates/a/src/b/tests.rs", "crates/a/src/test/x.rs"] {
            assert!(is_test_file(path), "{path}");
        }
        assert!(!is_test_file("crates/a/src/latest.rs"));
    }
}
