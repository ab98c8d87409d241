//! Whether the ledger's bookings are those that the records tell of.
//!
//! The ledger is a cache of what the tools `book` and `cancel` did: each booking and each key in it has a record of the
//! call that made it, but for the bookings that the house begins with.

use std::collections::BTreeMap;

use reservo::booking::{Booking, BookingState, BookingStatus, CancelReceipt, Customer, KeyUse};
use reservo::tools::UNNAMED;
use reservo::{BookingId, Cents};
use reservo_ledger::{BadRow, Contents, SqliteBookings};
use serde::{Deserialize, Serialize};
use sommelier_handoff::{Announcement, Entry, InputKind};
use sommelier_protocol::RawJson;
use sommelier_runner::journal::Record;

use crate::fault::Fault;
use crate::house::seeds;

/// A booking that is not as the records tell.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Mismatch {
    /// The booking's id; null where none of them could be read.
    pub(crate) booking: Option<String>,
    /// The conversation whose record tells of it, or is missing; null where none can be named.
    pub(crate) conversation: Option<String>,
    /// That record.
    pub(crate) seq: Option<u64>,
    pub(crate) what: String,
}

impl Mismatch {
    pub(crate) fn line(&self) -> String {
        let of = match (&self.conversation, self.seq) {
            (Some(conversation), Some(seq)) => format!("conversation {conversation:?}, record {seq}: "),
            (Some(conversation), None) => format!("conversation {conversation:?}: "),
            (None, _) => String::new(),
        };
        match &self.booking {
            Some(booking) => format!("{of}booking {booking}: {}", self.what),
            None => format!("the ledger: {}", self.what),
        }
    }

    /// That the ledger cannot be read.
    pub(crate) fn unread(why: &str) -> Self {
        Self { booking: None, conversation: None, seq: None, what: why.to_owned() }
    }
}

/// What the ledger has.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) bookings: usize,
    /// How many of them the house begins with.
    pub(crate) from_start: usize,
}

/// What the records tell of bookings.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// What was done under each key.
    done: BTreeMap<String, Deed>,
    /// The last record of each conversation that was read.
    ends: BTreeMap<String, u64>,
}

/// A call that had an effect, and the record of what it gave.
#[derive(Clone, Debug)]
struct Deed {
    conversation: String,
    seq: u64,
    booking: BookingId,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Booked { total: Cents, asked: Option<Asked> },
    Cancelled { refund: Cents },
}

/// The arguments of `book`, as the model wrote them.
#[derive(Clone, Debug, Deserialize)]
struct Asked {
    room: String,
    plan: String,
    date: String,
    start_hour: i64,
    hours: i64,
    customer: Option<String>,
}

/// A receipt of `book`, as its record has it.
#[derive(Deserialize)]
struct Receipt {
    booking_id: BookingId,
    total_cents: Cents,
}

/// A call that was begun.
struct Begun {
    key: String,
    tool: String,
    input: Option<RawJson>,
}

impl Told {
    /// Takes the records of a conversation into account. They have to be sound.
    pub(crate) fn read(&mut self, conversation: &str, records: &[Record]) {
        let (mut begun, mut calls) = (BTreeMap::<(Box<str>, usize), Begun>::new(), BTreeMap::new());
        self.ends.insert(conversation.to_owned(), records.last().map_or(0, |record| record.seq));
        for record in records {
            let event = &record.event;
            match Entry::read(event.kind(), event.version(), event.body()) {
                Ok(Entry::Announced(told)) => {
                    if let Announcement::ToolIntended { key, tool, place, .. } = told.what {
                        let input =
                            calls.get(&told.run).and_then(|calls: &Vec<RawJson>| calls.get(place)).cloned();
                        let call = Begun { key: key.into(), tool: tool.to_string(), input };
                        begun.insert((told.run, place), call);
                    }
                }
                Ok(Entry::Input(input)) => match input.what {
                    InputKind::ModelResponded { response } => {
                        let inputs = response.content.iter().filter_map(|block| block.as_tool_use());
                        calls.insert(input.run, inputs.map(|call| call.input().clone()).collect());
                    }
                    InputKind::ToolCompleted { place, output } => {
                        if let Some(call) = begun.remove(&(input.run, place)) {
                            self.note(conversation, record.seq, &call, &output.content);
                        }
                    }
                    _ => {}
                },
                Err(_) => {}
            }
        }
    }

