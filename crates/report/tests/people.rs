//! What people are asked: while it is open, and how it is told in a page, a text and a conversation that is watched.
#![allow(clippy::unwrap_used, reason = "a test says so by panicking")]

mod harness;

use harness::{OnRecord, delegates, held, pay, people, running_case};
use sommelier_handoff::{Agent, Answer, Relay};
use sommelier_report::{Done, Markup, Story, What, html, text};
use sommelier_runtime::{ScriptedModel, script};

/// A clerk that wants to pay out, which a person has to allow.
fn asked(answers: &[harness::Says]) -> OnRecord {
    let relay = Relay::builder()
        .agent(Agent::new("clerk", "You book.").tools([pay()]))
        .entry("clerk")
        .build()
        .unwrap();
    let model = ScriptedModel::new()
        .turn("clerk", |_| script::call("tu_1", "pay", r#"{"word":"1200 cents to Ada"}"#))
        .turn("clerk", |_| script::say("So be it."));
    held(relay, model, "refund-17", &["Give Ada her 12.00 back."], answers)
}

fn feed(story: &Story) -> String {
    html::feed(story).iter().map(Markup::as_str).collect::<Vec<_>>().join("\n")
}

/// A question that nobody has answered stands where the answer would, and in the course of time.
#[test]
fn an_open_question_is_told_where_the_answer_would_stand() {
    let story = asked(&[]).story();
    let page = html::page(&story);
    let outcome = page.split("id=\"outcome\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(outcome.contains("asks a person whether it may run <code dir=\"auto\">pay</code>"), "{outcome}");
    assert!(outcome.contains("<span class=\"chip\"><bdi>waiting</bdi></span>"), "{outcome}");
    assert!(outcome.contains("1200 cents to Ada"), "{outcome}");
    assert!(page.contains("<title>waits for an answer about pay</title>"));
    let since = "waits for a person since 2026-11-30 10:00:0";
    assert!(page.contains(since) && text::document(&story).contains(since));
    // Once it is answered the answer tells it.
    let page = html::page(&asked(&[(Answer::Approve, "Ada", 65_000)]).story());
    let outcome = page.split("id=\"outcome\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(!outcome.contains("asks a person") && outcome.contains("So be it."), "{outcome}");
    assert!(!page.contains("waits for a"));
}

/// What was allowed is not red, and a word that no form knows is neither good nor bad.
#[test]
fn a_word_is_as_good_as_it_is() {
    let mut story = asked(&[(Answer::Approve, "Ada", 65_000)]).story();
    assert!(feed(&story).contains("<span class=\"chip good\"><bdi>approved by person</bdi></span>"));
    let mut say = |word: &str| {
        for event in &mut story.events {
            if let What::Ran { approval, .. } = &mut event.what {
                *approval = Some(word.to_owned());
            }
        }
        feed(&story)
    };
    assert!(say("approved").contains("<span class=\"chip good\"><bdi>approved</bdi></span>"));
    assert!(say("denied").contains("<span class=\"chip bad\"><bdi>denied</bdi></span>"));
    assert!(say("put_off").contains("<span class=\"chip\"><bdi>put off</bdi></span>"));
}

/// A line of a conversation that is watched begins with the name, and has it once.
#[test]
fn whose_it_is_stands_once_in_a_line() {
    let mut story = asked(&[(Answer::Approve, "Ada", 65_000)]).story();
    let run = story.events[0].clone();
    let note = What::Noted { agent: Some(1), note: "asked again, attempt 2".into(), detail: None };
    story.events.push(sommelier_report::Event { what: note, ..run.clone() });
    story.events.push(sommelier_report::Event { what: What::CameBack { from: 1, to: 0 }, ..run });
    let items: Vec<String> = html::feed(&story).iter().map(|item| item.as_str().to_owned()).collect();
    let [.., noted, back] = &*items else { panic!("{items:?}") };
    assert!(noted.contains("asked again, attempt 2") && noted.matches("clerk").count() == 1, "{noted}");
    assert!(back.contains("the turn comes back") && back.matches("clerk").count() == 1, "{back}");
    let asks = items.iter().find(|item| item.contains("asks a person whether it may run")).unwrap();
    assert_eq!(asks.matches("clerk").count(), 1, "{asks}");
}

/// What was refused reads as a sentence, and one of something is one.
#[test]
fn a_text_reads_as_people_write() {
    let no = Answer::Reject { reason: "Too late".into() };
    let told = text::document(&asked(&[(no, "Ada", 65_000)]).story());
    assert!(told.contains("  tool pay of clerk, refused by approval: Too late\n"), "{told}");
    let told = text::document(&people().story());
    assert!(told.contains("  1 of 1 handoff, by the cap of the guards\n"), "{told}");
    let page = html::page(&running_case().story());
    assert!(page.contains("<dt>handoff</dt><dd>1</dd>") && page.contains("<dt>agents</dt><dd>2</dd>"));
}

/// A card has a time of its own beside how long something took, and says what it is the time of.
#[test]
fn a_time_says_what_it_is_the_time_of() {
    let (people, delegates) = (html::page(&people().story()), html::page(&delegates().story()));
    let mut told = Vec::new();
    for page in [people, delegates] {
        for rest in page.split("<span class=\"muted\">, ").skip(1) {
            told.push(rest.split_once(',').unwrap().0.to_owned());
        }
        assert!(!page.contains("<span class=\"muted\">at +"), "{page}");
    }
    let times = [
        "refused at +2:03:04.360",
        "handed over at +2:03:04.480",
        "refused at +2:03:04.560",
        "asked at +120.0 ms",
        "asked at +2:03:04.560",
        "handed over at +600.0 ms",
        "asked at +80.0 ms",
        "asked at +80.0 ms",
        "asked at +480.0 ms",
    ];
    assert_eq!(told, times);
}

/// What is folded stands in the line of what it belongs to, and not at its last letter.
#[test]
fn what_is_folded_stands_beside_its_line() {
    let story = asked(&[(Answer::Approve, "Ada", 65_000)]).story();
    let page = html::page(&story);
    let table = page.split_once("<table class=\"events\">").unwrap().1;
    for told in [feed(&story).as_str(), table] {
        let before: Vec<&str> = told.split("<details>").collect();
        let (_, before) = before.split_last().unwrap();
        assert!(before.len() > 1 && before.iter().all(|before| before.ends_with(' ')), "{told}");
    }
}

/// What tools have done stands below the answer: what somebody has put in words in these, what was undone as such, and what nobody
/// knows as that. What only reads has done nothing.
#[test]
fn what_was_done_is_told() {
    let mut story = people().story();
    let paid = story.done[0].clone();
    assert_eq!(story.done.len(), 1);
    story.done.push(Done { told: Some("RSV-0006, 8000 cents".into()), ..paid.clone() });
    story.done.push(Done { undone: true, ..paid.clone() });
    story.done.push(Done { result: None, ..paid });
    let told = text::document(&story);
    let (_, told) = told.split_once("\n\n").unwrap();
    let lines = [
        r#"  done: pay "paid: 1200 cents to Ada""#,
        "  done: pay RSV-0006, 8000 cents",
        r#"  done, and undone since: pay "paid: 1200 cents to Ada""#,
        "  in doubt: pay may have been done, and nobody knows",
    ];
    assert_eq!(told.lines().take(5).collect::<Vec<_>>(), [&lines[..], &[""]].concat());
    let page = html::page(&story);
    let (_, outcome) = page.split_once("id=\"outcome\"").unwrap();
    assert_eq!(outcome.split_once("</section>").unwrap().0.matches("<p class=\"done\">").count(), 4);
    assert_eq!(running_case().story().done, []);
}

/// What stands whole in a line stands nowhere below it; what the line cuts does, with all of it.
#[test]
fn a_line_is_not_said_twice() {
    let mut story = asked(&[(Answer::Approve, "Ada", 65_000)]).story();
    let mut called_off = |why: &str| {
        let what = What::Noted { agent: None, note: "called off".into(), detail: Some(why.to_owned()) };
        story.events.last_mut().unwrap().what = what;
        let table = html::page(&story).split_once("<table class=\"events\">").unwrap().1.to_owned();
        [table, feed(&story), text::document(&story)].map(|form| form.matches(why).count())
    };
    assert_eq!(called_off("Ada has changed her mind."), [1, 1, 1]);
    let long = "Ada has changed her mind. ".repeat(20);
    assert_eq!(called_off(long.trim_end()), [1, 1, 1]);
}
