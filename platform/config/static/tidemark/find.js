// Ctrl-K or ⌘K opens the page's search as a dialog: results while typing, arrows, Enter and Esc.
"use strict";
(() => {
  let dialog, input, results, timer, asked = 0;

  const hits = () => [...results.querySelectorAll(".find-hit")];
  const current = () => results.querySelector(".find-hit.at");
  const mark = (hit) => {
    const before = current();
    if (before) before.classList.remove("at");
    if (!hit) return input.removeAttribute("aria-activedescendant");
    hit.classList.add("at");
    hit.id = "find-at-" + hits().indexOf(hit);
    input.setAttribute("aria-activedescendant", hit.id);
    hit.scrollIntoView({ block: "nearest" });
  };

  async function look(address) {
    const number = ++asked;
    try {
      const query = new URLSearchParams({ q: input.value, part: "1" });
      const response = await fetch(`${address}?${query}`);
      // A redirect is the sign-in: the form leads there.
      if (!response.ok || response.redirected) throw new Error(String(response.status));
      const text = await response.text();
      if (number === asked) results.innerHTML = text;
    } catch {
      if (number === asked) results.textContent = "The search did not answer. Enter opens its page.";
    }
  }

  function make(box) {
    dialog = document.createElement("dialog");
    dialog.className = box.closest(".portal-nav, .top") ? "find-dialog portal-find" : "find-dialog";
    dialog.setAttribute("aria-label", box.querySelector("input").getAttribute("aria-label"));
    const form = document.createElement("form");
    form.action = box.action;
    input = box.querySelector("input").cloneNode();
    results = document.createElement("div");
    results.setAttribute("aria-live", "polite");
    form.append(input);
    dialog.append(form, results);
    document.body.append(dialog);
    input.addEventListener("input", () => {
      mark(null);
      clearTimeout(timer);
      timer = setTimeout(look, 200, box.action);
    });
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    dialog.addEventListener("keydown", (event) => {
      const all = hits();
      const at = all.indexOf(current());
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        const step = event.key === "ArrowDown" ? 1 : -1;
        if (all.length) mark(all[at < 0 && step < 0 ? all.length - 1 : (at + step + all.length) % all.length]);
      } else if (event.key === "Enter" && at >= 0) {
        event.preventDefault();
        all[at].click();
      } else if (event.key === "Escape") {
        event.preventDefault();
        dialog.close();
      }
    });
    look(box.action);
  }

  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    const box = document.querySelector("form[data-find]");
    if (!box) return;
    event.preventDefault();
    if (!dialog) make(box);
    if (!dialog.open) dialog.showModal();
    input.select();
  });
})();
