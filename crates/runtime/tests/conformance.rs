//! What a tool declares of itself is held against what it does.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::any::Any;
use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use serde::Serialize;
use sommelier_runtime::tool::conformance::{
    Alone, Better, Claim, Conformance, Ending, Finding, Moment, Report, Seen, Unchecked,
};
use sommelier_runtime::tool::{CallContext, Effect, Failure, Found};
use sommelier_runtime::{Agent, Definition, Tool, ToolOutput, tool_args};

tool_args! {
    /// A seat.
    struct Seat {
        /// The row.
        row: String,
        /// Makes it happen once.
        key: Option<String>,
        /// The booking that is undone.
        id: Option<String>,
    }
}

/// What a booking gives.
#[derive(Clone, Debug, Serialize)]
struct Booked {
    id: String,
    pin: u32,
}

/// The other side: a line for each thing that was done, "key what".
#[derive(Clone, Debug, Default)]
struct Shelf(Arc<Mutex<Vec<String>>>);

/// A transaction on it.
struct Draft(RefCell<Vec<String>>);

impl Shelf {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Writes a line, and gives the number of those that are there.
    fn write(&self, key: &str, what: &str) -> String {
        let mut lines = self.0.lock().unwrap();
        lines.push(format!("{key} {what}"));
        format!("B-{}", lines.len())
    }

    /// Writes a line unless there is one with this key, and gives its number.
    fn write_once(&self, key: &str, what: &str) -> String {
        self.find(key).unwrap_or_else(|| self.write(key, what))
    }

    /// The number of the line with this key.
    fn find(&self, key: &str) -> Option<String> {
        let place = self.lines().iter().position(|line| line.split(' ').next() == Some(key))?;
        Some(format!("B-{}", place + 1))
    }

    fn transact(&self, work: &mut dyn FnMut(&dyn Any), ending: Ending) {
        let draft = Draft(RefCell::new(self.lines()));
        work(&draft);
        if ending == Ending::Commit {
            *self.0.lock().unwrap() = draft.0.into_inner();
        }
    }
}

/// Writes into the transaction of the call; `None` where there is none.
fn write_in(context: &CallContext<'_>, what: &str) -> Option<String> {
    let draft = context.transaction?.downcast_ref::<Draft>()?;
    let mut lines = draft.0.borrow_mut();
    lines.push(format!("{} {what}", context.idempotency_key));
    Some(format!("B-{}", lines.len()))
}

fn booked(id: String) -> Booked {
    Booked { id, pin: 7 }
}

/// A tool `book` of this function. An empty row is refused before it is asked.
fn book(
    shelf: &Shelf,
    act: impl Fn(&Shelf, &Seat, &CallContext<'_>) -> Result<Booked, Failure> + Send + Sync + 'static,
) -> Tool {
    let shelf = shelf.clone();
    Tool::new("book", "Books a seat.", move |seat: Seat, context: &CallContext<'_>| match &*seat.row {
        "" => Err(Failure::new("no_row", "there is no such row")),
        _ => act(&shelf, &seat, context),
    })
}

fn built<const N: usize>(tools: [Tool; N]) -> Definition {
    Agent::new("clerk", "").tools(tools).build().unwrap()
}

fn of<'a>(agent: &'a Definition, tool: &'a str, shelf: &'a Shelf) -> Conformance<'a, Vec<String>> {
    let conformance = Conformance::of(agent, tool, || shelf.lines());
    conformance.transaction(|work, ending| shelf.transact(work, ending))
}

const ROW_B: &str = r#"{"row":"B"}"#;
const NO_ROW: &str = r#"{"row":""}"#;

#[track_caller]
fn passes(shelf: &Shelf, tool: Tool, expected: Report) {
    let agent = built([tool]);
    assert_eq!(of(&agent, "book", shelf).fails(NO_ROW).check(ROW_B), Ok(expected));
}

