//! A report by itself: by keyboard, on a phone, in the dark, and printed.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::Fault;
use crate::browser::{Browser, base64};
use crate::serve::Folder;

const RUNNING_CASE: &str = "Quote Focus pro 3h. And what happens if I don't show up?";
const BOOKING: &str = "Book Studio basic for 2 hours tomorrow at 14, for Ada";

/// The keys of the protocol that drives browsers.
const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";
const SPACE: &str = " ";

/// What a keyboard has to reach, in the order of the page.
const CONTROLS: &str = "[...document.querySelectorAll('a[href], summary, [tabindex=\"0\"]')]\
                        .filter((it) => it.checkVisibility())";

struct Sight<'a> {
    browser: &'a Browser,
    pictures: &'a Path,
    steps: u32,
}

/// Goes through the reports of two runs, and gives the number of steps.
pub(crate) fn run(
    sommelier: &Path,
    driver: &Path,
    chromium: &Path,
    pictures: &Path,
    steps: u32,
) -> Result<u32, Fault> {
    fs::create_dir_all(pictures)?;
    let folder = Folder(std::env::temp_dir().join(format!("sommelier-report-{}", std::process::id())));
    fs::create_dir_all(&folder.0)?;
    let journal = folder.0.join("journal.db");
    let commands: [&[&str]; 4] = [
        &["ask", "--conversation", "hop", RUNNING_CASE],
        &["ask", "--conversation", "person", BOOKING],
        &["answer", "person/1/1/0", "approve"],
        &["report", "hop", "-o", "hop.html"],
    ];
    for arguments in commands.into_iter().chain([&["report", "person", "-o", "person.html"] as &[&str]]) {
        command(sommelier, &journal, &folder.0, arguments)?;
    }
    fs::write(folder.0.join("names.jsonl"), hostile_names())?;
    command(sommelier, &journal, &folder.0, &["report", "names.jsonl", "-o", "names.html"])?;
    let browser = Browser::start(driver, chromium, folder.0.join("profile"))?;
    let mut sight = Sight { browser: &browser, pictures, steps };
    for name in ["hop", "person", "names"] {
        let page = folder.0.join(format!("{name}.html"));
        sight.open(&page)?;
        sight.is_gone_through_by_keyboard(name)?;
        sight.opens_by_keyboard(name)?;
        sight.fits(name, &page)?;
        sight.prints(name, &page)?;
    }
    Ok(sight.steps)
}

