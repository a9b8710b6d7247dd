// The console's history: what was sent from this browser, without keys and answers. The pages of
// single methods add to it; the console shows it.
"use strict";
(() => {
  const STORED = "tidemark-history";
  const MOST = 50;
  const LONGEST = 4000; // characters of params: a transaction of the largest size fits
  const place = document.querySelector(".history");
  const form = document.querySelector("form[data-choose]");

  const read = () => {
    try {
      const found = JSON.parse(localStorage.getItem(STORED) || "[]");
      return Array.isArray(found) ? found.filter((each) => each && each.path && each.method) : [];
    } catch {
      return [];
    }
  };

  const write = (entries) => {
    try {
      localStorage.setItem(STORED, JSON.stringify(entries));
    } catch {
      // No room, or storage is off: the page works without a history.
    }
  };

  const element = (name, text, className) => {
    const made = document.createElement(name);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  const show = () => {
    if (!place) return;
    const entries = read();
    place.hidden = entries.length === 0;
    place.querySelector("ol").replaceChildren(...entries.map((each) => {
      const button = document.createElement("button");
      button.type = "button";
      const at = new Date(each.at);
      const params = each.params.replace(/\s+/g, " ");
      button.append(
        element("code", each.method), element("span", ` ${each.path}`),
        element("span", params, "hint"),
        element("span", `${at.toLocaleString()}, ${each.outcome}`, "hint"),
      );
      button.addEventListener("click", () => {
        const value = `${each.path} ${each.method}`;
        if (![...form.choice.options].some((option) => option.value === value)) return;
        form.choice.value = value;
        form.choice.dispatchEvent(new Event("change", { bubbles: true }));
        form.params.value = each.params;
        form.params.dispatchEvent(new Event("input", { bubbles: true }));
        form.params.focus();
      });
      const line = document.createElement("li");
      line.append(button);
      return line;
    }));
  };

  document.addEventListener("tidemark:called", (event) => {
    const { path, method, params, outcome } = event.detail;
    if (params.length > LONGEST) return;
    const same = (each) => each.path === path && each.method === method && each.params === params;
    const entry = { path, method, params, outcome, at: Date.now() };
    write([entry, ...read().filter((each) => !same(each))].slice(0, MOST));
    show();
  });
  place?.querySelector("[data-clear]").addEventListener("click", () => {
    localStorage.removeItem(STORED);
    show();
  });
  window.addEventListener("storage", show);
  show();
})();
