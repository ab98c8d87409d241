//! The relay against random models, users and tools.
//!
//! A [`Scenario`](scenario::Scenario) is all that a relay meets, as one value: it shrinks, and it prints.
//! The [`driver`] plays it and holds each step to the properties; its [`ledger`] counts for itself what the
//! run counts. [`property`] holds the tests: a random search, the proof that it reaches everything, and the
//! planted bugs that it must find.

mod branches;
mod coverage;
mod driver;
mod ledger;
mod passage;
mod player;
mod property;
mod scenario;
mod strategies;
mod team;
mod told;
mod tree;
