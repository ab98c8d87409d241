//! `serve`, over a socket: what each path shows and does, and that the journal is all that it keeps.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod harness;

use std::cmp::Reverse;
use std::ops::Range;
use std::time::Duration;

use harness::serving::{Event, Got, Serve, encoded, field, has_words};
use harness::{BOOKING, Place, RUNNING_CASE, while_at_work};
use serde_json::Value;
use sommelier_store::{Journal as _, SqliteStore};

#[test]
fn a_conversation_is_held_and_its_pages_tell_it() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let got = serve.say("a", RUNNING_CASE);
    assert_eq!((got.status, got.header("location")), (303, Some("/chat/a")));
    let page = serve.shows("/chat/a", "Not showing up costs 6500 cents.");
    for words in ["Quote Focus pro 3h.", "hands over to", "<b>105 B</b>", "<b>406 B</b>", "get_quote"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(serve.get("/runs").body.contains("href=\"/chat/a\""));
    let report = serve.get("/runs/a").body;
    for words in ["class=\"sequence\"", "What crossed", "handoff_committed"] {
        assert!(report.contains(words), "{words}");
    }
    // A second turn goes on in the same run.
    serve.say("a", "Quote Studio basic 2h");
    serve.shows("/chat/a", "Studio basic for 2 hours costs");
    assert_eq!(place.json(&["runs"])["runs"][0]["turns"], 2);
}

/// T24: a form that is sent twice is heard once.
#[test]
fn a_form_that_is_sent_twice_is_heard_once() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let fields = [("run", "a"), ("key", "0123"), ("text", "Quote Focus pro 3h")];
    for _ in 0..2 {
        assert_eq!(serve.post("/say", &fields).status, 303);
        serve.shows("/chat/a", "answered");
    }
    assert_eq!(place.json(&["runs"])["runs"][0]["turns"], 1);
    // Other words under the same key are not said, and not lost.
    serve.post("/say", &[("run", "a"), ("key", "0123"), ("text", "Quote something else")]);
    let page = serve.shows("/chat/a", "is the key of other words");
    assert!(
        page.contains("What you said is not on record:") && page.contains("Quote something else"),
        "{page}"
    );
    let got = serve.say("a", " \r\n ");
    assert!((got.status, got.body.contains("there are no words")) == (422, true), "{got:?}");
    assert!(got.body.contains("data-live=\"/chat/a/events\""), "{got:?}");
}

/// T24: also while the agents are at work on it. Other words are refused then, and stay where they were typed.
#[test]
fn a_form_that_is_sent_again_while_it_is_worked_on_leads_to_the_conversation() {
    let others = [("0123", "and quickly"), ("4567", "Quote Focus pro 3h"), ("", "Quote Focus pro 3h")];
    let (place, serve, refused) = while_at_work(4_000, |slow| {
        let place = Place::new();
        let serve = Serve::start(&place, slow);
        let fields = [("run", "a"), ("key", "0123"), ("text", "Quote Focus pro 3h")];
        for _ in 0..3 {
            let got = serve.post("/say", &fields);
            assert_eq!((got.status, got.header("location")), (303, Some("/chat/a")), "{got:?}");
        }
        let said = |(key, text)| serve.post("/say", &[("run", "a"), ("key", key), ("text", text)]);
        let refused = others.map(said);
        let is_at_work = !serve.get("/chat/a").body.contains("<bdi>answered</bdi>");
        is_at_work.then_some((place, serve, refused))
    });
    for ((_, text), got) in others.into_iter().zip(refused) {
        assert_eq!((got.status, got.body.contains("are still at work")), (409, true), "{got:?}");
        assert!(got.body.contains(&format!("\n{text}</textarea>")), "{got:?}");
    }
    serve.shows("/chat/a", "answered");
    assert_eq!(place.json(&["runs"])["runs"][0]["turns"], 1);
}

