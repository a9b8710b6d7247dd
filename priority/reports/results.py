"""Results: landed tips."""

import msgspec


class TipFloor(msgspec.Struct, frozen=True, kw_only=True):
    """Percentiles of the tips that landed, in SOL as clients of like services read them, and in
    lamports. Without a landed tip the former are 0 and the latter null.

    time: when this was computed, in UTC
    landed_tips_25th_percentile: a quarter of them were at most this, in SOL
    landed_tips_50th_percentile: half of them were at most this, in SOL
    landed_tips_75th_percentile: three quarters of them were at most this, in SOL
    landed_tips_95th_percentile: 95 % of them were at most this, in SOL
    landed_tips_99th_percentile: 99 % of them were at most this, in SOL
    ema_landed_tips_50th_percentile: the median, smoothed over time, in SOL
    window_seconds: over how many seconds
    count: how many tips landed in them
    lamports_25th_percentile: a quarter of them were at most this
    lamports_50th_percentile: half of them were at most this
    lamports_75th_percentile: three quarters of them were at most this
    lamports_95th_percentile: 95 % of them were at most this
    lamports_99th_percentile: 99 % of them were at most this
    lamports_ema_50th_percentile: the median, smoothed over time
    """

    time: str
    landed_tips_25th_percentile: float
    landed_tips_50th_percentile: float
    landed_tips_75th_percentile: float
    landed_tips_95th_percentile: float
    landed_tips_99th_percentile: float
    ema_landed_tips_50th_percentile: float
    window_seconds: int
    count: int
    lamports_25th_percentile: int | None
    lamports_50th_percentile: int | None
    lamports_75th_percentile: int | None
    lamports_95th_percentile: int | None
    lamports_99th_percentile: int | None
    lamports_ema_50th_percentile: int | None
