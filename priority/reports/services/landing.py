"""The landing report: states over time, upstreams, slots, tips, and losses."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from access.models import ApiKey
from access.spans import DEFAULT_SPAN, Span
from access.store import key_ids_of_customer
from priority.reports.services.landing_times import (
    Percentiles,
    TimedPercentiles,
    percentiles,
    timed_percentiles,
    times_of,
)
from priority.reports.store import counts
from priority.reports.store import landings as store
from priority.reports.store.landings import Fact, Lost, Times
from priority.submissions import landed_share
from priority.upstreams.store import kinds_by_name

# Buckets of slots from acceptance to the block: 0 to 8, then what is slower.
SLOT_BOUNDS = (*map(str, range(9)), "9 to 16", "17 to 32", "33 or more")
_KEYS_SHOWN, _ANSWERS_SHOWN = 15, 4


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What of all submissions is looked at."""

    key_id: int | None = None
    customer_id: int | None = None
    tier: str = ""
    upstream: str = ""


@dataclass(slots=True)
class UpstreamFigures:
    """What one upstream did. `took` are submissions by state, `first` those that it took before any
    other one, `tries` by outcome and `answers` what was said where it did not take them.
    """

    name: str
    kind: str = ""
    took: Counter[str] = field(default_factory=Counter)
    first: int = 0
    tries: Counter[str] = field(default_factory=Counter)
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    slots: Counter[int] = field(default_factory=Counter)
    answer: Percentiles | None = None
    byte: Percentiles | None = None

    @property
    def rate(self) -> float | None:
        return landed_share(self.took)


@dataclass(slots=True)
class ClassTips:
    """Tips that landed, to addresses of one class (or static ones): lamports by step, too."""

    name: str
    count: int = 0
    lamports: int = 0
    median: float = 0.0
    over_time: Counter[datetime] = field(default_factory=Counter)

    @property
    def rounded_median(self) -> int:
        """It is known to 5 %."""
        return int(float(f"{self.median:.2g}"))


@dataclass(slots=True)
class KeyLosses:
    """A key (None: callers without one, or `key_id` of one that is deleted) and why its submissions
    did not land: `reasons` after acceptance, `refusals` before it.
    """

    key_id: int | None
    key: ApiKey | None
    total: int
    reasons: list[Lost]
    refusals: list[tuple[str, int]]

    @property
    def lost(self) -> int:
        return sum(reason.count for reason in self.reasons)

    @property
    def refused(self) -> int:
        return sum(calls for _, calls in self.refusals)


@dataclass(frozen=True, slots=True)
class LandingReport:
    """`steps` has every step of the span from the first one that is known (`since`, where that is
    not the span's begin), `before` those of the previous period, if they were asked for. `sampled`:
    all but the states are of the newest submissions of the chosen keys.
    """

    span: Span
    counted_at: datetime | None
    states: Counter[str]
    steps: Sequence[tuple[datetime, Counter[str]]]
    slots: Counter[int]
    byte: Percentiles | None
    upstreams: Sequence[UpstreamFigures]
    kinds: Counter[str]
    tips: Sequence[ClassTips]
    losses: Sequence[KeyLosses]
    refusals: Sequence[tuple[str, int]]
    sampled: bool
    before: Sequence[Counter[str] | None] = ()
    since: datetime | None = None
    timed: TimedPercentiles | None = None

    @property
    def total(self) -> int:
        return sum(self.states.values())

    @property
    def rate(self) -> float | None:
        return landed_share(self.states)


def landing_report(
    span: Span, narrowed: Narrowed, *, now: datetime, compared: bool = False
) -> LandingReport:
    """Everything that was accepted in the span, as far as it is counted."""
    times = times_of(span, now)
    keys = _keys(narrowed)
    if keys is None:
        facts = store.facts(times, tier=narrowed.tier, upstream=narrowed.upstream)
        timed = [fact for fact in facts if fact.measure == "state"]
    else:
        facts = store.facts_of_keys(times, keys, tier=narrowed.tier)
        timed = store.states_of_keys(times, keys, tier=narrowed.tier)
    if narrowed.upstream and keys is None:
        timed = [f for f in facts if f.measure == "took" and f.upstream == narrowed.upstream]
    upstreams = _upstreams(facts)
    shown = [each for each in upstreams if narrowed.upstream in ("", each.name)]
    chosen = next((each for each in upstreams if each.name == narrowed.upstream), None)
    states, steps = _states(timed, span.begins(now))
    if chosen is not None and keys is not None:
        states, steps = chosen.took, []
    since = counts.counted_since()
    first = 0 if since is None else sum(begin + span.step <= since for begin, _ in steps)
    before: list[Counter[str] | None] = []
    if compared and steps:
        before = [
            None if since is None or begin + span.step <= since else found
            for begin, found in _earlier_steps(span, narrowed, keys, now)
        ][first : len(steps)]
    kinds: Counter[str] = Counter()
    for each in upstreams:
        kinds[each.kind] += each.first
    return LandingReport(
        span=span,
        counted_at=counts.clock(),
        states=states,
        steps=steps[first:],
        slots=_numbers(facts, "slots", narrowed.upstream),
        byte=percentiles(_numbers(facts, "byte", narrowed.upstream)),
        upstreams=shown,
        kinds=+kinds,
        tips=_tips(facts),
        losses=_losses(times, keys, narrowed.tier),
        refusals=[] if keys is not None or narrowed.tier else store.refusals_of_all(times),
        sampled=keys is not None,
        before=before,
        since=since if first else None,
        timed=None
        if keys is not None
        else timed_percentiles(
            span,
            tier=narrowed.tier,
            upstream=narrowed.upstream,
            now=now,
            compared=compared,
            first=first,
        ),
    )


