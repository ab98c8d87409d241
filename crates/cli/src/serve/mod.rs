//! `serve`: conversations, runs and the inbox in a browser, over the same journal as the other commands.
//!
//! **What this module knows:** paths, pages, who may come in, and how a page hears of what is new. **What it does not know:**
//! how a run goes on, which is the driver's, and what a run has come to, which the journal alone says: between two requests
//! nothing is kept here but who came in, which run is being driven in this process, and what could not be done.
//!
//! ```text
//!              ┌─ door ─────────────┐   ┌─ route ────┐   ┌─ page, chat, inbox, runs ─┐
//!  browser ───▶│ host, token,       ├──▶│ GET: looks ├──▶│ markup, every value of a  │──▶ browser
//!              │ origin, form token │   │ POST: acts │   │ run escaped in one place  │
//!              └────────────────────┘   └─────┬──────┘   └───────────▲───────────────┘
//!                                             ▼                      │ live: the journal, ten times a second
//!                                    app: a thread for each drive ───┴─ records ──▶ journal
//! ```

mod app;
mod chat;
mod door;
mod form;
mod inbox;
mod live;
mod page;
mod question;
mod route;
mod runs;

use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;
use sommelier_http::{Limits, Server, converse};

use crate::arguments::Serve;
use crate::desk::Desk;
use crate::fault::{Fault, Whose};
use crate::teller::Teller;
use app::App;
use door::Door;

/// Connections at a time. Each page that is open keeps one.
const MOST_CONNECTIONS: usize = 96;

const LIMITS: Limits =
    Limits { head: Duration::from_secs(5), patience: Duration::from_secs(30), max_body: 1 << 20 };

/// Where it is served.
#[derive(Serialize)]
struct Served {
    /// The address to open, with the token in it.
    url: String,
    /// Whether others than this machine reach it.
    is_open: bool,
}

/// Serves until the process ends, which may be at any moment: what a page shows is in the journal.
pub(crate) fn run(desk: Desk, teller: &mut Teller<'_>, asked: &Serve) -> Result<u8, Fault> {
    // Threads drive runs as long as the process lives.
    let app: &'static App = App::open(desk);
    let door = Door::new(asked.host)?;
    let token = door.token().to_owned();
    let address = SocketAddr::new(asked.host, asked.port);
    let server = Server::start(address, MOST_CONNECTIONS, LIMITS.patience, move |connection, stop| {
        let local = connection.stream().local_addr().map_or(0, |address| address.port());
        converse(connection, LIMITS, stop, |_| None, |heard| route::answer(app, &door, local, heard));
    });
    let server = server.map_err(|error| {
        let why = format!("{address}: {error}; give another --port, or --port 0 for one that is free");
        Fault::new("port", Whose::Caller, why)
    })?;
    let is_open = !asked.host.is_loopback();
    let shown = if asked.host.is_unspecified() { door::loopback(asked.host) } else { asked.host };
    let url = format!("http://{}/?token={token}", SocketAddr::new(shown, server.address().port()));
    if is_open {
        teller.note(
            "others reach this address, what is sent is not encrypted, and whoever has the token may do everything",
        );
    }
    let text = || {
        format!("Open {url}\n\nThe token in it lets in whoever has it. Ctrl-C ends; nothing is lost by it.")
    };
    teller.tell(text, &Served { url: url.clone(), is_open })?;
    server.wait();
    Ok(0)
}
