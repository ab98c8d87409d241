//! `fuzz`: the decoders, given whatever a fuzzer thinks of, each for as long as is asked for.
//!
//! It needs a nightly compiler and `cargo-fuzz`, and is no part of `ci`: that runs the same cases over what the fuzzer has
//! kept, on any toolchain. What is new is put beside the corpus, in `fuzz/found`, for somebody to look at and keep.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::fault::Fault;
use crate::nearest::nearest;
use crate::root::root;

const SECONDS: u32 = 300;
/// Bytes of the longest input. What is longer is for tests of caps.
const LONGEST: u32 = 4096;

pub(crate) fn run(args: Vec<OsString>) -> Result<ExitCode, Fault> {
    let fuzz = root().join("fuzz");
    let targets = targets(&fuzz)?;
    let (target, seconds) = asked(&args, &targets)?;
    let chosen: Vec<&String> =
        targets.iter().filter(|name| target.as_ref().is_none_or(|wanted| wanted == *name)).collect();
    has(&["cargo", "--version"], "no nightly compiler; `rustup toolchain install nightly` brings one")?;
    has(&["cargo", "fuzz", "--version"], "no cargo-fuzz; `cargo install cargo-fuzz` brings it")?;
    for name in chosen {
        let runs = one(&fuzz, name, seconds)?;
        // Losing the reader must not lose the verdict.
        let _ =
            writeln!(io::stdout(), "fuzz: {name}: {runs} inputs in {seconds} s, and all that must hold did");
    }
    Ok(ExitCode::SUCCESS)
}

/// The names of the programs.
fn targets(fuzz: &Path) -> Result<Vec<String>, Fault> {
    let folder = fuzz.join("fuzz_targets");
    let entries = fs::read_dir(&folder).map_err(Fault::system(format!("read {}", folder.display())))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// Which target, all of them when none, and for how long each.
fn asked(args: &[OsString], targets: &[String]) -> Result<(Option<String>, u32), Fault> {
    let words: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let seconds = |word: &str| word.parse::<u32>().ok().filter(|seconds| *seconds > 0);
    match &*words {
        [] => Ok((None, SECONDS)),
        [time] if seconds(time).is_some() => Ok((None, seconds(time).unwrap_or(SECONDS))),
        [name] => Ok((Some(known(name, targets)?), SECONDS)),
        [name, time] => {
            let told =
                || Fault::Misuse(format!("`{time}` is no number of seconds; usage: fuzz [TARGET] [SECONDS]"));
            Ok((Some(known(name, targets)?), seconds(time).ok_or_else(told)?))
        }
        _ => Err(Fault::Misuse(format!("{} arguments; usage: fuzz [TARGET] [SECONDS]", words.len()))),
    }
}

fn known(name: &str, targets: &[String]) -> Result<String, Fault> {
    if targets.iter().any(|target| target == name) {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = targets.iter().map(String::as_str).collect();
    let hint = nearest(name, &names).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Err(Fault::Misuse(format!("no target `{name}`{hint}\ntargets: {}", names.join(", "))))
}

/// Whether a command of the nightly toolchain is there.
fn has(command: &[&str], otherwise: &str) -> Result<(), Fault> {
    let done = nightly().args(command).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match done {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Fault::Failed(format!("nothing was fuzzed: there is {otherwise}"))),
    }
}

/// The nightly toolchain, whatever toolchain has started us.
fn nightly() -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly"]).current_dir(root());
    command
}

/// Fuzzes one target; how many inputs it was given.
fn one(fuzz: &Path, name: &str, seconds: u32) -> Result<u64, Fault> {
    let found = fuzz.join("found").join(name);
    fs::create_dir_all(&found).map_err(Fault::system(format!("make {}", found.display())))?;
    let corpus = fuzz.join("corpus").join(name);
    // Nothing here is unsafe, so the sanitizer would only take time.
    let output = nightly()
        .args(["cargo", "fuzz", "run", "--sanitizer", "none", name])
        .args([&found, &corpus])
        .arg("--")
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={LONGEST}"))
        .args(["-timeout=10", "-rss_limit_mb=1024", "-print_final_stats=1"])
        // A key that no service knows, to look for in what a call tells.
        .env("SOMMELIER_FUZZ_KEY", "key-that-nobody-may-see")
        .stdout(Stdio::null())
        .output()
        .map_err(Fault::system("start cargo fuzz"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(executed(&said).unwrap_or_default());
    }
    let _ = io::stderr().write_all(&output.stderr);
    Err(Fault::Failed(format!("`{name}` has found something: {}", output.status)))
}

/// How many inputs there were, as the fuzzer says at its end.
fn executed(said: &str) -> Option<u64> {
    said.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_a_time_or_both_are_told() {
        let targets = ["error".to_owned(), "sse".to_owned()];
        let told = |args: &[&str]| {
            let args: Vec<OsString> = args.iter().map(Into::into).collect();
            asked(&args, &targets).map_err(|fault| fault.to_string())
        };
        assert_eq!(told(&[]), Ok((None, 300)));
        assert_eq!(told(&["20"]), Ok((None, 20)));
        assert_eq!(told(&["sse"]), Ok((Some("sse".into()), 300)));
        assert_eq!(told(&["sse", "20"]), Ok((Some("sse".into()), 20)));
        assert!(told(&["ssse"]).is_err_and(|why| why.contains("did you mean `sse`?\ntargets: error, sse")));
        for wrong in [&["sse", "0"][..], &["sse", "long"], &["sse", "1", "2"]] {
            assert!(told(wrong).is_err_and(|why| why.contains("fuzz [TARGET] [SECONDS]")), "{wrong:?}");
        }
    }

    #[test]
    fn the_fuzzer_says_how_many_there_were() {
        assert_eq!(executed("#1 INITED\nstat::number_of_executed_units: 75588\n"), Some(75_588));
        assert_eq!(executed("==1== ERROR"), None);
    }

    #[test]
    fn the_targets_are_those_of_the_folder() {
        let targets = targets(&root().join("fuzz")).unwrap();
        assert!(targets.iter().any(|name| name == "sse"), "{targets:?}");
    }
}