def _earlier_steps(
    span: Span, narrowed: Narrowed, keys: list[int] | None, now: datetime
) -> list[tuple[datetime, Counter[str]]]:
    """States of the previous period, by step."""
    earlier = span.before(now)
    times = times_of(earlier, now)
    if keys is not None:
        timed = store.states_of_keys(times, keys, tier=narrowed.tier)
    else:
        facts = store.facts(times, tier=narrowed.tier, upstream=narrowed.upstream)
        measure = "took" if narrowed.upstream else "state"
        timed = [f for f in facts if f.measure == measure and f.upstream == narrowed.upstream]
    return _states(timed, earlier.begins(now))[1]


def all_figures(*, now: datetime, span: Span = DEFAULT_SPAN) -> Sequence[UpstreamFigures]:
    """What every upstream did in the span that did anything."""
    return _upstreams(store.facts(times_of(span, now), tier="", upstream=""))


def _keys(narrowed: Narrowed) -> list[int] | None:
    if narrowed.key_id is not None:
        return [narrowed.key_id]
    if narrowed.customer_id is not None:
        return key_ids_of_customer(narrowed.customer_id)
    return None


def _states(
    facts: list[Fact], begins: list[datetime]
) -> tuple[Counter[str], list[tuple[datetime, Counter[str]]]]:
    by_step: dict[datetime | None, Counter[str]] = defaultdict(Counter)
    for fact in facts:
        by_step[fact.start][fact.word] += fact.count
    total: Counter[str] = Counter()
    for states in by_step.values():
        total.update(states)
    return total, [(begin, by_step[begin]) for begin in begins]


def _numbers(facts: list[Fact], measure: str, upstream: str) -> Counter[int]:
    found: Counter[int] = Counter()
    for fact in facts:
        if fact.measure == measure and fact.upstream == upstream:
            found[fact.number] += fact.count
    return found


def _upstreams(facts: list[Fact]) -> list[UpstreamFigures]:
    """By how many they took first, then by name."""
    kinds = kinds_by_name()
    found: dict[str, UpstreamFigures] = {}
    numbers: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for fact in facts:
        if not fact.upstream:
            continue
        each = found.setdefault(
            fact.upstream, UpstreamFigures(fact.upstream, kinds.get(fact.upstream, ""))
        )
        if fact.measure == "took":
            each.took[fact.word] += fact.count
            each.first += fact.amount
        elif fact.measure == "slots":
            each.slots[fact.number] += fact.count
        elif fact.measure == "try":
            outcome, _, answer = fact.word.partition(": ")
            each.tries[outcome] += fact.count
            if answer:
                each.answers[outcome, answer] += fact.count
        else:
            numbers[fact.upstream, fact.measure][fact.number] += fact.count
    for each in found.values():
        each.answer = percentiles(numbers[each.name, "answer"])
        each.byte = percentiles(numbers[each.name, "byte"])
        each.answers = Counter(dict(each.answers.most_common(_ANSWERS_SHOWN)))
    return sorted(found.values(), key=lambda each: (-each.first, each.name))


def _tips(facts: list[Fact]) -> list[ClassTips]:
    found: dict[str, ClassTips] = {}
    numbers: dict[str, Counter[int]] = defaultdict(Counter)
    for fact in facts:
        if fact.measure != "tip":
            continue
        each = found.setdefault(fact.word, ClassTips(fact.word))
        each.count += fact.count
        each.lamports += fact.amount
        numbers[fact.word][fact.number] += fact.count
        if fact.start is not None:
            each.over_time[fact.start] += fact.amount
    for name, each in found.items():
        found_of_class = percentiles(numbers[name])
        each.median = 0.0 if found_of_class is None else found_of_class.p50
    return sorted(found.values(), key=lambda each: (each.name == "static", each.name.zfill(9)))


def _losses(times: Times, keys: list[int] | None, tier: str) -> list[KeyLosses]:
    since = times.start.date()
    lost: list[int | None] = store.keys_with_losses(times, keys=keys, tier=tier, limit=_KEYS_SHOWN)
    # Refusals are counted by key, without a tier.
    refused = [*(keys or [])] if keys is not None else store.keys_refused_most(since, limit=50)
    refusals: dict[int | None, list[tuple[str, int]]] = defaultdict(list)
    for key, status, calls in [] if tier else store.refusals(since, {*lost, *refused}):
        refusals[key].append((status, calls))
    wanted = {*lost, *refusals}
    totals = store.totals_of(times, wanted, tier=tier)
    reasons: dict[int | None, list[Lost]] = defaultdict(list)
    for each in store.losses(times, wanted, tier=tier):
        reasons[each.key_id].append(each)
    named = store.keys_named(wanted)
    found = [
        KeyLosses(
            key_id=key,
            key=None if key is None else named.get(key),
            total=totals.get(key, 0),
            reasons=reasons[key],
            refusals=refusals[key],
        )
        for key in wanted
    ]
    found.sort(key=lambda each: (-each.lost - each.refused, each.key_id or 0))
    return found[:_KEYS_SHOWN]
