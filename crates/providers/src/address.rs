//! Where a service is, and by which way.

use ureq::Proxy;
use ureq::http::Uri;

use crate::SetupError;
use crate::error::clip;

/// Where a service is asked.
#[derive(Debug)]
pub(crate) struct Place {
    /// Its name or its address.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Whether it is on this machine.
    pub(crate) is_near: bool,
}

/// The place that a base names.
///
/// # Errors
/// [`SetupError::BadUrl`], and [`SetupError::KeyInTheClear`].
pub(crate) fn check(base: &str, has_key: bool) -> Result<Place, SetupError> {
    let bad = |fault| SetupError::BadUrl { url: without_secrets(base), fault };
    let uri: Uri = base.parse().map_err(|_| bad("it cannot be read"))?;
    let is_secure = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err(bad("it begins with neither http:// nor https://")),
    };
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(bad("a name and password may not stand in it"));
    }
    // What stands behind a `#` is not sent, and the path of a request would be part of it.
    if base.contains(['?', '#']) {
        return Err(bad("nothing may stand behind a `?` or a `#`"));
    }
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| bad("it names no host"))?;
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    // What is no port would be passed over for the usual one, and the key be sent there.
    if authority.strip_prefix(host).is_some_and(|rest| !is_port(rest)) {
        return Err(bad("its port is no number from 1 to 65535"));
    }
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let is_near =
        host == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if has_key && !is_secure && !is_near {
        return Err(SetupError::KeyInTheClear { url: without_secrets(base) });
    }
    let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    Ok(Place { host: name.to_owned(), port, is_near })
}

/// Whether this stands behind a host: nothing, or a port behind a colon.
fn is_port(rest: &str) -> bool {
    let Some(digits) = rest.strip_prefix(':') else { return rest.is_empty() };
    digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok_and(|port| port > 0)
}

/// The address without a name, a password or a query. A `#` or `?` may stand in a password, so the last `@` is looked for first.
fn without_secrets(base: &str) -> String {
    let host = base.rsplit_once('@').map_or(base, |(_, host)| host);
    clip(host.split(['?', '#']).next().unwrap_or_default())
}

/// The variables that may name a proxy, in the order in which they are looked at.
const PROXIES: [&str; 6] =
    ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

/// Refuses a proxy that would be passed over in silence: requests would go past it.
///
/// # Errors
/// [`SetupError::BadProxy`].
pub(crate) fn check_proxy() -> Result<(), SetupError> {
    let named = |variable| Some((variable, std::env::var(variable).ok().filter(|value| !value.is_empty())?));
    let first = PROXIES.into_iter().find_map(named);
    match first.filter(|(_, proxy)| !is_known(proxy)) {
        Some((variable, _)) => Err(SetupError::BadProxy { variable }),
        None => Ok(()),
    }
}

fn is_known(proxy: &str) -> bool {
    let scheme = proxy.split_once("://").map_or("http", |(scheme, _)| scheme);
    ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) && Proxy::new(proxy).is_ok()
}
