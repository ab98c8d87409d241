//! Who may come in: the checks that stand before every page.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Mutex;

use sommelier_http::{Request, locked};
use subtle::ConstantTimeEq as _;

use super::form::Fields;
use crate::fault::{Fault, Whose};

/// Browsers that are let in at a time; the one that came in first has to show the token again.
const MOST_SESSIONS: usize = 64;

/// The checks, with the token and those who have shown it.
pub(super) struct Door {
    /// Where it listens.
    ip: IpAddr,
    token: String,
    sessions: Mutex<VecDeque<Session>>,
}

/// A browser that has shown the token.
#[derive(Clone)]
pub(super) struct Session {
    cookie: String,
    /// What each form of its pages has in it.
    pub(super) form_token: String,
}

/// Why a request goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shut {
    /// It names another host than this one: a page of somebody else's whose name was made to mean this address.
    Host,
    /// It has not shown the token.
    Unknown,
    /// It was sent from a page of somebody else's.
    Foreign,
    /// It is no form of ours.
    Kind,
    /// The form is of another session, or of none.
    Stale,
}

impl Door {
    pub(super) fn new(ip: IpAddr) -> Result<Self, Fault> {
        Ok(Self { ip, token: by_chance()?, sessions: Mutex::default() })
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Refuses a request for another host. Behind an address that others reach any address may stand, and no name: a name is
    /// what a page of somebody else's could have made to mean this address.
    pub(super) fn check_host(&self, request: &Request, port: u16) -> Result<(), Shut> {
        let mut hosts = request.headers.iter().filter(|(name, _)| name == "host").map(|(_, value)| &**value);
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(Shut::Host) };
        let is_ours = |ip: IpAddr| match self.ip.is_loopback() {
            true => ip == self.ip,
            false => true,
        };
        let parsed = host.parse::<SocketAddr>().ok().or_else(|| {
            // The port of the scheme is left out.
            let ip = host.trim_matches(['[', ']']).parse().ok()?;
            Some(SocketAddr::new(ip, 80))
        });
        let is_named = self.ip.is_loopback() && host.eq_ignore_ascii_case(&format!("localhost:{port}"));
        match parsed {
            Some(address) if address.port() == port && is_ours(address.ip()) => Ok(()),
            None if is_named => Ok(()),
            _ => Err(Shut::Host),
        }
    }

    /// Lets a browser in that shows the token, and gives the cookie by which it is known from then on.
    pub(super) fn let_in(&self, shown: &str, port: u16) -> Result<Option<String>, Fault> {
        if !is_same(shown, &self.token) {
            return Ok(None);
        }
        let session = Session { cookie: by_chance()?, form_token: by_chance()? };
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", name(port), session.cookie);
        let mut sessions = locked(&self.sessions);
        if sessions.len() >= MOST_SESSIONS {
            sessions.pop_front();
        }
        sessions.push_back(session);
        Ok(Some(cookie))
    }

    /// Who asks.
    pub(super) fn session(&self, request: &Request, port: u16) -> Result<Session, Shut> {
        let name = name(port);
        let cookies = request.headers.iter().filter(|(header, _)| header == "cookie");
        let shown = cookies
            .flat_map(|(_, value)| value.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .filter(|(found, _)| *found == name);
        let shown: Vec<&str> = shown.map(|(_, value)| value).collect();
        let sessions = locked(&self.sessions);
        let found = sessions.iter().find(|session| shown.iter().any(|shown| is_same(shown, &session.cookie)));
        found.cloned().ok_or(Shut::Unknown)
    }
}

impl Session {
    /// Refuses what was not sent by a form of ours, on a page of this session.
    pub(super) fn check_form(&self, request: &Request, fields: &Fields) -> Result<(), Shut> {
        check_origin(request)?;
        match is_same(fields.get("form_token").unwrap_or_default(), &self.form_token) {
            true => Ok(()),
            false => Err(Shut::Stale),
        }
    }
}

/// Refuses what a page of somebody else's has sent. Browsers say it in two ways, old ones in one of them.
fn check_origin(request: &Request) -> Result<(), Shut> {
    if request.header("sec-fetch-site").is_some_and(|site| site != "same-origin") {
        return Err(Shut::Foreign);
    }
    let host = request.header("host").unwrap_or_default();
    match request.header("origin") {
        Some(origin) if origin != format!("http://{host}") => Err(Shut::Foreign),
        _ => Ok(()),
    }
}

/// Refuses a body that is no form.
pub(super) fn check_kind(request: &Request) -> Result<(), Shut> {
    let kind = request.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default();
    match kind.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        true => Ok(()),
        false => Err(Shut::Kind),
    }
}

/// The name of the cookie: two servers of one machine share their cookies, and have different ports.
fn name(port: u16) -> String {
    format!("sommelier-{port}")
}

/// The address by which this machine reaches a server that listens at all of its addresses.
pub(super) fn loopback(ip: IpAddr) -> IpAddr {
    if ip.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() }
}

/// 256 bits that nobody guesses, in hexadecimal.
pub(super) fn by_chance() -> Result<String, Fault> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| Fault::new("input_output", Whose::Program, error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether they are the same, in a time that does not tell where they differ.
fn is_same(shown: &str, secret: &str) -> bool {
    shown.as_bytes().ct_eq(secret.as_bytes()).into()
}
