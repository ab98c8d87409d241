//! A browser that nobody sits at goes through `sommelier serve`: asks, watches, approves, reloads, and has the server killed in
//! the middle; then through reports, by keyboard and on paper. `cargo xtask browser-test` starts it, with the programs that it needs:
//!
//! ```text
//! sommelier-browser-test SOMMELIER CHROMEDRIVER CHROMIUM PICTURES
//! ```
//!
//! What it looks like is a question for eyes: the pictures are in the last folder.

mod browser;
mod course;
mod report;
mod serve;
mod wire;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

/// What was not as it should be.
pub(crate) type Fault = Box<dyn Error>;

fn main() -> ExitCode {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [sommelier, driver, chromium, pictures] = paths.as_slice() else {
        eprintln!("error: sommelier-browser-test SOMMELIER CHROMEDRIVER CHROMIUM PICTURES");
        return ExitCode::from(2);
    };
    let done = course::run(sommelier, driver, chromium, pictures)
        .and_then(|steps| report::run(sommelier, driver, chromium, pictures, steps));
    match done {
        Ok(steps) => {
            println!("browser-test: {steps} steps, pictures in {}", pictures.display());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}
