//! The program as a caller meets it: what it prints where, and its exit codes.

#![expect(clippy::unwrap_used, reason = "a test that cannot run has failed")]

use std::process::{Command, Output};

fn xtask(args: &[&str]) -> Output {
    // Not the repository's root: the commands work from every folder.
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(args).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn alone_it_lists_the_commands() {
    let alone = xtask(&[]);
    assert_eq!(alone.status.code(), Some(0));
    assert_eq!(text(&alone.stderr), "");
    for command in ["lesson", "example", "ask", "ci", "live-test", "trace-test", "tidy"] {
        assert!(text(&alone.stdout).contains(command), "{command}");
    }
    for word in ["help", "--help", "-h"] {
        assert_eq!(xtask(&[word]).stdout, alone.stdout, "{word}");
    }
}

#[test]
fn an_unknown_command_is_misuse() {
    let output = xtask(&["leson", "05"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert_eq!(
        text(&output.stderr),
        "error: unknown command `leson`; did you mean `lesson`?\ncommands: lesson, example, ask, ci, soak, crash, fuzz, sdk-check, live-test, trace-test, browser-test, tidy, help\n"
    );
}

#[test]
fn an_unknown_lesson_is_misuse() {
    for word in ["97", "five", "--json", ""] {
        let output = xtask(&["lesson", word]);
        assert_eq!(output.status.code(), Some(2), "{word}");
        assert_eq!(text(&output.stdout), "", "{word}");
        assert!(text(&output.stderr).contains("lessons: "), "{word}");
    }
}

/// S1-20. The help of the lesson that is held with any model says so, and no other's does.
#[test]
fn the_help_of_a_lesson_says_what_it_takes() {
    for (lesson, takes_a_model) in [("04", false), ("05", true)] {
        for help in ["--help", "-h"] {
            let output = xtask(&["lesson", lesson, help]);
            assert_eq!(output.status.code(), Some(0), "{lesson} {help}");
            assert_eq!(text(&output.stdout).contains("  --model MODEL   "), takes_a_model, "{lesson} {help}");
        }
    }
}

/// S1-20. One lesson is held with any model; another says which.
#[test]
fn a_lesson_without_a_model_says_which_has_one() {
    let output = xtask(&["lesson", "04", "--model", "offline"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()));
    assert_eq!(
        text(&output.stderr),
        "error: lesson 04 has decisions of its own and takes no model; lesson 05 is held with any: `cargo xtask lesson 05 \
         --model MODEL`\n"
    );
    for listing in [xtask(&[]), xtask(&["lesson"]), xtask(&["help"])] {
        assert!(text(&listing.stdout).contains("--model MODEL"));
    }
}

#[test]
fn the_lessons_are_listed() {
    let alone = xtask(&["lesson"]);
    assert_eq!(alone.status.code(), Some(0));
    assert!(text(&alone.stdout).contains("cargo xtask lesson NN"));
    assert_eq!(xtask(&["lesson", "list"]).stdout, alone.stdout);
}

#[test]
fn an_unknown_example_is_misuse() {
    for word in ["suport-desk", "lesson-05", "ask", "--json", ""] {
        let output = xtask(&["example", word]);
        assert_eq!(output.status.code(), Some(2), "{word}");
        assert_eq!(text(&output.stdout), "", "{word}");
        assert!(text(&output.stderr).contains("examples: "), "{word}");
    }
}

#[test]
fn the_examples_are_listed() {
    let alone = xtask(&["example"]);
    assert_eq!(alone.status.code(), Some(0));
    assert!(text(&alone.stdout).contains("cargo xtask example NAME"));
    assert_eq!(xtask(&["example", "list"]).stdout, alone.stdout);
    for other in ["  ask ", "  kit ", "  lesson-"] {
        assert!(!text(&alone.stdout).contains(other), "{other}");
    }
}

#[test]
fn an_unknown_target_of_the_fuzzer_is_misuse() {
    let output = xtask(&["fuzz", "ssse"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    let said = text(&output.stderr);
    assert!(said.starts_with("error: no target `ssse`; did you mean `sse`?\ntargets: address, "), "{said}");
}

#[test]
fn checks_take_no_arguments() {
    for command in ["ci", "tidy"] {
        let output = xtask(&[command, "fast"]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(text(&output.stderr).contains("takes no arguments, found `fast`"), "{command}");
    }
}

/// What one of the tests tells that needs what is not there.
fn skipped(command: &str, variable: &str) -> (String, String) {
    let empty = std::env::temp_dir().join(format!("sommelier-no-{command}-{}", std::process::id()));
    let output =
        Command::new(env!("CARGO_BIN_EXE_xtask")).arg(command).env(variable, &empty).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    assert!(!empty.exists(), "looking makes nothing");
    (text(&output.stdout), empty.display().to_string())
}

#[test]
fn a_live_test_without_a_model_is_skipped_and_says_how_to_get_one() {
    let (told, folder) = skipped("live-test", "SOMMELIER_LIVE");
    let why = format!("live-test: skipped, since no server and model are installed in {folder}\n");
    let rest = told.strip_prefix(&why).unwrap();
    assert!(rest.starts_with("to install them: cargo xtask live-test --install ("), "{told}");
}

#[test]
fn a_trace_test_without_a_viewer_is_skipped_and_says_how_to_get_one() {
    let (told, folder) = skipped("trace-test", "SOMMELIER_TRACE");
    let why = format!("trace-test: skipped, since Phoenix is not installed in {folder}\n");
    let rest = told.strip_prefix(&why).unwrap();
    assert!(rest.starts_with("to install it: cargo xtask trace-test --install ("), "{told}");
}

#[test]
fn a_test_that_needs_what_is_installed_takes_one_flag() {
    for command in ["live-test", "trace-test"] {
        for args in [&[command, "fast"][..], &[command, "--install", "fast"]] {
            let output = xtask(args);
            assert_eq!(output.status.code(), Some(2), "{args:?}");
            let why = format!("`{command}` takes --install and nothing else, found `fast`");
            assert!(text(&output.stderr).contains(&why), "{args:?}");
        }
    }
}
