// Times in the reader's own zone, beside those in UTC: behind a moment, and in hints.
"use strict";
(() => {
  const pad = (number) => String(number).padStart(2, "0");

  // 15:05 GMT+1, with its date where that is another day; empty where the reader's zone is UTC then.
  const local = (moment, withSeconds) => {
    const at = new Date(moment);
    if (Number.isNaN(at.getTime()) || !at.getTimezoneOffset()) return "";
    const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
    const seconds = withSeconds ? `:${pad(at.getSeconds())}` : "";
    const clock = `${pad(at.getHours())}:${pad(at.getMinutes())}${seconds}`;
    const parts = new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts(at);
    const zone = parts.find((part) => part.type === "timeZoneName").value;
    return `${day === at.toISOString().slice(0, 10) ? "" : `${day} `}${clock} ${zone}`;
  };

  const add = (root) => {
    for (const time of root.querySelectorAll("time.tm-moment:not(:has(.tm-local))")) {
      const text = local(time.dateTime, /:\d\d:\d\d/.test(time.textContent));
      if (!text) continue;
      const beside = document.createElement("span");
      beside.className = "tm-local";
      beside.textContent = ` (${text})`;
      time.append(beside);
    }
  };

  const start = () => {
    add(document);
    // The tables of live charts are fetched again.
    const added = (change) => [...change.addedNodes].some((node) => node.nodeType === Node.ELEMENT_NODE);
    const observer = new MutationObserver((changes) => changes.some(added) && add(document));
    observer.observe(document.body, { childList: true, subtree: true });
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();

  // Only while it is pointed at: live.js compares parts of the page with what it fetches.
  const hinted = /(\d{4}-\d\d-\d\d) (\d\d:\d\d(:\d\d)?) UTC(?! \()/g;
  const beside = (hint) =>
    hint.replace(hinted, (utc, day, clock, seconds) => {
      const text = local(`${day}T${clock}Z`, Boolean(seconds));
      return text ? `${utc} (${text})` : utc;
    });
  document.addEventListener("pointerover", ({ target }) => {
    if (!(target instanceof Element)) return;
    const element = target.closest("[title*=' UTC']");
    if (element) element.title = beside(element.title);
    const drawn = target.querySelector(":scope > title"); // an SVG's
    if (drawn?.textContent.includes(" UTC")) drawn.textContent = beside(drawn.textContent);
  });
})();
