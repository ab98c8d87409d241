//! Where a service is asked over HTTP, and by which way.
//!
//! **What this crate knows:** what the address of a service may be, whether it is on this machine, and which proxies a client would
//! pass over in silence. **What it does not know:** who is asked, for what, and with which key.
//!
//! A client takes what it is given and makes the best of it: a port that is none becomes the usual one, and a proxy that it
//! cannot use is passed over. What was meant to go elsewhere is sent then, a key with it. So whoever sends looks at both before.
//!
//! ```
//! use sommelier_address::{Address, AddressError};
//!
//! let address = Address::read("http://127.0.0.1:4318")?;
//! assert_eq!((address.host(), address.port(), address.is_near()), ("127.0.0.1", 4318, true));
//! assert_eq!(Address::read("localhost:4318"), Err(AddressError::Scheme));
//! # Ok::<(), AddressError>(())
//! ```

use std::net::IpAddr;

use ureq::Proxy;
use ureq::http::Uri;

/// The address of a service: a scheme, a host, perhaps a port, perhaps the beginning of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
    is_secure: bool,
    has_user: bool,
}

/// What is wrong with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("{}", self.as_str())]
pub enum AddressError {
    /// It has another scheme, or none.
    Scheme,
    /// It has a query or a fragment. The path of a request would be part of it, and what stands behind a `#` is not sent.
    Behind,
    /// It is no URL.
    Unreadable,
    /// Nobody is named.
    Host,
    /// What stands in the place of a port is none, and the usual one would be taken.
    Port,
}

impl AddressError {
    /// What is wrong, in words, and what would be right.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheme => "it begins with neither http:// nor https://",
            Self::Behind => "nothing may stand behind a `?` or a `#`",
            Self::Unreadable => "it cannot be read",
            Self::Host => "it names no host",
            Self::Port => "its port is no number from 1 to 65535",
        }
    }
}

/// A proxy that cannot be used. Its value may hold a password and is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable {variable} names no proxy that can be used; it is http://HOST:PORT")]
pub struct BadProxy {
    /// The variable that names it.
    pub variable: &'static str,
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// [`AddressError`], the first of what is wrong with it.
    pub fn read(text: &str) -> Result<Self, AddressError> {
        let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
        let is_secure = scheme.eq_ignore_ascii_case("https");
        if !is_secure && !scheme.eq_ignore_ascii_case("http") {
            return Err(AddressError::Scheme);
        }
        if text.contains(['?', '#']) {
            return Err(AddressError::Behind);
        }
        let uri: Uri = text.parse().map_err(|_| AddressError::Unreadable)?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or(AddressError::Host)?;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        if place.strip_prefix(host).is_some_and(|rest| !is_port(rest)) {
            return Err(AddressError::Port);
        }
        Ok(Self {
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 }),
            is_secure,
            has_user: user.is_some(),
        })
    }

    /// The name or the IP address of who is asked, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, the usual one of the scheme where none is named.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether nobody reads on the way.
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// Whether a name, and perhaps a password, stands before the host.
    pub fn has_user(&self) -> bool {
        self.has_user
    }

    /// Whether it is on this machine. No proxy leads there.
    pub fn is_near(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
            || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// Whether this stands behind a host: nothing, or a port behind a colon.
fn is_port(rest: &str) -> bool {
    let Some(digits) = rest.strip_prefix(':') else { return rest.is_empty() };
    digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok_and(|port| port > 0)
}

/// The variables that may name a proxy, in the order in which a client looks at them.
const PROXIES: [&str; 6] =
    ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

/// Refuses a proxy of the environment that a client would pass over in silence: requests would go past it.
///
/// # Errors
/// [`BadProxy`] for the first variable that names one, if it cannot be used.
pub fn check_proxy() -> Result<(), BadProxy> {
    let named = |variable| Some((variable, std::env::var(variable).ok().filter(|value| !value.is_empty())?));
    let first = PROXIES.into_iter().find_map(named);
    match first.filter(|(_, proxy)| !can_be_used(proxy)) {
        Some((variable, _)) => Err(BadProxy { variable }),
        None => Ok(()),
    }
}

fn can_be_used(proxy: &str) -> bool {
    let scheme = proxy.split_once("://").map_or("http", |(scheme, _)| scheme);
    ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) && Proxy::new(proxy).is_ok()
}
