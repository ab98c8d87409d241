//! Path, method and headers.

use sommelier_http::Request;

use crate::breach::{ApiError, Breach};
use crate::{Rule, Settings};

/// The version of the API that is asked for, a date.
pub(super) fn check(incoming: &Request, settings: &Settings) -> Result<String, Breach> {
    if incoming.path() != "/v1/messages" && !is_count(incoming) {
        return Err(Breach::new(Rule::Path, ApiError::new(404, "Not Found")));
    }
    if incoming.method != "POST" {
        return Err(Breach::new(Rule::Method, ApiError::new(405, "Method Not Allowed")));
    }
    key(incoming, settings)?;
    let version = incoming.header("anthropic-version");
    let version =
        version.ok_or_else(|| Breach::at(Rule::Version, "anthropic-version", "header is required"))?;
    if !is_date(version) {
        return Err(Breach::at(
            Rule::Version,
            "anthropic-version",
            format!("{version:?} is not a valid version"),
        ));
    }
    let kind = incoming.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(Breach::at(Rule::ContentType, "content-type", "must be application/json"));
    }
    Ok(version.to_owned())
}

/// Whether only the tokens of a request are to be counted.
pub(super) fn is_count(incoming: &Request) -> bool {
    incoming.path() == "/v1/messages/count_tokens"
}

/// A key comes as `x-api-key` or as a bearer token; either will do.
fn key(incoming: &Request, settings: &Settings) -> Result<(), Breach> {
    let refuse = |why: &str| Err(Breach::new(Rule::Key, ApiError::new(401, why)));
    let bearer = incoming.header("authorization").map(|value| {
        let (scheme, token) = value.split_once(' ').unwrap_or_default();
        if scheme.eq_ignore_ascii_case("bearer") { token.trim() } else { "" }
    });
    let Some(key) = incoming.header("x-api-key").or(bearer) else {
        return refuse("x-api-key header is required");
    };
    match (key.trim(), bearer) {
        ("", Some(_)) => refuse("invalid bearer token"),
        ("", None) => refuse("invalid x-api-key"),
        (key, _) if settings.keys.is_empty() || settings.keys.iter().any(|known| known == key) => Ok(()),
        (_, _) => refuse("invalid x-api-key"),
    }
}

/// Versions are dates, and newer ones than this server knows are taken.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_number = |part: &&str, len| part.len() == len && part.bytes().all(|byte| byte.is_ascii_digit());
    matches!(&*parts, [year, month, day] if is_number(year, 4) && is_number(month, 2) && is_number(day, 2))
}
