//! The four forms of four runs, each as it was looked at.
#![allow(clippy::unwrap_used, reason = "a test says so by panicking")]

mod harness;

use harness::{OnRecord, delegates, golden, hostile, people, running_case};
use sommelier_report::{html, mermaid, svg, text};

/// The page without its style, which has no place in a comparison of what it says.
fn bare(page: &str) -> String {
    let page = page.replace(html::STYLE, "…");
    // A line is where a difference is told.
    page.replace("><", ">\n<")
}

fn check(name: &str, run: &OnRecord) {
    let story = run.story();
    golden(&format!("{name}.json"), &format!("{}\n", serde_json::to_string_pretty(&story).unwrap()));
    golden(&format!("{name}.html"), &bare(&html::page(&story)));
    golden(&format!("{name}.svg"), &svg::document(&story).replace(svg::STYLE, "…").replace("><", ">\n<"));
    golden(&format!("{name}.mmd"), &mermaid::document(&story));
    golden(&format!("{name}.txt"), &text::document(&story));
}

#[test]
fn the_running_case() {
    check("lesson-05", &running_case());
}

#[test]
fn delegates_that_are_asked_and_one_that_may_not_be_yet() {
    check("delegates", &delegates());
}

#[test]
fn an_approval_by_a_person_and_an_escalation_at_the_cap() {
    check("people", &people());
}

#[test]
fn words_that_would_break_every_form() {
    check("hostile", &hostile());
}

#[test]
fn a_story_is_the_same_bytes_whenever_it_is_told() {
    let (one, other) = (people(), people());
    assert_eq!(html::page(&one.story()), html::page(&other.story()));
}
