//! A process that kills itself at every boundary of a run, and a run that goes on as if nothing had been.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]
#![cfg(unix)]

use sommelier_crash::{
    Audit, CONVERSATION, Case, Moment, Point, Scenario, Scene, Traffic, Victim, Way, each,
};
use sommelier_runner::journal::{Journal, Record};

const VICTIM: &str = env!("CARGO_BIN_EXE_victim");

fn scene() -> Scene {
    Scene::new(env!("CARGO_TARGET_TMPDIR"))
}

/// A run that has ended.
struct Left {
    audit: Audit,
    records: Vec<Record>,
    /// What was tried and done at the other side, for each key.
    remote: Vec<(String, Traffic)>,
    /// The questions that persons were shown.
    shown: Vec<String>,
}

impl Left {
    fn of(mut case: Case<'_>, scenario: Scenario) -> Self {
        case.finish(Victim::splits);
        Self {
            audit: case.audit(scenario),
            records: case.scene.store().load(CONVERSATION, 1).unwrap(),
            remote: case.scene.remote().traffic().into_iter().collect(),
            shown: case.shown,
        }
    }

    fn count(&self, kind: &str) -> usize {
        self.records.iter().filter(|record| record.event.kind() == kind).count()
    }

    /// The bodies of the records of a kind that have this text in them.
    fn bodies(&self, kind: &str, text: &str) -> Vec<&str> {
        let bodies = self.records.iter().filter(|record| record.event.kind() == kind);
        bodies.map(|record| record.event.body()).filter(|body| body.contains(text)).collect()
    }
}

fn never_killed(scenario: Scenario) -> Left {
    Left::of(Case::new(VICTIM, &scene(), scenario, Way::Resume), scenario)
}

/// A run of which a process kills itself at `point`, and the one that takes it up at `again`, and so on.
fn killed_at(scenario: Scenario, points: &[Point], way: Way) -> Left {
    let scene = scene();
    let mut case = Case::new(VICTIM, &scene, scenario, way);
    for (place, point) in points.iter().enumerate() {
        while case.kills == place && !case.is_over() {
            case.step(|victim| victim.splits().point(point));
        }
        assert_eq!(case.kills, place + 1, "{point} was not reached");
    }
    Left::of(case, scenario)
}

/// T1, T2, T4, T5, T6, T8, T9, T10, T12, T13, C71, C155, C156, S1-34, S1-38: killed before and after every record of a run
/// with everything in it, it comes to the end of one that was never killed: the same answer under the same id, the same
/// packages byte by byte, no effect twice, each question asked once, its budget the same; and all that was acknowledged is
/// there. It is taken up by its caller, by a driver or by a sweeper, in turn.
#[test]
fn a_kill_at_any_record_changes_nothing() {
    let whole = never_killed(Scenario::Whole);
    let last = whole.records.last().unwrap().seq;
    assert!(last > 45, "the scenario has become short: {last} records");
    assert_eq!(whole.audit.packages.len(), 2);
    let points = (1..=last).flat_map(|seq| [Point::Before(seq), Point::After(seq)]);
    let points: Vec<(Point, Way)> = points.zip(Way::ALL.into_iter().cycle()).collect();
    each(&points, |(point, way)| {
        let left = killed_at(Scenario::Whole, std::slice::from_ref(point), *way);
        assert_eq!(left.audit, whole.audit, "{point}, {way:?}");
        assert_eq!(left.count("escalated"), 1, "{point}");
        assert!(left.shown.iter().all(|id| *id == whole.shown[0]), "{point}: {:?}", left.shown);
    });
}

/// T1, T2, C71: killed behind a record, and whoever takes it up is killed behind the record that it writes first, which is its
/// lease, and so on, five times.
#[test]
fn five_kills_on_end_change_nothing() {
    let whole = never_killed(Scenario::Whole);
    let last = whole.records.last().unwrap().seq;
    let points: Vec<Vec<Point>> =
        (1..=last).step_by(7).map(|seq| (seq..seq + 5).map(Point::After).collect()).collect();
    each(&points, |points| {
        let left = killed_at(Scenario::Whole, points, Way::Resume);
        assert_eq!(left.audit, whole.audit, "{points:?}");
    });
}

