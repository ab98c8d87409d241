// Keeps a page up to date with what its server tells. Without it the page is whole, and has to be reloaded.
"use strict";

(() => {
  const made = (html) => {
    const box = document.createElement("template");
    box.innerHTML = html;
    return box.content;
  };

  // Puts pieces in the place of those that stand there. One that is marked to be kept stays as it is, with what is typed in it, but
  // for what a user has said.
  const put = (now, html) => {
    const fresh = [...made(html).children];
    const ids = new Set(fresh.map((piece) => piece.id));
    [...now.children].filter((piece) => !ids.has(piece.id)).forEach((piece) => piece.remove());
    fresh.forEach((piece, place) => {
      const old = now.children[place];
      if (old && old.id === piece.id) {
        const isOpen = old.matches("details[open]");
        const [there, here] = [piece, old].map((it) => it.querySelector(".heard"));
        if (there && here && there.textContent !== here.textContent) here.replaceWith(there);
        if (!old.hasAttribute("data-keep") && !isOpen && old.outerHTML !== piece.outerHTML) old.replaceWith(piece);
      } else {
        const there = [...now.children].find((other) => other.id === piece.id);
        now.insertBefore(there || piece, old || null);
      }
    });
  };

  // How many questions wait, at the top of the page, where a piece that is new tells it.
  const tellWaiting = (now) => {
    const told = now.querySelector("[data-waiting]");
    const waiting = document.getElementById("waiting");
    if (!told || !waiting) return;
    waiting.querySelector("b").textContent = told.dataset.waiting;
    waiting.hidden = told.dataset.waiting === "0";
  };

  // How it stands is not known while nothing is heard of it. The next stream tells it anew, first of all.
  const forget = () => {
    const status = document.getElementById("status");
    const count = document.getElementById("count");
    if (count) count.textContent = "How many questions wait now is not known.";
    if (!status) return;
    const chip = document.createElement("span");
    chip.className = "chip";
    chip.textContent = "not known";
    const words = document.createElement("span");
    words.textContent = "how this stands now";
    status.replaceChildren(chip, words);
  };

  const isAtEnd = () => window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 120;
  const toEnd = () => window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });

  // Where the pages are to which this browser was let in. A page whose server has ended asks the others where they are: one of a
  // newer server's may be among them.
  const home = new URL(document.currentScript.src).pathname.replace("/script.js", "");
  const others = new BroadcastChannel("sommelier");
  const asking = "where are you?";
  let isShutOut = false;
  let offer = () => {};
  others.addEventListener("message", ({ data }) => {
    if (data === asking && !isShutOut) others.postMessage(home);
    if (isShutOut && data !== home && /^\/[0-9a-f]{32}$/.test(data)) offer(data);
  });
  others.postMessage(home);

  const watch = (place) => {
    const now = document.getElementById("now");
    const link = document.createElement("p");
    link.className = "link";
    link.setAttribute("role", "status");
    now.after(link);
    // It stands at the end, where whoever reads on sees it.
    const tell = (...words) => {
      const follows = isAtEnd();
      link.replaceChildren(...words);
      if (follows && place !== now) toEnd();
    };
    let seen = place.dataset.seen;
    let news = null;
    // A stream may end for that of another page. Only when the next one does not come either is the connection lost.
    let inVain = 0;

    const open = () => {
      if (news || document.hidden) return;
      news = new EventSource(place.dataset.live + (seen === undefined ? "" : "?after=" + seen));
      news.addEventListener("open", () => { inVain = 0; isShutOut = false; tell(); });
      news.addEventListener("error", () => {
        isShutOut = news.readyState === EventSource.CLOSED;
        inVain += 1;
        if (isShutOut || inVain > 1) forget();
        if (isShutOut) {
          others.postMessage(asking);
          const command = document.createElement("code");
          command.textContent = "sommelier serve";
          tell("This page is not kept up to date any more. Reload it; if that does not let you in, open the address that ", command, " has printed last.");
        } else if (inVain > 1) {
          tell("The connection is lost, and is tried again.");
        }
      });
      news.addEventListener("item", hear);
      news.addEventListener("state", (event) => {
        const follows = isAtEnd();
        put(now, event.data);
        tellWaiting(now);
        if (follows && place !== now) toEnd();
      });
    };
    const close = () => {
      if (news) news.close();
      news = null;
    };

    const hear = (event) => {
      seen = event.lastEventId;
      const item = made(event.data).firstElementChild;
      const old = document.getElementById(item.id);
      const follows = isAtEnd();
      if (old) {
        const open = [...old.querySelectorAll("details")].map((piece) => piece.open);
        item.querySelectorAll("details").forEach((piece, at) => { if (at < open.length) piece.open = open[at]; });
        old.replaceWith(item);
      } else {
        item.classList.add("new");
        place.append(item);
      }
      if (follows) toEnd();
    };

    // It stays here until somebody wants to go: words may stand in it.
    offer = (there) => {
      const on = document.createElement("a");
      on.href = there + location.pathname.slice(home.length);
      on.textContent = "Go on there.";
      tell("You were let in again. ", on);
    };

    // A browser connects to one host only so often: a page that nobody sees takes none of that.
    document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
    window.addEventListener("pagehide", close);
    window.addEventListener("pageshow", open);
    open();
  };

  document.querySelectorAll("[data-live]").forEach(watch);
  if (document.getElementById("feed")) toEnd();

  // Where one calls off is opened at the lower end of the screen, and what is in it would be below.
  document.addEventListener("toggle", ({ target }) => {
    if (target.matches(".call-off[open]")) target.scrollIntoView({ block: "nearest" });
  }, true);

  // Enter sends; with Shift it begins a line.
  const text = document.getElementById("text");
  if (text) {
    text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      if (text.value.trim()) text.form.requestSubmit();
    });
  }

  // What was sent is not sent twice by an impatient finger. A page that comes back is as it was.
  const setSent = (form, isSent) => form.querySelectorAll("button").forEach((button) => { button.disabled = isSent; });
  document.addEventListener("submit", (event) => setTimeout(() => setSent(event.target, true), 0));
  window.addEventListener("pageshow", () => document.querySelectorAll("form").forEach((form) => setSent(form, false)));
})();
