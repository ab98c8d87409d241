//! The relay against random models, users and tools.
//!
//! A [`Scenario`](scenario::Scenario) is all that a relay meets, as one value: it shrinks, and it prints. [`team`] is
//! who there is in it: agents, routes, delegates. The [`driver`] plays it; any of the open steps of the tree may go on,
//! and in the end another order must have come to the same tree.
//!
//! A [`reference`] says the rules of one run once more, plainly and without the code under test; [`ruling`] has those for
//! the handoffs and questions of a reply, [`turn`] and [`user`] those for the turn and for who speaks, [`seat`] is an agent
//! in it, and [`ledger`] what both must say alike. A [`player`]
//! holds a run to its reference after each input. The [`tree`] has a player for each run that is open, and sees that they
//! share nothing. The [`records`] of all that is done are played again side by side, and an [`auditor`] reads them who has
//! nothing else. [`property`] holds the tests: a random search, the proof that it reaches everything, and the planted bugs
//! that it must find.

mod auditor;
mod coverage;
mod driver;
mod ledger;
mod person;
mod player;
mod property;
mod records;
mod reference;
mod ruling;
mod scenario;
mod seat;
mod strategies;
mod team;
mod told;
mod tree;
mod turn;
mod user;
