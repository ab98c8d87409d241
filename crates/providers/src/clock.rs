//! The time, and how to wait.

use std::time::{Duration, Instant, SystemTime};

/// The time, and how to wait. A test brings one of its own and waits for nothing.
pub trait Clock: Send + Sync {
    /// How long ago some fixed moment was. It never goes back.
    fn elapsed(&self) -> Duration;

    /// What time it is for other people: a service may say until when to wait.
    fn now(&self) -> SystemTime;

    /// Waits.
    fn sleep(&self, pause: Duration);
}

/// The clock of this machine.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, pause: Duration) {
        std::thread::sleep(pause);
    }
}