/// There is no conversation yet whose page could be shown, and no stream to hear of it: one stays where it would begin.
#[test]
fn words_that_begin_no_conversation_leave_one_where_one_was() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let fresh = serve.get("/").body;
    let run = field(&fresh, "run");
    for (words, kept, why) in [
        (" \r\n ".to_owned(), String::new(), "there are no words; say something"),
        ("\u{200b}".to_owned(), "\u{200b}".to_owned(), "there are no words; say something"),
        ("hello ".repeat(20_000), "hello ".repeat(20_000), "a text here has 100000 characters at most"),
    ] {
        let got = serve.post("/say", &[("run", &run), ("key", ""), ("text", &words)]);
        assert!(got.status == 422 && got.body.contains(why), "{got:?}");
        // But for what was typed, why it was not taken, and keys, it is the page of before.
        let without = |page: &str| {
            let (begin, rest) = page.split_once("<h1>").unwrap();
            let notice = rest
                .split_once("<div class=\"notice\"")
                .map_or("", |(_, notice)| notice.split("</div></div>").next().unwrap());
            let page =
                format!("{begin}{rest}").replace(&format!("<div class=\"notice\"{notice}</div></div>"), "");
            let keys: Vec<&str> = page
                .split("name=\"key\" value=\"")
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap())
                .collect();
            keys.iter().fold(page.clone(), |page, key| page.replace(key, "")).replace(kept.trim(), "")
        };
        assert_eq!(without(&got.body), without(&fresh));
        assert!(got.body.contains(&format!("\n{}</textarea>", kept.trim())));
    }
    assert_eq!(serve.get(&format!("/chat/{run}")).status, 404);
}

/// The rows of a page of runs: their words, and their names where they have words.
fn rows(page: &str) -> Vec<(String, String)> {
    let text = |rest: &str, begin: &str, end: &str| {
        rest.split_once(begin).map(|(_, rest)| rest.split(end).next().unwrap().to_owned()).unwrap_or_default()
    };
    let row = |row: &str| {
        let link = text(row, "<h2><a href=\"/chat/", "</a>");
        (link.split_once("\">").unwrap().1.to_owned(), text(row, "<p class=\"name muted\">", "</p>"))
    };
    page.split("<li class=\"card\">").skip(1).map(row).collect()
}

#[test]
fn a_run_is_known_again_by_its_first_words() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let long = format!("<b>Quote</b>\nFocus  pro 3h {}", "for Ada ".repeat(30));
    serve.say("long", &long);
    serve.shows("/chat/long", "answered");
    serve.say("two", "Quote Focus pro 3h");
    serve.shows("/chat/two", "answered");
    serve.say("two", BOOKING);
    let page = serve.shows("/runs", "<bdi>waiting</bdi>");
    let begin = format!("<bdi>&lt;b&gt;Quote&lt;/b&gt; Focus pro 3h {}for…</bdi>", "for Ada ".repeat(11));
    assert_eq!(
        rows(&page),
        [
            ("<bdi>Quote Focus pro 3h</bdi>".to_owned(), "<bdi>two</bdi>".to_owned()),
            (begin, "<bdi>long</bdi>".to_owned()),
        ]
    );
    assert!(
        page.contains("1 to 2 of 2; what happened last comes first.") && page.contains("<time>20"),
        "{page}"
    );
    for figures in [
        "<dt>turn</dt><dd>1</dd></div><div><dt>handoffs</dt><dd>0</dd>",
        "<dt>turns</dt><dd>2</dd></div><div><dt>handoffs</dt><dd>0</dd>",
        "<dt>question</dt><dd>1</dd>",
    ] {
        assert!(page.contains(figures), "{figures}: {page}");
    }
    // Its page begins with the same words, and with its name where nobody has said anything.
    let page = serve.get("/chat/two").body;
    for words in [
        "<title>Quote Focus pro 3h · Sommelier</title>",
        "<h1><bdi>Quote Focus pro 3h</bdi></h1><p class=\"meta\"><span class=\"name\"><bdi>two</bdi></span> · <a href=\"/runs/two\"",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    drop(SqliteStore::open(place.journal()).unwrap().take_lease("silent", "host", 1, 1).unwrap());
    let page = serve.get("/chat/silent").body;
    assert!(page.contains("<h1><bdi>silent</bdi></h1><p class=\"meta\"><a href="), "{page}");
}

