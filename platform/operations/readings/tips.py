"""TTL classes, tips received, and what is to be swept."""

from datetime import UTC, datetime, timedelta

import msgspec

from columns.queries import all_rows, first_row
from tipping.services import batches

# What was recorded so long ago is committed by any process.
_SETTLED = timedelta(minutes=10)
# Unsettled entries and those of today are looked for among the newest ones; with more than these
# today, a page says "at least".
_NEWEST = 20_000

_SWEEPING = """
SELECT (SELECT count(*) FROM tipping_tipbatch
        WHERE state = 'closed' AND swept_at IS NULL AND expires_at <= %s),
       (SELECT count(*) FROM tipping_tipbatch
        WHERE state = 'closed' AND swept_at IS NULL AND sweep_note <> ''),
       (SELECT count(*) FROM tipping_tipsweep WHERE state = 'planned'),
       (SELECT min(planned_at) FROM tipping_tipsweep WHERE state = 'planned')
"""
_SETTLED_ID = """
SELECT coalesce(max(id), 0), coalesce(max(id) FILTER (WHERE recorded_at < %s), 0),
       CASE WHEN count(*) = %s THEN min(id) ELSE 0 END
FROM (SELECT id, recorded_at FROM tipping_tipentry ORDER BY id DESC LIMIT %s) AS newest
"""
_SUMS = """
SELECT is_static, count(*), coalesce(sum(lamports), 0) FROM tipping_tipentry
WHERE id > %s AND id <= %s AND kind = 'tip' GROUP BY 1
"""
_TODAY = """
SELECT count(*) FILTER (WHERE kind = 'tip'),
       coalesce(sum(lamports) FILTER (WHERE kind = 'tip'), 0), count(*) = %s
FROM (SELECT kind, lamports, recorded_at FROM tipping_tipentry ORDER BY id DESC LIMIT %s) AS newest
WHERE recorded_at >= %s
"""
_EVER = 2**62


class TipSums(msgspec.Struct, frozen=True):
    """Tips and their lamports, by whether the address is static, in entries up to `upto`."""

    upto: int = 0
    tips: int = 0
    static: int = 0
    dynamic: int = 0


# Where a sample keeps each field of the sums.
KEPT_SUMS = {
    "upto": "tips_upto",
    "tips": "tips_counted",
    "static": "tips_static",
    "dynamic": "tips_dynamic",
}


class ClassReading(msgspec.Struct, frozen=True):
    """One TTL class: `left` addresses of `size` in its open batch, `prepared` batches behind it."""

    id: int
    ttl_seconds: int
    is_available: bool
    is_nearly_dry: bool
    left: int
    size: int
    prepared: int
    unavailable_since: datetime | None


class TipsReading(msgspec.Struct, frozen=True):
    """`unswept` batches are overdue; `noted` ones have a sweeper's note. `sums` are of all tips,
    `settled_sums` of those old enough to be kept in a sample. If `today_is_cut`, there were more.
    """

    classes: list[ClassReading]
    unswept: int
    noted: int
    sweeps: int
    oldest_sweep_at: datetime | None
    tips_today: int
    lamports_today: int
    today_is_cut: bool
    sums: TipSums
    settled_sums: TipSums


def read_tips(now: datetime, *, sweep_after_seconds: int, known: TipSums) -> TipsReading:
    """Entries up to those of `known` are not summed again."""
    late = now - timedelta(seconds=sweep_after_seconds + 60)
    unswept, noted, sweeps, oldest = first_row(_SWEEPING, [late])
    settled, every = _sums(now, known)
    tips_today, lamports_today, is_cut = _today(now)
    return TipsReading(
        classes=[_class(state) for state in batches.overview(now=now)],
        unswept=unswept,
        noted=noted,
        sweeps=sweeps,
        oldest_sweep_at=oldest,
        tips_today=tips_today,
        lamports_today=lamports_today,
        today_is_cut=is_cut,
        sums=every,
        settled_sums=settled,
    )


def _class(state: batches.ClassState) -> ClassReading:
    return ClassReading(
        id=state.ttl_class.pk,
        ttl_seconds=state.ttl_class.ttl_seconds,
        is_available=state.is_available,
        is_nearly_dry=state.is_nearly_dry,
        left=state.left,
        size=0 if state.batch is None else state.batch.size,
        prepared=state.prepared,
        unavailable_since=state.unavailable_since,
    )


def _sums(now: datetime, known: TipSums) -> tuple[TipSums, TipSums]:
    """Of what is surely committed, and of all."""
    newest, *settled = first_row(_SETTLED_ID, [now - _SETTLED, _NEWEST, _NEWEST])
    if newest < known.upto:
        known = TipSums()  # the database went back: it was restored from a copy
    base = _more(known, max(settled))
    return base, _more(base, _EVER)


def _more(known: TipSums, upto: int) -> TipSums:
    if upto <= known.upto:
        return known
    rows = {
        is_static: (count, int(sums))
        for is_static, count, sums in all_rows(_SUMS, [known.upto, upto])
    }
    static, dynamic = rows.get(True, (0, 0)), rows.get(False, (0, 0))
    return TipSums(
        upto,
        known.tips + static[0] + dynamic[0],
        known.static + static[1],
        known.dynamic + dynamic[1],
    )


def _today(now: datetime) -> tuple[int, int, bool]:
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    tips, lamports, is_cut = first_row(_TODAY, [_NEWEST, _NEWEST, midnight])
    return tips, int(lamports), is_cut
