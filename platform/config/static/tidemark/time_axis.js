// Ticks of a chart's time axis: evenly spaced, at round times of UTC. uPlot moves single ticks of its
// own by an hour where it sees a change of daylight-saving time; a chart in UTC has none.
"use strict";
var tidemarkTimeAxis = (() => {
  const MINUTE = 60;
  const HOUR = 3600;
  const DAY = 86400;
  // Each up to a day divides the next day, so that midnight is always a tick.
  const steps = [
    ...[1, 2, 5, 10, 15, 30],
    ...[1, 2, 5, 10, 15, 30].map((each) => each * MINUTE),
    ...[1, 2, 3, 4, 6, 8, 12].map((each) => each * HOUR),
    ...[1, 2, 7, 14, 28, 91, 182, 364].map((each) => each * DAY),
  ];
  // Weeks begin on Mondays; 1970-01-01 was a Thursday.
  const MONDAY = 4 * DAY;

  // The ticks from one moment to another (Unix seconds), so many seconds apart.
  const ticks = (from, to, step) => {
    const origin = step % (7 * DAY) === 0 ? MONDAY : 0;
    const found = [];
    for (let at = origin + step * Math.ceil((from - origin) / step); at <= to; at += step) found.push(at);
    return found;
  };
  // The same for steps of whole days: a day's tick is in the middle of its bar.
  const dayTicks = (from, to, step) => ticks(from - DAY / 2, to - DAY / 2, step).map((at) => at + DAY / 2);
  // Steps for bars of so many seconds each: those of a day have no clock between them.
  const stepsFor = (bar) => (bar < DAY ? steps : steps.filter((each) => each >= DAY));
  return { steps, ticks, dayTicks, stepsFor };
})();
