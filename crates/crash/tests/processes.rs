//! Several processes that want the same conversation, and one that was stopped for too long.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]
#![cfg(unix)]

use std::fs;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sommelier_crash::{
    CONVERSATION, Case, Ended, Moment, Next, Point, Running, Scenario, Scene, Told, Traffic, Victim, Way,
    each,
};
use sommelier_runner::journal::{Epoch, Journal};

const VICTIM: &str = env!("CARGO_BIN_EXE_victim");

/// In milliseconds.
const HOUR: i64 = 3_600_000;

fn scene() -> Scene {
    Scene::new(env!("CARGO_TARGET_TMPDIR"))
}

/// Runs a command in two processes at once.
fn twice(victim: &Victim, command: &str) -> [Told; 2] {
    let both = [victim.start(command), victim.start(command)];
    both.map(|running| {
        let (ended, told) = running.end();
        assert_eq!(ended, Ended::Exited);
        told
    })
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

fn answers(told: &[Told; 2]) -> Vec<&str> {
    told.iter().filter_map(|told| Some(told.answer.as_ref()?.1.as_str())).collect()
}

/// T22, C157: two processes answer the same question at once, twenty times: one gets the lease, the other is told who has
/// it or that the question is answered, and the tool runs once.
#[test]
fn one_of_two_that_answer_goes_on() {
    each(&(0..20).collect::<Vec<_>>(), |round| {
        let scene = scene();
        let mut case = Case::new(VICTIM, &scene, Scenario::Approval, Way::Resume);
        case.step(|victim| victim);
        let id = case.shown[0].clone();
        let Next::Answer { digest, .. } = &case.next else { panic!("{:?}", case.next) };
        let victim =
            Victim::new(VICTIM, scene.path(), Scenario::Approval).clock(case.clock + 1_000).pause(20);
        let told = twice(&victim, &format!("answer {id} {digest}"));
        assert_eq!(answers(&told), ["Seat 7 is yours."], "{round}: {told:?}");
        let refused: Vec<&str> = told.iter().filter_map(|told| told.refused.as_deref()).collect();
        assert_eq!(refused.len(), 1);
        assert!(
            refused[0].starts_with("Held conversation") || refused[0].starts_with("Rejected"),
            "{refused:?}"
        );
        assert_eq!(scene.ledger().len(), 1);
        scene.audit(Scenario::Approval, case.clock + 20_000);
    });
}

/// T22, C157: two processes take up a run whose own was killed, at once, twenty times: one gets the lease and goes on, the
/// other is told who has it, or gets the answer on record; each effect is had once.
#[test]
fn one_of_two_that_resume_goes_on() {
    each(&(0..20).collect::<Vec<_>>(), |round| {
        let scene = scene();
        let mut case = Case::new(VICTIM, &scene, Scenario::Remote, Way::Resume);
        let point = Point::Tool("reserve".to_owned(), Moment::Begun);
        assert_eq!(case.step(|victim| victim.point(&point)), Ended::Killed);
        let clock = case.clock + 100_000;
        let victim = Victim::new(VICTIM, scene.path(), Scenario::Remote).clock(clock).pause(20);
        let told = twice(&victim, "resume");
        let answers = answers(&told);
        assert!(!answers.is_empty(), "{round}: {told:?}");
        assert!(answers.iter().all(|answer| *answer == "Seat 7 is reserved, and the house knows."));
        for refused in told.iter().filter_map(|told| told.refused.as_deref()) {
            assert!(refused.starts_with("Held conversation"), "{refused}");
        }
        let epoch = scene.store().lease(CONVERSATION).unwrap().unwrap().epoch;
        // One that had looked before the other ended, and took the lease after that, finds the answer on record.
        let is_after = answers.len() == 2 && epoch == Epoch::new(3);
        assert!(epoch == Epoch::new(2) || is_after, "{round}: {epoch:?} {told:?}");
        assert!(scene.remote().traffic().values().all(|of| of.applied == 1));
        scene.audit(Scenario::Remote, clock + 20_000);
    });
}

/// A process that is in its tool `notify`, whose effect has happened, and does not come out of it.
fn held(scene: &Scene, term: u64) -> Running {
    let victim = Victim::new(VICTIM, scene.path(), Scenario::Remote).term(term).hold("notify");
    let mut running = victim.start("submit");
    running.wait_for("in notify");
    // What the other tool of the reply gave is on record.
    while scene.store().newest().unwrap()[0].event.kind() != "tool_completed" {
        thread::sleep(Duration::from_millis(2));
    }
    running
}

/// Stops a process while it does not write: nobody else could until it went on.
fn stop(scene: &Scene, running: &Running) {
    let store = scene.store();
    let connection = store.connection().unwrap();
    connection.busy_timeout(Duration::ZERO).unwrap();
    loop {
        running.stop();
        // It may be stopped a moment later, and would then be in the middle of what it has begun.
        thread::sleep(Duration::from_millis(20));
        if connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok() {
            return;
        }
        running.go_on();
    }
}

/// Lets the process out of its tool, when another has brought the run to its end: what it has to say is refused, it does
/// nothing more, and what its tool gave is kept for people.
fn is_fenced(scene: &Scene, running: Running, off: u64) {
    let (records, traffic) = (scene.store().load(CONVERSATION, 1).unwrap(), scene.remote().traffic());
    fs::write(scene.path().join("go"), "").unwrap();
    running.go_on();
    let (ended, told) = running.end();
    assert_eq!((ended, told.answer), (Ended::Exited, None));
    assert_eq!(told.refused.as_deref(), Some("Run Unkept Fenced Epoch"), "{:?}", told.lines);
    assert_eq!(scene.store().load(CONVERSATION, 1).unwrap(), records);
    assert_eq!(scene.remote().traffic(), traffic);
    let late = scene.store().late(CONVERSATION).unwrap();
    let late: Vec<(u64, &str)> = late.iter().map(|of| (of.epoch.get(), of.event.kind())).collect();
    assert_eq!(late, [(1, "tool_completed")]);
    // The one with a key was asked for twice, the other once.
    let mut traffic: Vec<Traffic> = traffic.into_values().collect();
    traffic.sort();
    assert_eq!(traffic, [Traffic { tried: 1, applied: 1 }, Traffic { tried: 2, applied: 1 }]);
    scene.audit(Scenario::Remote, now() + off + 1_000);
}

/// T22, C157: a process that is stopped in a tool beyond its lease, and goes on when another has taken over: what its tool
/// gave is refused and kept apart, and it has no further effect.
#[test]
fn a_process_that_was_stopped_does_nothing_more() {
    let scene = scene();
    let running = held(&scene, 300);
    stop(&scene, &running);
    let other = || Victim::new(VICTIM, scene.path(), Scenario::Remote);
    // By its clock the lease runs however long it has taken to begin.
    let (_, told) = other().off_by(-HOUR).run("resume");
    assert!(told.refused.is_some_and(|refused| refused.starts_with("Held")));
    while scene.store().lease(CONVERSATION).unwrap().unwrap().until >= now() {
        thread::sleep(Duration::from_millis(10));
    }
    let (_, told) = other().run("sweep");
    assert_eq!(
        told.answer.map(|(_, text)| text).as_deref(),
        Some("Seat 7 is reserved, and the house knows.")
    );
    is_fenced(&scene, running, 0);
}

/// T26: a process whose clock is an hour ahead takes over what another one works at: that one is fenced, and there are not
/// two owners.
#[test]
fn a_clock_that_is_ahead_makes_no_two_owners() {
    let scene = scene();
    let running = held(&scene, 30_000);
    let ahead = Victim::new(VICTIM, scene.path(), Scenario::Remote).off_by(HOUR);
    let (_, told) = ahead.run("resume");
    assert_eq!(
        told.answer.map(|(_, text)| text).as_deref(),
        Some("Seat 7 is reserved, and the house knows.")
    );
    is_fenced(&scene, running, HOUR as u64);
}

/// T26: a process whose clock is an hour behind gets nothing of what another one works at, and that one comes to its end.
#[test]
fn a_clock_that_is_behind_takes_nothing() {
    let scene = scene();
    let running = held(&scene, 30_000);
    let behind = Victim::new(VICTIM, scene.path(), Scenario::Remote).off_by(-HOUR);
    let (_, told) = behind.run("resume");
    assert!(told.refused.is_some_and(|refused| refused.starts_with("Held")));
    fs::write(scene.path().join("go"), "").unwrap();
    let (_, told) = running.end();
    assert_eq!(
        told.answer.map(|(_, text)| text).as_deref(),
        Some("Seat 7 is reserved, and the house knows.")
    );
    assert!(scene.remote().traffic().values().all(|of| *of == Traffic { tried: 1, applied: 1 }));
    scene.audit(Scenario::Remote, now() + 1_000);
}