/// However many runs there are a page has a hundred of them, and following the link comes to each of them once, also where runs have gone
/// on meanwhile.
#[test]
fn all_runs_are_come_to_a_page_at_a_time() {
    let place = Place::new();
    let store = SqliteStore::open(place.journal()).unwrap();
    let name = |number: u64| format!("run {number:03}");
    // Two of them have changed at the same moment.
    (0..250)
        .for_each(|number| drop(store.take_lease(&name(number), "host", 1_000_000 + number / 2, 1).unwrap()));
    let serve = Serve::start(&place, 0);
    let mut wanted: Vec<u64> = (0..250).collect();
    wanted.sort_by_key(|number| (Reverse(number / 2), *number));
    let wanted: Vec<String> =
        wanted.into_iter().map(|number| format!("<bdi>{}</bdi>", name(number))).collect();
    let (mut path, mut found) = ("/runs".to_owned(), Vec::new());
    for (page, shown) in
        ["1 to 100 of 250;", "102 to 201 of 251;", "202 to 251 of 251;"].into_iter().enumerate()
    {
        let body = serve.get(&path).body;
        assert!(body.contains(shown), "{shown}: {body}");
        found.extend(rows(&body).into_iter().map(|(link, _)| link));
        assert_eq!(body.contains("The newest"), page > 0);
        path = match body.split_once("\">Older ones") {
            Some((before, _)) => before.rsplit('"').next().unwrap().replace("&amp;", "&"),
            None => String::new(),
        };
        if page == 0 {
            store.take_lease("new", "host", 2_000_000, 1).unwrap();
        }
    }
    assert_eq!((path, found), (String::new(), wanted));
    for query in ["?before=x", "?before=9999999999999&behind=x", "?behind=x", "?%ff"] {
        assert!(serve.get(&format!("/runs{query}")).body.contains("1 to 100 of 251;"), "{query}");
    }
    assert!(serve.get("/runs?before=0").body.contains("There are no older runs."));
}

/// The number of questions that wait, as the top of a page tells it.
fn waiting(page: &str) -> Option<u32> {
    let (_, rest) = page.split_once("Inbox<span id=\"waiting\"")?;
    let is_shown = !rest.starts_with(" hidden");
    rest.split_once("<b>")?.1.split('<').next()?.parse().ok().filter(|count| is_shown == (*count > 0))
}

/// Each page tells how many questions wait, and the inbox has fifty of them on a page, those that wait longest first.
#[test]
fn what_waits_is_counted_on_each_page_and_shown_a_page_at_a_time() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    assert_eq!(waiting(&serve.get("/inbox").body), Some(0));
    place.then(&["ask", "--conversation", "answered", RUNNING_CASE]).fine();
    for number in 0..53 {
        let at = format!("2026-11-30T10:{number:02}");
        place.says(&["--now", &at, "ask", "--conversation", &format!("q{number:02}"), BOOKING]);
    }
    for path in ["/", "/runs", "/inbox", "/chat/q00", "/chat/answered", "/nothing"] {
        assert_eq!(waiting(&serve.get(path).body), Some(53), "{path}");
    }
    let asked = |page: &str| -> Vec<String> {
        let runs = page.split("in <a href=\"/chat/").skip(1);
        runs.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    };
    let runs = |of: Range<u32>| of.map(|number| format!("q{number:02}")).collect::<Vec<_>>();
    let first = serve.get("/inbox").body;
    assert_eq!(asked(&first), runs(0..50));
    assert!(
        first.contains("53 questions wait. These are 1 to 50;")
            && first.contains("href=\"/inbox?from=50\">The next 3<")
    );
    let rest = serve.get("/inbox?from=50").body;
    assert_eq!(asked(&rest), runs(50..53));
    assert!(
        rest.contains("These are 51 to 53;") && rest.contains("data-live=\"/inbox/events?from=50\""),
        "{rest}"
    );
    assert_eq!(asked(&serve.get("/inbox?from=53").body), runs(0..50));
    let events = serve.events("/inbox/events?from=50", None, "q52");
    assert_eq!(asked(&events[0].data), runs(50..53));
    // What another process answers waits no more, here as there.
    place.says(&["answer", "q52/1/1/0", "reject", "not on a Monday"]);
    assert_eq!(waiting(&serve.get("/").body), Some(52));
    assert_eq!(asked(&serve.get("/inbox?from=50").body), runs(50..52));
    let live = serve.events("/chat/q00/events", None, "data-waiting");
    assert!(live.last().unwrap().data.contains("data-waiting=\"52\""), "{live:?}");
}

