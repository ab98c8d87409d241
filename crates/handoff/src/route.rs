//! A way from one agent to another.

use serde::Serialize;

use crate::own_guard::{Judged, OwnGuard};
use crate::transform::Transform;
use crate::{Field, HandoffPackage, PackagePolicy, Trail, Transformed};

/// A way from one agent to another, as its author writes it down; [`Relay`](crate::Relay) checks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Route {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) policy: PackagePolicy,
    pub(crate) requires: Vec<String>,
    pub(crate) with_user_words: bool,
    pub(crate) references: bool,
    pub(crate) needs_approval: bool,
    pub(crate) returns: bool,
    pub(crate) guards: Vec<OwnGuard>,
    pub(crate) transforms: Vec<Transform>,
}

impl Route {
    /// A route with the minimal package policy.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self {
            from: from.into(),
            to: to.into(),
            policy: PackagePolicy::default(),
            requires: Vec::new(),
            with_user_words: false,
            references: false,
            needs_approval: false,
            returns: false,
            guards: Vec::new(),
            transforms: Vec::new(),
        }
    }

    /// Sets what a package must be like on this route.
    pub fn policy(mut self, policy: PackagePolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Names tools that the receiver must have. It is checked when the relay is built, and again at each
    /// transfer, since a tool can be switched off while a run goes on.
    pub fn requires<S: Into<String>>(mut self, tools: impl IntoIterator<Item = S>) -> Self {
        self.requires.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Lets code put the user's last words into the package, as the artifact `user_words`. They count in the
    /// package's bytes. Words that no package of this route may hold are left out, and the artifact
    /// `user_words_left_out` says why.
    pub fn with_user_words(mut self) -> Self {
        self.with_user_words = true;
        self
    }

    /// Lets the sender pass artifacts by reference, and the receiver read those that do not stand in its package.
    ///
    /// A model writes `{"$result_of": "<tool or call id>"}` for the newest result of that tool, or of that call, in its own
    /// conversation, or `{"$artifact": "<name>"}` for an artifact of the [run](crate::Run::artifacts) that it may name: one
    /// that it was handed, has handed over before, or that code has [put](crate::Step::put_artifact) there; with
    /// `"version"` beside it, for just that version, which must be the newest. An artifact keeps its name, so that of the
    /// member is that of the reference. Code puts the value in its place when it has at most
    /// [`inline_bytes`](PackagePolicy::inline_bytes), is lawful and fits the policy. Else the reference stays, with
    /// `version`, `at` (see [`Millis`](crate::Millis)) and `bytes`, and the receiver reads the value with the reserved tool
    /// [`read_artifact`](crate::READ_ARTIFACT).
    ///
    /// Guards of one's own see what stands in the package. Where a [transform](Self::transform) changes what crosses, an
    /// artifact that would stay a reference is refused: the transform would not see what the receiver reads.
    pub fn references(mut self) -> Self {
        self.references = true;
        self
    }

    /// Asks for a value in the package's context, by name and type: the sender's model is told, and the code checks it.
    pub fn field(mut self, field: Field) -> Self {
        self.policy.fields.push(field);
        self
    }

    /// Adds a guard of one's own, asked after all others: a pure function of the package and the hops so far. One that
    /// returns an error, or panics, refuses the handoff too, and what went wrong is kept. What a receiver will not take on
    /// any route is said once, by [`RelayBuilder::guard_of`](crate::RelayBuilder::guard_of).
    ///
    /// ```
    /// use sommelier_handoff::{Route, Verdict};
    ///
    /// let route = Route::new("clerk", "till").guard("small_sums", |package, _| {
    ///     let cents = package.context_value("cents").and_then(|cents| cents.as_i64()).unwrap_or(0);
    ///     Ok(match cents {
    ///         ..=10_000 => Verdict::Allow,
    ///         _ => Verdict::Refuse { reason: format!("{cents} cents are too much for the till") },
    ///     })
    /// });
    /// # let _ = route;
    /// ```
    pub fn guard(
        mut self,
        name: impl Into<Box<str>>,
        check: impl Fn(&HandoffPackage, &Trail) -> Judged + Send + Sync + 'static,
    ) -> Self {
        self.guards.push(OwnGuard::new(name, check));
        self
    }

    /// Lets code change each package on this route, before the policy is asked and anything is measured, shown or written
    /// down; those of the relay ([`RelayBuilder::transform`](crate::RelayBuilder::transform)) come after. It says more
    /// there of what a transform must be.
    pub fn transform(
        mut self,
        name: impl Into<Box<str>>,
        change: impl Fn(HandoffPackage) -> Transformed + Send + Sync + 'static,
    ) -> Self {
        self.transforms.push(Transform::new(name, change));
        self
    }

    /// The turn comes back on this route: the sender's call stays open while the receiver has the turn, and what the
    /// receiver answers is its result. Without this the receiver's answer is the run's.
    pub fn returns(mut self) -> Self {
        self.returns = true;
        self
    }

    /// Has a person asked before a handoff on this route is taken.
    pub fn needs_approval(mut self) -> Self {
        self.needs_approval = true;
        self
    }

    /// The sender's name.
    pub fn from(&self) -> &str {
        &self.from
    }

    /// The receiver's name.
    pub fn to(&self) -> &str {
        &self.to
    }

    /// What a package must be like.
    pub fn package_policy(&self) -> &PackagePolicy {
        &self.policy
    }

    /// The tools that the receiver must have.
    pub fn required_tools(&self) -> &[String] {
        &self.requires
    }
}
