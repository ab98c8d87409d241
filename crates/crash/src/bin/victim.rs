//! The process that is killed: it does one command on the journal of a folder, and tells each thing that was acknowledged.
//!
//! `victim FOLDER [NAME=VALUE ...] submit | resume | sweep | cancel | answer ID DIGEST`

#![allow(clippy::unwrap_used, clippy::panic, reason = "a harness fails as tests do")]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sommelier_crash::{CONVERSATION, Desk, Heard, KEY, Scenario, Watched, answer_to};
use sommelier_runner::{DurableError, DurableRunner, Settled, Turn};
use sommelier_store::SqliteStore;

fn main() {
    let mut args = std::env::args().skip(1);
    let folder = PathBuf::from(args.next().unwrap());
    let (settings, command): (Vec<String>, Vec<String>) = args.partition(|arg| arg.contains('='));
    let settings: BTreeMap<&str, &str> =
        settings.iter().map(|setting| setting.split_once('=').unwrap()).collect();
    let number = |name: &str| settings.get(name).map(|number| number.parse::<u64>().unwrap());
    let scenario = Scenario::ALL.into_iter().find(|of| Some(&of.name()) == settings.get("scenario")).unwrap();

    let desk = Desk {
        point: settings.get("point").map(|point| point.parse().unwrap()),
        pause: Duration::from_millis(number("pause").unwrap_or(0)),
        hold: settings.get("hold").map(|tool| (*tool).to_owned()),
        panics: None,
    };
    let store = SqliteStore::open(folder.join("journal.db")).unwrap();
    sommelier_crash::prepare_ledger(&store);
    let journal = Watched::new(store, hear).point(desk.point.clone()).splits(settings.contains_key("splits"));
    let relay = desk.relay(&folder);
    let off = settings.get("off").map_or(0, |off| off.parse().unwrap());
    let runner = desk.runner(&folder, scenario, clock(number("clock"), off));
    let durable = DurableRunner::new(&runner, &relay, &journal).term(number("term").unwrap_or(30_000));

    say("ready");
    match command.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["submit"] => tell(durable.submit(CONVERSATION, Turn::new(scenario.words()).key(KEY))),
        ["resume"] => tell(durable.resume(CONVERSATION)),
        ["cancel"] => tell(durable.cancel(CONVERSATION, "the guest has left")),
        ["sweep"] => {
            let swept = durable.sweep(0).unwrap();
            swept.swept.into_iter().filter_map(|found| found.outcome).for_each(tell);
        }
        ["answer", id, digest] => {
            tell(durable.answer(CONVERSATION, id, answer_to(id), Some(digest), Some("ada")));
        }
        ref other => panic!("{other:?}"),
    }
    drop(durable);
    say("released");
}

fn hear(heard: Heard) {
    match heard {
        Heard::Head(head) => say(&format!("head {}", serde_json::to_string(&head).unwrap())),
        Heard::Accepted => say("accepted"),
        Heard::Trying { .. } => {}
    }
}

fn tell(settled: Result<Settled, DurableError>) {
    match settled {
        Ok(Settled::Waiting(parked)) => {
            for (_, question) in parked.questions() {
                say(&format!("waiting {} {}", question.id, question.digest()));
            }
        }
        Ok(settled) => say(&format!("answer {} {}", settled.answer_id().unwrap(), settled.answer())),
        Err(why) => say(&format!("refused {}", word(&why))),
    }
}

/// Which refusal it was.
fn word(why: &DurableError) -> String {
    let debug = format!("{why:?}");
    let words: Vec<&str> =
        debug.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.into_iter().take(4).collect::<Vec<_>>().join(" ")
}

/// One line, in one write.
fn say(line: &str) {
    std::io::stdout().lock().write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn clock(begins: Option<u64>, off: i64) -> impl Fn() -> u64 + Send + Sync + 'static {
    let start = Instant::now();
    move || {
        let now = match begins {
            Some(begins) => begins + start.elapsed().as_millis() as u64,
            None => SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64,
        };
        now.saturating_add_signed(off)
    }
}