#[test]
fn an_approval_is_given_once_and_bound_to_what_was_shown() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    serve.say("b", BOOKING);
    let page = serve.shows("/inbox", "wants to run");
    for words in ["Studio", "2026-12-01", "It has not been done.", "Why, for the agent"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    for (button, then) in [
        ("Approve: run it", "It runs with these arguments, and the agents go on."),
        ("Reject: do not run it", "It is not run. The agent reads why, and goes on."),
    ] {
        assert!(page.contains(&format!(">{button}</button><p class=\"then muted\">{then}<")), "{page}");
    }
    let (question, digest) = (field(&page, "question"), field(&page, "digest"));
    let said = |digest: &str, word: &str, text: &str| {
        serve.post("/answer", &[("question", &question), ("digest", digest), ("word", word), ("text", text)])
    };
    let told = |got: Got, status: u16, words: &str| {
        assert!(got.status == status && got.body.contains(words), "{got:?}");
    };
    told(said("0000000000000000", "approve", ""), 409, "digest");
    told(said("", "approve", ""), 422, "digest");
    told(said(&digest, "say", "hello"), 422, "is no answer to");
    told(said(&digest, "reject", ""), 422, "wants a text");
    told(said(&digest, "nonsense", ""), 422, "none of the answers that a question has");
    assert_eq!(place.json(&["inbox"])["questions"].as_array().map(Vec::len), Some(1));
    assert_eq!(said(&digest, "approve", "").header("location"), Some("/chat/b"));
    serve.shows("/chat/b", "answered");
    told(said(&digest, "approve", ""), 409, "has been answered before, with approve");
    assert!(serve.get("/inbox").body.contains("Nothing waits for a person."));
    let verified = place.json(&["verify"]);
    assert_eq!(
        (&verified["sound"], &verified["ledger"]["findings"]),
        (&true.into(), &Value::Array(Vec::new()))
    );
}

/// Whoever has said them sees no answer, and is told why in the words of the command.
#[test]
fn words_while_a_question_is_open_are_told_to_be_kept() {
    const KEPT: &str = "What was said meanwhile is no answer to it, and is kept for the agent until then:";
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    serve.say("b", BOOKING);
    assert!(!serve.shows("/chat/b", "wants to run").contains(KEPT));
    for words in ["<b>yes</b>, do it", "and when are you open?"] {
        assert_eq!(serve.say("b", words).status, 303);
    }
    let kept = format!(
        "<div id=\"kept\" class=\"card\"><p class=\"by\">{KEPT}</p><div class=\"words\" dir=\"auto\">&lt;b&gt;yes&lt;/b&gt;, do \
         it</div><div class=\"words\" dir=\"auto\">and when are you open?</div></div>"
    );
    assert!(serve.shows("/chat/b", "and when are you open?</div></div>").contains(&kept));
    assert!(
        place.then(&["resume", "b"]).out.contains(&format!("\n\n{KEPT} \"<b>yes</b>, do it\", \"and when"))
    );
    assert_eq!(serve.answers(&[("word", "reject"), ("text", "not on a Monday")]).status, 303);
    assert!(!serve.shows("/chat/b", "<bdi>answered</bdi>").contains(KEPT));
}

