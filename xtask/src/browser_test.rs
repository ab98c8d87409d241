//! `browser-test`: `sommelier serve` in a Chromium that nobody sits at, from end to end.
//!
//! What is done there and what has to be seen is the business of `sommelier-browser-test`; this finds the programs that it
//! needs. Where there is no Chromium, or no driver for it, the test is skipped and says so, so it is no part of `ci`.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::fault::Fault;
use crate::launch;
use crate::root::target;

/// The names that the browser goes by.
const CHROMIUM: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

pub(crate) fn run() -> Result<ExitCode, Fault> {
    let (Some(driver), Some(chromium)) = (program(&["chromedriver"]), program(&CHROMIUM)) else {
        let _ =
            writeln!(io::stdout(), "browser-test: skipped, since there is no chromium with its chromedriver");
        return Ok(ExitCode::SUCCESS);
    };
    let sommelier = launch::build("sommelier")?;
    let test = launch::build("sommelier-browser-test")?;
    let status = Command::new(test)
        .args([sommelier, driver, chromium, target()?.join("browser-test")])
        .status()
        .map_err(Fault::system("start the test"))?;
    match status.success() {
        true => Ok(ExitCode::SUCCESS),
        false => Err(Fault::Failed(format!("the browser has found something: {status}"))),
    }
}

/// The first of these programs that there is on the path.
fn program(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let places = names.iter().flat_map(|name| env::split_paths(&path).map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}
