//! Runs that are written down as they go: what is on record after each thing that happens, and how a run goes on from
//! wherever its records end.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod claims;
mod desk;

mod belated;
mod effects;
mod mistrust;
mod people;
mod prefixes;
mod reentry;
mod results;
mod secrets;
mod sharing;
mod turns;