/// What was typed is not lost, and its conversation shows what was answered before.
#[test]
fn what_a_command_has_answered_is_told_and_not_done_twice() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    place.says(&["ask", "--conversation", "b", BOOKING]);
    let page = serve.shows("/inbox", "wants to run");
    place.says(&["answer", "b/1/1/0", "reject", "not on a Monday"]);
    let shown = ["question", "digest", "run"].map(|name| (name, field(&page, name)));
    let fields = shown.iter().map(|(name, value)| (*name, &**value));
    let said = [("word", "reject"), ("text", "the <b>room</b>\r\nis taken")];
    let got = serve.post("/answer", &fields.chain(said).collect::<Vec<_>>());
    assert_eq!(got.status, 409, "{got:?}");
    for words in [
        "has been answered before, with reject; its conversation shows what came of it",
        "What you typed <textarea readonly rows=\"2\" dir=\"auto\">\nthe &lt;b&gt;room&lt;/b&gt;\nis taken</textarea>",
        "<a href=\"/chat/b\">To the conversation</a>",
        "<a href=\"/inbox\">To the inbox, which shows what is asked now</a>",
    ] {
        assert!(got.body.contains(words), "{words}: {got:?}");
    }
    assert!(serve.get("/chat/b").body.contains("not on a Monday"));
    // A form that names no run that there is leads to none.
    for run in ["", "c", "b%00"] {
        let got = serve.post(
            "/answer",
            &[("question", "b%2F1%2F1%2F0"), ("digest", "0"), ("word", "approve"), ("run", run)],
        );
        assert!(got.status == 409 && !got.body.contains("To the conversation"), "{got:?}");
    }
}

/// An answer that comes to nothing since another process has the run is on its page still.
#[test]
fn an_answer_that_is_on_no_record_is_not_lost() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    serve.say("b", BOOKING);
    serve.shows("/chat/b", "wants to run");
    let store = SqliteStore::open(place.journal()).unwrap();
    // The server gives the run back a moment after it is shown to wait.
    let takes = |_| {
        std::thread::sleep(Duration::from_millis(10));
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis();
        store.take_lease("b", "another", u64::try_from(now).unwrap(), 3_600_000).is_ok()
    };
    assert!((0..6_000).any(takes));
    assert_eq!(serve.answers(&[("word", "reject"), ("text", "not on a Monday")]).status, 303);
    let page = serve.shows("/chat/b", "What you said is not on record:");
    assert!(page.contains("drives") && page.contains("not on a Monday</div>"), "{page}");
    assert!(page.contains("wants to run"), "{page}");
}

#[test]
fn a_run_is_called_off_while_it_waits_and_while_it_works() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    serve.say("b", BOOKING);
    serve.shows("/chat/b", "wants to run");
    assert_eq!(serve.post("/cancel", &[("run", "b"), ("reason", "no money")]).status, 303);
    let page = serve.shows("/chat/b", "cancelled");
    assert!(page.contains("no money"), "{page}");
    // A time of a record is of a day.
    let page = serve.get("/runs/b").body;
    let day = page.split_once("<tr><th scope=\"rowgroup\" colspan=\"4\">").unwrap().1;
    assert!(day.starts_with("20") && day[10..].starts_with("</th></tr>\n<tr><td"), "{page}");
    let (got, page) = while_at_work(1_000, |slow| {
        let place = Place::new();
        let serve = Serve::start(&place, slow);
        serve.say("c", RUNNING_CASE);
        let got = serve.say("c", "and quickly");
        serve.post("/cancel", &[("run", "c")]);
        let page = serve.shows_one_of("/chat/c", &["<bdi>cancelled</bdi>", "<bdi>answered</bdi>"]);
        page.contains("<bdi>cancelled</bdi>").then_some((got, page))
    });
    assert!(
        got.status == 409 && got.body.contains("are still at work") && got.body.contains("and quickly"),
        "{got:?}"
    );
    assert!(!has_words(&page, "6500 cents"), "{page}");
}

