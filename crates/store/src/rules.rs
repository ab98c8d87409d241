//! What may be written: decided here for every store, from what the store knows of a conversation.

use sommelier_runner::journal::{
    Appended, Claim, Damage, Epoch, Event, Finding, Hash, Head, JournalError, LateResult, Lease, MAX_NUMBER,
    Unfit,
};

use crate::record::{BatchId, Row, chained};

/// What somebody wants of a conversation.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) conversation: String,
    pub(crate) wish: Wish,
}

#[derive(Debug)]
pub(crate) enum Wish {
    Append { expected: u64, epoch: Epoch, events: Vec<Event>, batch: Hash },
    Take { owner: String, now: u64, term: u64 },
    Renew { epoch: Epoch, now: u64, term: u64 },
    Note(LateResult),
}

/// What became of it.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Appended(Appended),
    Taken(Lease),
    Renewed,
    Noted,
}

/// What a store keeps of a conversation beside its records: where they end, and who may go on.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    pub(crate) head: Head,
    pub(crate) holder: Option<Holder>,
}

/// Who took the last lease.
#[derive(Clone, Debug)]
pub(crate) struct Holder {
    pub(crate) owner: String,
    pub(crate) epoch: Epoch,
    pub(crate) term: u64,
    pub(crate) until: u64,
}

/// What a store has to do: write the rows and the tail together, and then answer with the outcome.
#[derive(Debug)]
pub(crate) struct Ruling {
    pub(crate) rows: Vec<Row>,
    /// None where nothing changes.
    pub(crate) tail: Option<Tail>,
    /// To be kept apart.
    pub(crate) late: Option<LateResult>,
    /// What is done to the names that one conversation has at a time.
    pub(crate) claims: Vec<Claim>,
    pub(crate) outcome: Outcome,
}

impl Request {
    pub(crate) fn append(
        conversation: &str,
        expected: u64,
        epoch: Epoch,
        events: &[Event],
    ) -> Result<Self, Unfit> {
        Unfit::check_name(conversation)?;
        let wish = Wish::Append {
            expected,
            epoch,
            events: events.to_vec(),
            batch: batch(conversation, expected, events)?,
        };
        Ok(Self { conversation: conversation.to_owned(), wish })
    }

    pub(crate) fn take(conversation: &str, owner: &str, now: u64, term: u64) -> Result<Self, Unfit> {
        Unfit::check_name(conversation)?;
        Unfit::check_name(owner)?;
        Unfit::check_number(now.saturating_add(term))?;
        let wish = Wish::Take { owner: owner.to_owned(), now, term };
        Ok(Self { conversation: conversation.to_owned(), wish })
    }

    pub(crate) fn renew(conversation: &str, epoch: Epoch, now: u64, term: u64) -> Result<Self, Unfit> {
        Unfit::check_name(conversation)?;
        Unfit::check_number(now.saturating_add(term))?;
        Ok(Self { conversation: conversation.to_owned(), wish: Wish::Renew { epoch, now, term } })
    }

    pub(crate) fn note(conversation: &str, epoch: Epoch, event: &Event) -> Result<Self, Unfit> {
        Unfit::check_name(conversation)?;
        Unfit::check_number(epoch.get())?;
        let wish = Wish::Note(LateResult { epoch, event: event.clone() });
        Ok(Self { conversation: conversation.to_owned(), wish })
    }

    /// Decides on what is kept apart, whatever the conversation's state; none for all that belongs to its chain.
    pub(crate) fn apart(&self) -> Option<Ruling> {
        match &self.wish {
            Wish::Note(late) => Some(Ruling::note(late)),
            _ => None,
        }
    }
}

impl Tail {
    pub(crate) const START: Self = Self { head: Head::START, holder: None };

    pub(crate) fn epoch(&self) -> Epoch {
        self.holder.as_ref().map_or(Epoch::NONE, |holder| holder.epoch)
    }

    pub(crate) fn lease(&self) -> Option<Lease> {
        let Holder { owner, epoch, term, until } = self.holder.clone()?;
        Some(Lease { owner, epoch, term, until, head: self.head })
    }

