"""What is not known of the state that an answer uses, collected while it is read."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from solders.pubkey import Pubkey

from gaps.coverage import GapEntry
from rewind.accounts.results.completeness import WHOLE, Completeness, CompletenessCause
from rewind.accounts.services.position_lookup import ResolvedPosition
from rewind.accounts.store.states import State
from rewind.positions import Position

CauseName = Literal["gap", "last_writes_only", "not_recorded", "filtered"]


@dataclass(slots=True)
class Findings:
    """By account: the newest gap in which it may have been written unseen, and the range of slots
    where only its last write is known; and the accounts without a record, and those that a
    filter left out.
    """

    gaps: dict[bytes, GapEntry] = field(default_factory=dict)
    coarse: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    not_recorded: dict[bytes, None] = field(default_factory=dict)
    filtered: dict[bytes, None] = field(default_factory=dict)

    def note(
        self,
        pubkeys: Iterable[bytes],
        states: Mapping[bytes, State],
        unknown: Collection[bytes],
        resolved: ResolvedPosition,
    ) -> None:
        """The accounts were taken to be this at the position. Of those without a state the unknown
        ones may have been there.
        """
        missing = set(unknown)
        for key in pubkeys:
            self.not_recorded.pop(key, None)
            if key in missing:
                self.not_recorded[key] = None
            if key in states or key in missing:
                self.read(key, states.get(key), resolved)
            else:
                self.found(key, None)

    def read(self, pubkey: bytes, state: State | None, resolved: ResolvedPosition) -> None:
        """The account was taken to be this at the position; None where the archive has no row."""
        place = None if state is None else Position(state.slot, state.position)
        self.found(pubkey, resolved.unseen_since(place))

    def found(self, pubkey: bytes, gap: GapEntry | None) -> None:
        """The newest gap since what was taken of the account: what was read last counts."""
        if gap is None:
            self.gaps.pop(pubkey, None)
        else:
            self.gaps[pubkey] = gap

    def copy(self) -> "Findings":
        return Findings(
            dict(self.gaps), dict(self.coarse), dict(self.not_recorded), dict(self.filtered)
        )

    def among(self, pubkeys: Collection[bytes]) -> "Findings":
        """Those of the accounts alone."""
        return Findings(
            {key: gap for key, gap in self.gaps.items() if key in pubkeys},
            {key: slots for key, slots in self.coarse.items() if key in pubkeys},
            {key: None for key in self.not_recorded if key in pubkeys},
            {key: None for key in self.filtered if key in pubkeys},
        )

    def without(self, pubkeys: Collection[bytes]) -> "Findings":
        """All accounts but these."""
        known = [*self.gaps, *self.coarse, *self.not_recorded, *self.filtered]
        return self.among({key for key in known if key not in pubkeys})

    def joined(self, other: "Findings") -> "Findings":
        """Those of both."""
        return Findings(
            self.gaps | other.gaps,
            self.coarse | other.coarse,
            self.not_recorded | other.not_recorded,
            self.filtered | other.filtered,
        )

    def gap(self) -> GapEntry | None:
        """The newest gap of all."""
        return max(self.gaps.values(), key=lambda gap: gap.to_slot, default=None)

    def completeness(self) -> Completeness:
        return completeness([self])


def completeness(findings: Iterable[Findings]) -> Completeness:
    """What an answer rests on that uses all that was read."""
    causes: dict[CauseName, CompletenessCause] = {}
    for each in findings:
        gap = each.gap()
        if gap is not None:
            _add(causes, "gap", (gap.from_slot, gap.to_slot), each.gaps)
        if each.coarse:
            firsts, lasts = zip(*each.coarse.values(), strict=True)
            _add(causes, "last_writes_only", (min(firsts), max(lasts)), each.coarse)
        if each.not_recorded:
            _add(causes, "not_recorded", None, each.not_recorded)
        if each.filtered:
            _add(causes, "filtered", None, each.filtered)
    if not causes:
        return WHOLE
    return Completeness(status="incomplete", causes=list(causes.values()))


def _add(
    causes: dict[CauseName, CompletenessCause],
    name: CauseName,
    slots: tuple[int, int] | None,
    pubkeys: Mapping[bytes, object],
) -> None:
    accounts = [str(Pubkey(key)) for key in pubkeys]
    known = causes.get(name)
    if known is not None:
        accounts = list(dict.fromkeys([*known.accounts, *accounts]))
        if slots is not None and known.from_slot is not None and known.to_slot is not None:
            theirs = known.from_slot, known.to_slot
            if name == "gap":
                slots = max(slots, theirs, key=lambda each: each[1])
            else:
                slots = min(slots[0], theirs[0]), max(slots[1], theirs[1])
    first, last = (None, None) if slots is None else slots
    causes[name] = CompletenessCause(cause=name, from_slot=first, to_slot=last, accounts=accounts)
