//! Pages that are kept up to date at this moment, each by a stream of its own.
//!
//! A browser connects to one host six times at most, and each stream takes one of these for as long as it lasts. So that a page or a
//! form always finds one that is free, a browser has few streams at a time: where a page asks for one more, the oldest one ends. Its
//! page asks again after a moment, which ends the next one, and so on: with more pages open than there are streams each of them is
//! told what is new in turns. A page that nobody sees has closed its stream itself.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use sommelier_http::locked;

use super::door::Session;

/// Streams of one browser.
const MOST_OF_ONE: usize = 3;
/// Streams of all, so that there is room for connections that are none.
const MOST: usize = 64;

/// Streams that are open, the oldest first.
#[derive(Default)]
pub(super) struct Streams(Mutex<VecDeque<Open>>);

struct Open {
    session: Session,
    is_over: Arc<AtomicBool>,
}

/// A stream among the others, for as long as it lasts.
pub(super) struct Stream {
    streams: &'static Streams,
    is_over: Arc<AtomicBool>,
}

impl Streams {
    /// One more. Where there are too many, the oldest one is over.
    pub(super) fn enter(&'static self, session: &Session) -> Stream {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut open = locked(&self.0);
        open.push_back(Open { session: session.clone(), is_over: is_over.clone() });
        if open.iter().filter(|other| other.session.is(session)).count() > MOST_OF_ONE {
            let oldest = open.iter().position(|other| other.session.is(session));
            end(&mut open, oldest.unwrap_or_default());
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
