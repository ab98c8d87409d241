//! A browser that nobody sits at.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Fault;
use crate::wire::ask;

/// How long is waited for what a page is to show.
const PATIENCE: Duration = Duration::from_secs(30);

/// A browser and its driver, gone when it is dropped.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    profile: PathBuf,
}

impl Browser {
    /// Starts the driver and the browser, whose files are in this folder.
    pub(crate) fn start(driver: &Path, chromium: &Path, profile: PathBuf) -> Result<Self, Fault> {
        fs::create_dir_all(&profile)?;
        let mut child =
            Command::new(driver).arg("--port=0").stdout(Stdio::piped()).stdin(Stdio::null()).spawn()?;
        let port = child.stdout.take().and_then(|out| {
            let mut lines = BufReader::new(out).lines().map_while(Result::ok);
            let port = lines.find_map(|line| port_of(&line));
            thread::spawn(move || lines.for_each(drop));
            port
        });
        let mut browser =
            Self { driver: child, port: port.unwrap_or_default(), session: String::new(), profile };
        if port.is_none() {
            return Err("the driver does not say at which port it is".into());
        }
        let flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--force-device-scale-factor=1",
        ];
        let flags: Vec<String> = flags
            .iter()
            .map(ToString::to_string)
            .chain([format!("--user-data-dir={}", browser.profile.display())])
            .collect();
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "binary": chromium, "args": flags },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let made = ask(browser.port, "POST", "/session", Some(&wanted))?;
        browser.session = made["sessionId"].as_str().ok_or("the driver gave no session")?.to_owned();
        let millis = PATIENCE.as_millis();
        browser.post("/timeouts", json!({ "pageLoad": millis }))?;
        Ok(browser)
    }

    pub(crate) fn post(&self, path: &str, body: Value) -> Result<Value, Fault> {
        ask(self.port, "POST", &format!("/session/{}{path}", self.session), Some(&body))
    }

    fn get(&self, path: &str) -> Result<Value, Fault> {
        ask(self.port, "GET", &format!("/session/{}{path}", self.session), None)
    }

    pub(crate) fn open(&self, url: &str) -> Result<(), Fault> {
        self.post("/url", json!({ "url": url })).map(drop)
    }

    /// The window that is looked at.
    pub(crate) fn window(&self) -> Result<String, Fault> {
        Ok(self.get("/window")?.as_str().ok_or("a window without a name")?.to_owned())
    }

    /// Opens one more window beside the others, and looks at it.
    pub(crate) fn open_window(&self) -> Result<String, Fault> {
        let made = self.post("/window/new", json!({ "type": "window" }))?;
        let window = made["handle"].as_str().ok_or("a window without a name")?.to_owned();
        self.look_at(&window)?;
        Ok(window)
    }

    pub(crate) fn look_at(&self, window: &str) -> Result<(), Fault> {
        self.post("/window", json!({ "handle": window })).map(drop)
    }

    /// Closes the window that is looked at, and looks at another one.
    pub(crate) fn close_window(&self, then: &str) -> Result<(), Fault> {
        ask(self.port, "DELETE", &format!("/session/{}/window", self.session), None)?;
        self.look_at(then)
    }

    pub(crate) fn reload(&self) -> Result<(), Fault> {
        self.post("/refresh", json!({})).map(drop)
    }

    pub(crate) fn address(&self) -> Result<String, Fault> {
        Ok(self.get("/url")?.as_str().unwrap_or_default().to_owned())
    }

    /// What a script gives in the page.
    pub(crate) fn run(&self, script: &str) -> Result<Value, Fault> {
        self.post("/execute/sync", json!({ "script": script, "args": [] }))
    }

    /// What a person reads in the page.
    pub(crate) fn text(&self) -> Result<String, Fault> {
        Ok(self.run("return document.body.innerText")?.as_str().unwrap_or_default().to_owned())
    }

    /// Waits until the script is true of the page.
    pub(crate) fn until(&self, what: &str, script: &str) -> Result<(), Fault> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if self.run(&format!("return !!({script})")).is_ok_and(|found| found == json!(true)) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err(format!("{what}: it did not come about. The page reads:\n{}", self.text().unwrap_or_default())
            .into())
    }

    /// Waits until the page shows these words.
    pub(crate) fn shows(&self, words: &str) -> Result<(), Fault> {
        self.until(words, &format!("document.body.innerText.includes({})", json!(words)))
    }

    fn element(&self, selector: &str) -> Result<String, Fault> {
        let found = self.post("/element", json!({ "using": "css selector", "value": selector }))?;
        let id = found.as_object().and_then(|found| found.values().next()).and_then(Value::as_str);
        Ok(id.ok_or("an element without an id")?.to_owned())
    }

    /// Clicks as a person would: what is covered or out of sight cannot be clicked.
    pub(crate) fn click(&self, selector: &str) -> Result<(), Fault> {
        let element = self.element(selector)?;
        self.post(&format!("/element/{element}/click"), json!({})).map(drop)
    }

    pub(crate) fn type_in(&self, selector: &str, text: &str) -> Result<(), Fault> {
        let element = self.element(selector)?;
        self.post(&format!("/element/{element}/value"), json!({ "text": text })).map(drop)
    }

    pub(crate) fn tell(&self, command: &str, params: Value) -> Result<Value, Fault> {
        self.post("/goog/cdp/execute", json!({ "cmd": command, "params": params }))
    }

    /// Sets how wide the page is, and whether it is dark.
    pub(crate) fn look(&self, width: u32, height: u32, is_dark: bool) -> Result<(), Fault> {
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.tell("Emulation.setDeviceMetricsOverride", metrics)?;
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.tell("Emulation.setEmulatedMedia", json!({ "features": features })).map(drop)
    }

    /// A picture of the whole page.
    pub(crate) fn picture(&self, file: &Path) -> Result<(), Fault> {
        let shot =
            self.tell("Page.captureScreenshot", json!({ "format": "png", "captureBeyondViewport": true }))?;
        fs::write(
            file,
            base64(shot["data"].as_str().unwrap_or_default()).ok_or("a picture that is no base64")?,
        )?;
        Ok(())
    }

    /// What the console has said since this was asked last, of errors alone.
    pub(crate) fn errors(&self) -> Result<Vec<String>, Fault> {
        let said = self.post("/se/log", json!({ "type": "browser" }))?;
        let said = said.as_array().cloned().unwrap_or_default();
        let errors = said.iter().filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING");
        Ok(errors.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = ask(self.port, "DELETE", &format!("/session/{}", self.session), None);
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        let _ = fs::remove_dir_all(&self.profile);
    }
}

/// The port in a line such as `ChromeDriver was started successfully on port 38111.`
fn port_of(line: &str) -> Option<u16> {
    let (_, rest) = line.split_once("successfully on port ")?;
    rest.trim_end_matches('.').trim().parse().ok()
}

pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut held, mut bits) = (Vec::with_capacity(text.len() / 4 * 3), 0_u32, 0);
    for letter in text.bytes().filter(|byte| *byte != b'=') {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = (held << 6 | u32::from(value)) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
    }
    Some(bytes)
}
