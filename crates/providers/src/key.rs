//! A key, which nobody sees.

use std::fmt;

use sommelier_protocol::ModelResponse;

use crate::error::CUT;
use crate::{ProviderError, SetupError};

/// A key of a service. It has no `Display`, and its `Debug` does not show it.
#[derive(Clone)]
pub(crate) struct Key(String);

/// What stands in the place of a key.
const MASK: &str = "[key]";
/// The characters from which a part of a key at the end of a text is taken out.
const SHOWS: usize = 4;

impl Key {
    /// The key that the environment holds; `None` where the variable is not set or blank.
    pub(crate) fn from_environment(variable: &str) -> Result<Option<Self>, SetupError> {
        let bad = |fault| SetupError::BadKey { variable: variable.to_owned(), fault };
        let key = match std::env::var(variable) {
            Ok(key) => key.trim().to_owned(),
            Err(std::env::VarError::NotPresent) => return Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => return Err(bad("is no text")),
        };
        match key.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok(Some(Self(key)).filter(|key| !key.0.is_empty())),
            false => Err(bad("holds white space or other characters that no header takes")),
        }
    }

    /// For the one place where the key is written: the header of a request.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// What is too short to be a secret is left alone, or half of a text would go.
    fn is_secret(&self) -> bool {
        const SHORTEST: usize = 8;
        self.0.len() >= SHORTEST
    }

    /// What is told of an error without the key, in letters of any case and with escapes of JSON, and without the part of it at
    /// the end, where a text was cut or a body broke off.
    pub(crate) fn scrub(&self, text: &str) -> String {
        let masked = self.without(text);
        let (body, cut) = match masked.strip_suffix(CUT) {
            Some(body) => (body, &masked[body.len()..]),
            None => (&*masked, ""),
        };
        match self.begun_at(body.as_bytes(), SHOWS).and_then(|at| body.get(..at)) {
            Some(before) => format!("{before}{MASK}{cut}"),
            None => masked,
        }
    }

    /// The text without the key.
    fn without(&self, text: &str) -> String {
        match self.mask(text.as_bytes()) {
            Some(masked) => String::from_utf8_lossy(&masked).into_owned(),
            None => text.to_owned(),
        }
    }

    /// The reply without the key: in texts, names, ids and arguments, and in what is not known.
    ///
    /// # Errors
    /// [`Malformed`](ProviderError::Malformed) where without the key it is no reply any more.
    pub(crate) fn scrub_reply(&self, reply: ModelResponse) -> Result<ModelResponse, ProviderError> {
        let unfit = |error: serde_json::Error| {
            ProviderError::malformed(format_args!("the reply without the key in it: {error}"))
        };
        let written = serde_json::to_string(&reply).map_err(unfit)?;
        match self.mask_json(&written) {
            None => Ok(reply),
            Some(masked) => serde_json::from_str(&masked).map_err(unfit),
        }
    }

    /// JSON without the key in its literals; `None` where it is in none. A number that has it becomes a text.
    fn mask_json(&self, json: &str) -> Option<String> {
        let mut out = String::new();
        let (mut copied, mut at) = (0, 0);
        while let Some((start, end)) = next_literal(json, at) {
            at = end;
            let literal = json.get(start..end)?;
            let masked = match literal.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
                Some(text) => {
                    self.mask(text.as_bytes()).map(|text| String::from_utf8_lossy(&text).into_owned())
                }
                None => self.mask(literal.as_bytes()).map(|_| MASK.to_owned()),
            };
            if let Some(masked) = masked {
                out.push_str(json.get(copied..start)?);
                out.push_str(&format!("\"{masked}\""));
                copied = end;
            }
        }
        (copied > 0).then(|| out + json.get(copied..).unwrap_or_default())
    }

    /// The bytes without the key; `None` where it is not in them.
    fn mask(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if !self.is_secret() {
            return None;
        }
        let mut out = Vec::new();
        let (mut copied, mut at) = (0, 0);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            match self.matched(rest) {
                Match { chars, bytes: length } if chars == self.0.len() => {
                    out.extend_from_slice(bytes.get(copied..at)?);
                    out.extend_from_slice(MASK.as_bytes());
                    at += length;
                    copied = at;
                }
                _ => at += 1,
            }
        }
        (copied > 0).then(|| [&*out, bytes.get(copied..).unwrap_or_default()].concat())
    }

    /// Where the part of the key begins at which the bytes end; `None` where they end with less than `least` characters of it.
    fn begun_at(&self, bytes: &[u8], least: usize) -> Option<usize> {
        if !self.is_secret() {
            return None;
        }
        // Each character may be written as `\u0068`, with a few backslashes more.
        let earliest = bytes.len().saturating_sub(self.0.len() * 8);
        (earliest..bytes.len()).find(|at| {
            let rest = bytes.get(*at..).unwrap_or_default();
            let Match { chars, bytes: length } = self.matched(rest);
            chars >= least && rest.get(length..).is_some_and(is_part_of_escape)
        })
    }

    /// How much of the key stands at the beginning of the bytes.
    fn matched(&self, bytes: &[u8]) -> Match {
        let mut matched = Match { chars: 0, bytes: 0 };
        for byte in self.0.bytes() {
            let rest = bytes.get(matched.bytes..).unwrap_or_default();
            let Some(length) = written(byte, rest) else { break };
            matched = Match { chars: matched.chars + 1, bytes: matched.bytes + length };
        }
        matched
    }
}

