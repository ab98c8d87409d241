//! Records of earlier releases.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use sommelier_crash::{Desk, Golden, Scenario, Scene, golden_folder, kinds_once};
use sommelier_handoff::{InputKind, Relay};
use sommelier_runner::journal::{Event, Record};
use sommelier_store::computed_hash;

fn files() -> Vec<PathBuf> {
    let folders = fs::read_dir(golden_folder()).unwrap().map(|folder| folder.unwrap().path());
    let mut files: Vec<PathBuf> =
        folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|file| file.unwrap().path())).collect();
    files.sort();
    files
}

fn relay() -> Relay {
    Desk::default().relay(Scene::new(env!("CARGO_TARGET_TMPDIR")).path())
}

/// T20: the records that each earlier release has written are replayed by this one, to the end that they came to then, and
/// their hashes are what this one computes.
#[test]
fn records_of_earlier_releases_come_to_their_end() {
    let (relay, files) = (relay(), files());
    assert!(files.len() >= Scenario::ALL.len());
    for file in files {
        let golden = Golden::read(&file);
        assert_eq!(Golden::play(&relay, &golden.records), Ok(golden.end), "{}", file.display());
        for record in &golden.records {
            assert_eq!(computed_hash(record), record.hash, "{}, {}", file.display(), record.seq);
        }
    }
}

/// T20: what this release writes is what it says in the newest set: who changes that writes a new set, under a new version.
#[test]
fn the_newest_set_is_what_is_written_now() {
    let newest = files().last().unwrap().parent().unwrap().to_owned();
    for scenario in Scenario::ALL {
        let kept = Golden::read(&newest.join(format!("{}.jsonl", scenario.name())));
        let now = Golden::of(scenario, env!("CARGO_TARGET_TMPDIR").as_ref());
        assert_eq!(kinds_once(&now.records), kinds_once(&kept.records), "{}", scenario.name());
        assert_eq!(now.end, kept.end, "{}", scenario.name());
    }
}

/// The set holds the kinds of inputs that make up most of a journal.
#[test]
fn the_set_knows_what_happens() {
    let kinds: BTreeSet<String> =
        files().iter().flat_map(|file| kinds_once(&Golden::read(file).records)).collect();
    // What the scenarios do not come to.
    let rare = [
        "model_failed",
        "tools_skipped",
        "handoff_reconsidered",
        "deadline",
        "tools_switched",
        "artifact_put",
        "more_given",
        "retried",
        "tool_failed",
    ];
    let missing: Vec<&str> = InputKind::NAMES.into_iter().filter(|kind| !kinds.contains(*kind)).collect();
    assert!(missing.iter().all(|kind| rare.contains(kind)), "{missing:?}");
}

/// T20: a kind or a version that this release does not know is refused by its name and place, and never skipped.
#[test]
fn what_is_not_known_is_refused_by_name() {
    let relay = relay();
    let golden = Golden::read(&golden_folder().join("v1/handoff.jsonl"));
    let with = |kind: &str, version: u32| {
        let mut records = golden.records.clone();
        let Record { event, .. } = &mut records[5];
        *event = Event::unchecked(kind.to_owned(), version, event.at(), event.body().to_owned());
        Golden::play(&relay, &records).unwrap_err()
    };
    let known = golden.records[5].event.kind();
    assert_eq!(with("dreamt", 1), "record 6: the kind \"dreamt\" is not known to this release");
    assert_eq!(with(known, 9), format!("record 6: version 9 of {known} is not known to this release"));
}
