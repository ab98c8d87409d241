//! The address of a service.

use sommelier_providers::{Live, LiveBuilder, SetupError, anthropic, openai};

use crate::double::key;

/// It is an address to which requests can go, or an error that does not show what may be secret in it. A key goes to no
/// other machine in the clear.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let live = |with_key: bool| {
        [Live::anthropic(anthropic::Settings::default()), Live::openai(openai::Settings::default())]
            .map(|builder| builder.base_url(text.clone()))
            .map(|builder| if with_key { builder.key_variable(key().0) } else { builder.without_key() })
            .map(LiveBuilder::build)
    };
    for (live, end) in live(false).into_iter().zip(["/v1/messages", "/chat/completions"]) {
        match live {
            Ok(live) => is_sound(live.endpoint(), end),
            Err(error) => hides(&error, &text),
        }
    }
    for live in live(true).into_iter().filter_map(Result::ok) {
        let endpoint = live.endpoint();
        let near = ["http://localhost", "http://127.", "http://[", "https://"];
        let is_near = near.iter().any(|near| begins(endpoint, near));
        assert!(is_near, "{endpoint}");
    }
}

fn is_sound(endpoint: &str, end: &str) {
    assert!(endpoint.ends_with(end), "{endpoint}");
    assert!(begins(endpoint, "http://") || begins(endpoint, "https://"), "{endpoint}");
    let (_, rest) = endpoint.split_once("://").unwrap_or_default();
    let (host, _) = rest.split_once('/').unwrap_or_default();
    assert!(!host.is_empty() && !host.contains('@') && !endpoint.contains(['?', '#']), "{endpoint}");
}

fn begins(text: &str, with: &str) -> bool {
    text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
}

/// A name and password before the host, and what stands behind a `?` or a `#`, are not shown.
fn hides(error: &SetupError, text: &str) {
    let said = error.to_string();
    assert!(!said.contains(|c: char| c.is_control()), "{said:?}");
    let SetupError::BadUrl { url, .. } = error else { return };
    // A line end is shown as a space.
    let text = text.replace(|c: char| c.is_control(), " ");
    // In a password a `#` or a `?` may stand.
    let (person, address) = text.rsplit_once('@').unwrap_or(("", &text));
    let (host, behind) = address.split_once(['?', '#']).unwrap_or((address, ""));
    for secret in [person, behind] {
        // Chance may have it that the host is the password.
        assert!(secret.len() < 8 || host.contains(secret) || !url.contains(secret), "{said}");
    }
}
