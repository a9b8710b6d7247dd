"""Which accounts a validator stores for a transaction: the measure of a stream's wholeness."""

import re
from typing import Any, NamedTuple

from chain.encodings import b58decode
from chain.reserved import RESERVED_KEYS, UPGRADEABLE_LOADER

_RESERVED = frozenset(b58decode(key) for key in RESERVED_KEYS)
_LOADER = b58decode(UPGRADEABLE_LOADER)
_SYSTEM_PROGRAM = bytes(32)
_ADVANCE_NONCE = (4).to_bytes(4, "little")


class AdvancedNonce(NamedTuple):
    """The nonce account of a failed transaction's first instruction, and the transaction's
    blockhash (32 bytes): only if that is no block's was the nonce used, and stored.
    """

    pubkey: bytes
    blockhash: bytes


class Written(NamedTuple):
    """The accounts that were surely stored, those that were if the validator stores what a
    transaction could have written and did not touch, and the nonce that may have been.
    """

    pubkeys: tuple[bytes, ...]
    untouched: tuple[bytes, ...] = ()
    nonce: AdvancedNonce | None = None


# From this version on a validator may leave out accounts that a transaction locked for writing and
# did not touch (it was merged for 4.3, and may be in a 4.2 by now).
_LEAVES_OUT = (4, 2)


def stores_untouched(version: str) -> bool:
    """Whether a validator of this version (`solana-core` of getVersion) stores every writable
    account of a successful transaction. An unknown version is taken for a new one.
    """
    found = re.match(r"([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?", version)
    if found is None:
        return False
    major, minor, patch = (int(part or 0) for part in found.groups())
    if major == 0:  # Frankendancer: its third number is Agave's version, 20216 for 2.2.16
        major, minor = patch // 10_000, patch // 100 % 100
    return (major, minor) < _LEAVES_OUT


def account_keys(info: Any) -> list[bytes]:
    """Every account that a transaction of the stream names, looked-up ones behind the others."""
    meta = info.meta
    return [
        *info.transaction.message.account_keys,
        *meta.loaded_writable_addresses,
        *meta.loaded_readonly_addresses,
    ]


def written_accounts(message: Any, meta: Any) -> Written:
    """What a validator stored for a transaction of a block, from its messages Message and
    TransactionStatusMeta. IndexError where the message points outside its keys.

    On success every writable account: not the reserved keys, not programs that are called and not
    passed on, and none that did not exist before or after. The fee payer, and accounts whose
    lamports or tokens became others, were surely touched. On failure the fee payer alone.
    """
    static = list(message.account_keys)
    if meta.HasField("err"):
        return Written((static[0],), nonce=_nonce(message, static))
    header = message.header
    signed = header.num_required_signatures
    writable_signed = signed - header.num_readonly_signed_accounts
    writable_unsigned = len(static) - header.num_readonly_unsigned_accounts
    keys = [*static, *meta.loaded_writable_addresses, *meta.loaded_readonly_addresses]
    loaded_until = len(static) + len(meta.loaded_writable_addresses)
    called = {instruction.program_id_index for instruction in message.instructions}
    # With this loader among the keys a called program may be written; one that is not passed to an
    # instruction is not stored even so.
    passed: set[int] = set()
    if _LOADER in keys:
        for instruction in message.instructions:
            passed.update(instruction.accounts)
    before, after = meta.pre_balances, meta.post_balances
    has_balances = len(before) == len(after) == len(keys)
    tokens_changed = _tokens_changed(meta)
    written: list[bytes] = []
    untouched: list[bytes] = []
    for index, key in enumerate(keys[:loaded_until]):
        asked = index < writable_signed or signed <= index < writable_unsigned
        if index < len(static) and not asked:
            continue
        if key in _RESERVED or (index in called and index not in passed):
            continue
        if has_balances and not before[index] and not after[index]:
            continue
        changed = (has_balances and before[index] != after[index]) or index in tokens_changed
        (written if changed or not index else untouched).append(key)
    return Written(tuple(written), tuple(untouched))


def _tokens_changed(meta: Any) -> set[int]:
    """Indexes of token accounts whose amount, owner or mint became another."""
    if not meta.pre_token_balances and not meta.post_token_balances:
        return set()
    before = {each.account_index: _holding(each) for each in meta.pre_token_balances}
    after = {each.account_index: _holding(each) for each in meta.post_token_balances}
    return {
        index for index in before.keys() | after.keys() if before.get(index) != after.get(index)
    }


def _holding(balance: Any) -> tuple[str, str, str]:
    return balance.mint, balance.owner, balance.ui_token_amount.amount


def _nonce(message: Any, static: list[bytes]) -> AdvancedNonce | None:
    if not message.instructions:
        return None
    first = message.instructions[0]
    if static[first.program_id_index] != _SYSTEM_PROGRAM or first.data[:4] != _ADVANCE_NONCE:
        return None
    if not first.accounts or first.accounts[0] >= len(static):
        return None
    return AdvancedNonce(static[first.accounts[0]], message.recent_blockhash)
