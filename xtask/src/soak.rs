//! `soak`: the property test of the handoff for as many runs as are asked for, in a release build.
//!
//! It is the test that each build runs a hundred times, with its own settings: nothing is switched off until somebody asks
//! for it. The seed is printed with what was reached, and brings the same runs back.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use crate::fault::Fault;
use crate::root::cargo;

const TEST: &str = "tests::property::a_relay_keeps_its_word_whatever_its_models_write";
const RUNS: u32 = 100_000;

pub(crate) fn run(args: Vec<OsString>) -> Result<ExitCode, Fault> {
    let (runs, seed) = read(&args)?;
    let start = Instant::now();
    let mut test = cargo();
    test.args(["test", "--release", "--package", "sommelier-handoff", "--lib", "--"])
        .args(["--exact", TEST, "--nocapture"])
        .env("PROPTEST_CASES", runs.to_string());
    if let Some(seed) = seed {
        test.env("PROPTEST_RNG_SEED", seed.to_string());
    }
    let status = test.status().map_err(Fault::system("start cargo"))?;
    let took = start.elapsed().as_secs();
    if !status.success() {
        return Err(Fault::Failed(format!("a run of {runs} failed after {took} s: {status}")));
    }
    // Losing the reader must not lose the verdict.
    let _ = writeln!(io::stdout(), "soak: {runs} runs, building included, in {took} s");
    Ok(ExitCode::SUCCESS)
}

/// How many runs, and from which seed, when one is given.
fn read(args: &[OsString]) -> Result<(u32, Option<u64>), Fault> {
    fn number<T: std::str::FromStr>(arg: &OsString) -> Result<T, Fault> {
        let text = arg.to_string_lossy();
        text.parse().map_err(|_| Fault::Misuse(format!("`{text}` is no number; usage: soak [RUNS] [SEED]")))
    }
    match args {
        [] => Ok((RUNS, None)),
        [runs] => Ok((number(runs)?, None)),
        [runs, seed] => Ok((number(runs)?, Some(number(seed)?))),
        _ => Err(Fault::Misuse(format!("{} arguments; usage: soak [RUNS] [SEED]", args.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_how_many_runs_and_from_which_seed() {
        let told = |args: &[&str]| {
            let args: Vec<OsString> = args.iter().map(Into::into).collect();
            read(&args).map_err(|fault| fault.to_string())
        };
        assert_eq!(told(&[]), Ok((100_000, None)));
        assert_eq!(told(&["300"]), Ok((300, None)));
        assert_eq!(told(&["300", "7"]), Ok((300, Some(7))));
        for wrong in [&["many"][..], &["300", "x"], &["1", "2", "3"]] {
            assert!(told(wrong).is_err_and(|why| why.contains("soak [RUNS] [SEED]")), "{wrong:?}");
        }
    }
}
