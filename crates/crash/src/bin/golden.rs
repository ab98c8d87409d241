//! Writes a new set of golden records, for the release that begins to write them so: `golden v2`. A set that is there is
//! never overwritten, since journals like it are out in the world.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a harness fails as tests do")]

use std::fs;

use sommelier_crash::{Golden, Scenario, golden_folder};

fn main() {
    let version = std::env::args().nth(1);
    let is_version =
        |name: &String| name.strip_prefix('v').is_some_and(|number| number.parse::<u32>().is_ok());
    let Some(version) = version.filter(is_version) else { panic!("usage: golden vN") };
    let folder = golden_folder().join(&version);
    // It fails where there is one.
    fs::create_dir(&folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    for scenario in Scenario::ALL {
        let golden = Golden::of(scenario, &std::env::temp_dir());
        golden.write(&folder.join(format!("{}.jsonl", scenario.name()))).unwrap();
        println!("{version}/{}.jsonl: {} records, {}", scenario.name(), golden.records.len(), golden.end.end);
    }
}
