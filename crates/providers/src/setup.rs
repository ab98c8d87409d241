//! What is wrong with how a model was set up.

/// What is wrong with how a model was set up: the caller's to mend, before anything is sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// There is no key.
    #[error("no key for {provider}: set the environment variable {variable}")]
    NoKey {
        /// Whose key.
        provider: &'static str,
        /// The variable that would hold it.
        variable: String,
    },
    /// The key cannot be sent. It is not shown.
    #[error("the key in the environment variable {variable} {fault}")]
    BadKey {
        /// The variable that holds it.
        variable: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// The address of the service is none.
    #[error("{url:?} is no base URL: {fault}")]
    BadUrl {
        /// The address, without what may be secret in it.
        url: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// The key would go over the network in the clear.
    #[error("{url:?} would have the key go over the network in the clear; use https, or send none")]
    KeyInTheClear {
        /// The address, without what may be secret in it.
        url: String,
    },
    /// The proxy that the environment names cannot be used, and going past it is not what was meant. Its value may hold a password
    /// and is not shown.
    #[error("the environment variable {variable} names no proxy that can be used; it is http://HOST:PORT")]
    BadProxy {
        /// The variable that names it.
        variable: &'static str,
    },
    /// Two settings that cannot stand beside each other.
    #[error("{detail}")]
    Contradiction {
        /// Which, and what to do.
        detail: &'static str,
    },
}