    /// Decides on a request. `at` reads from the store which batch the record of a number came in, and its
    /// hash.
    pub(crate) fn rule(
        &self,
        request: &Request,
        mut at: impl FnMut(u64) -> Result<Option<(Hash, Hash)>, JournalError>,
    ) -> Result<Ruling, JournalError> {
        self.stands(&request.conversation, &mut at)?;
        match &request.wish {
            Wish::Append { expected, epoch, events, batch } => {
                self.fence(*epoch)?;
                match self.placed(*expected, events.len() as u64, *batch, at)? {
                    Some(head) => Ok(Ruling::nothing(Outcome::Appended(Appended::Duplicate(head)))),
                    None => Ok(self.append(&request.conversation, events, *batch)),
                }
            }
            Wish::Take { owner, now, term } => self.take(&request.conversation, owner, *now, *term),
            Wish::Renew { epoch, now, term } => {
                self.fence(*epoch)?;
                // One that is given back is over by every clock, also one that was set back since.
                let until = if *term == 0 { 0 } else { now.saturating_add(*term) };
                let holder = self.holder.clone().map(|holder| Holder { until, ..holder });
                Ok(Ruling {
                    tail: Some(Self { holder, ..self.clone() }),
                    ..Ruling::nothing(Outcome::Renewed)
                })
            }
            Wish::Note(late) => Ok(Ruling::note(late)),
        }
    }

    /// May a work be begun that is to be appended behind the record `expected`?
    pub(crate) fn admit(
        &self,
        conversation: &str,
        expected: u64,
        epoch: Epoch,
        at: impl FnMut(u64) -> Result<Option<(Hash, Hash)>, JournalError>,
    ) -> Result<(), JournalError> {
        self.stands(conversation, at)?;
        self.fence(epoch)?;
        if expected == self.head.seq { Ok(()) } else { Err(JournalError::Conflict(self.head)) }
    }

    /// Appends what a work told that was admitted.
    pub(crate) fn worked(&self, conversation: &str, events: &[Event]) -> Result<Ruling, Unfit> {
        Ok(self.append(conversation, events, batch(conversation, self.head.seq, events)?))
    }

    /// Is the record that the tail names there? Nothing is chained to one that is not.
    fn stands(
        &self,
        conversation: &str,
        mut at: impl FnMut(u64) -> Result<Option<(Hash, Hash)>, JournalError>,
    ) -> Result<(), JournalError> {
        if self.head == Head::START {
            return Ok(());
        }
        let damage = match at(self.head.seq)? {
            Some((_, hash)) if hash == self.head.hash => return Ok(()),
            Some(_) => Damage::Kept { kept: self.head },
            None => Damage::Missing,
        };
        let conversation = conversation.to_owned();
        Err(JournalError::ReadOnly(Finding { conversation, seq: self.head.seq, damage }))
    }

    fn fence(&self, epoch: Epoch) -> Result<(), JournalError> {
        if epoch == self.epoch() { Ok(()) } else { Err(JournalError::Fenced(self.epoch())) }
    }

    /// The head that the batch made when it was written before, or none if its place is free.
    fn placed(
        &self,
        expected: u64,
        length: u64,
        batch: Hash,
        mut at: impl FnMut(u64) -> Result<Option<(Hash, Hash)>, JournalError>,
    ) -> Result<Option<Head>, JournalError> {
        if expected == self.head.seq {
            return Ok(None);
        }
        let last = expected.saturating_add(length);
        if last <= self.head.seq && at(last)?.is_some_and(|(id, _)| id == batch) {
            // The id holds the number that was expected, so a row that bears it is in its place.
            return Ok(at(last)?.map(|(_, hash)| Head { seq: last, hash }));
        }
        Err(JournalError::Conflict(self.head))
    }

