"""Prefetches the accounts of transactions in the query that resolves their position."""

from collections.abc import Collection, Mapping, Sequence

from solders.account import Account
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.units import Slot
from historical.transactions.services.recorded_transactions import RecordedTransaction
from rewind.accounts.services.position_lookup import Reader, position_of
from rewind.accounts.store import prefetching
from rewind.accounts.store.slot_lookup import SlotLookup
from rewind.positions import Position
from rewind.replay.services import comparing
from simulator.machine import CACHED_SYSVARS
from simulator.required_accounts import linked_key

_NATIVE = addresses.BUILTINS | addresses.SYSVARS
_MOST_BEHIND = 100_000

# Where a program's code is, and a token account's mint: asked for before the account is read. Of a
# token account that became another one's only a read more comes.
_behind: dict[Pubkey, Pubkey] = {}


def remember(accounts: Mapping[Pubkey, Account | None]) -> None:
    """The next transactions that name these accounts read at once what belongs to them."""
    if len(_behind) >= _MOST_BEHIND:
        _behind.clear()
    for key, account in accounts.items():
        if account is not None and key not in _behind:
            behind = linked_key(account)
            if behind is not None:
                _behind[key] = behind


class ReaderAhead(Reader):
    """Reads what the transactions need. `same` is the ledger's record of a lone transaction: at its
    own place what it wrote is read too.
    """

    def __init__(
        self,
        transactions: Sequence[VersionedTransaction],
        same: RecordedTransaction | None = None,
        *,
        also: Collection[Pubkey] = (),
    ) -> None:
        self._same = same
        self._is_own_place = False
        named = dict.fromkeys(also)
        for transaction in transactions:
            named.update(dict.fromkeys(transaction.message.account_keys))
            if isinstance(transaction.message, MessageV0):
                tables = (each.account_key for each in transaction.message.address_table_lookups)
                named.update(dict.fromkeys(tables))
        if same is not None:
            named.update(dict.fromkeys(comparing.named_keys(same.transaction, same.meta or {})))
        named.update(dict.fromkeys([_behind[key] for key in named if key in _behind]))
        self._keys = [bytes(key) for key in named if key not in _NATIVE]
        natives = [key for key in named if key in _NATIVE and key not in CACHED_SYSVARS]
        self._natives = [bytes(key) for key in (*CACHED_SYSVARS, *natives)]

    def around(self, signature: Signature, *, after: bool) -> Position | None:
        same = self._same
        if same is None or same.signature != signature:
            return super().around(signature, after=after)
        return position_of(same.slot, same.index, after=after)

    def look_up(self, position: Position, *, with_block: bool) -> SlotLookup:
        wanted = {position: self._keys}
        wanted[Position.start_of(position.slot)] = [
            *wanted.get(Position.start_of(position.slot), ()),
            *self._natives,
        ]
        same = self._same
        if same is not None and position == Position.before(same.slot, same.index):
            self._is_own_place = True
            wanted[Position(same.slot, same.index)] = _written(same)
        lookup, self.ahead = prefetching.read(wanted, position.slot)
        return lookup

    def transactions(self, slot: Slot) -> int | None:
        # Where the ledger's own transaction is, there is such an index.
        return None if self._is_own_place else super().transactions(slot)


def _written(same: RecordedTransaction) -> list[bytes]:
    """The accounts that it may have written."""
    message = same.transaction.message
    header, static = message.header, message.account_keys
    signed = header.num_required_signatures
    keys = static[: signed - header.num_readonly_signed_accounts]
    keys += static[signed : len(static) - header.num_readonly_unsigned_accounts]
    loaded = (same.meta or {}).get("loadedAddresses") or {}
    keys += map(Pubkey.from_string, loaded.get("writable", ()))
    return [bytes(key) for key in keys]
