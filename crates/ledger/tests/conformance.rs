//! What the house's tools declare of themselves is true, over this ledger and the journal's own transactions.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::sync::Arc;

use harness::{Folder, event};
use reservo::{Bookings, Reservo, SPECIALISTS, demo};
use reservo_ledger::SqliteBookings;
use sommelier_runtime::tool::Effect;
use sommelier_runtime::tool::conformance::{Alone, Conformance, Ending, Report, Unchecked};
use sommelier_store::{Epoch, Journal, JournalError, SqliteStore, Undone};

const FOCUS: &str = r#"{"room":"Focus","plan":"pro","date":"2026-12-01","start_hour":9,"hours":3}"#;
const ANOTHER_DAY: &str = r#"{"room":"Focus","plan":"pro","date":"2026-12-02","start_hour":9,"hours":3}"#;
/// Grace has it.
const TAKEN: &str = r#"{"room":"Forum","plan":"pro","date":"2026-12-01","start_hour":9,"hours":3}"#;

/// Every tool of the house, with arguments that work, others of another effect, and such that it fails on.
const CALLS: [(&str, &str, &str, Option<&str>); 5] = [
    ("book", FOCUS, ANOTHER_DAY, Some(TAKEN)),
    ("cancel", "{}", "{}", Some(r#"{"booking_id":"RSV-0099"}"#)),
    (
        "get_quote",
        r#"{"room":"Focus","plan":"pro","hours":3}"#,
        r#"{"room":"Forum","plan":"pro","hours":3}"#,
        Some(r#"{"room":"Attic","plan":"pro","hours":3}"#),
    ),
    ("search_docs", r#"{"query":"May I cancel?"}"#, r#"{"query":"Is there a refund?"}"#, None),
    ("compare_prices", r#"{"hours":3}"#, r#"{"hours":1}"#, Some(r#"{"hours":99}"#)),
];

/// As a driver does: what is written is there with the event that tells of it, or not at all.
fn transact(store: &SqliteStore, work: &mut dyn FnMut(&dyn std::any::Any), ending: Ending) {
    let seq = store.head("guest-7").unwrap().seq;
    let done = store.append_with("guest-7", seq, Epoch::NONE, &mut |transaction| {
        work(transaction);
        if ending == Ending::Commit { Ok(vec![event(seq)]) } else { Err(Undone) }
    });
    match (done, ending) {
        (Ok(_), Ending::Commit) | (Err(JournalError::Undone), Ending::RollBack) => {}
        (other, _) => panic!("{other:?}"),
    }
}

fn house(ledger: SqliteBookings) -> Reservo {
    let house = demo();
    ledger.begin_with(house.bookings.all().unwrap()).unwrap();
    Reservo { bookings: Arc::new(ledger), ..house }
}

/// T8 (the ledger's half), T34, T37: who looks changes nothing; a booking and a cancellation stand or fall with the
/// transaction of their call, and cancelling again is a success.
#[test]
fn every_tool_of_the_house_is_what_it_says() {
    let mut checked = Vec::new();
    for specialist in SPECIALISTS {
        let folder = Folder::new();
        let (store, ledger) = folder.open();
        let (house, (_, seen)) = (Arc::new(house(ledger)), folder.open());
        let agent = specialist.agent(&house).build().unwrap();
        for (tool, arguments, another, fails) in
            CALLS.into_iter().filter(|(tool, ..)| agent.table().has(tool))
        {
            let world = || (seen.all().unwrap(), seen.keys().unwrap());
            let check = Conformance::of(&agent, tool, world)
                .another(another)
                .transaction(|work, ending| transact(&store, work, ending));
            let check = fails.into_iter().fold(check, Conformance::fails);
            let booked = r#"{"room":"Focus","plan":"pro","date":"2026-12-04","start_hour":9,"hours":3}"#;
            let check = if tool == "cancel" { check.after("book", booked) } else { check };
            let report = check.check(arguments).unwrap_or_else(|findings| panic!("{findings}"));
            checked.push((tool, report));
        }
    }
    let report = |effect, unchecked: &[_]| Report {
        effect,
        alone: None,
        could_be: None,
        unchecked: unchecked.to_vec(),
    };
    let transactional = |alone| Report { alone, ..report(Effect::Transactional, &[]) };
    let looks = report(Effect::ReadOnly, &[]);
    let expected = [
        ("book", transactional(Some(Alone::Writes))),
        ("cancel", transactional(None)),
        ("get_quote", looks.clone()),
        ("search_docs", report(Effect::ReadOnly, &[Unchecked::Failure])),
        ("compare_prices", looks),
    ];
    assert_eq!(checked, expected);
}
