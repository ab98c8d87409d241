//! Invitations, in tables of the journal's file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rusqlite::types::Type;
use rusqlite::{Connection, Row as SqlRow, TransactionBehavior, named_params};
use sommelier_runner::journal::{Damage, Finding, Hash, JournalError, Unfit};

use super::SqliteStore;
use super::open;
use super::options::Options;
use super::rows::{hash, is_damage, number, signed, told};
use super::shared::Shared;
use crate::health::locked;
use crate::invitation::{
    CheckError, Invitation, InvitedTo, IssueError, RefusedTokens, Standing, Token, TokenRefused,
};

/// The name under which damage to these tables is told.
const NAME: &str = "#invitations";

/// Invitations to answer questions of this journal, for people who have no access to it.
///
/// The tables know a conversation, a question and a fingerprint as names. Whether the question is open and is still the same
/// is for whoever reads the records, and so is taking the answer. What is right follows from the question: it takes one
/// answer. So the order is
///
/// 1. [`check`](Self::check) the token, and look whether its question is open;
/// 2. give the answer to the question, under the digest, [in the invitation's name](Invitation::by);
/// 3. [`spend`](Self::spend) the invitation.
///
/// Of two who do this at once the question takes one answer. Who is cut off between 2 and 3 may come again: the token is
/// still good, and the answer on record bears the invitation's name. What cannot be answered is [`refuse`](Self::refuse)d,
/// so that it is counted with the rest.
///
/// It limits no rate: how often somebody may try is for what stands before it to say. A secret has 32 bytes by chance, so
/// trying is hopeless; it is counted and alerted nevertheless.
///
/// ```
/// use sommelier_store::{CheckError, InvitedTo, SqliteStore, Standing, TokenRefused};
///
/// # let folder = std::env::temp_dir().join(format!("sommelier-invitations-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let store = SqliteStore::open(folder.join("journal.db"))?;
/// let invitations = store.invitations();
/// let to = InvitedTo { conversation: "guest-7", question: "guest-7/1/1/0", digest: "5f3a", whom: Some("Kim") };
/// let (invitation, token) = invitations.issue(&to, 1_000, 61_000)?;
///
/// // This goes to Kim, and is stored nowhere.
/// let text = token.reveal();
/// let invitation = invitations.check(&text, 2_000)?;
/// // ... here the answer is put on record, by:
/// assert_eq!(invitation.by(), format!("Kim, by invitation {}", token.id()));
/// invitations.spend(&invitation, 2_000)?;
///
/// let again = invitations.check(&text, 3_000);
/// let spent = TokenRefused::Spent { id: invitation.id, at: 2_000 };
/// assert_eq!(again, Err(CheckError::Refused(spent)));
/// assert_eq!(invitations.refused()?.total, 1);
/// # drop(store);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Invitations<'s> {
    store: &'s SqliteStore,
}

impl<'s> Invitations<'s> {
    pub(super) fn of(store: &'s SqliteStore) -> Self {
        Self { store }
    }

    /// Issues an invitation, and a token for it that exists nowhere else. It is good from now on and before `until`, both in
    /// milliseconds since 1970. A question may have several.
    ///
    /// # Errors
    ///
    /// [`IssueError`]. After [`JournalError::Broken`] the invitation may be there, with a token that nobody has.
    pub fn issue(&self, to: &InvitedTo<'_>, now: u64, until: u64) -> Result<(Invitation, Token), IssueError> {
        if until <= now {
            return Err(IssueError::Over { now, until });
        }
        Unfit::check_name(to.conversation).and(Unfit::check_number(until)).map_err(JournalError::from)?;
        let token = Token::by_chance().map_err(|error| IssueError::NoChance(error.to_string()))?;
        let invitation = Invitation {
            id: token.id().to_owned(),
            conversation: to.conversation.to_owned(),
            question: to.question.to_owned(),
            digest: to.digest.to_owned(),
            whom: to.whom.map(str::to_owned),
            issued: now,
            until,
            standing: Standing::Open,
        };
        let hash = invitation.sealed_with(&token);
        self.cards().write(Lasts::Now, |connection| put(connection, &invitation, &hash))?;
        Ok((invitation, token))
    }

    /// The invitation of a token, if the token is good at this time. What is not is counted and alerted, by a `WARN` with the
    /// reason and the counts.
    ///
    /// Whoever presented the token is told [`TokenRefused::TOLD`] and nothing else; the reason is the house's.
    ///
    /// # Errors
    ///
    /// [`CheckError`].
    pub fn check(&self, token: &str, now: u64) -> Result<Invitation, CheckError> {
        Ok(self.judge(token, now)?.map_err(|why| self.refuse(why, now))?)
    }