/// How much of a key was found, in characters of it and in bytes.
struct Match {
    chars: usize,
    bytes: usize,
}

/// How many bytes at the beginning of `bytes` say this character: itself in either case, or an escape of JSON, which may be
/// escaped once more.
fn written(character: u8, bytes: &[u8]) -> Option<usize> {
    let slashes = slashes(bytes);
    let rest = bytes.get(slashes..)?;
    if let (1.., Some(code)) = (slashes, rest.strip_prefix(b"u").and_then(|rest| rest.get(..4)))
        && let Ok(code) = std::str::from_utf8(code)
        && u32::from_str_radix(code, 16).is_ok_and(|code| is_said(character, code))
    {
        return Some(slashes + 5);
    }
    if character == b'\\' {
        return (slashes > 0).then_some(slashes);
    }
    rest.first().filter(|byte| byte.eq_ignore_ascii_case(&character)).map(|_| slashes + 1)
}

/// How many backslashes stand first. So many that none means anything are not counted to their end, or a text of backslashes
/// would be read over and over.
fn slashes(bytes: &[u8]) -> usize {
    const MOST: usize = 8;
    bytes.iter().take(MOST).take_while(|byte| **byte == b'\\').count()
}

fn is_said(character: u8, code: u32) -> bool {
    u8::try_from(code).is_ok_and(|code| code.eq_ignore_ascii_case(&character))
}

/// Whether this is nothing, or the beginning of an escape that was cut.
fn is_part_of_escape(bytes: &[u8]) -> bool {
    let slashes = slashes(bytes);
    match bytes.get(slashes..) {
        None | Some([]) => true,
        Some([b'u', digits @ ..]) => {
            slashes > 0 && digits.len() < 4 && digits.iter().all(u8::is_ascii_hexdigit)
        }
        Some(_) => false,
    }
}

/// Where the next string or number of JSON after `from`, a place outside of strings, begins and ends.
fn next_literal(json: &str, from: usize) -> Option<(usize, usize)> {
    let is_number = |byte: &u8| matches!(byte, b'-' | b'0'..=b'9');
    let bytes = json.as_bytes();
    let start = from + bytes.get(from..)?.iter().position(|byte| *byte == b'"' || is_number(byte))?;
    let rest = bytes.get(start + 1..)?;
    if bytes.get(start) != Some(&b'"') {
        let goes_on = |byte: &&u8| is_number(byte) || matches!(byte, b'+' | b'.' | b'e' | b'E');
        return Some((start, start + 1 + rest.iter().take_while(goes_on).count()));
    }
    let mut is_escaped = false;
    let closes = |byte: &u8| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    };
    Some((start, start + 2 + rest.iter().position(closes)?))
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// What comes in pieces, without the key. Where a piece ends like the beginning of the key, that end waits for the next one.
#[derive(Default)]
pub(crate) struct Veil {
    waits: Vec<u8>,
}

impl Veil {
    /// What may be told once this has come as well.
    pub(crate) fn pass(&mut self, key: &Key, piece: &[u8]) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.waits);
        all.extend_from_slice(piece);
        let mut all = key.mask(&all).unwrap_or(all);
        if let Some(at) = key.begun_at(&all, 1) {
            self.waits = all.split_off(at);
        }
        all
    }

    /// What was kept back, once nothing more comes.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.waits)
    }
}
