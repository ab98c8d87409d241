//! Runs that are written down as they go: what is on record after each thing that happens, and how a run goes on from
//! wherever its records end.

mod desk;

mod prefixes;
mod sharing;
mod turns;
