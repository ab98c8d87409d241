//! Who may come in: the checks that stand before every page.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};

use sommelier_http::{Request, locked};
use subtle::ConstantTimeEq as _;

use super::form::Fields;
use crate::fault::{Fault, Whose};

/// Browsers that are let in at a time; the one that came in first has to show the token again.
const MOST_SESSIONS: usize = 64;

/// Headers of which two that differ would be read in two ways.
const SINGLE: [&str; 5] = ["host", "cookie", "origin", "sec-fetch-site", "content-type"];

/// The checks, with the token and those who have shown one.
pub(super) struct Door {
    /// Where it listens.
    ip: IpAddr,
    /// Lets one browser in. From then on it is another one.
    token: Mutex<String>,
    sessions: Mutex<VecDeque<Session>>,
}

/// A browser that has shown the token.
///
/// Its pages stand under a path that is its own, and its cookie is sent to that path alone. A browser sends a cookie to every port of
/// a host; a server at another port is not told it, since it does not know the path to be asked for.
#[derive(Clone)]
pub(super) struct Session {
    /// The path of all its pages: a slash, and what nobody guesses.
    home: String,
    cookie: String,
    /// What each form of its pages has in it.
    pub(super) form_token: String,
    /// Whose it is, as they have said themselves; empty where they have not.
    name: Arc<Mutex<String>>,
}

/// Where a browser is let in.
pub(super) struct Address {
    /// The address to open on this machine, or on any where it listens at one address.
    pub(super) url: String,
    /// The address to open on others, where it listens at all addresses of this one.
    pub(super) others: Option<String>,
}

/// Why a request goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shut {
    /// It says two things at once of which one is to be believed.
    Doubtful,
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
        Ok(Self { ip, token: Mutex::new(by_chance()?), sessions: Mutex::default() })
    }

    /// The address that lets one browser in.
    pub(super) fn address(&self, port: u16) -> Address {
        let token = locked(&self.token);
        let url = |place: String| format!("http://{place}/?token={token}");
        let at = |ip: IpAddr| url(SocketAddr::new(ip, port).to_string());
        if !self.ip.is_unspecified() {
            return Address { url: at(self.ip), others: None };
        }
        let others = outer(self.ip).map_or_else(|| url(format!("ADDRESS-OF-THIS-MACHINE:{port}")), at);
        Address { url: at(loopback(self.ip)), others: Some(others) }
    }

    /// Refuses what can be read in two ways, and a request for another host. Behind an address that others reach any address may
    /// stand, and no name: a name is what a page of somebody else's could have made to mean this address.
    pub(super) fn check_host(&self, request: &Request, port: u16) -> Result<(), Shut> {
        if SINGLE.iter().any(|name| request.disagrees(name)) {
            return Err(Shut::Doubtful);
        }
        let mut hosts = request.headers.iter().filter(|(name, _)| name == "host").map(|(_, value)| &**value);
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(Shut::Host) };
        let is_ours = match host_of(host) {
            Some((Named::Ip(ip), at)) => at == port && (!self.ip.is_loopback() || ip == self.ip),
            Some((Named::Localhost, at)) => at == port && (self.ip.is_loopback() || self.ip.is_unspecified()),
            None => false,
        };
        if is_ours { Ok(()) } else { Err(Shut::Host) }
    }

    /// Refuses who shows another token than the one that is good now.
    pub(super) fn check_token(&self, shown: &str) -> Result<(), Shut> {
        if is_same(shown, &locked(&self.token)) { Ok(()) } else { Err(Shut::Unknown) }
    }

    /// Lets a browser in that shows the token. Nobody else is let in by the same one.
    pub(super) fn let_in(&self, shown: &str) -> Result<Option<Session>, Fault> {
        let home = format!("/{}", by_chance()?.get(..32).unwrap_or_default());
        let (cookie, form_token, name) = (by_chance()?, by_chance()?, Arc::default());
        let session = Session { home, cookie, form_token, name };
        let next = by_chance()?;
        let mut token = locked(&self.token);
        if !is_same(shown, &token) {
            return Ok(None);
        }
        *token = next;
        let mut sessions = locked(&self.sessions);
        if sessions.len() >= MOST_SESSIONS {
            sessions.pop_front();
        }
        sessions.push_back(session.clone());
        Ok(Some(session))
    }

    /// Who asks, by its cookie and by where its pages are.
    pub(super) fn session(&self, request: &Request, port: u16) -> Result<Session, Shut> {
        let name = name(port);
        let cookies = request.headers.iter().filter(|(header, _)| header == "cookie");
        let shown = cookies
            .flat_map(|(_, value)| value.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .filter(|(found, _)| *found == name);
        let shown: Vec<&str> = shown.map(|(_, value)| value).collect();
        let home = request.path().split('/').nth(1).map(|home| format!("/{home}")).unwrap_or_default();
        let sessions = locked(&self.sessions);
        let found = sessions.iter().find(|session| {
            is_same(&home, &session.home) && shown.iter().any(|shown| is_same(shown, &session.cookie))
        });
        found.cloned().ok_or(Shut::Unknown)
    }
}