#[track_caller]
fn found<const N: usize>(shelf: &Shelf, tool: Tool, expected: [Finding; N]) {
    let agent = built([tool]);
    let findings = of(&agent, "book", shelf).fails(NO_ROW).check(ROW_B).unwrap_err();
    assert_eq!((findings.tool(), findings.all()), ("book", &expected[..]), "{findings}");
}

fn finding(claim: Claim, at: Moment, seen: Seen) -> Finding {
    Finding { claim, at, seen }
}

fn changed(claim: Claim, at: Moment, before: &[&str], after: &[&str]) -> Finding {
    let [before, after] = [before, after].map(|lines| format!("{lines:?}").into());
    finding(claim, at, Seen::Changed { before, after })
}

fn unchanged(claim: Claim, at: Moment) -> Finding {
    finding(claim, at, Seen::Unchanged)
}

fn output(id: &str) -> ToolOutput {
    ToolOutput::ok(format!(r#"{{"id":"{id}","pin":7}}"#))
}

fn report(effect: Effect, unchecked: &[Unchecked]) -> Report {
    Report { effect, alone: None, could_be: None, unchecked: unchecked.to_vec() }
}

const READ_ONLY: Claim = Claim::Effect(Effect::ReadOnly);
const TRANSACTIONAL: Claim = Claim::Effect(Effect::Transactional);
const KEYED: Claim = Claim::Effect(Effect::Keyed { retention: 9 });
const QUERIED: Claim = Claim::Effect(Effect::Queried { settle: 9 });

fn queried(tool: Tool, shelf: &Shelf) -> Tool {
    let shelf = shelf.clone();
    tool.queried(9, move |context| {
        shelf.find(context.idempotency_key).map_or(Found::Absent, |id| Found::done(&booked(id)))
    })
}

/// Tools that are what they say, of each class, and what nobody can see of them.
#[test]
fn what_is_true_passes() {
    let shelf = Shelf::default();
    let look = book(&shelf, |shelf, _, _| Ok(booked(format!("B-{}", shelf.lines().len()))));
    passes(&shelf, look.read_only(), report(Effect::ReadOnly, &[]));

    let keyed =
        book(&shelf, |shelf, seat, call| Ok(booked(shelf.write_once(call.idempotency_key, &seat.row))));
    passes(&shelf, keyed.keyed(9), report(Effect::Keyed { retention: 9 }, &[Unchecked::Retention]));

    let shelf = Shelf::default();
    let tool = book(&shelf, |shelf, seat, call| Ok(booked(shelf.write(call.idempotency_key, &seat.row))));
    passes(&shelf, queried(tool, &shelf), report(Effect::Queried { settle: 9 }, &[Unchecked::Settle]));

    let transactional = Report { alone: Some(Alone::Fails), ..report(Effect::Transactional, &[]) };
    let tool = book(&shelf, |_, seat, call| {
        write_in(call, &seat.row).map(booked).ok_or(Failure::new("no_transaction", "there is none"))
    });
    passes(&shelf, tool.transactional(), transactional.clone());
    let tool = book(&shelf, |shelf, seat, call| {
        let alone = || shelf.write(call.idempotency_key, &seat.row);
        Ok(booked(write_in(call, &seat.row).unwrap_or_else(alone)))
    });
    passes(&shelf, tool.transactional(), Report { alone: Some(Alone::Writes), ..transactional });
}

/// Of a tool that declares nothing nothing can be untrue. What it could declare is told, and nothing that it could not.
#[test]
fn what_is_not_declared_is_not_checked() {
    let shelf = Shelf::default();
    let could = |could_be| Report { could_be, ..report(Effect::AtMostOnce, &[Unchecked::Effect]) };
    passes(&shelf, book(&shelf, |_, _, _| Ok(booked("B".into()))), could(Some(Better::ReadOnly)));
    let once =
        book(&shelf, |shelf, seat, call| Ok(booked(shelf.write_once(call.idempotency_key, &seat.row))));
    passes(&shelf, once, could(Some(Better::Keyed)));
    passes(&shelf, book(&shelf, |shelf, seat, _| Ok(booked(shelf.write("-", &seat.row)))), could(None));
    // The second time it does nothing, and does not say what it was.
    let shelf = Shelf::default();
    let once = book(&shelf, |shelf, seat, call| {
        let id = shelf.find(call.idempotency_key).map(|_| "again".to_owned());
        Ok(booked(id.unwrap_or_else(|| shelf.write(call.idempotency_key, &seat.row))))
    });
    passes(&shelf, once, could(None));

    let agent = built([book(&shelf, |_, _, _| Ok(booked("B".into())))]);
    let told = Report {
        could_be: Some(Better::ReadOnly),
        ..report(Effect::AtMostOnce, &[Unchecked::Failure, Unchecked::Effect])
    };
    assert_eq!(of(&agent, "book", &shelf).check(ROW_B), Ok(told));
}

/// T37: a tool that is declared to read only, and writes: each time, the second time, for others alone, or where it fails.
#[test]
fn a_reader_that_writes_is_caught() {
    let shelf = Shelf::default();
    let tool = book(&shelf, |shelf, seat, _| Ok(booked(shelf.write("-", &seat.row))));
    let (one, two, three) = (&["- B"], &["- B", "- B"], &["- B", "- B", "- B"]);
    found(
        &shelf,
        tool.read_only(),
        [
            changed(READ_ONLY, Moment::First, &[], one),
            changed(READ_ONLY, Moment::Again, one, two),
            changed(READ_ONLY, Moment::Another, two, three),
        ],
    );

    let (shelf, seen) = (Shelf::default(), Mutex::new(Vec::new()));
    let tool = book(&shelf, move |shelf, _, call| {
        let mut seen = seen.lock().unwrap();
        if seen.contains(&call.idempotency_key.to_owned()) {
            shelf.write("-", "seen again");
        }
        seen.push(call.idempotency_key.to_owned());
        Ok(booked("B".into()))
    });
    found(&shelf, tool.read_only(), [changed(READ_ONLY, Moment::Again, &[], &["- seen again"])]);

    let shelf = Shelf::default();
    let log = shelf.clone();
    let tool = Tool::new("book", "Books.", move |seat: Seat, _: &CallContext<'_>| match &*seat.row {
        "" => Err(Failure::new("no_row", log.write("-", "no row"))),
        row => Ok(row.to_owned()),
    });
    found(&shelf, tool.read_only(), [changed(READ_ONLY, Moment::Failing, &[], &["- no row"])]);
}

/// A tool that writes past its transaction, that does not write at all, that a rolled back attempt keeps from working, or
/// that fails without a transaction when it has written.
#[test]
fn one_that_writes_past_its_transaction_is_caught() {
    let shelf = Shelf::default();
    let tool = book(&shelf, |shelf, _, _| Ok(booked(shelf.write("-", "B"))));
    let undone = changed(TRANSACTIONAL, Moment::RolledBack, &[], &["- B"]);
    // What it wrote past it is overwritten by the transaction that it did not write into.
    found(&shelf, tool.transactional(), [undone, unchanged(TRANSACTIONAL, Moment::Committed)]);

    let shelf = Shelf::default();
    let tool = book(&shelf, |_, _, _| Ok(booked("B".into())));
    let silent = [Moment::Committed, Moment::Alone].map(|at| unchanged(TRANSACTIONAL, at));
    found(&shelf, tool.transactional(), silent);

    let seen = Mutex::new(false);
    let tool = book(&shelf, move |_, seat, call| match std::mem::replace(&mut *seen.lock().unwrap(), true) {
        true => Err(Failure::new("taken", "the seat is taken")),
        false => Ok(booked(write_in(call, &seat.row).unwrap_or_default())),
    });
    let taken = ToolOutput::error("taken", r#"{"error":"taken","detail":"the seat is taken"}"#);
    found(&shelf, tool.transactional(), [finding(TRANSACTIONAL, Moment::Committed, Seen::Output(taken))]);

    let tool = book(&shelf, |shelf, seat, call| {
        write_in(call, &seat.row).map(booked).ok_or_else(|| Failure::new("none", shelf.write("-", "alone")))
    });
    let key = "conformance/book/2 B";
    found(&shelf, tool.transactional(), [changed(Claim::Failure, Moment::Alone, &[key], &[key, "- alone"])]);

    let shelf = Shelf::default();
    let log = shelf.clone();
    let tool = Tool::new("book", "Books.", move |seat: Seat, call: &CallContext<'_>| match &*seat.row {
        "" => Err(Failure::new("no_row", log.write("-", "no row"))),
        row => write_in(call, row).ok_or(Failure::new("none", "no transaction")),
    });
    found(&shelf, tool.transactional(), [changed(TRANSACTIONAL, Moment::Failing, &[], &["- no row"])]);
}

/// A transaction that the test does not have, or does not hand on, is the test's fault.
#[test]
fn a_transactional_tool_wants_a_transaction() {
    let shelf = Shelf::default();
    let agent = built([book(&shelf, |_, _, _| Ok(booked("B".into()))).transactional()]);
    let without = Conformance::of(&agent, "book", || shelf.lines()).fails(NO_ROW).check(ROW_B).unwrap_err();
    let none = |at| finding(Claim::Test, at, Seen::NoTransaction);
    assert_eq!(without.all(), [none(Moment::RolledBack)]);
    let kept = of(&agent, "book", &shelf).transaction(|_, _| {}).fails(NO_ROW).check(ROW_B).unwrap_err();
    assert_eq!(kept.all(), [none(Moment::Failing), none(Moment::RolledBack)]);
}

/// A tool whose other side does not honour the key: it does it twice, says something else, does nothing, or takes what is
/// not the key for it.
#[test]
fn one_that_does_not_honour_its_key_is_caught() {
    let shelf = Shelf::default();
    let tool = book(&shelf, |shelf, _, _| {
        shelf.write("-", "B");
        Ok(booked("B".into()))
    });
    found(&shelf, tool.keyed(9), [changed(KEYED, Moment::Again, &["- B"], &["- B", "- B"])]);

    let shelf = Shelf::default();
    let tool = book(&shelf, |shelf, seat, call| {
        let earlier = shelf.find(call.idempotency_key).map(|_| "known".to_owned());
        Ok(booked(earlier.unwrap_or_else(|| shelf.write(call.idempotency_key, &seat.row))))
    });
    let outputs = Seen::Outputs { first: output("B-1"), again: output("known") };
    found(&shelf, tool.keyed(9), [finding(KEYED, Moment::Again, outputs)]);

    let silent = [Moment::First, Moment::Another].map(|at| unchanged(KEYED, at));
    found(&shelf, book(&shelf, |_, _, _| Ok(booked("B".into()))).keyed(9), silent);

    // What is equal in two calls of different keys, each taken for the key.
    let takes: [fn(&Seat, &CallContext<'_>) -> String; 3] = [
        |seat, _| seat.row.clone(),
        |_, call| call.call_id.to_owned(),
        |_, call| call.agent.as_str().to_owned(),
    ];
    for key in takes {
        let shelf = Shelf::default();
        let tool = book(&shelf, move |shelf, seat, call| Ok(booked(shelf.write_once(&key(seat, call), "B"))));
        found(&shelf, tool.keyed(9), [unchanged(KEYED, Moment::Another)]);
    }
    // One that has the lease in its key does it twice when another process goes on.
    let shelf = Shelf::default();
    let tool = book(&shelf, |shelf, _, call| {
        shelf.write_once(&format!("{}@{}", call.idempotency_key, call.epoch.unwrap_or_default()), "B");
        Ok(booked("B".into()))
    });
    let lines = ["conformance/book/2@1 B", "conformance/book/2@2 B"];
    found(&shelf, tool.keyed(9), [changed(KEYED, Moment::Again, &lines[..1], &lines)]);
}

/// Where an effect can be had once alone, whatever the key is, another one shows that the key is looked at.
#[test]
fn another_effect_may_need_other_arguments() {
    let shelf = Shelf::default();
    let taken = |shelf: &Shelf, row: &str| shelf.lines().iter().any(|line| line.ends_with(row));
    let tool = book(&shelf, move |shelf, seat, call| match shelf.find(call.idempotency_key) {
        None if taken(shelf, &seat.row) => Err(Failure::new("taken", "the seat is taken")),
        None => Ok(booked(shelf.write(call.idempotency_key, &seat.row))),
        Some(id) => Ok(booked(id)),
    });
    let agent = built([tool.keyed(9)]);
    let findings = of(&agent, "book", &shelf).check(ROW_B).unwrap_err();
    let told = ToolOutput::error("taken", r#"{"error":"taken","detail":"the seat is taken"}"#);
    assert_eq!(findings.all(), [finding(KEYED, Moment::Another, Seen::Output(told))]);
    assert_eq!(
        findings.to_string(),
        "book\n- declared keyed: a call under another key gave {\"error\":\"taken\",\"detail\":\"the seat is taken\"}; \
         right would be: the call's own key decides what is the same; arguments of `another` effect where the first \
         stands in its way"
    );
    shelf.0.lock().unwrap().clear();
    let expected = report(Effect::Keyed { retention: 9 }, &[Unchecked::Failure, Unchecked::Retention]);
    assert_eq!(of(&agent, "book", &shelf).another(r#"{"row":"C"}"#).check(ROW_B), Ok(expected));
}

/// T38 (the tool's half): a query that knows too much, too little, something else, that writes, or that panics.
#[test]
fn a_query_that_misleads_is_caught() {
    type Query = fn(&Shelf, &CallContext<'_>) -> Found;
    let done = |id: &str| Found::Done(output(id));
    let tells = |at, expected, found| finding(QUERIED, at, Seen::Found { expected, found });
    let check = |query: Query, expected: &[Finding]| {
        let shelf = Shelf::default();
        let asked = shelf.clone();
        let tool = book(&shelf, |shelf, seat, call| Ok(booked(shelf.write(call.idempotency_key, &seat.row))));
        let agent = built([tool.queried(9, move |call| query(&asked, call))]);
        let findings = of(&agent, "book", &shelf).fails(NO_ROW).check(ROW_B).unwrap_err();
        assert_eq!(findings.all(), expected, "{findings}");
    };
    let all = [Moment::AskedBefore, Moment::AskedAfter, Moment::AskedOfAnother];
    let expected = [Found::Absent, done("B-1"), Found::Absent];
    let of_all = |said: Found| {
        let each = all.into_iter().zip(expected.clone()).filter(|(_, expected)| *expected != said);
        each.map(|(at, expected)| tells(at, expected, said.clone())).collect::<Vec<_>>()
    };
    check(|_, _| Found::Absent, &of_all(Found::Absent));
    check(|_, _| Found::Unknown, &of_all(Found::Unknown));
    check(|_, _| Found::done(&booked("B-1".into())), &of_all(done("B-1")));
    check(|_, _| std::panic::resume_unwind(Box::new("boom")), &of_all(Found::Unknown));
    // Whatever was done last is taken for the answer.
    let last: Query = |shelf, _| match shelf.lines().len() {
        0 => Found::Absent,
        n => Found::done(&booked(format!("B-{n}"))),
    };
    check(last, &[tells(Moment::AskedOfAnother, Found::Absent, done("B-1"))]);
    let other: Query = |shelf, call| match shelf.find(call.idempotency_key) {
        Some(_) => Found::done(&"it is done"),
        None => Found::Absent,
    };
    let said = Found::Done(ToolOutput::ok(r#""it is done""#));
    check(other, &[tells(Moment::AskedAfter, done("B-1"), said)]);
    // One that does what it is asked about.
    let writes: Query = |shelf, call| match shelf.find(call.idempotency_key) {
        Some(id) => Found::done(&booked(id)),
        None => {
            shelf.write("?", "asked");
            Found::Absent
        }
    };
    let (one, two) = ("? asked", "conformance/book/2 B");
    check(
        writes,
        &[
            changed(QUERIED, Moment::AskedBefore, &[], &[one]),
            changed(QUERIED, Moment::AskedOfAnother, &[one, two], &[one, two, one]),
        ],
    );
}

/// A tool that is declared to be asked about has an effect, and another one under another key.
#[test]
fn one_that_can_be_asked_and_does_nothing_is_caught() {
    let shelf = Shelf::default();
    let known = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&known);
    let tool = book(&shelf, move |_, _, call| {
        known.lock().unwrap().push(call.idempotency_key.to_owned());
        Ok(booked("B".into()))
    });
    let tool =
        tool.queried(9, move |call| match asked.lock().unwrap().contains(&call.idempotency_key.to_owned()) {
            true => Found::done(&booked("B".into())),
            false => Found::Absent,
        });
    found(&shelf, tool, [Moment::First, Moment::Another].map(|at| unchanged(QUERIED, at)));
}

/// Whatever is declared: who says that it failed has done nothing, or says that this is not known.
#[test]
fn one_that_fails_and_has_written_is_caught() {
    let writes = |code: &'static str, shelf: &Shelf| {
        let log = shelf.clone();
        Tool::new("book", "Books.", move |seat: Seat, call: &CallContext<'_>| match &*seat.row {
            "" => Err(Failure::new(code, log.write("-", "no row"))),
            row => Ok(booked(log.write_once(call.idempotency_key, row))),
        })
    };
    let failing = changed(Claim::Failure, Moment::Failing, &[], &["- no row"]);
    let declares: [fn(Tool, &Shelf) -> Tool; 3] =
        [|tool, _| tool, |tool, _| tool.keyed(9), |tool, shelf| queried(tool, shelf)];
    for declare in declares {
        let shelf = Shelf::default();
        found(&shelf, declare(writes("no_row", &shelf), &shelf), [failing.clone()]);
        let shelf = Shelf::default();
        let agent = built([declare(writes("in_doubt", &shelf), &shelf)]);
        let checked = of(&agent, "book", &shelf).fails(NO_ROW).check(ROW_B);
        assert!(checked.is_ok(), "{checked:?}");
    }
}

/// A tool that panics does not end the test: it is told when it did.
#[test]
fn a_panic_is_a_finding() {
    let panicked = |at| finding(Claim::Answer, at, Seen::Panicked);
    let boom = || -> Booked { std::panic::resume_unwind(Box::new("boom")) };
    let declares: [fn(Tool, &Shelf) -> Tool; 5] = [
        |tool, _| tool,
        |tool, _| tool.read_only(),
        |tool, _| tool.transactional(),
        |tool, _| tool.keyed(9),
        |tool, shelf| queried(tool, shelf),
    ];
    for (place, declare) in declares.into_iter().enumerate() {
        let shelf = Shelf::default();
        let at = if place == 2 { Moment::RolledBack } else { Moment::First };
        found(&shelf, declare(book(&shelf, move |_, _, _| Ok(boom())), &shelf), [panicked(at)]);
    }
    let shelf = Shelf::default();
    let tool = Tool::new("book", "Books.", move |seat: Seat, _: &CallContext<'_>| match &*seat.row {
        "" => Ok(boom()),
        _ => Ok::<_, Failure>(booked("B".into())),
    });
    found(&shelf, tool.read_only(), [panicked(Moment::Failing)]);
    // The second time, when the first is there.
    let tool = book(&shelf, move |shelf, seat, call| match shelf.find(call.idempotency_key) {
        Some(_) => Ok(boom()),
        None => Ok(booked(shelf.write(call.idempotency_key, &seat.row))),
    });
    found(&shelf, tool.keyed(9), [panicked(Moment::Again)]);
}

/// What the test says of its arguments is looked at too: that they work, that they fail, and that they fail in the tool.
#[test]
fn arguments_that_are_no_good_are_told() {
    let shelf = Shelf::default();
    let agent = built([book(&shelf, |_, _, _| Ok(booked("B".into()))).read_only()]);
    let no_row =
        || Seen::Output(ToolOutput::error("no_row", r#"{"error":"no_row","detail":"there is no such row"}"#));
    let check =
        |fails: &str, arguments: &str| of(&agent, "book", &shelf).fails(fails).check(arguments).unwrap_err();
    assert_eq!(check(NO_ROW, NO_ROW).all(), [finding(Claim::Test, Moment::First, no_row())]);
    let worked = Seen::Output(output("B"));
    assert_eq!(check(ROW_B, ROW_B).all(), [finding(Claim::Test, Moment::Failing, worked)]);
    let misfit = check("{}", ROW_B);
    let [Finding { claim: Claim::Test, at: Moment::Failing, seen: Seen::Output(misfit) }] = misfit.all()
    else {
        panic!("one finding")
    };
    assert_eq!(misfit.error.as_deref(), Some("invalid_arguments"));
    let unknown = of(&agent, "pay", &shelf).check(ROW_B).unwrap_err();
    let [Finding { claim: Claim::Test, at: Moment::First, seen: Seen::Output(told) }] = unknown.all() else {
        panic!("one finding")
    };
    assert_eq!(told.error.as_deref(), Some("unknown_tool"));
}

/// T33: the same call is made again with a key as a model may write it, and it makes no difference. A tool that takes its key
/// from the arguments without having it filled in is caught, since the model's key is the same in two calls.
#[test]
fn a_key_that_a_model_writes_makes_no_difference() {
    let by_argument = |shelf: &Shelf| {
        book(shelf, |shelf, seat, _| Ok(booked(shelf.write_once(seat.key.as_deref().unwrap_or("none"), "B"))))
    };
    let shelf = Shelf::default();
    let expected = report(Effect::Keyed { retention: 9 }, &[Unchecked::Retention]);
    passes(&shelf, by_argument(&shelf).keyed(9).key_argument("key"), expected);
    assert_eq!(shelf.lines(), ["conformance/book/2 B", "conformance/book/3 B"]);

    let shelf = Shelf::default();
    let agent = built([by_argument(&shelf).keyed(9)]);
    let findings = of(&agent, "book", &shelf).check(r#"{"row":"B","key":"mine"}"#).unwrap_err();
    assert_eq!(findings.all(), [unchanged(KEYED, Moment::Another)]);
}

/// A member of the result that is declared a secret and is not there would be kept wherever it really is.
#[test]
fn a_secret_that_is_not_in_the_result_is_told() {
    let shelf = Shelf::default();
    let look = || book(&shelf, |_, _, _| Ok(booked("B".into()))).read_only();
    passes(&shelf, look().secret_result(["pin"]), report(Effect::ReadOnly, &[]));
    let missing = |member: &str| {
        let seen = Seen::Missing { member: member.into(), output: output("B") };
        finding(Claim::SecretResult, Moment::First, seen)
    };
    found(&shelf, look().secret_result(["pin", "card.pin", "pni"]), ["card.pin", "pni"].map(missing));
    let list = |rows: usize| {
        let rows = move |_: Seat, _: &CallContext<'_>| Ok::<_, Failure>(vec![[booked("B".into())]; rows]);
        built([Tool::new("list", "Lists.", rows).read_only().secret_result(["pin"])])
    };
    assert!(of(&list(1), "list", &shelf).check(ROW_B).is_ok());
    assert!(of(&list(0), "list", &shelf).check(ROW_B).is_err(), "nobody has seen it");
}

/// A tool that undoes what `book` did, by the id that it gave, in each class; done again it is a success that changes nothing.
#[test]
fn undoing_twice_is_a_success() {
    let undo = |shelf: &Shelf, known: bool| {
        let shelf = shelf.clone();
        Tool::new("cancel", "Cancels.", move |of: Seat, call: &CallContext<'_>| {
            let id = of.id.ok_or(Failure::new("no_id", "which one?"))?;
            let what = format!("cancelled-{id}");
            let is_done = shelf.lines().iter().any(|line| line.ends_with(&what));
            if is_done && !known {
                return Err(Failure::new("gone", "it is cancelled"));
            }
            if !is_done && write_in(call, &what).is_none() {
                shelf.write(call.idempotency_key, &what);
            }
            Ok(id)
        })
        .undoes("book", "id")
    };
    let book = |shelf: &Shelf| {
        book(shelf, |_, seat, call| {
            write_in(call, &seat.row).map(booked).ok_or(Failure::new("no_transaction", "there is none"))
        })
        .transactional()
    };
    let gone = Seen::Output(ToolOutput::error("gone", r#"{"error":"gone","detail":"it is cancelled"}"#));
    type Declares = fn(Tool) -> Tool;
    let declares: [(Declares, &[Unchecked], Option<Better>); 3] = [
        (|tool| tool, &[Unchecked::Effect], Some(Better::Keyed)),
        (|tool| tool.keyed(9), &[Unchecked::Retention], None),
        (|tool| tool.transactional(), &[], None),
    ];
    for (declare, unchecked, could_be) in declares {
        let shelf = Shelf::default();
        let agent = built([book(&shelf), declare(undo(&shelf, true))]);
        let effect = agent.table().effect("cancel");
        let checked = of(&agent, "cancel", &shelf).fails(ROW_B).after("book", ROW_B).check(ROW_B);
        assert_eq!(checked, Ok(Report { could_be, ..report(effect, unchecked) }));
        assert_eq!(shelf.lines(), ["conformance/cancel/0 B", "conformance/cancel/2 cancelled-B-1"]);

        let shelf = Shelf::default();
        let agent = built([book(&shelf), declare(undo(&shelf, false))]);
        let findings = of(&agent, "cancel", &shelf).after("book", ROW_B).check(ROW_B).unwrap_err();
        let last = finding(Claim::Undoes, Moment::Another, gone.clone());
        assert_eq!(findings.all().last(), Some(&last), "{findings}");
    }
    // It cancels whatever it is told, each time anew.
    let shelf = Shelf::default();
    let log = shelf.clone();
    let cancel = Tool::new("cancel", "Cancels.", move |of: Seat, _: &CallContext<'_>| {
        Ok::<_, Failure>(log.write("-", &of.id.unwrap_or_default()))
    });
    let agent = built([book(&shelf), cancel.undoes("book", "id")]);
    let findings = of(&agent, "cancel", &shelf).after("book", ROW_B).check(ROW_B).unwrap_err();
    let (first, line) = ("conformance/cancel/0 B", "- B-1");
    let again = changed(Claim::Undoes, Moment::Another, &[first, line, line], &[first, line, line, line]);
    assert_eq!(findings.all(), [again]);
}

/// Where the other tool fails, or does not give what its effect is known by, nothing can be undone.
#[test]
fn what_is_undone_must_be_found() {
    let shelf = Shelf::default();
    let cancel = |member: &str| {
        Tool::new("cancel", "Cancels.", |_: Seat, _: &CallContext<'_>| Ok::<_, Failure>(1))
            .undoes("book", member)
    };
    let book = || book(&shelf, |_, _, _| Ok(booked("B".into())));
    let agent = built([book(), cancel("row")]);
    let findings = of(&agent, "cancel", &shelf).after("book", ROW_B).check(ROW_B).unwrap_err();
    let seen = Seen::Missing { member: "row".into(), output: output("B") };
    assert_eq!(findings.all(), [finding(Claim::Undoes, Moment::Before, seen)]);
    let agent = built([book(), cancel("id")]);
    let findings = of(&agent, "cancel", &shelf).after("book", NO_ROW).check(ROW_B).unwrap_err();
    let told = ToolOutput::error("no_row", r#"{"error":"no_row","detail":"there is no such row"}"#);
    assert_eq!(findings.all(), [finding(Claim::Test, Moment::Before, Seen::Output(told))]);
}
