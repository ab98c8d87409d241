//! `serve`: conversations, runs and the inbox in a browser, over the same journal as the other commands.
//!
//! **What this module knows:** paths, pages, who may come in, and how a page hears of what is new. **What it does not know:**
//! how a run goes on, which is the driver's, and what a run has come to, which the journal alone says: between two requests
//! nothing is kept here but who came in, which pages are told what is new, which run is being driven in this process, what could
//! not be done lately, and what each run was found to ask at its last record.
//!
//! ```text
//!              ┌─ door ─────────────┐   ┌─ route ────┐   ┌─ page, chat, inbox, runs ─┐
//!  browser ───▶│ host, token, path, ├──▶│ GET: looks ├──▶│ markup, every value of a  │──▶ browser
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
mod streams;
mod waiting;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use sommelier_http::{Limits, Request, Server, converse};

use crate::arguments::Serve;
use crate::desk::{Desk, MOMENT};
use crate::fault::{Fault, Whose};
use crate::teller::Teller;
use crate::words::counted;
use app::App;
use door::{Address, Door};
use route::Ends;

/// Connections at a time. Each page that is kept up to date has one, and browsers keep some more to ask again.
const MOST_CONNECTIONS: usize = 96;

const LIMITS: Limits =
    Limits { head: Duration::from_secs(5), patience: Duration::from_secs(30), max_body: 1 << 20 };

/// How long answers may take that are on their way when the process is to end.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// How long turns may.
const LAST_TURNS: Duration = Duration::from_secs(5);

/// Where it is served.
#[derive(Serialize)]
struct Served {
    /// The address to open, with the token in it.
    url: String,
    /// The address to open on other machines, where it is another one.
    others: Option<String>,
    /// Whether others than this machine reach it.
    is_open: bool,
}

/// Serves until it is told to end. That may also be at any moment and without a word: what a page shows is in the journal.
pub(crate) fn run(desk: Desk, teller: &mut Teller<'_>, asked: &Serve) -> Result<u8, Fault> {
    // Threads drive runs as long as the process lives.
    let app: &'static App = App::open(desk);
    let door = Arc::new(Door::new(asked.host)?);
    let asked_to_end = asked_to_end()?;
    let address = SocketAddr::new(asked.host, asked.port);
    let server = start(app, door.clone(), address)?;
    thread::Builder::new().name("look".to_owned()).spawn(|| app.waiting.begin(app.desk))?;
    let is_open = !asked.host.is_loopback();
    let Address { url, others } = door.address(server.address().port());
    if is_open {
        teller.note(
            "others reach this address, what is sent is not encrypted, and whoever has the token may do everything",
        );
    }
    let there = others.iter().map(|url| format!("On another machine: {url}\n\n")).collect::<String>();
    let text = || {
        format!(
            "Open {url}\n\n{there}The token lets one browser in, once; for another one there is a new one then. Ctrl-C ends; \
             nothing is lost by it."
        )
    };
    teller.tell(text, &Served { url: url.clone(), others, is_open })?;
    while !asked_to_end.load(Ordering::SeqCst) {
        thread::sleep(MOMENT);
    }
    end(app, server, teller);
    Ok(0)
}

fn start(app: &'static App, door: Arc<Door>, address: SocketAddr) -> Result<Server, Fault> {
    let server = Server::start(address, MOST_CONNECTIONS, LIMITS.patience, move |connection, stop| {
        let stream = connection.stream();
        // Who is gone again has no ends, and gets no answer.
        let (Ok(here), Ok(there)) = (stream.local_addr(), stream.peer_addr()) else { return };
        let ends = Ends { port: here.port(), peer: there.ip() };
        let refuse = |head: &Request| route::refuse(&door, ends, head);
        converse(connection, LIMITS, stop, refuse, |heard| route::answer(app, &door, ends, heard));
    });
    server.map_err(|error| {
        let why = format!("{address}: {error}; give another --port, or --port 0 for one that is free");
        Fault::new("port", Whose::Caller, why)
    })
}

/// Becomes true when the process is to end: by Ctrl-C, or by who sends it the signal for that. A second time it ends at once.
fn asked_to_end() -> Result<Arc<AtomicBool>, Fault> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, 1, asked.clone())?;
        flag::register(signal, asked.clone())?;
    }
    Ok(asked)
}

/// Nothing is begun any more, answers and streams end, and so do turns that are nearly done: what they have told of themselves can
/// then be sent to whoever watches.
fn end(app: &App, server: Server, teller: &mut Teller<'_>) {
    server.end(LAST_ANSWERS);
    if app.rest(Duration::ZERO) == 0 {
        return;
    }
    teller.note(&format!(
        "agents are at work, and are waited for, {} seconds at most; Ctrl-C ends at once",
        LAST_TURNS.as_secs()
    ));
    let left = app.rest(LAST_TURNS);
    if left > 0 {
        let left = counted(left, "turn is", "turns are");
        teller.note(&format!(
            "{left} cut off; what is on record stays, and `sommelier sweep` goes on from there"
        ));
    }
}
