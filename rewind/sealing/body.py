"""A block's content, read one account at a time."""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import repeat
from struct import Struct
from struct import error as StructError

import numpy as np

from rewind.sealing.changes import MAX_DATA, BlockDamaged, Change
from rewind.sealing.columns import Reader, Signed, Unsigned, unzigzag
from rewind.sealing.differences import apply

FORMAT = 1
# Format, bucket, changes, accounts, lowest slot of an account's first change.
HEADER = Struct("<BBIIQ")
MAX_CHANGES = 1 << 16
LOWEST_POSITION = -2
TAIL = 31  # bytes of a pubkey after the bucket
U64_MAX = 2**64 - 1
_I32_MAX, _I64_MAX = 2**31 - 1, 2**63 - 1

# What a change's flags say: two of its values, and which values it has that the one before had not.
KIND, EXECUTABLE, OWNER, RENT, RENT_MAX, LAMPORTS, SIZE = (1 << bit for bit in range(7))


class Body:
    """The changes of one block. Every method raises nothing but BlockDamaged, and that only for
    content that no encoder wrote.
    """

    def __init__(self, content: bytes) -> None:
        """BlockDamaged unless the content is a block's."""
        try:
            form, bucket, changes, accounts, lowest = HEADER.unpack_from(content)
        except StructError as error:
            raise BlockDamaged("no header") from error
        if form != FORMAT:
            raise BlockDamaged(f"written in format {form}, which this version does not read")
        if not 0 < accounts <= changes <= MAX_CHANGES or lowest > _I64_MAX:
            raise BlockDamaged("impossible numbers of changes")
        self.changes: int = changes
        self._content = content
        self._bucket = bytes((bucket,))
        reader = Reader(content, HEADER.size)
        self._read_changes(reader, accounts, lowest)
        self._read_differences(reader)
        # The arrays' bytes, and Python's own for them.
        self.size = len(content) + 8 * (9 * changes + 3 * len(self._run_starts)) + 4_000

    def _read_changes(self, reader: Reader, accounts: int, lowest: int) -> None:
        changes, content = self.changes, self._content
        counts = reader.small(accounts, changes)
        ends = counts.cumsum()
        if int(ends[-1]) != changes or not counts.all():
            raise BlockDamaged("accounts and changes do not agree")
        self._ends: list[int] = ends.tolist()
        self._begins: list[int] = [0, *self._ends[:-1]]
        begins = ends - counts
        steps = reader.small(changes, _I64_MAX)
        # Each account's slots go on from its first one, which is given above the lowest.
        total = steps.view(np.uint64).cumsum()
        before = total[begins] - steps.view(np.uint64)[begins]
        slots = (total - np.repeat(before, counts) + np.uint64(lowest)).view(np.int64)
        positions = reader.small(changes, _I32_MAX - LOWEST_POSITION) + LOWEST_POSITION
        if int(slots.min()) < 0:
            raise BlockDamaged("impossible slots")
        follows = (steps > 0) | (np.diff(positions, prepend=LOWEST_POSITION - 1) > 0)
        follows[begins] = True
        if not follows.all():
            raise BlockDamaged("changes out of order")
        self._slots, self._positions = slots, positions
        self._flags = flags = reader.small(changes, 127)
        if not ((flags[begins] & (OWNER | LAMPORTS | SIZE)) == OWNER | LAMPORTS | SIZE).all():
            raise BlockDamaged("an account begins with no whole state")
        if not ((flags[begins] & (RENT | RENT_MAX)) > 0).all():
            raise BlockDamaged("an account begins with no rent epoch")
        self._owners = _held(flags & OWNER, reader, _I32_MAX)
        rents = np.full(changes, U64_MAX, np.uint64)
        has_rent = np.flatnonzero(flags & RENT)
        rents[has_rent] = reader.column(len(has_rent))
        self._rents = _carried(flags & (RENT | RENT_MAX), rents)
        has_lamports = np.flatnonzero(flags & LAMPORTS)
        lamports = np.zeros(changes, np.uint64)
        lamports[has_lamports] = unzigzag(reader.column(len(has_lamports)))
        total = lamports.cumsum()
        self._lamports = total - np.repeat(total[begins] - lamports[begins], counts)
        self._sizes = _held(flags & SIZE, reader, MAX_DATA)
        at = reader.take(TAIL * accounts)
        self._tails = [content[at + TAIL * k : at + TAIL * (k + 1)] for k in range(accounts)]
        whole = self._sizes[begins]
        self._wholes: list[int] = (whole.cumsum() - whole).tolist()
        self._whole_size = int(whole.sum())

    def _read_differences(self, reader: Reader) -> None:
        left = len(self._content) - reader.at
        counts = reader.small(self.changes, left)
        ends = counts.cumsum()
        runs = int(ends[-1])
        if runs > left:
            raise BlockDamaged("impossible number of differences")
        if runs and counts[self._begins].any():
            raise BlockDamaged("differences of a whole state")
        self._run_ends: list[int] = ends.tolist()
        self._run_starts = reader.small(runs, MAX_DATA)
        self._run_lengths = lengths = reader.small(runs, MAX_DATA)
        after = lengths.cumsum()
        if runs and (
            not lengths.all() or (self._run_starts + lengths > np.repeat(self._sizes, counts)).any()
        ):
            raise BlockDamaged("a difference outside of the data")
        self._run_octets = after - lengths
        self._octets_at = reader.take(int(after[-1]) if runs else 0)
        self._wholes_at = reader.take(self._whole_size)
        if reader.at != len(self._content):
            raise BlockDamaged("more bytes than the columns have")

    @property
    def first(self) -> tuple[bytes, int, int]:
        """(pubkey, slot, position) of the first change."""
        return self._key(0, 0)

    @property
    def last(self) -> tuple[bytes, int, int]:
        """(pubkey, slot, position) of the last change."""
        return self._key(len(self._tails) - 1, self.changes - 1)

    def newest(self, pubkey: bytes, slot: int, position: int) -> Change | None:
        """The account's newest change at or before (slot, position), if this block has one."""
        account = self._account(pubkey)
        if account is None:
            return None
        begin, end = self._begins[account], self._ends[account]
        number = self._after(begin, end, slot, position) - 1
        if number < begin:
            return None
        return self._change(account, pubkey, number)

    def of_account(
        self, pubkey: bytes, first: tuple[int, int], last: tuple[int, int]
    ) -> list[Change]:
        """The account's changes from one (slot, position) to another, both included, ascending.

        All their data is in memory at once.
        """
        account = self._account(pubkey)
        if account is None:
            return []
        begin, end = self._begins[account], self._ends[account]
        since = self._after(begin, end, first[0], first[1] - 1)
        until = self._after(begin, end, *last)
        return list(self._versions(account, pubkey, since, until))

    def keys_of(self, pubkey: bytes) -> list[tuple[int, int]]:
        """(slot, position) of the account's changes, ascending."""
        account = self._account(pubkey)
        if account is None:
            return []
        part = slice(self._begins[account], self._ends[account])
        return list(zip(self._slots[part].tolist(), self._positions[part].tolist(), strict=True))

    def all(self) -> Iterator[Change]:
        """Every change, in order."""
        for account, tail in enumerate(self._tails):
            yield from self._versions(
                account, self._bucket + tail, self._begins[account], self._ends[account]
            )

    def _key(self, account: int, number: int) -> tuple[bytes, int, int]:
        pubkey = self._bucket + self._tails[account]
        return pubkey, int(self._slots[number]), int(self._positions[number])

    def _account(self, pubkey: bytes) -> int | None:
        if pubkey[:1] != self._bucket:
            return None
        tail = pubkey[1:]
        account = bisect_left(self._tails, tail)
        return account if account < len(self._tails) and self._tails[account] == tail else None

    def _after(self, begin: int, end: int, slot: int, position: int) -> int:
        """The first change of an account after (slot, position)."""
        if not 0 <= slot <= _I64_MAX:
            return begin if slot < 0 else end
        slots = self._slots[begin:end]
        lower = begin + int(slots.searchsorted(slot, "left"))
        upper = begin + int(slots.searchsorted(slot, "right"))
        within: list[int] = self._positions[lower:upper].tolist()
        return lower + sum(each <= position for each in within)

    def _state(self, account: int, number: int) -> bytearray:
        """The account's data as of one of its changes."""
        begin = self._begins[account]
        sizes = self._sizes[begin : number + 1]
        at = self._wholes_at + self._wholes[account]
        size = int(sizes[0])
        data = bytearray(self._content[at : at + size])
        data += bytes(int(sizes.max()) - size)
        since, until = self._run_ends[begin], self._run_ends[number]
        if since < until:
            octets_at = self._octets_at + int(self._run_octets[since])
            part = slice(since, until)
            apply(data, self._run_starts[part], self._run_lengths[part], self._content, octets_at)
        del data[int(sizes[-1]) :]
        return data

    def _change(self, account: int, pubkey: bytes, number: int) -> Change:
        flags = int(self._flags[number])
        return Change(
            pubkey,
            int(self._slots[number]),
            int(self._positions[number]),
            flags & KIND,
            int(self._lamports[number]),
            int(self._rents[number]),
            flags & EXECUTABLE != 0,
            int(self._owners[number]),
            bytes(self._state(account, number)),
        )

    def _versions(self, account: int, pubkey: bytes, since: int, until: int) -> Iterator[Change]:
        if since >= until:
            return iter(())
        part = slice(since, until)
        flags = self._flags[part]
        return map(
            Change,
            repeat(pubkey),
            self._slots[part].tolist(),
            self._positions[part].tolist(),
            (flags & KIND).tolist(),
            self._lamports[part].tolist(),
            self._rents[part].tolist(),
            ((flags & EXECUTABLE) > 0).tolist(),
            self._owners[part].tolist(),
            self._datas(account, since, until),
        )

    def _datas(self, account: int, since: int, until: int) -> Iterator[bytes]:
        state = self._state(account, since)
        data = bytes(state)
        yield data
        content = self._content
        sizes = self._sizes[since:until].tolist()
        run = self._run_ends[since]
        part = slice(run, self._run_ends[until - 1])
        starts, lengths = self._run_starts[part].tolist(), self._run_lengths[part].tolist()
        at = self._octets_at + (int(self._run_octets[run]) if starts else 0)
        done = 0
        for size, end in zip(sizes[1:], self._run_ends[since + 1 : until], strict=True):
            if size != len(state):
                del state[size:]
                state += bytes(max(0, size - len(state)))
                data = bytes(state)
            if run < end:
                for number in range(done, done + end - run):
                    start, length = starts[number], lengths[number]
                    state[start : start + length] = content[at : at + length]
                    at += length
                done += end - run
                run = end
                data = bytes(state)
            yield data


def _held(mask: Signed, reader: Reader, most: int) -> Signed:
    """A column of some changes' values, for all changes: the others have the one before."""
    given = np.flatnonzero(mask)
    values = reader.small(len(given), most)
    return np.repeat(values, np.diff(given, append=len(mask)))


def _carried(mask: Signed, values: Unsigned) -> Unsigned:
    given = np.flatnonzero(mask)
    return np.repeat(values[given], np.diff(given, append=len(mask)))