/// T5, T6, T8, C156: killed in a tool before its effect, after it, and while the other side is asked about it: what is in
/// the journal's file happens once with its record; what the other side knows by its key is asked for twice and done once;
/// what it can be asked about is not asked for again.
#[test]
fn a_kill_in_a_tool_repeats_no_effect() {
    let whole = never_killed(Scenario::Whole);
    let tools = ["look_up", "book", "cancel", "notify", "reserve"];
    let mut points: Vec<Vec<Point>> = tools
        .into_iter()
        .flat_map(|tool| {
            [Moment::Begun, Moment::Done].map(|moment| vec![Point::Tool(tool.to_owned(), moment)])
        })
        .collect();
    let reserve = |moment| Point::Tool("reserve".to_owned(), moment);
    points.push(vec![reserve(Moment::Done), reserve(Moment::Asked)]);
    points.push(vec![reserve(Moment::Begun), reserve(Moment::Asked), reserve(Moment::Done)]);
    each(&points, |points| {
        let left = killed_at(Scenario::Whole, points, Way::Resume);
        assert_eq!(left.audit, whole.audit, "{points:?}");
    });
    let key = |tool: &str| -> String {
        let intended = whole.bodies("tool_intended", &format!(r#""tool":"{tool}""#));
        let body: serde_json::Value = serde_json::from_str(intended[0]).unwrap();
        body["what"]["tool_intended"]["key"].as_str().unwrap().to_owned()
    };
    let of = |left: &Left, tool: &str| left.remote.iter().find(|(of, _)| *of == key(tool)).unwrap().1;
    let notified = killed_at(Scenario::Whole, &[Point::Tool("notify".to_owned(), Moment::Done)], Way::Resume);
    assert_eq!(of(&notified, "notify"), Traffic { tried: 2, applied: 1 });
    let reserved = killed_at(Scenario::Whole, &[reserve(Moment::Done)], Way::Resume);
    assert_eq!(of(&reserved, "reserve"), Traffic { tried: 1, applied: 1 });
    assert_eq!(notified.audit.ledger.len(), 2);
}

/// T11: a receiver whose process dies each time that it is about to be asked for the first time: it wakes six times, each
/// on record with its number, has the turn once, accepts once, and no effect is repeated.
#[test]
fn a_receiver_that_dies_five_times_accepts_once() {
    let whole = never_killed(Scenario::Whole);
    let wakes = |record: &&Record| record.event.body().contains(r#""activates""#);
    let first = whole.records.iter().find(wakes).unwrap().seq;
    // Behind it a lease is written and the request once more.
    let points: Vec<Point> = (0..5).map(|time| Point::After(first + 2 * time)).collect();
    let left = killed_at(Scenario::Whole, &points, Way::Resume);
    assert_eq!(left.audit, whole.audit);
    let activations = left.bodies("model_requested", r#""activates":"guest-7/1/2"#);
    let attempts: Vec<String> = activations
        .iter()
        .map(|body| {
            serde_json::from_str::<serde_json::Value>(body).unwrap()["what"]["model_requested"]["attempt"]
                .to_string()
        })
        .collect();
    assert_eq!(attempts, ["1", "2", "3", "4", "5", "6"]);
    assert_eq!(left.count("receiver_accepted"), 2);
    assert_eq!(left.count("handoff_committed"), 2);
}

/// T5: a tool that can neither be repeated nor be asked about is not begun again: a person says what came of it.
#[test]
fn a_kill_in_a_tool_without_a_key_asks_a_person() {
    for (moment, applied) in [(Moment::Begun, None), (Moment::Done, Some(1))] {
        let scene = scene();
        let mut case = Case::new(VICTIM, &scene, Scenario::Doubt, Way::Sweep);
        case.step(|victim| victim.point(&Point::Tool("send".to_owned(), moment)));
        case.finish(Victim::splits);
        assert_eq!(case.shown.len(), 1, "{:?}", case.shown);
        assert!(case.shown[0].ends_with("/in_doubt"), "{:?}", case.shown);
        assert_eq!(case.answers[0].1, "The ticket is on its way.");
        let traffic = scene.remote().traffic();
        assert_eq!(traffic.values().next().map(|of| (of.tried, of.applied)), applied.map(|of| (of, of)));
    }
}