/// Agents do not go on by themselves, as with the command, and the words are not lost. Whoever says that they shall is heard.
#[test]
fn what_a_person_has_ended_is_gone_on_with_where_that_is_said() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    serve.say("b", BOOKING);
    assert!(!serve.shows("/chat/b", "wants to run").contains("id=\"over\""));
    serve.post("/cancel", &[("run", "b")]);
    let page = serve.shows("/chat/b", "id=\"over\"");
    for words in [
        "<bdi>cancelled</bdi></span> <span><bdi>booking_agent</bdi> had the turn</span>",
        "This was called off, so agents do not go on by themselves. <a href=\"/\">Begin a new conversation</a>",
        "<input type=\"checkbox\" name=\"over\" value=\"go-on\" form=\"say\"> Have the agents go on with this one all the same",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let got = serve.say("b", "Quote Focus pro 3h");
    assert!(
        got.status == 409
            && got.body.contains("\nQuote Focus pro 3h</textarea>")
            && got.body.contains("id=\"over\""),
        "{got:?}"
    );
    let said = [("run", "b"), ("key", ""), ("text", "Quote Focus pro 3h"), ("over", "go-on")];
    assert_eq!(serve.post("/say", &said).status, 303);
    let page = serve.shows("/chat/b", "Focus pro for 3 hours costs 6000 cents.");
    assert!(
        !page.contains("id=\"over\"") && page.contains("<bdi>booking_agent</bdi> has the turn"),
        "{page}"
    );
}

const HOSTILE: &str = "<script>alert(1)</script>\"'&<b> \u{202e}evil \u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{1f469}\u{200d}\u{1f373} a/../b?c#d";

/// In a name, in words, in a reason, in arguments, in an error and in a field that comes back.
#[test]
fn what_is_hostile_is_text_in_every_place() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let path = encoded(HOSTILE);
    serve.say(HOSTILE, HOSTILE);
    serve.shows(&format!("/chat/{path}"), "answered");
    serve.say(HOSTILE, BOOKING);
    let chat = serve.shows(&format!("/chat/{path}"), "wants to run");
    let inbox = serve.get("/inbox").body;
    serve.answers(&[("word", "reject"), ("text", HOSTILE)]);
    let answered = serve.shows(&format!("/chat/{path}"), "answered");
    let refused = serve.post("/say", &[("run", &path), ("text", " ")]).body;
    let returned = serve.post("/cancel", &[("run", &encoded("<script>alert(2)</script>"))]).body;
    let pages = [
        chat,
        inbox,
        answered,
        refused,
        returned,
        serve.get("/runs").body,
        serve.get(&format!("/runs/{path}")).body,
    ];
    for page in pages {
        assert!(!page.contains("<script>alert") && !page.contains("<b> "), "{page}");
        assert!(!page.contains('\u{202e}'), "{page}");
        assert!(page.contains("&lt;script&gt;alert"), "{page}");
    }
    let live = serve.events(&format!("/chat/{path}/events"), None, "answered");
    assert!(
        live.iter().all(|event| !event.data.contains("<script>alert") && !event.data.contains('\u{202e}'))
    );
    // What was typed comes back as it was.
    serve.post("/cancel", &[("run", &path)]);
    let kept = serve.post("/say", &[("run", "x"), ("text", "")]);
    assert_eq!(kept.status, 422);
}

