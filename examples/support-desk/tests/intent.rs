//! What a query is about. The oracle is the rule that goes by substrings: where ours differs, it is on purpose.

use support_desk::intent::{Intent, Reading, classify_intent, speaks_of};

/// The same order of words, found anywhere in the text.
fn by_substring(text: &str) -> Intent {
    let text = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&["refund", "invoice", "payment", "charge"]) {
        Intent::Billing
    } else if has(&["error", "bug", "crash", "500", "login"]) {
        Intent::Technical
    } else if has(&["hello", "thanks", "bye"]) {
        Intent::Closing
    } else {
        Intent::Technical
    }
}

#[test]
fn both_rules_agree_where_words_stand_by_themselves() {
    for (text, intent) in [
        ("I was charged twice this month.", Intent::Billing),
        ("REFUND, please!", Intent::Billing),
        ("Where are my invoices?", Intent::Billing),
        ("My payment does not go through: error 500", Intent::Billing),
        ("Thanks, but the refund has not come.", Intent::Billing),
        ("The app crashes at login with Google.", Intent::Technical),
        ("error", Intent::Technical),
        ("Hello, I get a 500.", Intent::Technical),
        ("There is a bug in the login/password form", Intent::Technical),
        ("Hello!", Intent::Closing),
        ("thanks a lot", Intent::Closing),
        ("Bye", Intent::Closing),
        ("goodbye", Intent::Closing),
        ("My screen is blue.", Intent::Technical),
        ("", Intent::Technical),
        ("Straße, ÄÖÜ, 漢字", Intent::Technical),
    ] {
        assert_eq!((classify_intent(text).intent, by_substring(text)), (intent, intent), "{text}");
    }
}

#[test]
fn ours_differs_where_a_word_is_part_of_another() {
    for (text, substring, ours) in [
        ("Othello stops after the first move.", Intent::Closing, Intent::Technical),
        ("My Thanksgiving photos are gone.", Intent::Closing, Intent::Technical),
        ("The charger is not recognised.", Intent::Billing, Intent::Technical),
        ("Thanks, I am done debugging.", Intent::Technical, Intent::Closing),
        ("Thanks! All 1500 rows are there.", Intent::Technical, Intent::Closing),
        ("Thanks, no more terror.", Intent::Technical, Intent::Closing),
    ] {
        assert_eq!((by_substring(text), classify_intent(text).intent), (substring, ours), "{text}");
    }
}

#[test]
fn ours_differs_where_a_word_has_another_ending() {
    for (text, substring, ours) in [
        ("Why are you charging me?", Intent::Technical, Intent::Billing),
        ("Stop invoicing me.", Intent::Technical, Intent::Billing),
        ("Thank you!", Intent::Technical, Intent::Closing),
    ] {
        assert_eq!((by_substring(text), classify_intent(text).intent), (substring, ours), "{text}");
    }
}

#[test]
fn the_word_that_decided_is_told() {
    let read = |intent, word: Option<&str>| Reading { intent, word: word.map(str::to_owned) };
    assert_eq!(classify_intent("An error: I was CHARGED twice."), read(Intent::Billing, Some("charged")));
    assert_eq!(classify_intent("My screen is blue."), read(Intent::Technical, None));
}

#[test]
fn a_text_may_speak_of_several_things() {
    let text = "Hello, I was charged twice, and the app crashes.";
    let spoken = [Intent::Billing, Intent::Technical, Intent::Closing].map(|intent| speaks_of(text, intent));
    assert_eq!(spoken, [true; 3]);
    assert!(!speaks_of("My screen is blue.", Intent::Technical));
}