    /// Counts and alerts a token that cannot be made use of, for a reason that the caller has found: its question is not
    /// open, or another one. Gives the reason back.
    ///
    /// A count is written without waiting for the disk: an attacker is not to have that at will, and a failure of power may
    /// cost the last counts. Where it cannot be written, the alert has none, and the token is refused all the same.
    pub fn refuse(&self, why: TokenRefused, now: u64) -> TokenRefused {
        let counted =
            self.cards().write(Lasts::SomeTime, |connection| count(connection, why.as_str(), now)).ok();
        let (count, total) = counted.unzip();
        tracing::warn!(
            target: "sommelier",
            reason = why.as_str(),
            invitation = why.id(),
            count,
            total,
            "a token was refused"
        );
        why
    }

    /// Marks an invitation as made use of, after the answer is on record. One that was withdrawn meanwhile is marked too:
    /// it was made use of. Where it is marked already, nothing happens.
    ///
    /// # Errors
    ///
    /// What prevents a write. The same call may be made again.
    pub fn spend(&self, invitation: &Invitation, now: u64) -> Result<(), JournalError> {
        let is_before = "standing IN ('open', 'withdrawn')";
        self.cards().write(Lasts::Now, |connection| set(connection, &invitation.id, "spent", is_before, now))
    }

    /// Takes an invitation back: its token is refused from now on. Gives the invitation as it stands then; one that was made
    /// use of stays so. `None` if there is none of this name.
    ///
    /// # Errors
    ///
    /// What prevents a write. The same call may be made again.
    pub fn withdraw(&self, id: &str, now: u64) -> Result<Option<Invitation>, JournalError> {
        self.cards()
            .write(Lasts::Now, |connection| set(connection, id, "withdrawn", "standing = 'open'", now))?;
        Ok(self.find(id)?.map(|(invitation, _)| invitation))
    }

    /// All invitations, in the order in which they were issued.
    ///
    /// # Errors
    ///
    /// The journal cannot be read.
    pub fn all(&self) -> Result<Vec<Invitation>, JournalError> {
        self.store.read(all)
    }

    /// How many tokens were refused, and why.
    ///
    /// # Errors
    ///
    /// The journal cannot be read.
    pub fn refused(&self) -> Result<RefusedTokens, JournalError> {
        self.store.read(|connection| refused(connection).map_err(unreadable))
    }

    fn judge(&self, token: &str, now: u64) -> Result<Result<Invitation, TokenRefused>, JournalError> {
        let Some(token) = Token::read(token) else { return Ok(Err(TokenRefused::Misshapen)) };
        let Some((invitation, hash)) = self.find(token.id())? else { return Ok(Err(TokenRefused::Unknown)) };
        Ok(invitation.admit(&token, &hash, now).map(|()| invitation))
    }

    fn find(&self, id: &str) -> Result<Option<(Invitation, Hash)>, JournalError> {
        self.store.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT * FROM invitations WHERE id = :id").map_err(told)?;
            let mut rows = statement.query(named_params! {":id": id}).map_err(told)?;
            rows.next().map_err(unreadable)?.map(read).transpose()
        })
    }

    fn cards(&self) -> &Cards {
        &self.store.cards
    }
}

/// How soon a write is to be safe from a failure of power.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lasts {
    /// When it is answered.
    Now,
    /// When something else is, or the log is copied.
    SomeTime,
}

/// Writing to the tables of invitations: on the threads of the callers, one at a time, in line with the appends.
pub(super) struct Cards {
    path: PathBuf,
    options: Options,
    shared: Arc<Shared>,
    idle: Mutex<Option<Connection>>,
}

impl Cards {
    pub(super) fn new(path: &Path, options: &Options, shared: Arc<Shared>) -> Self {
        Self { path: path.to_owned(), options: options.clone(), shared, idle: Mutex::default() }
    }

    fn write<T>(
        &self,
        lasts: Lasts,
        write: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        let health = &self.shared.health;
        let turn = self.shared.enter()?;
        health.check()?;
        let idle = locked(&self.idle).take();
        let connection = idle.map_or_else(|| open::beside(&self.path, &self.options), Ok);
        let mut connection = connection.map_err(|error| health.note(told(error)))?;
        let written =
            self.commit(&mut connection, lasts, write).map_err(|error| self.shared.health.note(error));
        drop(turn);
        if matches!(written, Err(JournalError::Broken(_))) {
            return written;
        }
        self.shared.copy_the_log(&connection);
        if connection.is_autocommit() {
            *locked(&self.idle) = Some(connection);
        }
        written
    }

    /// One transaction. Whatever ends it early undoes it.
    fn commit<T>(
        &self,
        connection: &mut Connection,
        lasts: Lasts,
        write: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        let Shared { faults, .. } = &*self.shared;
        faults.before()?;
        let level = if lasts == Lasts::Now { "FULL" } else { "NORMAL" };
        connection.pragma_update(None, "synchronous", level).map_err(told)?;
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(told)?;
        let before = transaction.total_changes();
        // A value that is none of ours breaks nothing but the count that it stands in.
        let written = write(&transaction).map_err(|error| {
            if error.sqlite_error_code().is_some() { told(error) } else { unreadable(error) }
        })?;
        // A row is a page of its table and one of an index, about.
        let changed = transaction.total_changes() - before;
        faults.before()?;
        transaction.commit().map_err(told)?;
        self.shared.committed(2 * changed as usize);
        faults.after_commit()?;
        Ok(written)
    }
}

