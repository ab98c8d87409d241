//! The running case: recorded from a script, replayed through the whole loop, and made of its records.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{desk, on_record, player, recorder, run};
use reservo::case::{REQUEST, decisions};
use sommelier_cassette::Cassette;
use sommelier_runtime::Model;

/// S1-20: what is replayed is the run that was recorded, to the last value of its report.
#[test]
fn the_running_case_is_replayed_with_an_equal_report() {
    let relay = desk();
    let recorder = recorder(decisions(), &relay);
    let recorded = run(&recorder, &relay, "c", REQUEST);
    assert_eq!(recorder.inner().unused(), []);
    assert_eq!(
        recorded.answer(),
        "The quote is 6000 cents. If you do not show up, you are charged 6500 cents: the whole quote and the fee [POL-NOSHOW]."
    );

    let player = player(&recorder.cassette(), &relay);
    let replayed = run(&player, &relay, "c", REQUEST);
    assert_eq!(replayed.done(), recorded.done());
    assert_eq!(player.finish(), Ok(()));
    assert_eq!(player.label(), Some("recorded from concept (claude-sonnet-5)"));
    assert_eq!((player.provider(), player.name()), ("_other", None));
}

/// The file is this one. Where a change of the desk or of the format is meant, the test writes it anew with
/// `SOMMELIER_BLESS=1`, and the diff shows what has changed.
#[test]
fn the_running_case_is_the_file_that_is_kept() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/lesson-05.json");
    let relay = desk();
    let recorder = recorder(decisions(), &relay);
    run(&recorder, &relay, "c", REQUEST);
    let cassette = recorder.cassette();
    if std::env::var("SOMMELIER_BLESS").is_ok_and(|bless| bless == "1") {
        std::fs::write(path, cassette.to_json().unwrap()).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    pretty_assert(&cassette.to_json().unwrap(), &kept);
    assert_eq!(Cassette::read(path).unwrap(), cassette);
}

/// A journaled run is the cassette that its recorder made, byte for byte.
#[test]
fn the_records_of_the_running_case_are_the_same_cassette() {
    let (_, [recorded, of_run]) = on_record(&desk(), &decisions(), &[REQUEST]);
    pretty_assert(&of_run, &recorded);
}

/// Compares two files and shows the first line in which they differ.
fn pretty_assert(left: &str, right: &str) {
    let lines = left.lines().zip(right.lines()).enumerate();
    for (number, (left, right)) in lines {
        assert_eq!(left, right, "line {}", number + 1);
    }
    assert_eq!(left, right);
}
