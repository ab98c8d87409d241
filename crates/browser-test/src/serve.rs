//! `sommelier serve` in a process of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::Fault;

/// A server that is killed when it is dropped, as by a power cut.
pub(crate) struct Serve {
    process: Child,
    /// The address with the token.
    pub(crate) url: String,
}

impl Serve {
    /// Starts it over this journal, each reply of whose model takes so many milliseconds.
    pub(crate) fn start(program: &Path, journal: &Path, port: u16, slow: u32) -> Result<Self, Fault> {
        let mut process = Command::new(program)
            .arg("--store")
            .arg(journal)
            .args(["--json", "--slow", &slow.to_string(), "serve", "--port", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = process.stdout.take().ok_or("no stdout")?;
        let mut serve = Self { process, url: String::new() };
        let mut document = String::new();
        for line in BufReader::new(out).lines() {
            let line = line?;
            document.push_str(&line);
            if line == "}" {
                break;
            }
        }
        let told: Value = serde_json::from_str(&document)?;
        serve.url = told["url"].as_str().ok_or("no address was told")?.to_owned();
        Ok(serve)
    }

    /// The address without the token.
    pub(crate) fn base(&self) -> String {
        self.url.split("/?").next().unwrap_or_default().to_owned()
    }

    pub(crate) fn port(&self) -> u16 {
        self.base().rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_default()
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        // SIGKILL where there is one: nothing is told and nothing is tidied up.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A folder that is gone in the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