    fn append(&self, conversation: &str, events: &[Event], batch: Hash) -> Ruling {
        let latest = events.iter().map(Event::at).max().unwrap_or_default();
        let holder = self.holder.clone().map(|holder| Holder {
            until: holder.until.max(latest.saturating_add(holder.term).min(MAX_NUMBER)),
            ..holder
        });
        let (rows, head) = self.rows(conversation, self.epoch(), events, batch);
        let outcome = Outcome::Appended(Appended::Head(head));
        let claims = events.iter().flat_map(Event::claims).cloned().collect();
        Ruling { rows, tail: Some(Self { head, holder }), claims, ..Ruling::nothing(outcome) }
    }

    fn take(&self, conversation: &str, owner: &str, now: u64, term: u64) -> Result<Ruling, JournalError> {
        if let Some(holder) =
            self.holder.as_ref().filter(|holder| holder.owner != owner && now < holder.until)
        {
            return Err(JournalError::Held { owner: holder.owner.clone(), until: holder.until });
        }
        let epoch = self.epoch().next();
        let events = [Event::lease_taken(owner, now, term)];
        let batch = BatchId::of(conversation, self.head.seq, &events);
        let (rows, head) = self.rows(conversation, epoch, &events, batch);
        let until = now.saturating_add(term);
        let holder = Holder { owner: owner.to_owned(), epoch, term, until };
        let lease = Lease { owner: owner.to_owned(), epoch, term, until, head };
        let tail = Some(Self { head, holder: Some(holder) });
        Ok(Ruling { rows, tail, ..Ruling::nothing(Outcome::Taken(lease)) })
    }

    fn rows(&self, conversation: &str, epoch: Epoch, events: &[Event], batch: Hash) -> (Vec<Row>, Head) {
        let mut head = self.head;
        let rows = events
            .iter()
            .map(|event| {
                let record = chained(head, conversation, epoch, event.clone());
                head = record.head();
                Row { record, batch }
            })
            .collect();
        (rows, head)
    }
}

impl Ruling {
    const fn nothing(outcome: Outcome) -> Self {
        Self { rows: Vec::new(), tail: None, late: None, claims: Vec::new(), outcome }
    }

    fn note(late: &LateResult) -> Self {
        Self { late: Some(late.clone()), ..Self::nothing(Outcome::Noted) }
    }
}

impl Outcome {
    pub(crate) fn appended(self) -> Result<Appended, JournalError> {
        match self {
            Self::Appended(appended) => Ok(appended),
            other => Err(other.foreign()),
        }
    }

    pub(crate) fn taken(self) -> Result<Lease, JournalError> {
        match self {
            Self::Taken(lease) => Ok(lease),
            other => Err(other.foreign()),
        }
    }

    /// Each wish has its own kind of outcome; should a store ever mix them up, nothing it says can be relied
    /// on.
    fn foreign(&self) -> JournalError {
        JournalError::Broken(format!("the store gave the answer to another call: {self:?}"))
    }
}

/// Who has a name after a claim, none where nobody has. `has` had it before.
pub(crate) fn claimed(
    claim: &Claim,
    conversation: &str,
    has: Option<String>,
) -> Result<Option<String>, JournalError> {
    match (claim, has) {
        (Claim::Take(name), Some(by)) if by != conversation => {
            Err(JournalError::Claimed { name: name.clone(), by })
        }
        (Claim::Take(_) | Claim::TakeOver(_), _) => Ok(Some(conversation.to_owned())),
        (Claim::GiveBack(_), has) => Ok(has.filter(|by| by != conversation)),
    }
}

/// The name that a claim is about.
pub(crate) fn name_of(claim: &Claim) -> &str {
    let (Claim::Take(name) | Claim::TakeOver(name) | Claim::GiveBack(name)) = claim;
    name
}

/// The id of a batch that a journal takes.
fn batch(conversation: &str, expected: u64, events: &[Event]) -> Result<Hash, Unfit> {
    if events.is_empty() {
        return Err(Unfit::Empty);
    }
    Unfit::check_number(expected.saturating_add(events.len() as u64))?;
    Ok(BatchId::of(conversation, expected, events))
}
