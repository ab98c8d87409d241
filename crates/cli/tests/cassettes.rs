//! Cassettes: `--record`, `--model cassette:FILE`, and `sommelier cassette`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod harness;

use std::fs;

use harness::{BOOKING, Place, RUNNING_CASE};
use serde_json::{Value, json};

/// A path as it is typed.
fn typed(place: &Place, name: &str) -> String {
    place.path(name).display().to_string()
}

fn cassette(place: &Place, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(place.path(name)).unwrap()).unwrap()
}

/// S1-20: what was recorded answers without its model, in another journal, and the run on record is the same cassette.
#[test]
fn what_was_recorded_answers_without_its_model() {
    let (place, file) = (Place::new(), "case.json");
    let answer = place
        .then(&[
            "ask",
            RUNNING_CASE,
            "--conversation",
            "c",
            "--model",
            "script",
            "--record",
            &typed(&place, file),
        ])
        .fine();

    let other = Place::new();
    let model = format!("cassette:{}", typed(&place, file));
    let replayed = other.then(&["ask", RUNNING_CASE, "--conversation", "d", "--model", &model]).fine();
    // What is told besides is whose decisions it were.
    assert_eq!(replayed.lines().next(), answer.lines().next());
    assert!(replayed.contains("recorded from concept (claude-sonnet-5)"), "{replayed}");

    let recorded = cassette(&place, file);
    let printed: Value = serde_json::from_str(&place.then(&["cassette", "c"]).fine()).unwrap();
    assert_eq!(printed["exchanges"], recorded["exchanges"]);
    let made = typed(&place, "made.json");
    let told = place.json(&["cassette", "c", "-o", &made]);
    assert_eq!(told, json!({ "run": "c", "file": made, "exchanges": 4 }));
    assert_eq!(cassette(&place, "made.json"), printed);
    assert_eq!(
        printed["recorded_from"],
        json!({ "provider": "_other", "name": "concept (claude-sonnet-5)" })
    );
}

/// Another question ends the run with the first difference, and what was not asked for is told.
#[test]
fn another_question_is_told_as_that() {
    let (place, file) = (Place::new(), "case.json");
    place.then(&["ask", RUNNING_CASE, "--model", "script", "--record", &typed(&place, file)]).fine();
    let model = format!("cassette:{}", typed(&place, file));
    let said = place.then(&["--json", "ask", "Quote Forum basic for 2 hours", "--model", &model]);
    assert_eq!(said.code, 1);
    let why = said.json()["why"].to_string();
    assert!(
        why.contains("exchange 1 (booking_agent, turn 1 of run 1) differs: at `messages[0].content`"),
        "{why}"
    );
    assert_eq!(
        said.err,
        "sommelier: 4 of the cassette's 4 exchange(s) were not asked for, the first is turn 1 of booking_agent in run 1\n"
    );
}

/// A run that waits for a person is recorded in two parts and replayed in two.
#[test]
fn a_run_that_waits_is_recorded_and_replayed_in_parts() {
    let place = Place::new();
    let asks = |place: &Place, flags: &[&str], conversation: &str| {
        let waiting =
            place.then(&[&["--json", "ask", BOOKING, "--conversation", conversation], flags].concat());
        assert_eq!(waiting.code, 3, "{waiting:?}");
        waiting.json()["waiting"][0]["id"].as_str().unwrap().to_owned()
    };
    let (first, second) = (typed(&place, "1.json"), typed(&place, "2.json"));
    let id = asks(&place, &["--record", &first], "c");
    let answer = place.then(&["answer", &id, "approve", "--record", &second]).fine();

    let other = Place::new();
    let id = asks(&other, &["--model", &format!("cassette:{first}")], "c");
    let replayed = other.then(&["answer", &id, "approve", "--model", &format!("cassette:{second}")]).fine();
    assert_eq!(replayed.lines().next(), answer.lines().next());

    // The whole run is on record.
    let whole = typed(&place, "whole.json");
    place.then(&["cassette", "c", "-o", &whole]).fine();
    let other = Place::new();
    let id = asks(&other, &["--model", &format!("cassette:{whole}")], "e");
    let replayed = other.then(&["answer", &id, "approve", "--model", &format!("cassette:{whole}")]);
    assert_eq!((replayed.code, replayed.out.lines().next()), (0, answer.lines().next()), "{}", replayed.err);
}

