//! Where a collector is, and by which way.

use ureq::Proxy;
use ureq::http::Uri;

/// Whether the collector of this address is on this machine; what is wrong with the address, or with the way there.
pub(crate) fn check(base: &str) -> Result<bool, String> {
    let scheme = base.split_once("://").map_or("", |(scheme, _)| scheme);
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err("it begins with neither http:// nor https://".to_owned());
    }
    // The path would stand behind it, where no collector reads it.
    if base.contains(['?', '#']) {
        return Err(
            "it has a `?` or a `#`, behind which nothing of the address of a collector stands; a key belongs into \
             the variable OTEL_EXPORTER_OTLP_HEADERS, as in `Authorization=Bearer KEY`"
                .to_owned(),
        );
    }
    let uri: Uri = base.parse().map_err(|_| "it cannot be read")?;
    let host = uri.host().filter(|host| !host.is_empty()).ok_or("it names no host")?;
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    // What is no port would be passed over for the usual one, and the spans be sent there.
    if place.strip_prefix(host).is_some_and(|rest| !is_port(rest)) {
        return Err("its port is no number from 1 to 65535".to_owned());
    }
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    let is_near =
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback());
    if !is_near {
        proxy_is_good()?;
    }
    Ok(is_near)
}

/// Whether this stands behind a host: nothing, or a port behind a colon.
fn is_port(rest: &str) -> bool {
    let Some(digits) = rest.strip_prefix(':') else { return rest.is_empty() };
    digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok_and(|port| port > 0)
}

/// The variables that may name a proxy, in the order in which they are looked at.
const PROXIES: [&str; 6] =
    ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

/// Refuses a proxy that would be passed over in silence. It may have a password, and is not told.
fn proxy_is_good() -> Result<(), String> {
    let named = |variable| Some((variable, std::env::var(variable).ok().filter(|value| !value.is_empty())?));
    let is_known = |proxy: &str| {
        let scheme = proxy.split_once("://").map_or("http", |(scheme, _)| scheme);
        ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) && Proxy::new(proxy).is_ok()
    };
    match PROXIES.into_iter().find_map(named).filter(|(_, proxy)| !is_known(proxy)) {
        None => Ok(()),
        Some((variable, _)) => {
            Err(format!("the variable {variable} names no proxy that can be used; it is http://HOST:PORT"))
        }
    }
}

/// An address as it may be told: a name and a password before its host, and what follows a question mark, stay out, also where it is no
/// address.
pub(crate) fn shown(address: &str) -> String {
    let rest = |address: &str| address.split(['?', '#']).next().unwrap_or_default().to_owned();
    // First, since a password may have each of the others.
    let Some((before, host)) = address.rsplit_once('@') else { return rest(address) };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let (scheme, before) = match before.split_once("//") {
        Some((scheme, before)) if scheme.trim_end_matches(':').chars().all(is_name) => (scheme, before),
        _ => ("", before),
    };
    let slashes = if scheme.is_empty() { "" } else { "//" };
    // Behind a question mark it may be a piece of a key as well as a host.
    let host = if before.contains(['?', '#']) { String::new() } else { format!("@{}", rest(host)) };
    format!("{scheme}{slashes}...{host}")
}
