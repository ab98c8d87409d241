//! `soak`: the property test of the handoff for as many runs as are asked for, in a release build.
//!
//! It is the test that each build runs a hundred times, with its own settings: nothing is switched off until somebody asks
//! for it. A build plays the same runs each time; these begin at a seed of chance where none is given. The seed is printed with
//! what was reached, and brings the same runs back.

use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use crate::amount;
use crate::fault::Fault;
use crate::root::cargo;

const TEST: &str = "tests::property::a_relay_keeps_its_word_whatever_its_models_write";
const RUNS: u32 = 100_000;

pub(crate) fn run(args: Vec<OsString>) -> Result<ExitCode, Fault> {
    let (runs, seed) = amount::read(&args, "soak [RUNS] [SEED]")?;
    let runs = runs.unwrap_or(RUNS);
    let start = Instant::now();
    let mut test = cargo();
    test.args(["test", "--release", "--package", "sommelier-handoff", "--lib", "--"])
        .args(["--exact", TEST, "--nocapture"])
        .env("PROPTEST_CASES", runs.to_string())
        // Cargo has one for everyday, which is not meant here.
        .env("PROPTEST_RNG_SEED", seed.unwrap_or_else(by_chance).to_string());
    let status = test.status().map_err(Fault::system("start cargo"))?;
    let took = start.elapsed().as_secs();
    if !status.success() {
        return Err(Fault::Failed(format!("a run of {runs} failed after {took} s: {status}")));
    }
    // Losing the reader must not lose the verdict.
    let _ = writeln!(io::stdout(), "soak: {runs} runs, building included, in {took} s");
    Ok(ExitCode::SUCCESS)
}

/// The standard library seeds each of its hashers with a number by chance.
fn by_chance() -> u64 {
    RandomState::new().build_hasher().finish()
}
