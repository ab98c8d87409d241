//! `show`: a run, record by record.

use serde::Serialize;
use sommelier_handoff::Millis;
use sommelier_protocol::RawJson;
use sommelier_protocol::sight::in_sight;
use sommelier_runner::journal::{LEASE_TAKEN, Record};
use sommelier_store::Journal;

use crate::asked::{QuestionRow, one};
use crate::desk::Desk;
use crate::done::last_model;
use crate::fault::Fault;
use crate::record_line::{line, path};
use crate::rows::HopRow;
use crate::stand::{Stand, Summary};
use crate::teller::Teller;
use crate::time::{Days, of_day, shown};
use crate::words::{in_line, named};

#[derive(Serialize)]
struct Shown {
    run: Summary,
    /// The answer; null while there is none.
    answer: Option<String>,
    /// All handoffs that were asked for.
    hops: Vec<HopRow>,
    /// That it goes on with another model than the one that has replied last, unless one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<String>,
    /// What it waits for.
    waiting: Vec<QuestionRow>,
    timeline: Vec<RecordRow>,
    /// What workers said that had lost the run by then. Nothing followed from it.
    late: Vec<LateRow>,
}

#[derive(Serialize)]
struct RecordRow {
    seq: u64,
    /// Which lease it was written under.
    epoch: u64,
    at: Millis,
    kind: String,
    version: u32,
    body: Option<RawJson>,
}

#[derive(Serialize)]
struct LateRow {
    epoch: u64,
    at: Millis,
    kind: String,
    body: Option<RawJson>,
}

pub(super) fn run(desk: &Desk, teller: &mut Teller<'_>, given: &str, all: bool) -> Result<u8, Fault> {
    let name = desk.find(given)?;
    let Stand { summary, records, step } = Stand::of(desk, &name)?;
    let late = desk.store.late(&name).unwrap_or_default();
    let answer = match &step {
        Some(sommelier_handoff::Step::Done(done)) => done.answer(),
        _ => None,
    };
    let shown = Shown {
        answer,
        hops: step.as_ref().map(|step| HopRow::all(step.run())).unwrap_or_default(),
        waiting: step.as_ref().map(|step| QuestionRow::all(desk, &name, step, &records)).unwrap_or_default(),
        remark: desk.decider.remark(last_model(&records).as_deref()),
        timeline: records.iter().map(RecordRow::of).collect(),
        late: late
            .iter()
            .map(|late| LateRow {
                epoch: late.epoch.get(),
                at: late.event.at(),
                kind: late.event.kind().to_owned(),
                body: RawJson::parse(&in_sight(late.event.body())).ok(),
            })
            .collect(),
        run: summary,
    };
    // Who had the lease is seldom what one looks for.
    let told: Vec<&Record> =
        records.iter().filter(|record| all || record.event.kind() != LEASE_TAKEN).collect();
    teller.tell(|| text(&shown, &told), &shown)?;
    Ok(u8::from(shown.run.fault.is_some()))
}

impl RecordRow {
    fn of(record: &Record) -> Self {
        let event = &record.event;
        Self {
            seq: record.seq,
            epoch: record.epoch.get(),
            at: event.at(),
            kind: event.kind().to_owned(),
            version: event.version(),
            body: RawJson::parse(&in_sight(event.body())).ok(),
        }
    }
}

fn text(shown_run: &Shown, records: &[&Record]) -> String {
    let mut text = shown_run.run.line();
    text.push_str(&format!("\nbegan {}", shown(shown_run.run.began)));
    // With a question it stands there.
    if let Some(remark) = shown_run.remark.as_ref().filter(|_| shown_run.waiting.is_empty()) {
        text.push_str(&format!("\n{remark}"));
    }
    if let Some(fault) = &shown_run.run.fault {
        text.push_str(&format!("\n{}", fault.line()));
    }
    text.push_str("\n\n  seq  epoch  time          what");
    let mut days = Days::default();
    days.begun_by(shown_run.run.began);
    for record in records {
        let (seq, epoch, event) = (record.seq, record.epoch, &record.event);
        // A branch says which one it is.
        let place = path(event).filter(|path| *path != record.conversation);
        let place = place.map(|path| format!("[{}] ", named(&path))).unwrap_or_default();
        if let Some(day) = days.begun_by(event.at()) {
            text.push_str(&format!("\n              {day}"));
        }
        let (at, kind, line) = (of_day(event.at()), named(event.kind()), in_line(&line(event)));
        let line = format!("{seq:>5}  {epoch:>5}  {at}  {kind:<19} {place}{line}");
        text.push_str(&format!("\n{}", line.trim_end()));
    }
    if !shown_run.hops.is_empty() {
        text.push_str("\n\nhandoffs");
    }
    for hop in &shown_run.hops {
        let number = hop.number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let end = hop.end.map(|end| format!("; {end}")).unwrap_or_default();
        text.push_str(&format!("\n{number:>5}  {}  {}{end}", named(&hop.id), hop.line()));
        for item in &hop.open_items {
            text.push_str(&format!("\n       open: {}", in_line(item)));
        }
    }
    for question in &shown_run.waiting {
        text.push_str(&format!("\n\nwaits for {}", one(question)));
    }
    for late in &shown_run.late {
        text.push_str(&format!(
            "\n\ntoo late, in epoch {}: {} {}",
            late.epoch,
            named(&late.kind),
            late.body.as_ref().map(RawJson::get).unwrap_or_default()
        ));
    }
    if let Some(answer) = &shown_run.answer {
        text.push_str(&format!("\n\n{answer}"));
    }
    text
}
