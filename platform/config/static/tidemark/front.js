// The strip of the front page: fetched again every two seconds while it is looked at.
"use strict";
(() => {
  const place = document.getElementById("strip");
  if (!place) return;
  const EVERY = 2000;
  const PATIENCE = 8000;
  let timer = 0;

  const ask = async () => {
    clearTimeout(timer);
    if (document.hidden) return;
    const giveUp = new AbortController();
    const patience = setTimeout(() => giveUp.abort(), PATIENCE);
    try {
      const answer = await fetch(place.dataset.source, { credentials: "omit", signal: giveUp.signal });
      if (!answer.ok) throw new Error(String(answer.status));
      place.innerHTML = await answer.text();
      place.classList.remove("stale");
    } catch {
      const word = place.querySelector(".word");
      word.className = "word bad";
      word.textContent = "stale";
      place.classList.add("stale");
    } finally {
      clearTimeout(patience);
      timer = setTimeout(ask, EVERY);
    }
  };

  document.addEventListener("visibilitychange", ask);
  timer = setTimeout(ask, EVERY);
})();