    fn note(&mut self, conversation: &str, seq: u64, call: &Begun, result: &str) {
        let (booking, what) = match &*call.tool {
            "book" => {
                let Ok(receipt) = serde_json::from_str::<Receipt>(result) else { return };
                let asked = call.input.as_ref().and_then(|input| input.read().ok());
                (receipt.booking_id, What::Booked { total: receipt.total_cents, asked })
            }
            "cancel" => {
                let Ok(receipt) = serde_json::from_str::<CancelReceipt>(result) else { return };
                // Where it had been cancelled before, nothing was done.
                if receipt.status != BookingStatus::Cancelled {
                    return;
                }
                (receipt.booking_id, What::Cancelled { refund: receipt.refund_cents })
            }
            _ => return,
        };
        let deed = Deed { conversation: conversation.to_owned(), seq, booking, what };
        self.done.insert(call.key.clone(), deed);
    }

    /// Holds the ledger against what was read, and tells which bookings it has. What `is_unread` says was not read: what
    /// the ledger has of such a conversation may well be right.
    pub(crate) fn compare(
        &self,
        ledger: Option<&SqliteBookings>,
        is_unread: impl Fn(&str) -> bool,
    ) -> Result<(Kept, Vec<Mismatch>), Fault> {
        let Contents { bookings, keys, bad } = match ledger {
            Some(ledger) => ledger.contents()?,
            None => Contents::default(),
        };
        let by_id: BTreeMap<BookingId, &Booking> =
            bookings.iter().map(|booking| (booking.id, booking)).collect();
        let used: BTreeMap<String, (KeyUse, BookingId)> =
            keys.into_iter().map(|used| (used.key.0, (used.used_for, used.booking))).collect();
        let mut found: Vec<Mismatch> = bad.iter().map(|bad| self.unreadable(bad)).collect();
        let is_bad = |id: BookingId| bad.iter().any(|bad| bad.booking == i64::from(id.number()));
        let is_bad_key = |key: &str| bad.iter().any(|bad| bad.key.as_ref().is_some_and(|of| of.0 == key));
        for (key, deed) in self.done.iter().filter(|(key, deed)| !is_bad(deed.booking) && !is_bad_key(key)) {
            found.extend(self.missing(key, deed, &by_id, &used).map(|what| deed.mismatch(what)));
        }
        for (key, (used_for, booking)) in &used {
            if !self.done.contains_key(key) && !is_unread(key) {
                found.push(self.untold(key, *used_for, *booking));
            }
        }
        let seeds = seeds()?;
        for booking in &bookings {
            let by_key = used.values().any(|(used_for, id)| *used_for == KeyUse::Book && *id == booking.id);
            if by_key || self.is_on_record(KeyUse::Book, booking.id) {
                continue;
            }
            match seeds.iter().find(|seed| seed.id == booking.id) {
                Some(seed) if is_same(seed, booking) => {}
                Some(_) => found.push(Mismatch::of_none(
                    booking.id,
                    "the house begins with it, and the ledger has it otherwise",
                )),
                None => found.push(Mismatch::of_none(booking.id, "no record tells of it")),
            }
        }
        // A ledger that was never begun has none of them, and nobody has booked in it either.
        let is_begun = !bookings.is_empty() || !self.done.is_empty();
        for seed in seeds.iter().filter(|seed| is_begun && !by_id.contains_key(&seed.id) && !is_bad(seed.id))
        {
            found.push(Mismatch::of_none(
                seed.id,
                "the house begins with it, and the ledger does not have it",
            ));
        }
        found.extend(self.cancelled_by_nobody(&bookings, &seeds, &used));
        let from_start =
            bookings.iter().filter(|booking| seeds.iter().any(|seed| seed.id == booking.id)).count();
        let unread = bad.iter().filter(|bad| bad.key.is_none()).count();
        Ok((Kept { bookings: bookings.len() + unread, from_start }, found))
    }

    /// A row that cannot be read, with the record of the booking where there is one.
    fn unreadable(&self, bad: &BadRow) -> Mismatch {
        let id = u32::try_from(bad.booking).ok().map(BookingId::new);
        let deed = self.done.values().find(|deed| Some(deed.booking) == id);
        let BadRow { column, why, .. } = bad;
        Mismatch {
            booking: Some(id.map_or_else(|| bad.booking.to_string(), |id| id.to_string())),
            conversation: deed.map(|deed| deed.conversation.clone()),
            seq: deed.map(|deed| deed.seq),
            what: match &bad.key {
                None => format!("its {column} cannot be read: {why}"),
                Some(key) => format!("the {column} of its key {:?} cannot be read: {why}", key.0),
            },
        }
    }

    /// Whether a record tells of it, under whatever key.
    fn is_on_record(&self, used_for: KeyUse, booking: BookingId) -> bool {
        self.done.values().any(|deed| deed.used_for() == used_for && deed.booking == booking)
    }