impl Sight<'_> {
    fn step(&mut self, what: &str) {
        self.steps += 1;
        println!("{:>3}  {what}", self.steps);
    }

    fn open(&self, page: &Path) -> Result<(), Fault> {
        self.browser.look(1200, 860, false)?;
        self.browser.open(&format!("file://{}", page.display()))?;
        self.browser.until("the report", "document.querySelector('#story section')")
    }

    /// Tab comes to each control once and in the order of the page, and shows where it is.
    fn is_gone_through_by_keyboard(&mut self, name: &str) -> Result<(), Fault> {
        let browser = self.browser;
        let count = browser.run(&format!("window.controls = {CONTROLS}; return controls.length"))?;
        let count = count.as_u64().unwrap_or_default();
        if count < 10 {
            return Err(format!("{name}: a report with {count} controls").into());
        }
        for place in 0..count {
            press(browser, TAB)?;
            // A page may take a moment to scroll there.
            browser.until(
                &format!("{name}: control {place} of {count} is reached, outlined and in sight"),
                &format!(
                    "(() => {{ const at = document.activeElement, box = at.getBoundingClientRect(), style = getComputedStyle(at);\
                     return controls.indexOf(at) === {place} && style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2\
                     && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth }})()"
                ),
            )?;
            if place == 0 {
                browser.picture(&self.pictures.join(format!("report-{name}-skip.png")))?;
            }
        }
        self.step(&format!(
            "{name}: Tab reaches each of {count} controls in order, and each shows that it has the focus"
        ));
        Ok(())
    }

    /// Whatever can be opened is, by Enter and by the space bar.
    fn opens_by_keyboard(&mut self, name: &str) -> Result<(), Fault> {
        let browser = self.browser;
        let count =
            browser.run("return document.querySelectorAll('details').length")?.as_u64().unwrap_or_default();
        for place in 0..count {
            for key in [ENTER, SPACE] {
                let stand = format!(
                    "const it = document.querySelectorAll('details')[{place}]; it.firstElementChild.focus(); return it.open"
                );
                let before = browser.run(&stand)?;
                press(browser, key)?;
                if browser.run(&stand)? == before {
                    return Err(
                        format!("{name}: {key:?} does not open or close part {place} of {count}").into()
                    );
                }
            }
        }
        let hops = browser.run(
            "return [...document.querySelectorAll('#handoffs article')].every((it) => it.querySelector('details[open]'))",
        )?;
        if hops != json!(true) {
            return Err(format!("{name}: a package is not open").into());
        }
        self.step(&format!("{name}: Enter and the space bar open and close each of {count} parts"));
        Ok(())
    }

    /// It is no wider than the narrowest phone, in light and in dark.
    fn fits(&mut self, name: &str, page: &Path) -> Result<(), Fault> {
        self.open(page)?;
        let browser = self.browser;
        for (look, width, is_dark) in
            [("light", 1200, false), ("dark", 1200, true), ("phone", 360, false), ("phone-dark", 360, true)]
        {
            browser.look(width, 860, is_dark)?;
            let wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth")?;
            if wide.as_i64().unwrap_or_default() > 0 {
                return Err(format!("{name}-{look}: the page is {wide} pixels wider than the screen").into());
            }
            let height =
                browser.run("return document.documentElement.scrollHeight")?.as_u64().unwrap_or_default();
            browser.look(width, u32::try_from(height)?, is_dark)?;
            browser.picture(&self.pictures.join(format!("report-{name}-{look}.png")))?;
        }
        self.step(&format!("{name}: it fits 360 pixels, and is looked at in light and dark"));
        Ok(())
    }

    /// On paper nothing is closed, and it is dark on light also for whoever reads light on dark.
    fn prints(&mut self, name: &str, page: &Path) -> Result<(), Fault> {
        self.open(page)?;
        let browser = self.browser;
        browser.look(1200, 860, true)?;
        browser.run("document.querySelectorAll('details').forEach((it) => { it.open = false })")?;
        let dark = json!([{ "name": "prefers-color-scheme", "value": "dark" }]);
        browser.tell("Emulation.setEmulatedMedia", json!({ "media": "print", "features": dark }))?;
        let stand = browser.run(
            "const rgb = (it, what) => getComputedStyle(it)[what].match(/[0-9]+/g).slice(0, 3).map(Number);\
             const shown = (it) => it.getBoundingClientRect().height > 0 && it.checkVisibility({ contentVisibilityAuto: true });\
             return { closed: [...document.querySelectorAll('details')].filter((it) => ![...it.children].every(shown)).length,\
               paper: rgb(document.body, 'backgroundColor'), ink: rgb(document.body, 'color'),\
               cut: [...document.querySelectorAll('.scroll, pre')].filter((it) => getComputedStyle(it).overflowX !== 'visible').length }",
        )?;
        if stand != json!({ "closed": 0, "paper": [255, 255, 255], "ink": [0, 0, 0], "cut": 0 }) {
            return Err(format!("{name}: on paper it is {stand}").into());
        }
        let paper = json!({ "background": true, "page": { "width": 21.0, "height": 29.7 }, "margin": { "top": 1.5, "bottom": 1.5, "left": 1.5, "right": 1.5 } });
        let printed = browser.post("/print", paper)?;
        let printed = base64(printed.as_str().unwrap_or_default()).ok_or("a document that is no base64")?;
        if !printed.starts_with(b"%PDF-") {
            return Err(format!("{name}: what is printed is no PDF").into());
        }
        fs::write(self.pictures.join(format!("report-{name}.pdf")), &printed)?;
        browser.tell("Emulation.setEmulatedMedia", json!({ "media": "", "features": [] }))?;
        self.step(&format!(
            "{name}: it is printed with each part open, dark on light, {} kB",
            printed.len() / 1000
        ));
        Ok(())
    }
}

/// The lines of a trace in which names are as long as they may be, of letters that are wide, go from right to left, pile up,
/// join, or are none.
fn hostile_names() -> String {
    let names = [
        "W".repeat(3_000),
        "\u{5e9}\u{5dc}\u{5d5}\u{5dd} ".repeat(300),
        format!("a{}", "\u{301}".repeat(2_000)),
        "\u{1f469}\u{200d}\u{1f373}".repeat(400),
        "\u{202e}\u{7}\u{1b}[2J".repeat(200),
        "<b>&amp;\"'".repeat(300),
    ];
    let line = |(place, name): (usize, &String)| {
        let next = names.get((place + 1) % names.len());
        let fields = json!({
            "gen_ai.agent.name": name, "gen_ai.transfer.target.name": next, "gen_ai.conversation.id": name,
            "package_bytes": 105, "history_bytes": 402, "outcome": if place % 2 == 0 { "taken" } else { "refused" },
            "hop": place + 1, "refusal": name, "error.type": name, "gen_ai.tool.call.arguments": name,
        });
        let span = json!({
            "name": "handoff", "otel_name": null, "trace": place + 1, "span": place + 1, "parent": null, "follows_from": [],
            "start_us": place * 10, "duration_us": 5, "fields": fields, "at_us": 1_796_032_800_000_000_u64 + place as u64 * 10,
            "layer": "a",
        });
        format!("{span}\n")
    };
    names.iter().enumerate().map(line).collect()
}

/// Presses a key, wherever the focus is.
fn press(browser: &Browser, key: &str) -> Result<(), Fault> {
    let actions = json!([{ "type": "key", "id": "keys", "actions": [{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }] }]);
    browser.post("/actions", json!({ "actions": actions })).map(|_: Value| ())
}

fn command(sommelier: &Path, journal: &Path, folder: &Path, arguments: &[&str]) -> Result<(), Fault> {
    let said =
        Command::new(sommelier).current_dir(folder).arg("--store").arg(journal).args(arguments).output()?;
    match said.status.code() {
        Some(0 | 3) => Ok(()),
        _ => Err(format!("{arguments:?}: {}", String::from_utf8_lossy(&said.stderr)).into()),
    }
}
