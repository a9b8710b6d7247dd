"""What filters say of accounts now, in statements of their own."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from columns.raw_queries import Query

# Of the accounts $1: whether one has a filter, and between which slots its writes were dropped.
_OF_ACCOUNTS = (
    "SELECT k.pubkey, EXISTS (SELECT FROM rewind_filteredpubkey AS f WHERE f.pubkey = k.pubkey),"
    " d.first_slot, d.last_slot FROM unnest((SELECT $1)) AS k (pubkey)"
    " LEFT JOIN rewind_droppedaccount AS d ON d.pubkey = k.pubkey"
)
_FILTERED_OWNERS = "SELECT id FROM rewind_owner WHERE filtered"


def queries(pubkeys: Iterable[bytes]) -> list[Query]:
    """The marks of the accounts, and the numbers of the filtered owners."""
    return [(_OF_ACCOUNTS, list(dict.fromkeys(pubkeys))), (_FILTERED_OWNERS,)]


def by_pubkey(rows: Sequence[tuple[Any, ...]]) -> Mapping[bytes, tuple[Any, ...]]:
    """Of each account whether it is filtered, and the first and the last dropped slot."""
    return {pubkey: tuple(rest) for pubkey, *rest in rows}
