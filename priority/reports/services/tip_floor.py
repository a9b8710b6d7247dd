"""Recent landed tips, as percentiles."""

import threading
import time
from datetime import datetime, timedelta

from chain.units import LAMPORTS_PER_SOL
from columns.kept import Remembered
from priority.reports.results import TipFloor
from priority.reports.store import tip_floor as store

WINDOWS = (60, 300, 900, 3_600)
DEFAULT_WINDOW = 300

_SHARES = [0.25, 0.5, 0.75, 0.95, 0.99]
# The moving average of a window is over the medians of so many steps of it.
_STEPS = 12
_ALPHA = 2 / (_STEPS + 1)
_KEPT_SECONDS = 2.0

_kept: Remembered[int, tuple[float, TipFloor]] = Remembered()
_lock = threading.Lock()


def tip_floor(window: int, *, now: datetime) -> TipFloor:
    """The percentiles over the last `window` seconds, one of WINDOWS; two seconds old at most."""
    with _lock:  # a waiting thread gets what the first one read
        kept = _kept.get(window)
        if kept is None or time.monotonic() - kept[0] >= _KEPT_SECONDS:
            kept = (time.monotonic(), _read(window, now))
            _kept[window] = kept
    return kept[1]


def _read(window: int, now: datetime) -> TipFloor:
    since = now - timedelta(seconds=window)
    count, found = store.percentiles(since, _SHARES)
    average = moving_average(store.medians(since, window / _STEPS)) if count else None
    lamports = [None] * len(_SHARES) if found is None else [round(each) for each in found]
    sol = [0.0 if each is None else each / LAMPORTS_PER_SOL for each in lamports]
    return TipFloor(
        time=now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        landed_tips_25th_percentile=sol[0],
        landed_tips_50th_percentile=sol[1],
        landed_tips_75th_percentile=sol[2],
        landed_tips_95th_percentile=sol[3],
        landed_tips_99th_percentile=sol[4],
        ema_landed_tips_50th_percentile=0.0 if average is None else average / LAMPORTS_PER_SOL,
        window_seconds=window,
        count=count,
        lamports_25th_percentile=lamports[0],
        lamports_50th_percentile=lamports[1],
        lamports_75th_percentile=lamports[2],
        lamports_95th_percentile=lamports[3],
        lamports_99th_percentile=lamports[4],
        lamports_ema_50th_percentile=None if average is None else round(average),
    )


def moving_average(medians: list[float]) -> float | None:
    """The exponential moving average, which weighs the newest most; steps without tips are
    skipped.
    """
    average = None
    for median in medians:
        average = median if average is None else average + _ALPHA * (median - average)
    return average