fn put(connection: &Connection, invitation: &Invitation, hash: &Hash) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO invitations (id, conversation, question, digest, whom, issued, until, hash, standing, since)
         VALUES (:id, :conversation, :question, :digest, :whom, :issued, :until, :hash, 'open', :issued)",
    )?;
    let values = named_params! {
        ":id": invitation.id,
        ":conversation": invitation.conversation,
        ":question": invitation.question,
        ":digest": invitation.digest,
        ":whom": invitation.whom,
        ":issued": signed(invitation.issued),
        ":until": signed(invitation.until),
        ":hash": hash.as_bytes(),
    };
    statement.execute(values).map(drop)
}

fn all(connection: &Connection) -> Result<Vec<Invitation>, JournalError> {
    let mut statement =
        connection.prepare_cached("SELECT * FROM invitations ORDER BY number").map_err(told)?;
    let mut rows = statement.query(()).map_err(told)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().map_err(unreadable)? {
        all.push(read(row)?.0);
    }
    Ok(all)
}

fn set(connection: &Connection, id: &str, to: &str, is_before: &str, now: u64) -> rusqlite::Result<()> {
    let statement =
        format!("UPDATE invitations SET standing = :to, since = :now WHERE id = :id AND {is_before}");
    let values = named_params! {":to": to, ":now": signed(now), ":id": id};
    connection.prepare_cached(&statement)?.execute(values).map(drop)
}

/// Counts a refusal: how many there were for this reason, and in all.
fn count(connection: &Connection, reason: &str, now: u64) -> rusqlite::Result<(u64, u64)> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO refused_tokens (reason, count, last) VALUES (:reason, 1, :now)
         ON CONFLICT (reason) DO UPDATE SET count = count + 1, last = max(last, excluded.last)
         RETURNING count",
    )?;
    let values = named_params! {":reason": reason, ":now": signed(now)};
    let of_reason = statement.query_row(values, |row| number(row, "count"))?;
    Ok((of_reason, refused(connection)?.total))
}

fn refused(connection: &Connection) -> rusqlite::Result<RefusedTokens> {
    let mut statement = connection.prepare_cached("SELECT reason, count, last FROM refused_tokens")?;
    let mut rows = statement.query(())?;
    let mut refused = RefusedTokens::default();
    while let Some(row) = rows.next()? {
        let (count, last) = (number(row, "count")?, number(row, "last")?);
        refused.total = refused.total.saturating_add(count);
        refused.last = refused.last.max(Some(last));
        refused.reasons.insert(row.get("reason")?, count);
    }
    Ok(refused)
}

/// An invitation and its hash.
fn read(row: &SqlRow<'_>) -> Result<(Invitation, Hash), JournalError> {
    values(row).map_err(|error| match unreadable(error) {
        JournalError::Damaged(finding) => {
            let seq = number(row, "number").unwrap_or_default();
            JournalError::Damaged(Finding { seq, ..finding })
        }
        error => error,
    })
}

/// What an error means where these tables are read. What is none of ours is damage, and keeps nobody from the rest of the
/// journal.
fn unreadable(error: rusqlite::Error) -> JournalError {
    if !is_damage(&error) {
        return told(error);
    }
    let damage = Damage::Unreadable(error.to_string());
    JournalError::Damaged(Finding { conversation: NAME.to_owned(), seq: 0, damage })
}

fn values(row: &SqlRow<'_>) -> rusqlite::Result<(Invitation, Hash)> {
    let since = number(row, "since")?;
    let standing = match row.get::<_, String>("standing")?.as_str() {
        "open" => Standing::Open,
        "spent" => Standing::Spent { at: since },
        "withdrawn" => Standing::Withdrawn { at: since },
        other => {
            let why = format!("an invitation that is {other:?}");
            let column = row.as_ref().column_index("standing")?;
            return Err(rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why.into()));
        }
    };
    let invitation = Invitation {
        id: row.get("id")?,
        conversation: row.get("conversation")?,
        question: row.get("question")?,
        digest: row.get("digest")?,
        whom: row.get("whom")?,
        issued: number(row, "issued")?,
        until: number(row, "until")?,
        standing,
    };
    Ok((invitation, hash(row, "hash")?))
}

/// What is wrong with the tables, if anything is: the first that cannot be read.
pub(super) fn damage(connection: &Connection) -> Result<Option<Finding>, JournalError> {
    let looked = all(connection).and_then(|_| refused(connection).map_err(unreadable));
    match looked {
        Ok(_) => Ok(None),
        Err(JournalError::Damaged(finding)) => Ok(Some(finding)),
        Err(error) => Err(error),
    }
}
