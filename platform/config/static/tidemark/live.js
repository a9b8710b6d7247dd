// The home page, kept up to date: every three seconds its lights, alarms and cards are fetched, and
// those that changed are put in their place; its charts with each sample. A page that is not updated
// says so: silence would look like good news.
"use strict";
(() => {
  const place = document.getElementById("tm-live");
  const pulse = document.getElementById("tm-pulse");
  if (!place || !pulse) return;
  const EVERY = 3000;
  const PATIENCE = 8000;
  const CHARTS_EVERY = 15000;
  const title = document.title;
  const source = place.dataset.source;
  let fresh = new Date();
  let timer = 0;
  let asking = false;
  let over = false;

  const clock = (moment) => `${moment.toISOString().slice(11, 19)} UTC`;

  const say = (state, text) => {
    place.classList.toggle("tm-stale", state !== "live");
    if (pulse.dataset.state === state && pulse.dataset.text === text) return;
    pulse.dataset.state = state;
    pulse.dataset.text = text;
    const dot = document.createElement("i");
    const words = document.createElement("span");
    words.textContent = text;
    pulse.replaceChildren(dot, words);
    // Read out when it changes for the worse or the better, not each time it beats.
    pulse.setAttribute("aria-live", state === "live" && pulse.dataset.was === "live" ? "off" : "polite");
    pulse.dataset.was = state;
  };

  const put = (text) => {
    const parsed = new DOMParser().parseFromString(`<div>${text}</div>`, "text/html").body.firstChild;
    const names = (root) => [...root.querySelectorAll("[data-live]")].map((each) => each.id).join();
    if (names(parsed) !== names(place)) {
      parsed.querySelector("#tm-charts").replaceWith(document.getElementById("tm-charts"));
      place.replaceChildren(...parsed.childNodes);
      return;
    }
    // What turns red unfolds, what is well again folds; else it stays as its reader has it.
    for (const next of parsed.querySelectorAll("[data-live-group]")) {
      const group = document.getElementById(next.id);
      if (group.dataset.hue === next.dataset.hue) continue;
      group.dataset.hue = next.dataset.hue;
      group.open = next.open;
    }
    const selected = window.getSelection();
    for (const next of parsed.querySelectorAll("[data-live]")) {
      const card = document.getElementById(next.id);
      if (card.outerHTML === next.outerHTML) continue;
      // What is being selected, such as a command, is not taken away.
      if (!selected.isCollapsed && selected.containsNode(card, true)) continue;
      // Who is on a link or button of the card with the keyboard stays on it.
      const place = [...card.querySelectorAll("a, button")].indexOf(document.activeElement);
      card.replaceWith(next);
      if (place >= 0) next.querySelectorAll("a, button")[place]?.focus({ preventScroll: true });
    }
    const count = Number(document.getElementById("needs")?.dataset.count ?? 0);
    document.title = count ? `(${count}) ${title}` : title;
  };

  const askCharts = async () => {
    if (over || document.hidden) return;
    const answer = await fetch(place.dataset.charts, { credentials: "same-origin", redirect: "manual" });
    if (!answer.ok) return;
    const parsed = new DOMParser().parseFromString(`<div>${await answer.text()}</div>`, "text/html");
    for (const next of parsed.querySelectorAll("[data-live-chart]")) {
      const chart = document.getElementById(next.id)?.querySelector("[data-chart]");
      const made = next.querySelector("[data-chart]");
      chart?.dispatchEvent(new CustomEvent("tm-chart", { detail: document.adoptNode(made) }));
    }
  };

  const signInAgain = () => {
    over = true;
    say("over", "You are signed out: these figures are old. ");
    const link = document.createElement("a");
    link.className = "tm-link";
    link.href = place.dataset.signIn;
    link.textContent = "Sign in again";
    pulse.append(link);
  };

  const stale = (why) => say("stale", `Stale since ${clock(fresh)}: ${why}`);

  const ask = async () => {
    window.clearTimeout(timer);
    if (over || asking || document.hidden) return;
    asking = true;
    const giveUp = new AbortController();
    const patience = window.setTimeout(() => giveUp.abort(), PATIENCE);
    try {
      const answer = await fetch(source, {
        credentials: "same-origin",
        redirect: "manual",
        signal: giveUp.signal,
      });
      if (answer.type === "opaqueredirect" || answer.status === 401) {
        signInAgain();
      } else if (answer.status === 403) {
        over = true;
        stale("you may not see this any more");
      } else if (answer.ok) {
        put(await answer.text());
        fresh = new Date();
        say("live", `Live, as of ${clock(fresh)}`);
      } else {
        const said = await answer.json().catch(() => ({}));
        stale(said.why ?? `the server answers with an error (${answer.status})`);
      }
    } catch (error) {
      stale(error.name === "AbortError" ? "the server does not answer in time" : "the server cannot be reached");
    } finally {
      window.clearTimeout(patience);
      asking = false;
      if (!over) timer = window.setTimeout(ask, EVERY);
    }
  };

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) ask();
  });
  say("live", `Live, as of ${clock(fresh)}`);
  timer = window.setTimeout(ask, EVERY);
  // What cannot be fetched is said by `ask`.
  window.setInterval(() => askCharts().catch(() => {}), CHARTS_EVERY);
})();
