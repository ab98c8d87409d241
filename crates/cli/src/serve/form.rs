//! What forms send, and names in paths.

/// The fields of a form or a query, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads `a=1&b=2`; `None` where that is no UTF-8.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let pairs = text.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
        let field = |pair: &[u8]| {
            let at = pair.iter().position(|byte| *byte == b'=');
            let (name, value) = match at {
                Some(at) => (pair.get(..at)?, pair.get(at + 1..)?),
                None => (pair, &[][..]),
            };
            Some((decoded(name, true)?, decoded(value, true)?))
        };
        pairs.map(field).collect::<Option<Vec<_>>>().map(Self)
    }

    /// The first field of this name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| &**value)
    }

    /// A text as it was meant, without white space around it: a browser sends line ends of its own.
    pub(super) fn words(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().replace("\r\n", "\n").trim().to_owned()
    }
}

/// A segment of a path; `None` where it is no UTF-8.
pub(super) fn segment(text: &str) -> Option<String> {
    decoded(text.as_bytes(), false)
}

/// A name as a segment of a path, or as a value in a query.
pub(super) fn encoded(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~');
    let one = |byte: u8| match byte {
        byte if plain(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    name.bytes().map(one).collect()
}

fn decoded(text: &[u8], is_form: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' if is_form => bytes.push(b' '),
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                bytes.push(u8::try_from(high * 16 + low).ok()?);
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says so by panicking")]
mod tests {
    use super::*;

    #[test]
    fn what_a_form_sends_is_what_was_typed() {
        let fields = Fields::read(b"text=a%2Bb+%E2%82%AC%0D%0Ac++&empty&text=later").unwrap();
        assert_eq!((fields.words("text"), fields.get("empty")), ("a+b \u{20ac}\nc".to_owned(), Some("")));
        for wrong in ["a=%ff", "a=%", "a=%zz", "%f"] {
            assert_eq!(Fields::read(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn a_name_comes_back_from_a_path() {
        for name in ["", "a/b", ".", "..", "<script>&\"'", "\u{202e}\u{1f377} +%2f\n"] {
            assert_eq!(segment(&encoded(name)).as_deref(), Some(name));
            assert!(!encoded(name).contains(['/', '.', '<', '"', '&']), "{name}");
        }
    }
}
