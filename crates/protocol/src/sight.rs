//! How text from outside is shown to people, so that nothing in it is hidden from them or obeyed by a terminal.

/// The words with what a terminal would obey shown instead: control characters but line ends, and those that
/// turn the direction of text.
///
/// ```
/// use sommelier_protocol::sight::printable;
///
/// assert_eq!(printable("\u{1b}[31mred\nAda\u{202e}"), "\\u{1b}[31mred\nAda\\u{202e}");
/// ```
pub fn printable(words: &str) -> String {
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let shown = |c: char| {
        if (c.is_control() && c != '\n') || turns(c) { c.escape_default().collect() } else { vec![c] }
    };
    words.chars().flat_map(shown).collect()
}

/// The same JSON in one line, in which all can be seen: what a terminal would obey, what turns the direction of text,
/// what shows as nothing and each space but the plain one is an escape of JSON. Else a person approves what they
/// do not see.
///
/// ```
/// use sommelier_protocol::sight::in_sight;
///
/// assert_eq!(in_sight("{ \"name\":\n \"Ada\u{202e}\" }"), r#"{"name":"Ada\u202e"}"#);
/// ```
pub fn in_sight(json: &str) -> String {
    // White space between values means nothing, and may hide what stands beside it.
    escaped(json, |_| None)
}

/// As [`in_sight`], for JSON that is laid out in lines: it stays so.
///
/// ```
/// use sommelier_protocol::sight::lines_in_sight;
///
/// assert_eq!(lines_in_sight("{\n  \"name\": \"Ada\u{202e}\"\n}"), "{\n  \"name\": \"Ada\\u202e\"\n}");
/// ```
pub fn lines_in_sight(json: &str) -> String {
    escaped(json, |space| matches!(space, ' ' | '\n').then_some(space))
}

/// The JSON with escapes for what is hidden in its strings; `between` says what becomes of white space between values.
fn escaped(json: &str, between: impl Fn(char) -> Option<char>) -> String {
    let mut shown = String::with_capacity(json.len());
    let (mut in_string, mut is_escaped) = (false, false);
    for c in json.chars() {
        match c {
            _ if !in_string && c.is_whitespace() => shown.extend(between(c)),
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
    shows_nothing(c) || c.is_control() || (c.is_whitespace() && c != ' ')
}

/// Whether a character shows as nothing: it joins or turns what stands beside it, is a blank that counts as a letter, or a tag. Emoji and some
/// writings need some of them between what shows.
///
/// ```
/// use sommelier_protocol::sight::shows_nothing;
///
/// assert_eq!(['\u{200b}', '\u{e0041}', 'A', ' '].map(shows_nothing), [true, true, false, false]);
/// ```
pub fn shows_nothing(c: char) -> bool {
    matches!(
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
    )
}