    /// What is wrong with the ledger's side of a deed that is on record.
    fn missing(
        &self,
        key: &str,
        deed: &Deed,
        by_id: &BTreeMap<BookingId, &Booking>,
        used: &BTreeMap<String, (KeyUse, BookingId)>,
    ) -> Option<String> {
        let Some(booking) = by_id.get(&deed.booking) else {
            return Some("it is on record, and the ledger does not have it".to_owned());
        };
        if used.get(key) != Some(&(deed.used_for(), deed.booking)) {
            return Some(format!("the ledger does not have the key {key:?} for it"));
        }
        match &deed.what {
            What::Booked { total, asked } => {
                if booking.total_cents != *total {
                    let (ledger, record) = (booking.total_cents.0, total.0);
                    return Some(format!(
                        "it costs {ledger} cents by the ledger, and {record} by the record"
                    ));
                }
                let is_as_asked = asked.as_ref().is_none_or(|asked| asked.is(booking));
                (!is_as_asked)
                    .then(|| "room, plan, time or customer are others than were asked for".to_owned())
            }
            What::Cancelled { refund } => {
                let is_cancelled = booking.state == BookingState::Cancelled { refund_cents: *refund };
                let record = refund.0;
                (!is_cancelled).then(|| {
                    format!(
                        "it is cancelled by the record with {record} cents back, and by the ledger {}",
                        state(booking)
                    )
                })
            }
        }
    }

    /// A key in the ledger of which no record tells.
    fn untold(&self, key: &str, used_for: KeyUse, booking: BookingId) -> Mismatch {
        let of = self.ends.iter().filter(|(name, _)| is_of(key, name)).max_by_key(|(name, _)| name.len());
        let what = match used_for {
            KeyUse::Book => "booked",
            KeyUse::Cancel => "cancelled",
        };
        Mismatch {
            booking: Some(booking.to_string()),
            conversation: of.map(|(name, _)| name.clone()),
            // Where it would have to stand: what follows the end is missing.
            seq: of.map(|(_, end)| end + 1),
            what: format!("it was {what} under the key {key:?}, and no record tells of it"),
        }
    }

    /// Bookings that are cancelled in the ledger, and not under any key.
    fn cancelled_by_nobody(
        &self,
        bookings: &[Booking],
        seeds: &[Booking],
        used: &BTreeMap<String, (KeyUse, BookingId)>,
    ) -> Vec<Mismatch> {
        let is_cancelled = |booking: &&Booking| matches!(booking.state, BookingState::Cancelled { .. });
        let by_key =
            |id: BookingId| used.values().any(|(used_for, of)| *used_for == KeyUse::Cancel && *of == id);
        let from_start = |booking: &Booking| seeds.iter().any(|seed| seed == booking);
        let odd = bookings
            .iter()
            .filter(is_cancelled)
            .filter(|booking| !by_key(booking.id) && !from_start(booking))
            .filter(|booking| !self.is_on_record(KeyUse::Cancel, booking.id));
        odd.map(|booking| Mismatch::of_none(booking.id, "it is cancelled, and no record tells of that"))
            .collect()
    }
}

impl Deed {
    fn used_for(&self) -> KeyUse {
        match self.what {
            What::Booked { .. } => KeyUse::Book,
            What::Cancelled { .. } => KeyUse::Cancel,
        }
    }

    fn mismatch(&self, what: String) -> Mismatch {
        Mismatch {
            booking: Some(self.booking.to_string()),
            conversation: Some(self.conversation.clone()),
            seq: Some(self.seq),
            what,
        }
    }
}

impl Mismatch {
    fn of_none(booking: BookingId, what: &str) -> Self {
        Self { booking: Some(booking.to_string()), conversation: None, seq: None, what: what.to_owned() }
    }
}

impl Asked {
    /// Whether the booking is what was asked for.
    fn is(&self, booking: &Booking) -> bool {
        let customer = Customer::new(self.customer.as_deref().unwrap_or(UNNAMED));
        self.room.parse() == Ok(booking.room)
            && self.plan.parse() == Ok(booking.plan)
            && self.date.parse() == Ok(booking.slot.date())
            && self.start_hour == i64::from(booking.slot.start_hour())
            && reservo::Hours::new(self.hours) == Ok(booking.slot.hours())
            && customer.as_ref() == Ok(&booking.customer)
    }
}

/// Whether the key is one of a call in this conversation.
pub(crate) fn is_of(key: &str, conversation: &str) -> bool {
    key.strip_prefix(conversation).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether it is the same booking, in whatever state.
fn is_same(seed: &Booking, booking: &Booking) -> bool {
    Booking { state: booking.state.clone(), ..seed.clone() } == *booking
}

fn state(booking: &Booking) -> String {
    match booking.state {
        BookingState::Booked => "it stands".to_owned(),
        BookingState::Cancelled { refund_cents } => format!("it is cancelled with {}", refund_cents.0),
    }
}
