//! Where a process kills itself.

use std::fmt;
use std::str::FromStr;
use std::thread;

use rustix::process::{Signal, getpid, kill_process};

/// A point at which a process kills itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// Before the record of this number is written.
    Before(u64),
    /// After the record of this number is on disk, and before anybody is told.
    After(u64),
    /// In a tool.
    Tool(String, Moment),
}

/// A moment in a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// It has begun, and its effect has not happened.
    Begun,
    /// Its effect has happened, and nothing of that is on record.
    Done,
    /// The other side is asked whether the effect has happened.
    Asked,
}

impl Moment {
    const ALL: [Self; 3] = [Self::Begun, Self::Done, Self::Asked];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Done => "done",
            Self::Asked => "asked",
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Before(seq) => write!(f, "before:{seq}"),
            Self::After(seq) => write!(f, "after:{seq}"),
            Self::Tool(tool, moment) => write!(f, "{}:{tool}", moment.as_str()),
        }
    }
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, of) = text.split_once(':').ok_or(text)?;
        let number = || of.parse().map_err(|_| text.to_owned());
        match word {
            "before" => Ok(Self::Before(number()?)),
            "after" => Ok(Self::After(number()?)),
            word => {
                let moment = Moment::ALL.into_iter().find(|moment| moment.as_str() == word).ok_or(text)?;
                Ok(Self::Tool(of.to_owned(), moment))
            }
        }
    }
}

/// Ends this process by a signal that nothing catches: no lock is given back and no buffer written.
pub(crate) fn die() -> ! {
    let _ = kill_process(getpid(), Signal::KILL);
    loop {
        thread::park();
    }
}
