//! What happened in a run, as something that people look at: a page, a drawing, or text.
//!
//! **What this crate knows:** how the records of a journal and the lines of a trace are read as one [`Story`], and how a story
//! is shown. **What it does not know:** where records are kept, what a domain's tools mean, or how a run goes on. It writes no
//! file and reads no clock: of one story it makes the same bytes whenever it is asked.
//!
//! ```text
//! records ── Story::of_run ───┐             ┌─▶ html::page     one page, whole in itself
//!                             ├─▶ Story ────┼─▶ svg::document  the sequence diagram
//! lines ──── Story::of_spans ─┘             ├─▶ mermaid::document
//!                                           └─▶ text::document for a terminal
//! ```
//!
//! All that a run says is the words of others: a task may hold markup, and an agent's name what turns the direction of text.
//! So what a form of output takes for its own is escaped in every value, in one place for each form, and what cannot be seen
//! stands as an escape that can be.
//!
//! ```
//! use sommelier_report::{Story, html, text};
//!
//! let lines = br#"
//! {"name":"handoff","otel_name":null,"trace":1,"span":3,"parent":2,"follows_from":[],"start_us":90,"duration_us":20,
//!  "fields":{"gen_ai.agent.name":"clerk","gen_ai.transfer.target.name":"till","package_bytes":105,"history_bytes":402,
//!  "outcome":"taken","hop":1},"at_us":1796032800000090,"layer":"00f067aa0ba902b7"}
//! "#;
//! // One span is one line.
//! let line: Vec<u8> = lines.iter().copied().filter(|byte| *byte != b'\n').collect();
//! let story = Story::of_spans(&line, None)?;
//! assert!(text::document(&story).contains("clerk ⇒ till: handoff 1, 105 B cross, 402 B left behind"));
//! assert!(html::page(&story).starts_with("<!doctype html>"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod asking;
mod conversations;
mod draft;
mod drawn;
pub mod html;
mod journal;
mod markup;
pub mod mermaid;
mod places;
mod reading;
mod routes;
mod shown;
mod spans;
mod story;
pub mod svg;
mod telling;
pub mod text;
mod timeline;
mod tree;
mod used;
mod who;

pub use markup::Markup;
pub use spans::{LONGEST_LINE, MOST_BYTES, NoStory, listed};
pub use story::{
    Ask, Decision, Done, Event, Finding, Hop, Kind, Matrix, Outcome, Part, Passage, Passes, Piece, Question,
    Refused, Run, Source, Spent, Story, Way, What,
};
