// Pages of the docs: links of headings are copied, one language on all tabs, the place on the page.
"use strict";
(() => {
  const LANGUAGE = "tidemark-language";

  // A link of a heading: its address is copied, and stands in the bar as with any link.
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a.anchor");
    if (!link) return;
    try {
      await navigator.clipboard.writeText(link.href);
    } catch {
      return; // plain HTTP on another machine: the bar has it
    }
    link.classList.add("copied");
    setTimeout(() => link.classList.remove("copied"), 1500);
  });

  // Whoever reads one tab in Go wants the others in Go, on the next page too.
  const choose = (language) => {
    document.querySelectorAll(`.tabs > input[data-language="${CSS.escape(language)}"]`)
      .forEach((each) => { each.checked = true; });
  };
  document.addEventListener("change", (event) => {
    const { language } = event.target.dataset;
    if (!language) return;
    const before = event.target.getBoundingClientRect().top;
    choose(language);
    // Tabs above may have another height now: the one that was clicked stays in its place.
    window.scrollBy(0, event.target.getBoundingClientRect().top - before);
    localStorage.setItem(LANGUAGE, language);
  });
  choose(localStorage.getItem(LANGUAGE) || "");

  // On this page: the heading that was passed last.
  const links = [...document.querySelectorAll(".toc a")];
  const headings = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  let waits = false;
  const mark = () => {
    waits = false;
    const end = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 2;
    const passed = headings.filter((each) => each && each.getBoundingClientRect().top < 110).length;
    const at = end && window.scrollY ? links.length - 1 : passed - 1;
    links.forEach((link, number) => link.classList.toggle("at", number === at));
  };
  if (links.length) {
    document.addEventListener("scroll", () => {
      if (!waits) requestAnimationFrame(mark);
      waits = true;
    }, { passive: true });
    mark();
  }

  // The sidebar begins where the page is.
  const current = document.querySelector(".pages [aria-current]");
  const pages = document.querySelector(".pages");
  if (current && pages.scrollHeight > pages.clientHeight) {
    pages.scrollTop = Math.max(0, current.offsetTop - pages.offsetTop - pages.clientHeight / 3);
  }

  // Rows of a table that have every word that is typed.
  document.querySelectorAll("[data-filter]").forEach((input) => {
    const rows = [...document.querySelectorAll(`#${input.dataset.filter} tbody tr`)];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const count = input.parentElement.querySelector("[role=status]");
    input.parentElement.hidden = false;
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, number) => {
        row.hidden = !words.every((word) => texts[number].includes(word));
        shown += row.hidden ? 0 : 1;
      });
      count.textContent = words.length ? `${shown} of ${rows.length}` : "";
    });
  });
})();
