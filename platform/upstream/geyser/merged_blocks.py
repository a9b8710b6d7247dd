"""Merges one block from several validators: together they may be complete."""

from collections.abc import Callable, Sequence

from upstream.geyser.block_contents import has_registered
from upstream.geyser.slot_buffers import RECENT_BLOCKHASHES, SlotBuffer, Wholeness
from upstream.geyser.updates import AccountUpdate
from upstream.protobuf import geyser_pb2 as schema

_parse = schema.SubscribeUpdate.FromString


def best_of_all(
    buffers: Sequence[SlotBuffer], is_blockhash: Callable[[bytes], bool], *, stores_untouched: bool
) -> tuple[SlotBuffer | None, Wholeness]:
    """Of the buffers, each alone and all of one block together, the one that proves most."""

    def rated(buffer: SlotBuffer) -> Wholeness:
        return buffer.wholeness(is_blockhash, stores_untouched=stores_untouched)

    best, most = None, Wholeness.PARTIAL
    for each in buffers:
        wholeness = rated(each)
        if best is None or wholeness > most:
            best, most = each, wholeness
    if best is None or most is Wholeness.PROVED or len(buffers) == 1:
        return best, most
    together = united([best, *(each for each in buffers if each is not best)])
    wholeness = rated(together)
    if most is Wholeness.EVERY_WRITE:
        # A live connection had all sure ones; what the others add to it was there as well.
        return (together, max(wholeness, most)) if _adds(together, best) else (best, most)
    return (together, wholeness) if wholeness > most else (best, most)


def united(buffers: Sequence[SlotBuffer]) -> SlotBuffer:
    """What any of the buffers has of the first one's block; those of another add nothing, nor those
    that do not name theirs.

    Write versions count within one validator: the writes are renumbered, in the order of the
    block.
    """
    known = next((each.meta.blockhash for each in buffers if each.meta is not None), None)
    result = SlotBuffer()
    fitting = []
    for each in buffers:
        if known is not None and not _is_of(each, known):
            continue
        if all(
            result.transactions.get(index, transaction).signature == transaction.signature
            for index, transaction in each.transactions.items()
        ):
            fitting.append(each)
            for transaction in each.transactions.values():
                result.add_transaction(transaction)
            if each.meta is not None:
                result.add_meta(each.meta)
    order = {each.signature: index for index, each in result.transactions.items()}
    chosen: dict[tuple[int, bytes], AccountUpdate] = {}
    for each in fitting:
        for key, write in _placed(each, order, len(result.transactions)).items():
            chosen.setdefault(key, write)
    for number, (_, write) in enumerate(sorted(chosen.items(), key=lambda each: each[0]), start=1):
        numbered = _numbered(write, number)
        result.writes[numbered.pubkey, number] = numbered
        result.size += len(numbered.packed)
    return result


def _is_of(buffer: SlotBuffer, blockhash: str) -> bool:
    if buffer.meta is not None:
        return buffer.meta.blockhash == blockhash
    return any(
        has_registered(write, blockhash, unread=False)
        for (pubkey, _), write in buffer.writes.items()
        if pubkey == RECENT_BLOCKHASHES
    )


def _placed(
    buffer: SlotBuffer, order: dict[bytes, int], end: int
) -> dict[tuple[int, bytes], AccountUpdate]:
    """The newest write of each account at each place: a transaction's index, -1 before them, `end`
    after them. A write outside transactions has no place where none of theirs came.
    """
    signed = [each.write_version for each in buffer.writes.values() if each.signature in order]
    first = min(signed, default=None)
    found: dict[tuple[int, bytes], AccountUpdate] = {}
    for write in sorted(buffer.writes.values(), key=lambda each: each.write_version):
        if write.signature:
            place = order.get(write.signature)
        elif first is None:
            place = None if end else -1
        else:
            place = -1 if write.write_version < first else end
        if place is not None:
            found[place, write.pubkey] = write
    return found


def _adds(together: SlotBuffer, best: SlotBuffer) -> bool:
    """Whether it has a write that the other has not."""
    there = {(each.pubkey, each.signature) for each in best.writes.values()}
    return any((each.pubkey, each.signature) not in there for each in together.writes.values())


def _numbered(write: AccountUpdate, number: int) -> AccountUpdate:
    message = _parse(write.packed)
    message.account.account.write_version = number
    return write._replace(write_version=number, packed=message.SerializeToString())
