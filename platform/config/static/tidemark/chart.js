// Charts of templates/admin/chart.html, drawn by uPlot: a read-out under the pointer or by keys, a
// drag zooms, a double click zooms out, series are switched off and on. Words come from the table
// below the chart, which has the same figures; colours come from the swatches of the legend.
"use strict";
(() => {
  const DAY = 86400;
  const LEAST = 0.015; // of a chart's height: one beside a million is still visible
  const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

  const two = (number) => String(number).padStart(2, "0");
  const day = (at) => `${MONTHS[at.getUTCMonth()]} ${at.getUTCDate()}`;
  const clock = (at) => `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
  const stamp = (seconds) => new Date(1e3 * seconds).toISOString().slice(0, 16).replace("T", " ");

  const ticks = (_, splits, __, ___, step) => {
    let before = "";
    return splits.map((seconds) => {
      const at = new Date(1e3 * seconds);
      const today = day(at);
      const words = step >= DAY ? today : today === before || !before ? clock(at) : `${clock(at)}\n${today}`;
      before = today;
      return step < DAY && clock(at) === "00:00" ? today : words;
    });
  };

  const scaleWords = (unit, value) => {
    if (unit === "percent") return `${compact.format(value)}%`;
    if (unit === "per_second") return `${compact.format(value)}/s`;
    if (unit === "ms") return value >= 1e3 ? `${compact.format(value / 1e3)} s` : `${compact.format(value)} ms`;
    return compact.format(value);
  };

  const element = (name, properties, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  const start = (root) => {
    const dataOf = (from) => JSON.parse(from.querySelector("script[type='application/json']").textContent);
    let data = dataOf(root);
    if (!data.starts.length) return;
    const [readout, plot, zoom] = [".tm-readout", ".tm-plot", ".tm-zoom"].map((each) => root.querySelector(each));
    let rows = [...root.querySelectorAll("tbody tr")];
    const count = data.series.length;
    const compared = data.series.some((each) => each.before.length);
    const shown = data.series.map(() => true);
    // A step is drawn at its middle, so that the nearest one is the one under the pointer.
    let times, whole;
    const setTimes = () => {
      times = data.starts.map((each) => each + data.step / 2);
      whole = [times[0] - data.step / 2, times[times.length - 1] + data.step / 2];
    };
    setTimes();
    let at = -1;

    const swatches = [...root.querySelectorAll("[data-series] i")];
    const colour = (number) => getComputedStyle(swatches[number]).backgroundColor;
    const quiet = () => getComputedStyle(readout).color;
    const line = () => getComputedStyle(plot).getPropertyValue("--axis").trim() || "#8888";
    const font = `11px ${getComputedStyle(document.body).fontFamily}`;

    const sums = (side) =>
      times.map((_, step) => {
        const parts = data.series.map((each, number) => (shown[number] ? each[side][step] : null));
        const known = parts.filter((each) => each !== null && each !== undefined);
        return known.length ? known.reduce((total, each) => total + each, 0) : null;
      });

    // The tops of stacked bars, the highest first: what comes later is drawn over it.
    const stacked = () => {
      const least = LEAST * Math.max(1, ...sums("values"));
      const tops = data.series.map(() => []);
      times.forEach((_, step) => {
        let top = 0;
        data.series.forEach((each, number) => {
          const value = each.values[step];
          if (shown[number] && value) top += Math.max(value, least);
          tops[number].push(shown[number] && value ? top : null);
        });
      });
      return [times, ...tops.reverse(), ...(compared ? [sums("before")] : [])];
    };
    const lines = () => [
      times,
      ...data.series.map((each) => each.values),
      ...(compared ? data.series.map((each) => times.map((_, step) => each.before[step] ?? null)) : []),
    ];
    const points = data.stacked ? stacked : lines;

    const dashed = { dash: [5, 4], width: 1.5, points: { show: false } };
    const drawn = data.stacked
      ? [
          ...data.series.map((_, number) => ({
            fill: () => colour(count - 1 - number),
            width: 0,
            paths: uPlot.paths.bars({ size: [0.8, 56], align: 0 }),
            points: { show: false },
          })),
          ...(compared ? [{ ...dashed, stroke: quiet }] : []),
        ]
      : [
          ...data.series.map((_, number) => ({ stroke: () => colour(number), width: 2 })),
          ...(compared ? data.series.map((_, number) => ({ ...dashed, stroke: () => colour(number) })) : []),
        ];

    const show = (step) => {
      at = step;
      const cells = [...rows[step].children].map((each) => each.textContent);
      const local = rows[step].querySelector(".tm-local")?.textContent ?? "";
      const utc = cells[0].slice(0, cells[0].length - local.length);
      const words = [element("strong", { textContent: `${utc} UTC${local}` })];
      const spoken = [];
      data.series.forEach((each, number) => {
        if (!shown[number]) return;
        const before = compared ? cells[1 + count + number] : "";
        const text = `${each.label} ${cells[1 + number]}${before ? ` (before ${before})` : ""}`;
        const swatch = element("i", { className: swatches[number].className });
        words.push(element("span", {}, swatch, text));
        spoken.push(text);
      });
      readout.replaceChildren(...words);
      plot.setAttribute("aria-valuenow", step);
      plot.setAttribute("aria-valuetext", `${cells[0]} UTC: ${spoken.join(", ") || "no series shown"}`);
    };

    const hint = () => {
      at = -1;
      // Where charts are many and alike, the words are not said four times.
      readout.textContent = root.closest("[data-live-chart]") ? "" : "Point at the chart, or use the arrow keys. Drag to zoom.";
    };

    const isWhole = ({ min, max }) => min === null || (min <= whole[0] + 1 && max >= whole[1] - 1);
    const zoomed = (chart) => {
      const { min, max } = chart.scales.x;
      if (isWhole(chart.scales.x)) {
        zoom.hidden = true;
        return;
      }
      // A hand is not exact to the minute: a drag that ends beside a step's edge means the edge.
      const grain = Math.max(60, data.step / 12);
      const from = grain * Math.round(min / grain);
      const to = Math.max(from + grain, grain * Math.round(max / grain));
      const back = element("button", { type: "button", className: "tm-text", textContent: "Zoom out" });
      back.addEventListener("click", () => reset(chart));
      zoom.replaceChildren(`${stamp(from)} to ${stamp(to)} UTC `, back);
      if (data.ranged) {
        const address = new URL(location.href);
        address.searchParams.delete("span");
        address.searchParams.set("from", stamp(from).replace(" ", "T"));
        address.searchParams.set("to", stamp(to).replace(" ", "T"));
        zoom.append(" ", element("a", { href: address.href, className: "tm-link", textContent: "Load this range" }));
      }
      zoom.hidden = false;
    };
    const reset = (chart) => chart.setScale("x", { min: whole[0], max: whole[1] });

    readout.hidden = plot.hidden = false;
    const axis = { font, stroke: quiet, ticks: { show: false } };
    const height = () => parseInt(getComputedStyle(plot).height, 10) || 180;
    const chart = new uPlot(
      {
        width: plot.clientWidth,
        height: height(),
        tzDate: (seconds) => uPlot.tzDate(new Date(1e3 * seconds), "Etc/UTC"),
        legend: { show: false },
        cursor: { y: false, drag: { x: true, y: false, dist: 6 }, points: { show: !data.stacked } },
        scales: {
          // uPlot asks for every range, also for one that was dragged: the first and last points are all.
          x: { range: (_, from, to) => (!(from > times[0]) && !(to < times[times.length - 1]) ? whole : [from, to]) },
          y: { range: (_, __, most) => [0, most > data.top ? 1.05 * most : data.top || 1] },
        },
        series: [{}, ...drawn],
        axes: [
          {
            ...axis,
            grid: { show: false },
            incrs: tidemarkTimeAxis.stepsFor(data.step),
            splits: (_, __, from, to, step) => (data.step < DAY ? tidemarkTimeAxis.ticks : tidemarkTimeAxis.dayTicks)(from, to, step),
            values: ticks,
            space: 56,
            size: 34,
          },
          {
            ...axis,
            grid: { stroke: line, width: 1 },
            values: (_, splits) => splits.map((each) => scaleWords(data.unit, each)),
            incrs: data.unit === "ms" ? undefined : [1, 2, 5].flatMap((each) => [...Array(15).keys()].map((power) => each * 10 ** power)).sort((a, b) => a - b),
            size: 56,
            space: 36,
          },
        ],
        hooks: {
          setCursor: [(made) => (Number.isInteger(made.cursor.idx) && made.cursor.left >= 0 ? show(made.cursor.idx) : hint())],
          setScale: [(made, scale) => scale === "x" && zoomed(made)],
        },
      },
      points(),
      plot,
    );

    // The double click is ours: uPlot would take the range of the points, without their width.
    chart.over.addEventListener("dblclick", () => reset(chart));

    // --- the keyboard ---

    plot.tabIndex = 0;
    plot.setAttribute("role", "slider");
    plot.setAttribute("aria-label", `${data.title}: arrow keys read it, + and - zoom, Escape zooms out`);
    plot.setAttribute("aria-valuemin", 0);
    plot.setAttribute("aria-valuemax", times.length - 1);
    plot.setAttribute("aria-valuenow", times.length - 1);
    plot.setAttribute("aria-valuetext", "not read yet");
    const inside = () => {
      const { min, max } = chart.scales.x;
      const found = times.map((each, step) => [each, step]).filter(([each]) => each >= min && each <= max);
      return found.length ? [found[0][1], found[found.length - 1][1]] : [0, times.length - 1];
    };
    const go = (step) => {
      const [first, last] = inside();
      const next = Math.min(last, Math.max(first, step));
      chart.setCursor({ left: chart.valToPos(times[next], "x"), top: 0 });
      show(next);
    };
    const scale = (factor) => {
      const { min, max } = chart.scales.x;
      const middle = at >= 0 ? times[at] : (min + max) / 2;
      const length = Math.max(2 * data.step, factor * (max - min));
      const from = Math.max(whole[0], Math.min(middle - length / 2, whole[1] - length));
      chart.setScale("x", { min: from, max: Math.min(whole[1], from + length) });
      if (at >= 0) go(at);
    };
    const KEYS = {
      ArrowLeft: () => go(at < 0 ? inside()[1] : at - 1),
      ArrowRight: () => go(at < 0 ? inside()[0] : at + 1),
      Home: () => go(inside()[0]),
      End: () => go(inside()[1]),
      "+": () => scale(0.5),
      "=": () => scale(0.5),
      "-": () => scale(2),
      Escape: () => reset(chart),
    };
    plot.addEventListener("keydown", (event) => {
      const does = KEYS[event.key];
      if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      does();
    });

    // --- series off and on ---

    root.querySelectorAll("[data-series]").forEach((label, number) => {
      const button = element("button", { type: "button", title: "Hide or show" }, ...label.childNodes);
      button.dataset.series = "";
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => {
        shown[number] = !shown[number];
        button.setAttribute("aria-pressed", String(shown[number]));
        const kept = { ...chart.scales.x };
        if (data.stacked) chart.setData(points(), false);
        else {
          chart.setSeries(1 + number, { show: shown[number] });
          if (compared) chart.setSeries(1 + count + number, { show: shown[number] });
        }
        chart.setScale("x", { min: kept.min, max: kept.max });
        if (at >= 0) show(at);
      });
      label.replaceWith(button);
    });

    // --- newer figures: the same chart, made anew by the server ---

    const labels = (each) => each.series.map((one) => one.label).join("\n");
    root.addEventListener("tm-chart", (event) => {
      const made = event.detail;
      const next = dataOf(made);
      if (labels(next) !== labels(data)) {
        root.replaceWith(made);
        start(made);
        return;
      }
      const kept = isWhole(chart.scales.x) ? null : { min: chart.scales.x.min, max: chart.scales.x.max };
      data = next;
      setTimes();
      root.querySelector("script[type='application/json']").replaceWith(made.querySelector("script[type='application/json']"));
      const legend = (from) => [...from.querySelectorAll("[data-series] strong")];
      const fresh = legend(made);
      legend(root).forEach((each, number) => { each.textContent = fresh[number]?.textContent ?? ""; });
      root.querySelector("tbody").replaceWith(made.querySelector("tbody"));
      rows = [...root.querySelectorAll("tbody tr")];
      plot.setAttribute("aria-valuemax", times.length - 1);
      chart.setData(points(), false);
      chart.setScale("x", kept ?? { min: whole[0], max: whole[1] });
      if (at >= 0) show(Math.min(at, times.length - 1));
    });

    // --- size and colours ---

    new ResizeObserver(() => {
      if (plot.clientWidth && plot.clientWidth !== chart.width) chart.setSize({ width: plot.clientWidth, height: height() });
    }).observe(plot);
    const recolour = () => chart.redraw(true, true);
    new MutationObserver(recolour).observe(document.documentElement, { attributeFilter: ["class"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
    hint();
  };

  document.querySelectorAll("[data-chart]").forEach(start);
})();
