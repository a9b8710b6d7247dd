"""A block's content, read one account at a time."""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, chain, repeat

from rewind.sealed.packing.accounts import Accounts
from rewind.sealed.packing.changes import BlockDamaged, Change
from rewind.sealed.packing.content import I32_MAX, LOWEST_POSITION, TAIL, Content
from rewind.sealed.packing.newest import newest


class Body:
    """The changes of one block: what is asked for is decoded, and nothing is kept.

    Every method raises nothing but BlockDamaged, and that only for content that no encoder wrote.
    """

    def __init__(self, content: bytes) -> None:
        """BlockDamaged unless the content has a block's parts."""
        self._content = parts = Content(content)
        self.changes: int = parts.changes
        counts = parts.counts.numbers(0, parts.accounts)
        self._ends = list(accumulate(counts))
        if self._ends[-1] != parts.changes or not all(counts):
            raise BlockDamaged("accounts and changes do not agree")
        # The content, the list above and Python's own.
        self.size = len(content) + 40 * parts.accounts + 4_000

    @property
    def first(self) -> tuple[bytes, int, int]:
        """(pubkey, slot, position) of the first change."""
        return self._pubkey(0), *self._accounts(0, 1).keys()[0]

    @property
    def last(self) -> tuple[bytes, int, int]:
        """(pubkey, slot, position) of the last change."""
        account = len(self._ends) - 1
        return self._pubkey(account), *self._accounts(account, account + 1).keys()[-1]

    def newest(self, pubkey: bytes, slot: int, position: int) -> Change | None:
        """The account's newest change at or before (slot, position), if this block has one."""
        account = self._find(pubkey)
        if account is None:
            return None
        begin = self._ends[account - 1] if account else 0
        end = self._ends[account]
        return newest(self._content, account, begin, end, pubkey, slot, position)

    def of_account(
        self, pubkey: bytes, first: tuple[int, int], last: tuple[int, int]
    ) -> list[Change]:
        """The account's changes from one (slot, position) to another, both included, ascending.

        All their data is in memory at once.
        """
        account = self._find(pubkey)
        if account is None:
            return []
        found = self._accounts(account, account + 1)
        since, until = found.after(first[0], first[1] - 1), found.after(*last)
        return list(found.changes(repeat(pubkey), since, until)) if since < until else []

    def of_prefix(self, prefix: bytes, first_slot: int, last_slot: int) -> list[Change]:
        """The changes in these slots, both included, of accounts that begin with at least one byte;
        in order.
        """
        if prefix[:1] != self._content.bucket:
            return []
        tail = prefix[1:]
        count = len(self._ends)
        account = bisect_left(range(count), tail, key=self._tail)
        found: list[Change] = []
        while account < count and self._tail(account).startswith(tail):
            each = self._accounts(account, account + 1)
            since = each.after(first_slot, LOWEST_POSITION - 1)
            until = each.after(last_slot, I32_MAX)
            if since < until:
                found += each.changes(repeat(self._pubkey(account)), since, until)
            account += 1
        return found

    def keys_of(self, pubkey: bytes) -> list[tuple[int, int]]:
        """(slot, position) of the account's changes, ascending."""
        account = self._find(pubkey)
        return [] if account is None else self._accounts(account, account + 1).keys()

    def all(self) -> Iterator[Change]:
        """Every change, in order."""
        accounts = range(len(self._ends))
        counts = map(int.__sub__, self._ends, [0, *self._ends])
        pubkeys = chain.from_iterable(map(repeat, map(self._pubkey, accounts), counts))
        return self._accounts(0, len(self._ends)).changes(pubkeys, 0, self.changes)

    def _accounts(self, first: int, end: int) -> Accounts:
        return Accounts(
            self._content, first, self._ends[first - 1] if first else 0, self._ends[first:end]
        )

    def _pubkey(self, account: int) -> bytes:
        return self._content.bucket + self._tail(account)

    def _tail(self, account: int) -> bytes:
        at = self._content.tails_at + TAIL * account
        return self._content.data[at : at + TAIL]

    def _find(self, pubkey: bytes) -> int | None:
        if pubkey[:1] != self._content.bucket:
            return None
        tail = pubkey[1:]
        account = bisect_left(range(len(self._ends)), tail, key=self._tail)
        return account if account < len(self._ends) and self._tail(account) == tail else None
