"""Wanted: the wants of all processes, and what of a slot's messages each of them wants."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

from livefeed.filters import AccountFilter, allowed
from livefeed.messages import Kind, Level, Want
from livefeed.parts import Part
from upstream.geyser.cuckoo import CuckooFilter, HashedKeys
from upstream.geyser.updates import AccountUpdate, TransactionUpdate, account_keys
from upstream.protobuf import geyser_pb2 as schema

T = TypeVar("T")
Filters = tuple[AccountFilter, ...]
_parse = schema.SubscribeUpdate.FromString


@dataclass(slots=True)
class Picked:
    """What one process wants of a slot."""

    accounts: dict[bytes, AccountUpdate] = field(default_factory=dict)
    transactions: dict[int, TransactionUpdate] = field(default_factory=dict)
    block: bool = False
    entries: bool = False
    footers: bool = False

    def accounts_in_order(self) -> list[AccountUpdate]:
        return sorted(self.accounts.values(), key=lambda each: each.write_version)

    def transactions_in_order(self) -> list[bytes]:
        return [self.transactions[index].packed for index in sorted(self.transactions)]


class Wanted:
    """The wants by kind and level; processes are named by their text."""

    def __init__(self) -> None:
        # {(kind, level): {key: processes}}
        self._keys: dict[tuple[Kind, Level], dict[bytes, set[str]]] = defaultdict(dict)
        # {level: {owner: {filters: processes}}}
        self._programs: dict[Level, dict[bytes, dict[Filters, set[str]]]] = defaultdict(dict)
        self._of: dict[str, set[Want]] = {}

    def __bool__(self) -> bool:
        return any(self._of.values())

    @property
    def wants_contents(self) -> bool:
        """Whether more is wanted than where the chain is."""
        return any(want.kind is not Kind.TIP for wants in self._of.values() for want in wants)

    def add(self, process: str, wants: Iterable[Want]) -> None:
        of_it = self._of.setdefault(process, set())
        for want in wants:
            of_it.add(want)
            if want.kind is Kind.PROGRAM:
                by_filters = self._programs[want.level].setdefault(want.key, {})
                by_filters.setdefault(want.filters, set()).add(process)
            else:
                self._keys[want.kind, want.level].setdefault(want.key, set()).add(process)

    def drop(self, process: str, wants: Iterable[Want]) -> None:
        of_it = self._of.get(process, set())
        for want in list(wants):
            of_it.discard(want)
            if want.kind is Kind.PROGRAM:
                owners = self._programs[want.level]
                by_filters = owners.get(want.key, {})
                _discard(by_filters, want.filters, process)
                if not by_filters:
                    owners.pop(want.key, None)
            else:
                _discard(self._keys[want.kind, want.level], want.key, process)

    def forget(self, process: str) -> None:
        self.drop(process, self._of.get(process, set()))
        self._of.pop(process, None)

    def of_kind(self, kind: Kind, level: Level = Level.PROCESSED, key: bytes = b"") -> set[str]:
        """The processes that want this."""
        return self._keys[kind, level].get(key, set())

    def wants_any(self, kind: Kind) -> bool:
        return any(self._keys[kind, level] for level in Level)

    def of_slot(self, part: Part, level: Level) -> dict[str, Picked]:
        """What each process wants of a slot that reached the level."""
        picked: dict[str, Picked] = defaultdict(Picked)
        if self._wants_accounts(level):
            self._pick_accounts(part, level, picked)
        for kind in (Kind.HEADER, Kind.TIP):
            for process in self._keys[kind, level].get(b"", ()):
                picked[process].block = True
        for process in self._keys[Kind.ENTRIES, level].get(b"", ()):
            picked[process].entries = True
        for process in self._keys[Kind.FOOTERS, level].get(b"", ()):
            picked[process].footers = True
        signatures = self._keys[Kind.SIGNATURE, level]
        for signature in signatures.keys() & part.signatures.keys():
            found = part.signatures[signature]
            for process in signatures[signature]:
                picked[process].transactions[found.transaction_index] = found
        self._pick_transactions(part, level, picked)
        return picked

    @property
    def wants_accounts(self) -> bool:
        return any(map(self._wants_accounts, Level))

    def _wants_accounts(self, level: Level) -> bool:
        kinds = (Kind.ACCOUNT, Kind.ACCOUNTS_WITHIN, Kind.ALL_ACCOUNTS)
        return bool(self._programs[level]) or any(self._keys[kind, level] for kind in kinds)

    def _pick_accounts(self, part: Part, level: Level, picked: dict[str, Picked]) -> None:
        accounts, wanted = part.accounts, self._keys[Kind.ACCOUNT, level]
        for pubkey in wanted.keys() & accounts.keys():
            for process in wanted[pubkey]:
                picked[process].accounts[pubkey] = accounts[pubkey]
        for process, update in self._of_programs(accounts.values(), level):
            picked[process].accounts[update.pubkey] = update
        for pubkey, processes in self._within(Kind.ACCOUNTS_WITHIN, level, accounts):
            for process in processes:
                picked[process].accounts[pubkey] = accounts[pubkey]
        for process in self._keys[Kind.ALL_ACCOUNTS, level].get(b"", ()):
            picked[process].accounts.update(accounts)

    def _within(
        self, kind: Kind, level: Level, keys: Iterable[bytes]
    ) -> Iterator[tuple[bytes, set[str]]]:
        """Those of the keys that are within a wanted cuckoo filter, with the processes."""
        # Filters have one seed, as a rule.
        hashed: dict[int, HashedKeys] = {}
        for packed, processes in self._keys[kind, level].items():
            wanted = CuckooFilter(packed)
            if wanted.seed not in hashed:
                hashed[wanted.seed] = HashedKeys(keys, wanted.seed)
            for key in wanted.among(hashed[wanted.seed]):
                yield key, processes

    def _of_programs(
        self, accounts: Iterable[AccountUpdate], level: Level
    ) -> Iterator[tuple[str, AccountUpdate]]:
        owners = self._programs[level]
        if not owners:
            return
        for update in accounts:
            by_filters = owners.get(update.owner)
            if by_filters is None:
                continue
            data: bytes | None = None
            for filters, processes in by_filters.items():
                if filters and data is None:
                    data = _parse(update.packed).account.account.data
                if not filters or allowed(filters, data or b""):
                    for process in processes:
                        yield process, update

    def _pick_transactions(self, part: Part, level: Level, picked: dict[str, Picked]) -> None:
        keys = self._keys
        for process in keys[Kind.BLOCK, level].get(b"", ()):
            picked[process].transactions.update(part.transactions)
            picked[process].block = True
        logs = keys[Kind.LOGS, level].get(b"", set())
        with_votes = keys[Kind.LOGS_WITH_VOTES, level].get(b"", set())
        votes = keys[Kind.VOTES, level].get(b"", set())
        mentions, of_blocks = keys[Kind.MENTIONS, level], keys[Kind.BLOCK_MENTIONS, level]
        within = keys[Kind.MENTIONS_WITHIN, level]
        if not (logs or with_votes or votes or mentions or of_blocks or within):
            return
        named: dict[int, set[bytes]] = {}
        if mentions or of_blocks or within:
            for index, update in part.transactions.items():
                named[index] = set(account_keys(_parse(update.packed).transaction.transaction))
        found: dict[bytes, set[str]] = defaultdict(set)
        everything = {*chain(*named.values())} if within else set()
        for key, processes in self._within(Kind.MENTIONS_WITHIN, level, everything):
            found[key] |= processes
        for index, update in part.transactions.items():
            processes = set(with_votes)
            processes |= votes if update.is_vote else logs
            if named:
                for key in named[index] & mentions.keys():
                    processes |= mentions[key]
                for key in named[index] & found.keys():
                    processes |= found[key]
                for key in named[index] & of_blocks.keys():
                    processes |= of_blocks[key]
                    for process in of_blocks[key]:
                        picked[process].block = True
            for process in processes:
                picked[process].transactions[index] = update


def _discard(found: dict[T, set[str]], key: T, process: str) -> None:
    processes = found.get(key)
    if processes is not None:
        processes.discard(process)
        if not processes:
            del found[key]
