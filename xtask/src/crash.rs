//! `crash`: runs whose processes are killed at random moments, for as many kills as are asked for, in a release build.
//!
//! It is the test that each build runs with two hundred kills. What record was the newest one at each of them is printed at
//! the end, with the seed; the seed brings the same times back, and what they fall on is the machine's.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use crate::amount;
use crate::fault::Fault;
use crate::root::cargo;

const TEST: &str = "a_kill_at_any_moment_changes_nothing";
const KILLS: u32 = 2_000;

pub(crate) fn run(args: Vec<OsString>) -> Result<ExitCode, Fault> {
    let (kills, seed) = amount::read(&args, "crash [KILLS] [SEED]")?;
    let kills = kills.unwrap_or(KILLS);
    let start = Instant::now();
    let mut test = cargo();
    test.args(["test", "--release", "--package", "sommelier-crash", "--test", "random", "--"])
        .args(["--exact", TEST, "--nocapture"])
        .env("SOMMELIER_CRASH_KILLS", kills.to_string());
    if let Some(seed) = seed {
        test.env("SOMMELIER_CRASH_SEED", seed.to_string());
    }
    let status = test.status().map_err(Fault::system("start cargo"))?;
    let took = start.elapsed().as_secs();
    if !status.success() {
        return Err(Fault::Failed(format!("{kills} kills failed after {took} s: {status}")));
    }
    // Losing the reader must not lose the verdict.
    let _ = writeln!(io::stdout(), "crash: {kills} kills, building included, in {took} s");
    Ok(ExitCode::SUCCESS)
}
