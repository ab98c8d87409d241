//! What reaches a run from outside while it is driven.

use sommelier_handoff::Step;
use sommelier_handoff::step::CALLED_OFF;
use sommelier_protocol::{BlankText, Words};
use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A handle by which another thread speaks to a conversation that is being driven, or calls it off. Its clones are the
/// same mailbox.
///
/// The driver looks at it before each step, in every branch. It cannot stop a model or a tool that is at work: what
/// is under way is waited for, and its outcome is kept. One mailbox is for one conversation; words that nobody has
/// taken when the driver returns wait for the next time.
///
/// ```
/// use sommelier_handoff::{Agent, Relay, RunEnd};
/// use sommelier_runner::{Mailbox, Outcome, Runner};
/// use sommelier_runtime::{ScriptedModel, script};
///
/// let relay = Relay::builder().agent(Agent::new("clerk", "You greet.")).entry("clerk").build()?;
/// let mailbox = Mailbox::new();
/// let model = ScriptedModel::new().turn("clerk", |_| script::say("Good morning."));
/// // Another thread would have a clone of it.
/// mailbox.cancel("the user has left");
/// let step = relay.start("c", "hello")?;
/// let Outcome::Ended(report) = Runner::new(model).drive_with(&relay, step, &mailbox)? else { panic!() };
/// assert_eq!(report.end(), &RunEnd::Cancelled { reason: "the user has left".into() });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Mailbox(Arc<Letters>);

#[derive(Default)]
struct Letters {
    /// Whether there is anything to look at: most often there is not, and then nobody waits for the lock.
    any: AtomicBool,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    words: Vec<Words>,
    called_off: Option<Arc<str>>,
}

impl Mailbox {
    /// An empty mailbox.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says something in the user's place. The agent that has the turn reads it at its next model call; branches do not
    /// hear it. What is said as the last reply comes makes the run go on.
    ///
    /// # Errors
    /// [`BlankText`] when there are no words.
    pub fn say(&self, text: impl Into<Box<str>>) -> Result<(), BlankText> {
        let words = Words::new(text)?;
        self.put(|inside| inside.words.push(words));
        Ok(())
    }

    /// Calls the conversation off, with all its branches: each ends before its next step. Who called it off first has
    /// said why, and it stays called off.
    pub fn cancel(&self, reason: impl Into<Arc<str>>) {
        self.put(|inside| {
            inside.called_off.get_or_insert_with(|| reason.into());
        });
    }

    /// Why the conversation is called off, once it is.
    pub fn called_off(&self) -> Option<Arc<str>> {
        self.look().and_then(|inside| inside.called_off.clone())
    }

    /// How many texts nobody has taken yet.
    pub fn unread(&self) -> usize {
        self.look().map_or(0, |inside| inside.words.len())
    }

    fn take_words(&self) -> Vec<Words> {
        self.look().map_or_else(Vec::new, |mut inside| mem::take(&mut inside.words))
    }

    fn put(&self, change: impl FnOnce(&mut Inside)) {
        let mut inside = self.lock();
        change(&mut inside);
        self.0.any.store(true, Ordering::Release);
    }

    fn look(&self) -> Option<MutexGuard<'_, Inside>> {
        self.0.any.load(Ordering::Acquire).then(|| self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        // Nothing that could panic runs under the lock.
        self.0.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What may reach a run from outside: what is said to it, and that it is called off. A branch hears nothing that is said,
/// and is called off with the run that asked, or by another branch that made it pointless.
#[derive(Clone, Copy, Default)]
pub(crate) struct Signals<'a> {
    mailbox: Option<&'a Mailbox>,
    above: Option<&'a Self>,
    has_failed: Option<&'a AtomicBool>,
}

impl<'a> Signals<'a> {
    /// Those of a run with a mailbox.
    pub(crate) fn of(mailbox: &'a Mailbox) -> Self {
        Self { mailbox: Some(mailbox), ..Self::default() }
    }

    /// Those of the branches of a run; `has_failed` becomes true when one of them makes the others pointless.
    pub(crate) fn of_branches(above: &'a Self, has_failed: &'a AtomicBool) -> Self {
        Self { mailbox: None, above: Some(above), has_failed: Some(has_failed) }
    }

    /// Why the run is called off, once it is.
    pub(crate) fn called_off(&self) -> Option<Arc<str>> {
        let above = self.mailbox.and_then(Mailbox::called_off).or_else(|| self.above?.called_off());
        let failed = || self.has_failed.is_some_and(|failed| failed.load(Ordering::Acquire));
        above.or_else(|| failed().then(|| CALLED_OFF.into()))
    }

    /// What was said to the run, where it hears it now. One that has ended goes on with it, unless somebody else has to say that it
    /// may: then the words stay where they are.
    pub(crate) fn words_for(&self, step: &Step) -> Vec<Words> {
        let goes_on = match step {
            Step::Done(done) => done.end().awaits_user(),
            _ => true,
        };
        self.mailbox.filter(|_| goes_on).map_or_else(Vec::new, Mailbox::take_words)
    }
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Mailbox");
        shown.field("unread", &self.unread()).field("called_off", &self.called_off()).finish()
    }
}