#[test]
fn events_come_in_order_and_go_on_where_a_page_was_when_it_left() {
    let (_place, serve, live) = while_at_work(500, |slow| {
        let place = Place::new();
        let serve = Serve::start(&place, slow);
        serve.say("a", RUNNING_CASE);
        let live = serve.events("/chat/a/events", None, "6500 cents");
        let is_live = |event: &Event| event.name == "state" && event.data.contains("is at work");
        live.iter().any(is_live).then_some((place, serve, live))
    });
    let items: Vec<&Event> = live.iter().filter(|event| event.name == "item").collect();
    assert!(items.is_sorted_by_key(|event| event.id), "{items:?}");
    let place_of = |words: &str| items.iter().position(|event| event.data.contains(words)).unwrap();
    assert!(place_of("Quote Focus pro 3h.") < place_of("hands over to"));
    assert!(place_of("hands over to") < place_of("6500 cents"));
    // It came while the run went on, and not in one go at its end.
    assert!(items[place_of("hands over to")].id < items[place_of("6500 cents")].id);

    let page = serve.shows("/chat/a", "answered");
    let all = serve.events("/chat/a/events", Some(0), "answered");
    let shown = |event: &&Event| event.name != "item" || page.contains(&event.data);
    assert!(all.iter().filter(|event| event.name == "item").all(|event| shown(&event)), "{all:?}");
    // A page that left when it had the hop is told what came behind it, and no more.
    let hop = items[place_of("hands over to")].id;
    let rest = serve.events("/chat/a/events", Some(hop), "answered</bdi></span> <span>");
    let rest: Vec<&Event> = rest.iter().filter(|event| event.name == "item").collect();
    assert!(rest.iter().any(|event| event.data.contains("6500 cents")));
    assert!(rest.iter().all(|event| !event.data.contains("Quote Focus pro 3h.")), "{rest:?}");
    // A page that has all of it hears how it stands, and no item.
    let last = all.iter().map(|event| event.id).max().unwrap();
    let none = serve.events(&format!("/chat/a/events?after={last}"), None, "answered");
    assert_eq!(none.iter().map(|event| &*event.name).collect::<Vec<_>>(), ["state"]);
}

#[test]
fn the_inbox_hears_of_what_another_process_asks_and_answers() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    place.says(&["ask", "--conversation", "b", BOOKING]);
    let events = serve.events("/inbox/events", None, "wants to run");
    assert_eq!(events.last().map(|event| &*event.name), Some("state"));
}

/// The server is killed while it waits for a person and while it is at work: another one shows the same and goes on.
#[test]
fn a_server_that_is_killed_has_lost_nothing() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    serve.say("b", BOOKING);
    let before = serve.shows("/chat/b", "wants to run");
    drop(serve);
    let serve = Serve::start(&place, 0);
    let now = |page: &str| {
        let (_, rest) = page.split_once("<ol class=\"feed\"").unwrap();
        let end = rest.split("class=\"composer\"").next().unwrap().to_owned();
        let token = field(page, "form_token");
        end.replace(&token, "")
    };
    assert_eq!(now(&serve.get("/chat/b").body), now(&before));
    // A form of the server that was killed is none of this one's.
    assert_eq!(serve.answers(&[("word", "approve")]).status, 303);
    serve.shows("/chat/b", "answered");

    let (_place, serve) = while_at_work(1_500, |slow| {
        let place = Place::new();
        let serve = Serve::start(&place, slow);
        serve.say("a", RUNNING_CASE);
        serve.shows("/chat/a", "hands over to");
        drop(serve);
        let is_over = place.json(&["runs"])["runs"][0]["status"] == "answered";
        (!is_over).then(|| {
            let serve = Serve::start(&place, 0);
            (place, serve)
        })
    });
    let page = serve.shows("/chat/a", "interrupted");
    assert!(page.contains("Go on") && !has_words(&page, "6500 cents"), "{page}");
    serve.post("/resume", &[("run", "a")]);
    let page = serve.shows("/chat/a", "Not showing up costs 6500 cents.");
    assert_eq!(page.matches("hands over to").count(), 1);
}

/// While another process has the run it is waited for, and then told.
#[test]
fn a_run_that_another_process_has_is_waited_for() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    place.says(&["ask", "--conversation", "a", "Quote Focus pro 3h"]);
    let mut other = place.begin(&["--slow", "600000", "ask", "--conversation", "a", "Quote Studio basic 2h"]);
    serve.shows("/chat/a", "Quote Studio basic 2h");
    let got = serve.say("a", "Quote Focus basic 1h");
    assert_eq!(got.status, 303, "{got:?}");
    let page = serve.shows("/chat/a", "What you said is not on record:");
    assert!(page.contains("drives") && page.contains("Quote Focus basic 1h"), "{page}");
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_port_that_is_taken_is_told() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let said = place.apart(&["--json", "serve", "--port", &serve.port.to_string()]);
    let error = &said.json()["error"];
    assert_eq!((said.code, &error["code"]), (2, &"port".into()));
    assert!(error["message"].as_str().unwrap().contains("--port 0"), "{error}");
}
