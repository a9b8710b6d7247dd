"""Accounts before and after each transaction of a bundle, as the caller wants them shown."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from solders.account import Account
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.account_json import AccountEncoding, account_json
from chain.reserved import RESERVED_KEYS
from priority.simulation.errors import SnapshotsTooLarge
from priority.simulation.services.bundles import Tried
from simulator.outcome import Outcome
from simulator.parts import take_apart

_ABSENT = Account(0, b"", Pubkey.default(), False, 0)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Accounts to be shown of one transaction. Those not asked for are shown without their data
    if it does not fit.
    """

    addresses: Sequence[Pubkey]
    encoding: AccountEncoding = AccountEncoding.BASE64
    is_asked: bool = True


# For each transaction: None for no accounts.
Wishes = Sequence[Wanted | None]
Shown = list[list[dict[str, Any] | None]]


def snapshots(
    tried: Tried, before: Wishes, after: Wishes, *, is_flat: bool, most_bytes: int
) -> tuple[Shown, Shown]:
    """The accounts before and after each transaction that ran. Raises SnapshotsTooLarge where those
    that are asked for have more data than `most_bytes`.

    Flat, data is a text alone and an absent account is null; else it is written as the block
    engine's client reads it, which does not accept null: an account without lamports.
    """
    states = [(dict(state), {**state, **changed}) for _, state, changed in tried.states()]
    pairs = [
        each
        for (state, now), first, second in zip(states, before, after, strict=False)
        for each in ((first, state), (second, now))
    ]
    asked = sum(_sizes(wanted, state) for wanted, state in pairs if wanted and wanted.is_asked)
    if asked > most_bytes:
        raise SnapshotsTooLarge(asked, most_bytes)
    room = most_bytes - asked
    shown: Shown = []
    for wanted, accounts in pairs:
        of_transaction: list[dict[str, Any] | None] = []
        for key in () if wanted is None else wanted.addresses:
            assert wanted is not None
            size = 0 if wanted.is_asked else _size(accounts.get(key))
            fits = size <= room
            room -= size if fits else 0
            of_transaction.append(_shown(key, accounts, wanted.encoding, is_flat, with_data=fits))
        shown.append(of_transaction)
    return shown[::2], shown[1::2]


def writable_accounts(transactions: Sequence[VersionedTransaction], tried: Tried) -> list[Wanted]:
    """What each transaction may write; of those that did not run, nothing."""
    written = [
        Wanted(list(_writable(transaction, outcome)), is_asked=False)
        for transaction, outcome in zip(transactions, tried.outcomes, strict=False)
    ]
    return written + [Wanted(())] * (len(transactions) - len(written))


def _writable(transaction: VersionedTransaction, outcome: Outcome) -> Iterator[Pubkey]:
    parts = take_apart(transaction)
    message = transaction.message
    lookups = message.address_table_lookups if isinstance(message, MessageV0) else ()
    loaded = sum(len(lookup.writable_indexes) for lookup in lookups)
    for index, key in enumerate(outcome.keys):
        is_static = index < parts.static_count
        may = parts.is_writable(index) if is_static else index < parts.static_count + loaded
        if may and str(key) not in RESERVED_KEYS:
            yield key


def _sizes(wanted: Wanted, accounts: Mapping[Pubkey, Account | None]) -> int:
    return sum(_size(accounts.get(key)) for key in wanted.addresses)


def _size(account: Account | None) -> int:
    return 0 if account is None else len(account.data)


def _shown(
    key: Pubkey,
    accounts: Mapping[Pubkey, Account | None],
    encoding: AccountEncoding,
    is_flat: bool,
    *,
    with_data: bool,
) -> dict[str, Any] | None:
    account = accounts.get(key)
    if account is None and is_flat:
        return None
    omitted = 0
    if account is not None and not with_data:
        omitted = len(account.data)
        account = Account(
            account.lamports, b"", account.owner, account.executable, account.rent_epoch
        )
    rendered = account_json(account or _ABSENT, encoding, load=accounts.get, pubkey=key)
    if is_flat:
        del rendered["space"]
        if not isinstance(rendered["data"], dict):
            rendered["data"] = rendered["data"][0]
    if omitted:
        rendered["dataOmitted"] = omitted
    return rendered
