// How long until a batch ends, counted down every second.
(() => {
  const all = [...document.querySelectorAll(".tm-countdown")];
  const pad = (number) => String(number).padStart(2, "0");
  const tick = () =>
    all.forEach((each) => {
      const left = Math.round((Date.parse(each.dataset.ends) - Date.now()) / 1000);
      const [h, m, s] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60];
      each.textContent = left <= 0 ? "now" : "in " + (h ? h + ":" + pad(m) : m) + ":" + pad(s);
      each.title = each.dataset.ends.slice(0, 19).replace("T", " ") + " UTC";
    });
  tick();
  setInterval(tick, 1000);
})();
