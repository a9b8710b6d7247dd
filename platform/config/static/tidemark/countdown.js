// How long until a moment, counted down every second: a batch's end, the end of a key's overlap.
(() => {
  const all = [...document.querySelectorAll(".tm-countdown time")];
  const pad = (number) => String(number).padStart(2, "0");
  const tick = () =>
    all.forEach((each) => {
      const left = Math.round((Date.parse(each.dateTime) - Date.now()) / 1000);
      const [d, h, m, s] = [Math.floor(left / 86400), Math.floor(left / 3600) % 24, Math.floor(left / 60) % 60, left % 60];
      const clock = (d || h ? h + ":" + pad(m) : m) + ":" + pad(s);
      each.textContent = left <= 0 ? "now" : "in " + (d ? d + " d " : "") + clock;
    });
  tick();
  setInterval(tick, 1000);
})();
