"""What must hold for a block and its transactions, whatever the source."""

from typing import Any

from solders.pubkey import Pubkey

from chain.transactions import Wire
from chain.units import I64_MAX, U64_MAX
from upstream.archives.errors import Unreadable


def blockhash(value: Any, place: str) -> str:
    """The value, if it is base58 of 32 bytes."""
    if isinstance(value, str):
        try:
            # A hash is 32 bytes as a key is, and only the key's reader refuses with ValueError.
            Pubkey.from_string(value)
        except ValueError:
            pass
        else:
            return value
    raise Unreadable(place, "expected a blockhash (base58 of 32 bytes)")


def u64(value: Any, place: str) -> int:
    """The value, if it is an integer from 0 to 2^64-1."""
    if type(value) is not int or not 0 <= value <= U64_MAX:
        reason = "missing" if value is None else "expected a number from 0 to 2^64-1"
        raise Unreadable(place, reason)
    return value


def u64_or_none(value: Any, place: str) -> int | None:
    """The value, if it is null or an integer from 0 to 2^64-1."""
    return None if value is None else u64(value, place)


def i64_or_none(value: Any, place: str) -> int | None:
    """The value, if it is null or an integer from -2^63 to 2^63-1."""
    if value is None:
        return None
    if type(value) is not int or not -I64_MAX - 1 <= value <= I64_MAX:
        raise Unreadable(place, "expected a number from -2^63 to 2^63-1")
    return value


def meta_fits(meta: dict[str, Any], wire: Wire) -> None:
    """Unreadable unless the balances are as many as the transaction's keys, loaded ones counted,
    and the loaded addresses as many as its lookups load.

    Balances may be wanting altogether: old ledgers have metas that never recorded them.
    """
    key_count = wire.key_count
    for name in ("preBalances", "postBalances"):
        count = len(meta[name])
        if count != key_count and (meta["preBalances"] or meta["postBalances"]):
            raise Unreadable(
                f"meta.{name}", f"{count} balances for the transaction's {key_count} keys"
            )
    loaded = meta.get("loadedAddresses")
    if loaded is None:
        return
    for name, wanted in (
        ("writable", sum(len(lookup.writable) for lookup in wire.lookups)),
        ("readonly", sum(len(lookup.readonly) for lookup in wire.lookups)),
    ):
        place = f"meta.loadedAddresses.{name}"
        if len(loaded[name]) != wanted:
            raise Unreadable(place, f"{len(loaded[name])} addresses where lookups load {wanted}")
        for index, address in enumerate(loaded[name]):
            try:
                Pubkey.from_string(address)
            except ValueError:
                raise Unreadable(f"{place}[{index}]", "expected base58 of 32 bytes") from None
