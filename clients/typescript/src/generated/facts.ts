// Generated: the version, and the members that are numbers where all others are integers.
export const VERSION = "0.9.0";

export const NUMBERS: ReadonlySet<string> = new Set([
  "acceptedAt",
  "at",
  "bundlesPerSecond",
  "ema_landed_tips_50th_percentile",
  "fetch_rate_per_second",
  "gapPercent",
  "landed_tips_25th_percentile",
  "landed_tips_50th_percentile",
  "landed_tips_75th_percentile",
  "landed_tips_95th_percentile",
  "landed_tips_99th_percentile",
  "milliseconds",
  "perSecond",
  "requestsPerSecond",
  "seenAt",
  "sentAt",
  "settledAt",
  "share",
  "startedAt",
  "tipFetchesPerSecond",
  "uiAmount"
]);
