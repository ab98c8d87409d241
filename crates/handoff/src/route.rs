//! A way from one agent to another.

use serde::Serialize;

use crate::PackagePolicy;

/// A way from one agent to another, as its author writes it down; [`Relay`](crate::Relay) checks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Route {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) policy: PackagePolicy,
    pub(crate) requires: Vec<String>,
    pub(crate) with_user_words: bool,
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

    /// The sender's name.
    pub fn from(&self) -> &str {
        &self.from
    }

    /// The receiver's name.
    pub fn to(&self) -> &str {
        &self.to
    }

    /// The tools that the receiver must have.
    pub fn required_tools(&self) -> &[String] {
        &self.requires
    }
}
