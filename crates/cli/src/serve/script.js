// Keeps a page up to date with what its server tells. Without it the page is whole, and has to be reloaded.
"use strict";

(() => {
  const made = (html) => {
    const box = document.createElement("template");
    box.innerHTML = html;
    return box.content;
  };

  // Puts pieces in the place of those that stand there. One that is marked to be kept stays as it is, with what is typed in it.
  const put = (now, html) => {
    const fresh = [...made(html).children];
    const ids = new Set(fresh.map((piece) => piece.id));
    [...now.children].filter((piece) => !ids.has(piece.id)).forEach((piece) => piece.remove());
    fresh.forEach((piece, place) => {
      const old = now.children[place];
      if (old && old.id === piece.id) {
        const isOpen = old.matches("details[open]");
        if (!old.hasAttribute("data-keep") && !isOpen && old.outerHTML !== piece.outerHTML) old.replaceWith(piece);
      } else {
        const there = [...now.children].find((other) => other.id === piece.id);
        now.insertBefore(there || piece, old || null);
      }
    });
  };

  const isAtEnd = () => window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 120;
  const toEnd = () => window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });

  const watch = (place) => {
    const now = document.getElementById("now");
    const link = document.createElement("p");
    link.className = "link";
    link.setAttribute("role", "status");
    now.after(link);
    const seen = place.dataset.seen;
    const news = new EventSource(place.dataset.live + (seen === undefined ? "" : "?after=" + seen));
    news.addEventListener("open", () => { link.textContent = ""; });
    news.addEventListener("error", () => {
      link.textContent = news.readyState === EventSource.CLOSED
        ? "This page is not kept up to date any more. Reload it; if that does not let you in, open the address that `sommelier serve` has printed."
        : "The connection is lost, and is tried again.";
    });
    news.addEventListener("item", (event) => {
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
    });
    news.addEventListener("state", (event) => {
      const follows = isAtEnd();
      put(now, event.data);
      if (follows && place !== now) toEnd();
    });
    window.addEventListener("pagehide", () => news.close());
  };

  document.querySelectorAll("[data-live]").forEach(watch);
  if (document.getElementById("feed")) toEnd();

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