/// What is no cassette is told before anything is asked, and a file of another kind is not written over.
#[test]
fn what_is_no_cassette_is_told_and_left_as_it_is() {
    let place = Place::new();
    let told = |arguments: &[&str], expected: &str| {
        let said = place.then(&[&["--json"], arguments].concat());
        let message = said.json()["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!((said.code, message.as_str()), (2, expected));
    };
    let absent = typed(&place, "absent.json");
    told(
        &["ask", "hello", "--model", &format!("cassette:{absent}")],
        &format!("the cassette {absent} could not be read: {}", fs::read(&absent).unwrap_err()),
    );
    fs::write(place.path("other.json"), "{}").unwrap();
    let other = typed(&place, "other.json");
    told(
        &["ask", "hello", "--model", &format!("cassette:{other}")],
        &format!("{other}: the cassette has nothing at `cassette`, where a member belongs"),
    );
    assert!(!place.journal().exists(), "a model that cannot be asked leaves no journal behind");

    place.then(&["ask", "Quote Focus pro for 3 hours", "--conversation", "c"]).fine();
    let (journal, runs) = (typed(&place, "journal.db"), place.then(&["runs"]));
    for arguments in [&["ask", "hello", "--record", &*journal][..], &["cassette", "c", "-o", &journal]] {
        let said = place.then(arguments);
        let expected = format!("sommelier: {journal} is there and is no cassette that is replaced: ");
        assert!(said.code == 2 && said.err.starts_with(&expected), "{said:?}");
    }
    told(
        &["ask", "hello", "--record", &other],
        &format!(
            "{other} is there and is no cassette that is replaced: the cassette has nothing at `cassette`, where a member \
             belongs; give another file"
        ),
    );
    let nowhere = typed(&place, "not there/file.json");
    let said = place.then(&["ask", "hello", "--record", &nowhere]);
    assert!(
        said.code == 2
            && said.err.starts_with(&format!("sommelier: the cassette {nowhere} could not be written: "))
    );
    // Nothing was asked, and nothing is on record.
    assert_eq!(place.then(&["runs"]), runs);
    assert_eq!(place.then(&["cassette", "nobody"]).code, 2);
}

/// A recording that is there stays until there is an exchange to stand in its place, and the one that answers is not recorded over.
#[test]
fn a_recording_is_not_lost_before_there_is_another() {
    let (place, file) = (Place::new(), "case.json");
    let case = typed(&place, file);
    place.then(&["ask", RUNNING_CASE, "--model", "script", "--record", &case]).fine();
    let before = fs::read(place.path(file)).unwrap();
    // Nothing is asked: there is no such question, and no such run.
    assert_eq!(place.then(&["answer", "nobody/1", "approve", "--record", &case]).code, 2);
    assert_eq!(place.then(&["resume", "nobody", "--record", &case]).code, 2);
    let played = format!("cassette:{case}");
    let mut names = vec![case.clone()];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(place.path(file), place.path("link.json")).unwrap();
        fs::hard_link(place.path(file), place.path("hard.json")).unwrap();
        names.extend([typed(&place, "link.json"), typed(&place, "hard.json")]);
    }
    for name in &names {
        let said = place.then(&["ask", RUNNING_CASE, "--model", &played, "--record", name]);
        let why = format!(
            "sommelier: --record {name} would replace the cassette that answers; give another file\n"
        );
        assert_eq!((said.code, said.err), (2, why));
    }
    assert_eq!(fs::read(place.path(file)).unwrap(), before);

    // A new one comes with the first exchange, through a link as well; nothing is left beside it.
    let target = names.get(1).unwrap_or(&case);
    place.then(&["ask", "Quote Focus pro for 3 hours", "--record", target]).fine();
    assert_ne!(fs::read(place.path(file)).unwrap(), before);
    assert!(cfg!(not(unix)) || fs::symlink_metadata(place.path("link.json")).unwrap().is_symlink());
    let names = fs::read_dir(place.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.filter(|name| name.to_string_lossy().contains(".new")).count(), 0);
    #[cfg(unix)]
    {
        let said = place.then(&["ask", "hello", "--record", "/dev/null"]);
        let why = "sommelier: /dev/null is no file in which a recording can be kept; give another\n";
        assert_eq!((said.code, said.err.as_str()), (2, why));
    }
}
