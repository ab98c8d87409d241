//! What is done in the browser, and what has to be seen.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Fault;
use crate::browser::Browser;
use crate::serve::{Folder, Serve};

const RUNNING_CASE: &str = "Quote Focus pro 3h. And what happens if I don't show up?";
const BOOKING: &str = "Book Studio basic for 2 hours tomorrow at 14, for Ada";
/// Markup, what turns the direction of text, words from right to left, and an emoji of several signs.
const HOSTILE: &str = "<script>alert('x')</script> \u{202e}evil\u{202c} \u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{1f469}\u{200d}\u{1f373} \"quoted\" & <b>bold</b>";
/// How long each reply of the model takes, so that there is something to watch.
const SLOW: u32 = 700;
/// The same where several turns are to be at work at once.
const SLOWER: u32 = 6_000;
/// Windows beside each other, none of which is hidden. A browser connects to one host six times.
const WINDOWS: usize = 8;
/// How long a page or a form may take beside them.
const SOON: Duration = Duration::from_secs(8);

struct Course<'a> {
    browser: &'a Browser,
    sommelier: &'a Path,
    journal: &'a Path,
    pictures: &'a Path,
    /// The address of the pages to which the browser was let in, up to the slash before each of them.
    home: String,
    steps: u32,
}

/// Goes through all of it, and gives the number of steps.
pub(crate) fn run(sommelier: &Path, driver: &Path, chromium: &Path, pictures: &Path) -> Result<u32, Fault> {
    fs::create_dir_all(pictures)?;
    let folder = Folder(std::env::temp_dir().join(format!("sommelier-browser-{}", std::process::id())));
    fs::create_dir_all(&folder.0)?;
    let journal = folder.0.join("journal.db");
    let browser = Browser::start(driver, chromium, folder.0.join("profile"))?;
    let serve = Serve::start(sommelier, &journal, 0, SLOW)?;
    let home = String::new();
    let mut course = Course { browser: &browser, sommelier, journal: &journal, pictures, home, steps: 0 };
    course.comes_in(&serve)?;
    let asked = course.asks_and_watches()?;
    let booked = course.waits_for_a_person()?;
    let serve = course.is_killed_in_mid_approval(serve, &booked)?;
    course.approves(&booked)?;
    course.answers_beside_a_command()?;
    course.is_killed_in_mid_turn(serve)?;
    let serve = Serve::start(sommelier, &journal, 0, SLOWER)?;
    course.has_many_windows(&serve)?;
    drop(serve);
    let serve = Serve::start(sommelier, &journal, 0, 0)?;
    course.is_let_in(&serve)?;
    course.calls_off()?;
    course.shows_what_is_hostile()?;
    course.looks(&asked)?;
    Ok(course.steps)
}

