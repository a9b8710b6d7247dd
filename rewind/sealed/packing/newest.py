"""One account's newest change out of a block's content: of its bytes only those that it needs.

Reads of a block that is not in memory do little else, and numpy's calls would take most of their
time; so sums and searches go over the columns' bytes as they lie there.
"""

from itertools import accumulate

import numpy as np

from rewind.sealed.packing.changes import MAX_DATA, BlockDamaged, Change
from rewind.sealed.packing.columns import Column
from rewind.sealed.packing.content import (
    EXECUTABLE,
    I32_MAX,
    I64_MAX,
    KIND,
    LAMPORTS,
    LOWEST_POSITION,
    OWNER,
    RENT,
    SIZE,
    U64_MAX,
    Content,
)
from rewind.sealed.packing.differences import spread

# Of each value of the flags whether one of them is set.
_SET = {
    flag: bytes(1 if each & flag else 0 for each in range(256))
    for flag in (OWNER, RENT, LAMPORTS, SIZE)
}
_MOST_POSITION = I32_MAX - LOWEST_POSITION
# So many runs are written sooner at once, if they are short.
_MANY_RUNS, _SHORT = 96, 32


def newest(
    content: Content,
    account: int,
    begin: int,
    end: int,
    pubkey: bytes,
    slot: int,
    position: int,
) -> Change | None:
    """The account's newest change at or before (slot, position), of those from the number `begin`
    to `end` in the block. BlockDamaged where the content is not what an encoder writes.
    """
    found = _place(content, account, begin, end, slot, position)
    if found is None:
        return None
    number, at_slot, at_position = found
    flags = content.flags.octets_of()
    rent = _held(content.rents, content.new_rents, account, flags, RENT, begin, number)
    flag = flags[number]
    return Change(
        pubkey,
        at_slot,
        at_position,
        flag & KIND,
        _lamports(content, account, flags, begin, number),
        rent - 1 if rent else U64_MAX,
        flag & EXECUTABLE > 0,
        _held(content.owners, content.new_owners, account, flags, OWNER, begin, number),
        _data(content, account, flags, begin, number),
    )


def _place(
    content: Content, account: int, begin: int, end: int, slot: int, position: int
) -> tuple[int, int, int] | None:
    """The change's number in the block, its slot and position."""
    steps, positions = content.steps, content.positions
    found = content.lowest + content.slots.one(account)
    if found > slot:
        return None
    number = begin
    while end - number > 1:
        middle = (number + end) >> 1
        there = found + steps.total(number + 1, middle + 1)
        if there <= slot:
            number, found = middle, there
        else:
            end = middle
    if found > I64_MAX:
        raise BlockDamaged("a slot is too large")
    at = positions.one(number)
    while found == slot and at + LOWEST_POSITION > position:
        if number == begin:
            return None
        found -= steps.one(number)
        number -= 1
        at = positions.one(number)
    if at > _MOST_POSITION:
        raise BlockDamaged("a number is too large")
    return number, found, at + LOWEST_POSITION


def _lamports(content: Content, account: int, flags: bytes, begin: int, number: int) -> int:
    lamports, steps = content.lamports.one(account), content.lamport_steps
    if steps.length and number > begin:
        given = flags.translate(_SET[LAMPORTS])
        first = given.count(1, 0, begin + 1)
        count = given.count(1, begin + 1, number + 1)
        lamports += steps.signed_total(first, first + count)
    return lamports & U64_MAX


def _held(
    column: Column, news: Column, account: int, flags: bytes, flag: int, begin: int, number: int
) -> int:
    """A value that stays the same until a change has the flag."""
    if news.length:
        given = flags.translate(_SET[flag])
        last = given.rfind(1, begin, number + 1)
        if last >= 0:
            return news.checked(given.count(1, 0, last))
    return column.one(account)


def _data(content: Content, account: int, flags: bytes, begin: int, number: int) -> bytes:
    first = size = most = content.sizes.one(account)
    news = content.new_sizes
    if news.length:
        given = flags.translate(_SET[SIZE])
        count = given.count(1, begin, number + 1)
        if count:
            before = given.count(1, 0, begin)
            new = news.numbers(before, before + count)
            size, most = new[-1], max(first, *new)
    if most > MAX_DATA:
        raise BlockDamaged("an account that is too large")
    at = content.sizes.total(0, account)
    if at + first > content.wholes:
        raise BlockDamaged("whole states are missing")
    at += content.wholes_at
    whole = content.data[at : at + first]
    count = content.runs.total(begin + 1, number + 1)
    if not count and most == first:
        return whole[:size]
    state = bytearray(whole)
    state += bytes(most - first)
    if count:
        _write(content, state, content.runs.total(0, begin + 1), count)
    return bytes(state) if size == most else bytes(state[:size])


def _write(content: Content, state: bytearray, first: int, count: int) -> None:
    """Some runs of bytes, one after the other: what was larger meanwhile is cut in the end."""
    data = content.data
    if first + count > content.starts.length:
        raise BlockDamaged("differences are missing")
    at = content.lengths.total(0, first)
    size = content.lengths.total(first, first + count)
    if at + size > content.octets:
        raise BlockDamaged("differences are missing")
    at += content.octets_at
    if count > _MANY_RUNS and size < _SHORT * count:
        starts = content.starts.part(first, first + count).view(np.int64)
        lengths = content.lengths.part(first, first + count).view(np.int64)
        if int((starts + lengths).max()) > len(state) or int(starts.min()) < 0:
            raise BlockDamaged("a difference outside of the data")
        # Of a place that is written twice, the last value stays.
        np.frombuffer(state, np.uint8)[spread(starts, lengths)] = np.frombuffer(
            data, np.uint8, size, at
        )
        return
    lengths_ = content.lengths.numbers(first, first + count)
    stops = list(accumulate(lengths_, initial=at))
    end = len(state)
    for start, length, since, until in zip(
        content.starts.numbers(first, first + count), lengths_, stops, stops[1:], strict=False
    ):
        stop = start + length
        if stop > end:
            raise BlockDamaged("a difference outside of the data")
        state[start:stop] = data[since:until]