impl Session {
    /// The path of one of its pages.
    pub(super) fn at(&self, path: &str) -> String {
        [&*self.home, path].concat()
    }

    /// The page that this path is of.
    pub(super) fn within<'a>(&self, path: &'a str) -> &'a str {
        path.strip_prefix(&*self.home).filter(|path| !path.is_empty()).unwrap_or("/")
    }

    /// Whose it is, where they have said so.
    pub(super) fn name(&self) -> Option<String> {
        Some(locked(&self.name).clone()).filter(|name| !name.is_empty())
    }

    /// Whose it is from now on; nobody's that is known where the name is empty.
    pub(super) fn set_name(&self, name: String) {
        *locked(&self.name) = name;
    }

    /// What its browser is told to keep.
    pub(super) fn cookie(&self, port: u16) -> String {
        format!("{}={}; HttpOnly; SameSite=Strict; Path={}", name(port), self.cookie, self.home)
    }

    /// Refuses a form that is on no page of this session.
    pub(super) fn check_form(&self, fields: &Fields) -> Result<(), Shut> {
        match is_same(fields.get("form_token").unwrap_or_default(), &self.form_token) {
            true => Ok(()),
            false => Err(Shut::Stale),
        }
    }
}

/// What a host is called.
enum Named {
    Ip(IpAddr),
    Localhost,
}

/// A host and its port, which is left out where it is the one of the scheme.
fn host_of(host: &str) -> Option<(Named, u16)> {
    if let Ok(address) = host.parse::<SocketAddr>() {
        return Some((Named::Ip(address.ip()), address.port()));
    }
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let ip = match bare {
        Some(bare) => bare.parse::<Ipv6Addr>().map(IpAddr::V6),
        None => host.parse::<Ipv4Addr>().map(IpAddr::V4),
    };
    if let Ok(ip) = ip {
        return Some((Named::Ip(ip), 80));
    }
    let (name, port) = host.split_once(':').unwrap_or((host, "80"));
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|_| is_number)?;
    name.eq_ignore_ascii_case("localhost").then_some((Named::Localhost, port))
}

/// Refuses what a page of somebody else's has sent. Browsers say it in two ways, old ones in one of them.
pub(super) fn check_origin(request: &Request) -> Result<(), Shut> {
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

/// What the cookie is called: two servers of one machine share their cookies, and have different ports.
fn name(port: u16) -> String {
    format!("sommelier-{port}")
}

/// The address by which this machine reaches a server that listens at all of its addresses.
fn loopback(ip: IpAddr) -> IpAddr {
    if ip.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() }
}

/// The address by which others reach this machine, as far as it is known: the one that it would send from to an address that nobody has.
/// Nothing is sent for it.
fn outer(ip: IpAddr) -> Option<IpAddr> {
    let nobody: IpAddr = match ip {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    };
    let socket = UdpSocket::bind((ip, 0)).ok()?;
    socket.connect((nobody, 9)).ok()?;
    let own = socket.local_addr().ok()?.ip();
    (!own.is_unspecified() && !own.is_loopback()).then_some(own)
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says so by panicking")]
mod tests {
    use super::*;

    /// Which of these hosts are taken, at this port.
    fn taken<'a>(ip: &str, port: u16, hosts: &[&'a str]) -> Vec<&'a str> {
        let door = Door::new(ip.parse().unwrap()).unwrap();
        let is_taken = |host: &&str| {
            let headers = vec![("host".to_owned(), (*host).to_owned())];
            door.check_host(&Request { headers, ..Request::default() }, port).is_ok()
        };
        hosts.iter().copied().filter(is_taken).collect()
    }

    #[test]
    fn the_port_of_the_scheme_is_left_out_and_no_other() {
        let hosts =
            ["127.0.0.1", "127.0.0.1:80", "localhost", "LOCALHOST:80", "127.0.0.1:81", "localhost:081"];
        assert_eq!(taken("127.0.0.1", 80, &hosts), &hosts[..4]);
        assert_eq!(taken("127.0.0.1", 81, &hosts), ["127.0.0.1:81", "localhost:081"]);
        let hosts = ["[::1]", "[::1]:80", "localhost", "::1", "[::1", "[127.0.0.1]", "localhost.", "a", ""];
        assert_eq!(taken("::1", 80, &hosts), &hosts[..3]);
        assert_eq!(
            taken("10.0.0.1", 80, &["10.0.0.1", "10.0.0.2:80", "localhost", "a"]),
            ["10.0.0.1", "10.0.0.2:80"]
        );
        assert_eq!(
            taken("0.0.0.0", 80, &["10.0.0.1", "[::1]", "localhost", "a"]),
            ["10.0.0.1", "[::1]", "localhost"]
        );
    }
}