impl Course<'_> {
    fn step(&mut self, what: &str) {
        self.steps += 1;
        println!("{:>3}  {what}", self.steps);
    }

    /// Refuses a console that has said anything.
    fn is_quiet(&self) -> Result<(), Fault> {
        match self.browser.errors()? {
            errors if errors.is_empty() => Ok(()),
            errors => Err(format!("the console says: {errors:#?}").into()),
        }
    }

    /// What a person reads in a conversation, without what the clock changes.
    fn stand(&self) -> Result<String, Fault> {
        let script =
            "return [...document.querySelectorAll('#feed, #now')].map((it) => it.innerText).join('\\n')";
        Ok(self.browser.run(script)?.as_str().unwrap_or_default().to_owned())
    }

    /// Opens the address with the token, which leads to the pages of this browser.
    fn is_let_in(&mut self, serve: &Serve) -> Result<(), Fault> {
        self.browser.open(&serve.url)?;
        self.browser.shows("What can the house do for you?")?;
        let address = self.browser.address()?;
        self.home = address.strip_suffix('/').unwrap_or(&address).to_owned();
        Ok(())
    }

    /// Opens a page of those to which the browser was let in.
    fn opens(&self, path: &str) -> Result<(), Fault> {
        self.browser.open(&format!("{}{path}", self.home))
    }

    /// Where the browser is, behind the path of all its pages.
    fn path(&self) -> Result<String, Fault> {
        let address = self.browser.address()?;
        let path = address.strip_prefix(&self.home).map(str::to_owned);
        path.ok_or_else(|| format!("{address} is not under {}", self.home).into())
    }

    fn comes_in(&mut self, serve: &Serve) -> Result<(), Fault> {
        let browser = self.browser;
        browser.open(&format!("{}/runs", serve.base()))?;
        browser.shows("Open the address that sommelier serve has printed")?;
        let said = browser.errors()?;
        if said.iter().any(|error| !error.contains("401")) {
            return Err(format!("the console says: {said:#?}").into());
        }
        self.step("without the token nobody comes in");
        self.is_let_in(serve)?;
        if !self.home.starts_with(&serve.base()) || self.home.contains('?') {
            return Err(format!("the token stands in the address bar: {}", self.home).into());
        }
        self.step("the token lets in, and is out of the address");
        // The address lies in the history. Another window of the same browser is no other browser, and has its page all the same.
        let first = browser.window()?;
        browser.open_window()?;
        browser.open(&serve.url)?;
        browser.shows("it was used before")?;
        browser.errors()?;
        self.opens("/runs")?;
        browser.shows("There are no runs.")?;
        browser.close_window(&first)?;
        self.step("the address lets nobody in a second time");
        self.is_quiet()
    }

    /// Asks, and sees a hop come while the page stays the same.
    fn asks_and_watches(&mut self) -> Result<String, Fault> {
        let browser = self.browser;
        browser.type_in("#text", RUNNING_CASE)?;
        browser.click(".composer button")?;
        browser.shows("is at work")?;
        let url = self.path()?;
        browser.run("window.sameLoad = true")?;
        if browser.run("return !!document.querySelector('#feed .card')")? == json!(true) {
            return Err("the hop was there before anybody could watch it come".into());
        }
        self.step("a question is asked, and the page tells who is at work");
        browser.until(
            "a hop appears by itself",
            "window.sameLoad && document.querySelector('#feed .card .ratio')",
        )?;
        self.picture("hop-live", 1200, false)?;
        self.step("a hop appears, and nothing was reloaded");
        browser.reload()?;
        browser.until("the hop is there after a reload", "document.querySelector('#feed .card .ratio')")?;
        browser.run("window.sameLoad = true")?;
        self.step("a reload in the middle shows the same");
        browser.until(
            "the answer appears by itself",
            "window.sameLoad && document.querySelector('#feed .answer')",
        )?;
        browser.shows("Not showing up costs 6500 cents.")?;
        browser.until("it is over", "document.querySelector('#status').innerText.includes('answered')")?;
        let live = self.stand()?;
        browser.reload()?;
        browser.until("the page is whole", "document.querySelector('#feed .answer')")?;
        let reloaded = self.stand()?;
        if live != reloaded {
            return Err(format!("what came live:\n{live}\nis other than what is there:\n{reloaded}").into());
        }
        self.step("the answer comes, and a reload shows word for word what came live");
        self.is_quiet()?;
        Ok(url)
    }

    fn waits_for_a_person(&mut self) -> Result<String, Fault> {
        let browser = self.browser;
        browser.click(".brand")?;
        browser.until("a new page", "document.querySelector('.chat.new')")?;
        browser.type_in("#text", BOOKING)?;
        browser.click(".composer button")?;
        browser.until("a question appears by itself", "document.querySelector('article.question')")?;
        let url = self.path()?;
        self.step("what cannot be undone waits for a person");
        browser.click(".bar a[href$='/inbox']")?;
        browser.until("the inbox has it", "document.querySelectorAll('article.question').length === 1")?;
        for word in ["Studio", "basic", "2026-12-01", "Ada", "digest"] {
            browser.shows(word)?;
        }
        for (name, width, is_dark) in
            [("inbox-light", 1200, false), ("inbox-dark", 1200, true), ("inbox-phone", 390, false)]
        {
            self.picture(name, width, is_dark)?;
        }
        self.step("the inbox tells all that is needed to decide");
        self.is_quiet()?;
        Ok(url)
    }

    /// Somebody is at the question when the server dies; another one shows the same.
    fn is_killed_in_mid_approval(&mut self, serve: Serve, url: &str) -> Result<Serve, Fault> {
        let browser = self.browser;
        self.opens(url)?;
        browser.until("the question is there", "document.querySelector('article.question')")?;
        browser.type_in("article.question input[name=text]", "let me think")?;
        let before = self.stand()?;
        let port = serve.port();
        drop(serve);
        browser.shows("The connection is lost, and is tried again.")?;
        self.knows_nothing()?;
        self.step("the server is killed in mid-approval, and the page says so");
        let serve = Serve::start(self.sommelier, self.journal, port, SLOW)?;
        browser.shows("This page is not kept up to date any more.")?;
        // Of a server that is not there the console tells, and of one that wants the token anew.
        browser.errors()?;
        let old = browser.window()?;
        browser.open_window()?;
        self.is_let_in(&serve)?;
        browser.close_window(&old)?;
        browser.shows("You were let in again.")?;
        let typed = "return document.querySelector('article.question input[name=text]').value";
        if browser.run(typed)? != json!("let me think") {
            return Err("what was typed is gone".into());
        }
        self.step(
            "the page is told that another window was let in anew, and stays until somebody wants to go",
        );
        browser.click(".link a")?;
        browser.until(
            "the page is the new server's",
            &format!("location.href.startsWith({})", json!(self.home)),
        )?;
        browser.until("the question is there again", "document.querySelector('article.question')")?;
        let after = self.stand()?;
        if before != after {
            return Err(format!("before:\n{before}\nafter:\n{after}").into());
        }
        self.step("another one shows the same, word for word");
        self.is_quiet()?;
        Ok(serve)
    }

    /// What a page says of a run of which it hears nothing.
    fn knows_nothing(&self) -> Result<(), Fault> {
        match self.browser.run("return document.querySelector('#status').textContent")? {
            told if told == json!("not knownhow this stands now") => Ok(()),
            told => Err(format!("of a run of which nothing is heard the page says: {told}").into()),
        }
    }

    fn approves(&mut self, url: &str) -> Result<(), Fault> {
        let browser = self.browser;
        self.opens("/inbox")?;
        browser.click(".answering summary")?;
        browser.type_in(".answering input[name=by]", "Kim <b>of the desk</b>")?;
        browser.click(".answering button")?;
        browser.shows("Your answers are on record by Kim <b>of the desk</b>")?;
        browser.click("article.question button.primary")?;
        browser.until("the conversation follows", "document.querySelector('#feed')")?;
        if self.path()? != url {
            return Err("an answer does not lead to its conversation".into());
        }
        browser.until("the answer comes", "document.querySelector('#feed .answer')")?;
        browser.shows("approve")?;
        browser.shows("Kim <b>of the desk</b>")?;
        browser.until("nothing is open", "!document.querySelector('article.question')")?;
        self.step("it is approved in the inbox by a name, and the run goes on to its answer");
        self.opens("/inbox")?;
        browser.shows("Nothing waits for a person.")?;
        self.is_quiet()
    }

    /// A command asks and answers beside the browser, on the same journal.
    fn answers_beside_a_command(&mut self) -> Result<(), Fault> {
        let browser = self.browser;
        self.command(&["ask", "--conversation", "beside", BOOKING])?;
        browser.until("the inbox hears of it by itself", "document.querySelector('article.question')")?;
        browser.type_in("article.question input[name=text]", "let me think")?;
        self.command(&["ask", "--conversation", "beside", "or rather not"])?;
        browser.shows("or rather not")?;
        let typed = "const field = document.querySelector('article.question input[name=text]'), words = field.value; field.value = ''; \
                     return words";
        if browser.run(typed)? != json!("let me think") {
            return Err("what was typed is gone".into());
        }
        self.step("what another process asks appears in the inbox, and what is said there beside what is typed here");
        // Nobody sees the page, which is left as it was, and a command is faster.
        let seen = "Object.defineProperty(document, 'hidden', { value: IS, configurable: true });\
                    document.dispatchEvent(new Event('visibilitychange'))";
        browser.run(&seen.replace("IS", "true"))?;
        self.command(&["answer", "beside/1/1/0", "reject", "not on a Monday"])?;
        browser.type_in("article.question input[name=text]", "too late")?;
        browser.click("article.question button.danger")?;
        browser.shows("has been answered before, with reject")?;
        let said = browser.errors()?;
        if said.iter().any(|error| !error.contains("409")) {
            return Err(format!("the console says: {said:#?}").into());
        }
        let kept = browser.run("return document.querySelector('main textarea').value")?;
        if kept != json!("too late") {
            return Err(format!("of what was typed there is left: {kept}").into());
        }
        browser.click("main a[href$='/chat/beside']")?;
        browser.shows("not on a Monday")?;
        self.step("an answer that comes second is told so, and is not given twice");
        browser.run(&format!("window.sameLoad = true; {}", seen.replace("IS", "true")))?;
        self.command(&["ask", "--conversation", "beside", "Quote Focus pro 3h"])?;
        if browser.text()?.contains("6000 cents") {
            return Err("a page that nobody sees is told what is new".into());
        }
        browser.run(&seen.replace("IS", "false"))?;
        browser.until(
            "it is told the rest",
            "window.sameLoad && document.body.innerText.includes('6000 cents')",
        )?;
        self.step("a page that was hidden is told the rest when it is seen again");
        self.is_quiet()
    }

    fn is_killed_in_mid_turn(&mut self, serve: Serve) -> Result<(), Fault> {
        let browser = self.browser;
        self.opens("/")?;
        browser.type_in("#text", RUNNING_CASE)?;
        browser.click(".composer button")?;
        browser.until("a hop appears", "document.querySelector('#feed .card .ratio')")?;
        let url = self.path()?;
        let port = serve.port();
        drop(serve);
        browser.shows("The connection is lost, and is tried again.")?;
        self.knows_nothing()?;
        self.picture("lost-light", 1200, false)?;
        let serve = Serve::start(self.sommelier, self.journal, port, SLOW)?;
        self.is_let_in(&serve)?;
        self.opens(&url)?;
        browser.errors()?;
        browser.until("it says that it was interrupted", "document.querySelector('#go-on')")?;
        self.step("a server that is killed in the middle of a turn leaves it interrupted, and says so");
        browser.click("#go-on button")?;
        browser.shows("Not showing up costs 6500 cents.")?;
        let hops = browser.run("return document.querySelectorAll('#feed .card').length")?;
        if hops != json!(1) {
            return Err(format!("{hops} hops where there was one").into());
        }
        self.step("it is gone on with, and nothing is done twice");
        self.is_quiet()?;
        // The server ends with this function, and nobody is to miss it.
        browser.open("about:blank")
    }

    /// More windows than a browser has connections to one host, all of them seen, each on a turn that is at work.
    fn has_many_windows(&mut self, serve: &Serve) -> Result<(), Fault> {
        let browser = self.browser;
        self.is_let_in(serve)?;
        let first = browser.window()?;
        let mut windows = Vec::new();
        for _ in 0..WINDOWS {
            windows.push(browser.open_window()?);
            self.opens("/")?;
            browser.type_in("#text", RUNNING_CASE)?;
            browser.click(".composer button")?;
            browser.shows("is at work")?;
            browser.run("window.sameLoad = true")?;
        }
        let begin = Instant::now();
        browser.look_at(&first)?;
        self.opens("/inbox")?;
        browser.shows("Nothing waits for a person.")?;
        self.opens("/")?;
        browser.type_in("#text", RUNNING_CASE)?;
        browser.click(".composer button")?;
        browser.shows("is at work")?;
        if begin.elapsed() > SOON {
            return Err(format!("a page and a form took {:?}", begin.elapsed()).into());
        }
        for window in &windows {
            browser.look_at(window)?;
            let state = browser.run(
                "return [window.sameLoad, document.hidden, !!document.querySelector('#feed .answer')]",
            )?;
            if state != json!([true, false, false]) {
                return Err(format!("a window is hidden, or its turn is over: {state}").into());
            }
        }
        self.step("beside eight windows on turns at work a page opens and a form is sent at once");
        for window in &windows {
            browser.look_at(window)?;
            browser.until(
                "the answer comes by itself",
                "window.sameLoad && document.querySelector('#feed .answer')",
            )?;
            let told = browser.run("return document.querySelector('.link').textContent")?;
            if told != json!("") {
                return Err(format!("a page whose stream has made room says: {told}").into());
            }
            browser.close_window(&first)?;
        }
        self.step("and each of them hears of its answer");
        self.is_quiet()?;
        browser.open("about:blank")
    }

    /// What stands at the lower end of the screen covers nothing of it, and what was called off is gone on with where that is ticked.
    fn calls_off(&mut self) -> Result<(), Fault> {
        let browser = self.browser;
        let is_seen = |is: &str| format!("document.querySelector('.composer').checkVisibility() === {is}");
        for (run, width) in [("called-off", 1000), ("called-off-phone", 390)] {
            self.command(&["ask", "--conversation", run, BOOKING])?;
            browser.look(width, 800, false)?;
            self.opens(&format!("/chat/{run}"))?;
            browser.until("the question is there", "document.querySelector('article.question')")?;
            browser.run(
                "window.scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' })",
            )?;
            browser.click("#call-off summary")?;
            browser.until(
                "the field and the button can be hit where they are",
                "[...document.querySelectorAll('#call-off[open] input[name=reason], #call-off[open] button')].filter((it) => { \
                 const box = it.getBoundingClientRect(); \
                 return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2) === it; }).length === 2",
            )?;
            browser.picture(&self.pictures.join(format!("{run}.png")))?;
            browser.type_in("#call-off input[name=reason]", "no money")?;
            browser.click("#call-off button")?;
            browser.until("it is over", "document.querySelector('#over')")?;
            browser.shows("no money")?;
            let is_seen =
                |is: &str| format!("document.querySelector('.composer').checkVisibility() === {is}");
            browser.until("nobody is invited to go on", &is_seen("false"))?;
            self.picture(&format!("{run}-over"), width, false)?;
            browser.click("#over input")?;
            browser.until("who wants to go on may", &is_seen("true"))?;
            browser.type_in("#text", "Quote Focus pro 3h")?;
            browser.click(".composer button")?;
            browser.shows("6000 cents")?;
            browser.until(
                "it is as any other",
                &format!("!document.querySelector('#over') && {}", is_seen("true")),
            )?;
        }
        // Also where it is another process by which it ends and goes on.
        let run = "called-off-there";
        self.command(&["ask", "--conversation", run, BOOKING])?;
        self.opens(&format!("/chat/{run}"))?;
        browser.until("the question is there", "document.querySelector('article.question')")?;
        self.command(&["cancel", run])?;
        browser.until("it is over, here too", "document.querySelector('#over')")?;
        browser.until("nobody is invited to go on", &is_seen("false"))?;
        self.command(&["ask", "--conversation", run, "Quote Focus pro 3h"])?;
        browser.shows("6000 cents")?;
        browser.until(
            "it is as any other",
            &format!("!document.querySelector('#over') && {}", is_seen("true")),
        )?;
        browser.look(1200, 860, false)?;
        self.step("it is called off where nothing covers the button, and gone on with where that is ticked");
        self.is_quiet()
    }

    fn shows_what_is_hostile(&mut self) -> Result<(), Fault> {
        let browser = self.browser;
        self.command(&["ask", "--conversation", HOSTILE, HOSTILE])?;
        self.opens("/runs")?;
        browser.shows("<script>alert('x')</script>")?;
        self.picture("hostile-runs-phone", 390, false)?;
        browser.run("[...document.querySelectorAll('.runs h2 a')].find((it) => it.innerText.includes('<script>')).click()")?;
        browser.until("its page", "document.querySelector('#feed')")?;
        for words in [
            "<script>alert('x')</script>",
            "\\u{202e}evil\\u{202c}",
            "\u{5e9}\u{5dc}\u{5d5}\u{5dd}",
            "\u{1f469}\u{200d}\u{1f373}",
            "\"quoted\" & <b>bold</b>",
        ] {
            browser.shows(words)?;
        }
        let scripts = browser.run(
            "return [document.scripts.length, document.querySelectorAll('main b, main script').length]",
        )?;
        if scripts != json!([1, 0]) {
            return Err(format!("markup of a run has become the page's: {scripts}").into());
        }
        self.picture("hostile-light", 1200, false)?;
        browser.click(".talk a")?;
        browser.until("its report", "document.querySelector('#records')")?;
        browser.shows("<script>alert('x')</script>")?;
        self.step("markup, direction and emoji are shown as the text that they are");
        self.is_quiet()
    }

    /// Pictures of all pages in light, in dark and on a phone, none of which is wider than its screen.
    fn looks(&mut self, asked: &str) -> Result<(), Fault> {
        let browser = self.browser;
        let report = asked.replacen("/chat/", "/runs/", 1);
        for (name, path) in [
            ("new", "/"),
            ("chat", asked),
            ("runs", "/runs"),
            ("report", &*report),
            ("inbox-empty", "/inbox"),
        ] {
            self.opens(path)?;
            browser.until("the page is there", "document.querySelector('#main')")?;
            for (look, width, is_dark) in [
                ("light", 1200, false),
                ("dark", 1200, true),
                ("phone", 390, false),
                ("phone-dark", 390, true),
            ] {
                self.picture(&format!("{name}-{look}"), width, is_dark)?;
            }
        }
        self.step("no page is wider than its screen");
        self.is_quiet()
    }

    fn picture(&self, name: &str, width: u32, is_dark: bool) -> Result<(), Fault> {
        self.browser.look(width, 860, is_dark)?;
        // All of it, as it is without a screen's lower end.
        let height = self.browser.run("return document.documentElement.scrollHeight")?;
        self.browser.look(width, u32::try_from(height.as_u64().unwrap_or_default())?.max(860), is_dark)?;
        let wide = self.browser.run("return document.documentElement.scrollWidth - window.innerWidth")?;
        if wide.as_i64().unwrap_or_default() > 0 {
            return Err(format!("{name}: the page is {wide} pixels wider than the screen").into());
        }
        self.browser.picture(&self.pictures.join(format!("{name}.png")))?;
        self.browser.look(width, 860, is_dark)
    }

    /// Runs a command beside the server.
    fn command(&self, arguments: &[&str]) -> Result<(), Fault> {
        let said = Command::new(self.sommelier).arg("--store").arg(self.journal).args(arguments).output()?;
        match said.status.code() {
            Some(0 | 3) => Ok(()),
            _ => Err(format!("{arguments:?}: {}", String::from_utf8_lossy(&said.stderr)).into()),
        }
    }
}
