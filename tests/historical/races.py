"""Whether reads beside commits were linearizable: each answer is of one state that was current
between its being asked for and its being received, and no read that begins after another one has
ended sees an older state than it. A list of blocks may end with a block that was the newest after
it was asked for: up to that one it knew what was missing.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# What a read saw of the ledger, such as ("newest", 7) or ("blocks", (3, 9), (4, 5, 8)).
Observation = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Version:
    """One recording of a block. `mark` differs between the recordings of one block."""

    slot: int
    blockhash: str
    time: int
    mark: str
    # Signature → the error as JSON, None where it succeeded.
    transactions: Mapping[str, str | None]


State = Mapping[int, Version]


@dataclass(frozen=True, slots=True)
class Commit:
    """The ledger's blocks from a commit on, which took effect at some moment after `began` and
    before `finished`, in nanoseconds of the monotonic clock.
    """

    began: int
    finished: int
    state: State
    what: str


@dataclass(frozen=True, slots=True)
class Read:
    """One answer and what it says of the ledger, part by part; times as a commit's."""

    sent: int
    received: int
    reader: str
    request: str
    observations: tuple[Observation, ...]


def holds(state: State, seen: Observation) -> bool:
    """Whether the state could have been answered so."""
    kind, *terms = seen
    return _MEANINGS[kind](state, *terms)


def _place(state: State, signature: str) -> list[tuple[Version, str | None]]:
    return [
        (version, version.transactions[signature])
        for version in state.values()
        if signature in version.transactions
    ]


def _statuses(state: State, asked: Sequence[str], found: Sequence[Any]) -> bool:
    for signature, answer in zip(asked, found, strict=True):
        known = [(version.slot, err) for version, err in _place(state, signature)]
        if answer not in (known or [None]):
            return False
    return True


def _transaction(state: State, signature: str, found: Any) -> bool:
    known = [(each.slot, each.time, each.mark, err) for each, err in _place(state, signature)]
    return found in (known or [None])


def _block(
    state: State, slot: int, blockhash: str, held: Sequence[str], marks: Sequence[str]
) -> bool:
    version = state.get(slot)
    return (
        version is not None
        and version.blockhash == blockhash
        and list(version.transactions) == list(held)
        and all(mark == version.mark for mark in marks)
    )


def _blocks(state: State, bounds: tuple[int, int], found: Sequence[int]) -> bool:
    return [slot for slot in sorted(state) if bounds[0] <= slot <= bounds[1]] == list(found)


_MEANINGS: Mapping[str, Callable[..., bool]] = {
    # The highest and the lowest slot, None of an empty ledger.
    "newest": lambda state, slot: max(state, default=None) == slot,
    "first": lambda state, slot: min(state, default=None) == slot,
    "absent": lambda state, slot: slot not in state,
    "time": lambda state, slot, time: slot in state and state[slot].time == time,
    "blocks": _blocks,
    "block": _block,
    "statuses": _statuses,
    "transaction": _transaction,
    # An error that no state explains.
    "failed": lambda state, answer: False,
}


@dataclass(slots=True)
class Findings:
    """What a check saw: each violation in words, and how many states were answered from."""

    violations: list[str]
    states_seen: int
    # Of these a commit was under way, or had finished, while they were answered.
    beside_a_commit: int


def check(commits: Sequence[Commit], reads: Sequence[Read]) -> Findings:
    """The commits are one writer's, in their order; the first is the state at the beginning."""
    finished = [each.finished for each in commits]
    began = [each.began for each in commits]
    known: dict[tuple[int, Observation], bool] = {}
    by_end = sorted(range(len(reads)), key=lambda number: reads[number].received)
    seen_state = [0] * len(reads)
    ended = 0
    newest_seen, seen_by = 0, -1
    result = Findings([], 0, 0)
    states: set[int] = set()

    def is_of(number: int, seen: Observation) -> bool:
        found = known.get((number, seen))
        if found is None:
            found = known[number, seen] = holds(commits[number].state, seen)
        return found

    def may_be_of(number: int, oldest: int, seen: Observation) -> bool:
        if is_of(number, seen):
            return True
        if seen[0] != "blocks":
            return False
        (first, last), found = seen[1:]
        newest = {max(each.state, default=-1) for each in commits[oldest : number + 1]}
        return any(is_of(number, ("blocks", (first, min(last, end)), found)) for end in newest)

    for number in sorted(range(len(reads)), key=lambda number: reads[number].sent):
        read = reads[number]
        while reads[by_end[ended]].received < read.sent:
            if seen_state[by_end[ended]] > newest_seen:
                newest_seen, seen_by = seen_state[by_end[ended]], by_end[ended]
            ended += 1
        # The newest that had finished before the read was sent, and the newest that had begun when
        # its answer came.
        oldest = bisect_left(finished, read.sent) - 1
        newest = bisect_left(began, read.received) - 1
        result.beside_a_commit += oldest < newest
        for seen in read.observations:
            # The oldest that it can have been: so no later read is blamed for nothing.
            state = next(
                (
                    each
                    for each in range(max(oldest, newest_seen), newest + 1)
                    if may_be_of(each, oldest, seen)
                ),
                None,
            )
            if state is None:
                allowed = any(may_be_of(each, oldest, seen) for each in range(oldest, newest + 1))
                before = reads[seen_by] if allowed else None
                result.violations.append(
                    "\n".join(_told(commits, read, seen, oldest, newest, before, newest_seen))
                )
                continue
            states.add(state)
            seen_state[number] = max(seen_state[number], state)
    result.states_seen = len(states)
    return result


def _told(
    commits: Sequence[Commit],
    read: Read,
    seen: Observation,
    oldest: int,
    newest: int,
    before: Read | None,
    newest_seen: int,
) -> Iterator[str]:
    """A violation with the history around it; times in microseconds from when it was sent."""

    def at(time: int) -> str:
        return f"{(time - read.sent) / 1e3:+,.0f}"

    last = next((n for n in range(oldest - 1, -1, -1) if holds(commits[n].state, seen)), None)
    later = next(
        (n for n in range(newest + 1, len(commits)) if holds(commits[n].state, seen)), None
    )
    yield f"{read.reader} sent {read.request[:100]}, received {at(read.received)} us later: {seen}"
    yield f"  states {oldest} to {newest} were current meanwhile; it was last true in {last}, next"
    yield f"  in {later}"
    if before is not None:
        yield f"  {before.reader} had seen state {newest_seen} by {before.request}, sent"
        yield f"  {at(before.sent)} and received {at(before.received)}: {before.observations}"
    shown = {*range(max(0, oldest - 2), min(len(commits), newest + 3))}
    shown |= {each for each in (last, later) if each is not None}
    for number in sorted(shown):
        commit = commits[number]
        yield (
            f"  state {number}: {commit.what}, began {at(commit.began)}, finished"
            f" {at(commit.finished)}; blocks {sorted(commit.state)}"
        )
