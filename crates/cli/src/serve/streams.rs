//! Pages that are kept up to date at this moment, each by a stream of its own.
//!
//! A browser connects to one host six times at most, and each stream takes one of these for as long as it lasts. So that a page or a
//! form always finds one that is free, a browser has few streams at a time: where a page asks for one more, the oldest one ends. Its
//! page asks again after a moment, which ends the next one, and so on: with more pages open than there are streams each of them is
//! told what is new in turns. A page that nobody sees has closed its stream itself.
//!
//! A browser may have been let in several times. So what is counted are not sessions but what its pages have in common however it
//! came in: the address that it connects from and what it calls itself. Where these are those of several people, they take turns too.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use sommelier_http::{Request, locked};

use super::route::Ends;

/// Streams of one browser.
const MOST_OF_ONE: usize = 3;
/// Streams of all, so that there is room for connections that are none.
const MOST: usize = 64;

/// Streams that are open, the oldest first.
#[derive(Default)]
pub(super) struct Streams(Mutex<VecDeque<Open>>);

struct Open {
    browser: Browser,
    is_over: Arc<AtomicBool>,
}

/// Where a browser connects from, and what it calls itself.
#[derive(PartialEq, Eq)]
struct Browser(IpAddr, String);

/// A stream among the others, for as long as it lasts.
pub(super) struct Stream {
    streams: &'static Streams,
    is_over: Arc<AtomicBool>,
}

impl Streams {
    /// One more. Where there are too many, the oldest one is over.
    pub(super) fn enter(&'static self, ends: Ends, request: &Request) -> Stream {
        let browser = Browser(ends.peer, request.header("user-agent").unwrap_or_default().to_owned());
        let is_over = Arc::new(AtomicBool::new(false));
        let mut open = locked(&self.0);
        let of_one: Vec<usize> =
            open.iter().enumerate().filter(|(_, other)| other.browser == browser).map(|(at, _)| at).collect();
        open.push_back(Open { browser, is_over: is_over.clone() });
        if let Some(oldest) = of_one.first().filter(|_| of_one.len() >= MOST_OF_ONE) {
            end(&mut open, *oldest);
        }
        if open.len() > MOST {
            end(&mut open, 0);
        }
        Stream { streams: self, is_over }
    }
}

fn end(open: &mut VecDeque<Open>, place: usize) {
    if let Some(ended) = open.remove(place) {
        ended.is_over.store(true, Ordering::SeqCst);
    }
}

impl Stream {
    /// Whether another one has taken its place.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        locked(&self.streams.0).retain(|open| !Arc::ptr_eq(&open.is_over, &self.is_over));
    }
}
