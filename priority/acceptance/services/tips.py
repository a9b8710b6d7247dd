"""Which transfer of a transaction is its tip, or why none is."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

import redis

from chain.transactions import Wire
from chain.transfers import Transfer, top_level_transfers
from priority.acceptance.errors import (
    TipAddressesUnread,
    TipAddressExpired,
    TipAddressUnknown,
    TipBehindLookupTable,
    TipMissing,
    TipRefused,
    TipTooSmall,
)
from priority.acceptance.store import accepting
from priority.submissions import Tip
from shared_state.outages import AWAY
from tipping.addresses import live_key
from tipping.services.expiries import expiries_of


@dataclass(frozen=True, slots=True)
class TipRules:
    """Addresses that are always good, and the least that counts as a tip: to them, and to one that
    was fetched.
    """

    addresses: frozenset[bytes]
    minimum_lamports: int
    fetched_minimum_lamports: int

    def least(self, pubkey: bytes) -> int:
        return self.minimum_lamports if pubkey in self.addresses else self.fetched_minimum_lamports


class Candidates(NamedTuple):
    """Transfers that are large enough, in the order in which they count: to addresses that may have
    been fetched, and behind them the first to an address that is always good.
    """

    fetched: list[Tip]
    sure: Tip | None


def candidates(wires: Sequence[Wire], rules: TipRules) -> Candidates:
    """Of a bundle the last transaction is looked at first; within one the first transfer counts."""
    fetched: list[Tip] = []
    for index in range(len(wires) - 1, -1, -1):
        for place, pubkey, lamports in top_level_transfers(wires[index]):
            if pubkey is None:
                continue
            if pubkey in rules.addresses:
                if lamports >= rules.minimum_lamports:
                    return Candidates(fetched, Tip(pubkey, lamports, index, place))
            elif lamports >= rules.fetched_minimum_lamports:
                fetched.append(Tip(pubkey, lamports, index, place))
    return Candidates(fetched, None)


def first_good(
    wires: Sequence[Wire], found: Candidates, rules: TipRules, *, now: int, at: Callable[[int], str]
) -> Tip:
    """The tip, by the database's expiries, for addresses that Redis does not know as valid. `at`
    returns a transaction's path in the params. Raises the TipRefused that most likely fits the
    sender's intent, or TipAddressesUnread.
    """
    transfers = [
        (at(index), each)
        for index in range(len(wires) - 1, -1, -1)
        for each in top_level_transfers(wires[index])
    ]
    expiries = _expiries({each.destination for _, each in transfers} - rules.addresses)
    for tip in found.fetched:
        if expiries.get(tip.pubkey, 0) > now:
            return tip
    if found.sure is not None:
        return found.sure
    good = rules.addresses | {each for each, expiry in expiries.items() if expiry > now}
    raise _refusal(transfers, good, expiries, rules, at(len(wires) - 1))


def _refusal(
    transfers: Sequence[tuple[str, Transfer]],
    good: Set[bytes],
    expiries: Mapping[bytes, int],
    rules: TipRules,
    last: str,
) -> TipRefused:
    least = rules.minimum_lamports
    # Of several of a kind the largest was meant.
    small = _largest(transfers, lambda pubkey: pubkey in good, at_least=0)
    if small is not None:
        at, (place, pubkey, lamports) = small
        assert pubkey is not None
        return TipTooSmall(at, place, pubkey, lamports, rules.least(pubkey))
    fetched = rules.fetched_minimum_lamports
    expired = _largest(transfers, lambda pubkey: pubkey in expiries, at_least=fetched)
    if expired is not None:
        at, (place, pubkey, lamports) = expired
        assert pubkey is not None
        return TipAddressExpired(at, place, pubkey, lamports, fetched, expiries[pubkey])
    hidden = _largest(transfers, lambda pubkey: pubkey is None, at_least=least)
    if hidden is not None:
        at, (place, _, lamports) = hidden
        return TipBehindLookupTable(at, place, lamports, least)
    unknown = _largest(transfers, lambda pubkey: pubkey not in expiries, at_least=least)
    if unknown is not None:
        at, (place, pubkey, lamports) = unknown
        assert pubkey is not None
        others = {each.destination for _, each in transfers if each.lamports >= least}
        names = sorted(each for each in others if each is not None and each not in expiries)
        return TipAddressUnknown(at, place, pubkey, lamports, least, names)
    return TipMissing(last, least, sorted(rules.addresses))


def _largest(
    transfers: Sequence[tuple[str, Transfer]],
    fits: Callable[[bytes | None], bool],
    *,
    at_least: int,
) -> tuple[str, Transfer] | None:
    fitting = [
        each for each in transfers if each[1].lamports >= at_least and fits(each[1].destination)
    ]
    return max(fitting, key=lambda each: each[1].lamports, default=None)


def _expiries(pubkeys: Set[bytes | None]) -> dict[bytes, int]:
    """In Unix seconds, of those that were ever issued."""
    asked = [each for each in pubkeys if each is not None]
    found: dict[bytes, int] = {}
    try:
        cached = accepting.expiries([live_key(each) for each in asked])
        found = {
            each: expiry for each, expiry in zip(asked, cached, strict=True) if expiry is not None
        }
    except redis.RedisError:
        pass  # the database knows them all
    left = [each for each in asked if each not in found]
    try:
        issued = expiries_of(left) if left else {}
    except AWAY:
        raise TipAddressesUnread from None
    return found | {pubkey: int(expiry.timestamp()) for pubkey, expiry in issued.items()}
