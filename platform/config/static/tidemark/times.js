// Times in the reader's own zone, beside those in UTC: behind a moment, and in the hint of "5 min ago".
"use strict";
(() => {
  const pad = (number) => String(number).padStart(2, "0");

  // 15:05 GMT+1, with its date where that is another day; empty where the reader's zone is UTC then.
  const local = (time, withSeconds) => {
    const at = new Date(time.dateTime);
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
      const text = local(time, /:\d\d:\d\d/.test(time.textContent));
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
  document.addEventListener("pointerover", (event) => {
    const time = event.target.closest?.("time[title$=' UTC']");
    const text = time && local(time, true);
    if (text) time.title += `, ${text}`;
  });
})();
