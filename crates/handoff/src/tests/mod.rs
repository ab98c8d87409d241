//! The relay against random models, users and tools.
//!
//! A [`Scenario`](scenario::Scenario) is all that a relay meets, as one value: it shrinks, and it prints. [`team`] is
//! who there is in it: agents, routes, delegates. The [`driver`] plays it; any of the open steps of the tree may go on,
//! and in the end another order must have come to the same tree.
//!
//! A [`player`] holds each step of one run to the properties, and what holds from one step to the next is in [`passage`]
//! and, of branches, in [`branches`]; its [`ledger`] counts for itself what the run counts. The [`tree`] has a player
//! for each run that is open, and sees that they share nothing. [`property`] holds the tests: a random search, the proof
//! that it reaches everything, and the planted bugs that it must find.

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
