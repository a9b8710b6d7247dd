"""Blocks and transactions in the standard node's JSON, in every encoding and detail.

What is rendered are transactions' texts: compact JSON whose members are `meta`, `transaction` (in
encoding `json`) and `version`, in this order. Several texts are joined by commas.
"""

from typing import Any

import msgspec

from chain.blocks import CURRENT_FORM, Form
from chain.commitment import BlockForm, TransactionDetails, TransactionEncoding
from chain.current_form import in_current_form
from chain.encodings import b58encode, b64encode
from chain.parsed.transactions import parsed_accounts, parsed_meta, parsed_transaction
from chain.transaction_json import message_json, wire_from_json
from chain.transactions import LEGACY, Version, Wire, encode_wire

_encode = msgspec.json.Encoder().encode
_split = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode = msgspec.json.Decoder().decode

# A quote inside a JSON string is always escaped, so these byte patterns occur only where the
# structure has them.
_TRANSACTION = b',"transaction":{"message":'
_VERSION = b',"version":'
_LEGACY = b',"version":"legacy"}'
_NO_META = b'{"meta":null,'
_NO_REWARDS = b'"rewards":[]'
_ANY_REWARDS = b'"rewards":[{'

_OF_ACCOUNTS = (
    "err",
    "status",
    "fee",
    "preBalances",
    "postBalances",
    "preTokenBalances",
    "postTokenBalances",
)


def header_text(
    *,
    block_height: int | None,
    block_time: int | None,
    blockhash: str,
    parent_slot: int,
    previous_blockhash: str,
    rewards: list[dict[str, Any]] | msgspec.Raw | None,
    reward_partitions: int | None = None,
) -> bytes:
    """The members of getBlock's result that are not about transactions, from the opening brace on.
    Without rewards (None) there is no such member, but their number of parts is there.
    """
    members: dict[str, Any] = {
        "blockHeight": block_height,
        "blockTime": block_time,
        "blockhash": blockhash,
        "parentSlot": parent_slot,
        "previousBlockhash": previous_blockhash,
    }
    if rewards is not None:
        members["rewards"] = rewards
    if reward_partitions is not None:
        members["numRewardPartitions"] = reward_partitions
    return _encode(members)[:-1]


def signatures_text(header: bytes, signatures: list[bytes]) -> bytes:
    """getBlock's result with transactionDetails `signatures`; their first ones, as bytes."""
    texts = _encode([b58encode(raw) for raw in signatures])
    return b"".join((header, b',"signatures":', texts, b"}"))


def with_transactions(header: bytes, texts: bytes) -> tuple[bytes, ...]:
    """The pieces of getBlock's result with the rendered transactions."""
    return header + b',"transactions":[', texts, b"]}"


def with_place(
    text: bytes, *, slot: int, index: int, block_time: int | None
) -> tuple[bytes, bytes]:
    """The pieces of getTransaction's result: the rendered transaction and its place."""
    time = b"null" if block_time is None else b"%d" % block_time
    return b'{"blockTime":%b,"slot":%d,"transactionIndex":%d,' % (time, slot, index), text[1:]


def json_text(
    wire: Wire, keys: list[str], signatures: list[str], meta: dict[str, Any] | None, form: Form
) -> bytes:
    """One transaction's text of encoding `json`; its account keys and signatures as base58."""
    return _encode(
        {
            "meta": meta,
            "transaction": {"message": message_json(wire, keys, form), "signatures": signatures},
            "version": wire.version,
        }
    )


def binary_text(
    wire: bytes, version: Version, meta: dict[str, Any] | None, encoding: TransactionEncoding
) -> bytes:
    """One transaction's text in a binary encoding: rendering it in that encoding changes nothing.
    Cheaper than `json_text` where the wire bytes are known.
    """
    return _encode({"meta": meta, "transaction": _binary(wire, encoding), "version": version})


def split(texts: bytes) -> list[bytes]:
    """The single texts."""
    return [bytes(text) for text in _split(b"[" + texts + b"]")]


def version_of(text: bytes) -> int:
    """The version of one transaction from its text: LEGACY, 0 or 1."""
    version = text[text.rindex(b":") + 1 : -1]
    return LEGACY if version == b'"legacy"' else int(version)


def has_meta(text: bytes) -> bool:
    """Whether one transaction's text says what it did."""
    return not text.startswith(_NO_META)


def is_supported(version: int, maximum: int | None) -> bool:
    """Whether a caller that names this maximum, or none, can read the version."""
    return version <= (LEGACY if maximum is None else maximum)


def transactions_text(
    texts: bytes,
    form: Form,
    *,
    encoding: TransactionEncoding,
    details: TransactionDetails,
    rewards: bool,
    versions: bool,
    wanted: BlockForm = BlockForm.CURRENT,
) -> bytes:
    """A block's transactions as getBlock gives them with transactionDetails `full` or `accounts`;
    `versions` is false for a caller that names no newest version.
    """
    if wanted is BlockForm.CURRENT:
        texts, form = _current(texts, form), CURRENT_FORM
    if details is TransactionDetails.ACCOUNTS:
        texts = b",".join(_accounts(text, form, rewards=rewards) for text in split(texts))
    else:
        if not rewards:
            texts = _without_rewards(texts)
        if encoding is not TransactionEncoding.JSON:
            texts = b",".join(_render(text, encoding, form) for text in split(texts))
    texts = _without_version_where_no_meta(texts)
    return texts if versions else _without_legacy_version(texts)


def transaction_text(
    text: bytes,
    form: Form,
    *,
    encoding: TransactionEncoding,
    versions: bool,
    wanted: BlockForm = BlockForm.CURRENT,
) -> bytes:
    """One transaction in the encoding."""
    if wanted is BlockForm.CURRENT:
        text, form = _current(text, form), CURRENT_FORM
    text = _without_version_where_no_meta(_render(text, encoding, form))
    return text if versions else _without_legacy_version(text)


def _current(texts: bytes, form: Form) -> bytes:
    if form == CURRENT_FORM:
        return texts
    return b",".join(_encode(in_current_form(_decode(text))) for text in split(texts))


def _without_legacy_version(texts: bytes) -> bytes:
    return texts.replace(_LEGACY, b"}")


def _without_version_where_no_meta(texts: bytes) -> bytes:
    """The standard node leaves out the version of a transaction without meta."""
    if _NO_META not in texts:
        return texts
    return b",".join(
        text if has_meta(text) else text[: text.rindex(_VERSION)] + b"}" for text in split(texts)
    )


def _without_rewards(texts: bytes) -> bytes:
    """The standard node writes null as the meta's rewards where the caller wants none."""
    if _ANY_REWARDS in texts:
        return b",".join(_null_rewards(text) for text in split(texts))
    return texts.replace(_NO_REWARDS, b'"rewards":null')


def _null_rewards(text: bytes) -> bytes:
    entry = _decode(text)
    if entry["meta"] and "rewards" in entry["meta"]:
        entry["meta"]["rewards"] = None
    return _encode(entry)


def _render(text: bytes, encoding: TransactionEncoding, form: Form) -> bytes:
    """One text in the encoding; the version member stays."""
    if encoding is TransactionEncoding.JSON:
        return text
    if encoding is TransactionEncoding.JSON_PARSED:
        return _render_parsed(text, form)
    return _render_binary(text, encoding)


def _render_binary(text: bytes, encoding: TransactionEncoding) -> bytes:
    start = text.rfind(_TRANSACTION)
    if start < 0:
        return text  # from `binary_text`
    end = text.rfind(_VERSION)
    transaction = _decode(text[start + len(b',"transaction":') : end])
    version = _decode(text[end + len(_VERSION) : -1])
    written = _encode(_binary(encode_wire(wire_from_json(transaction, version)), encoding))
    return text[:start] + b',"transaction":' + written + text[end:]


def _binary(wire: bytes, encoding: TransactionEncoding) -> str | list[str]:
    if encoding is TransactionEncoding.BASE64:
        return [b64encode(wire), encoding.value]
    text = b58encode(wire)
    return text if encoding is TransactionEncoding.BINARY else [text, encoding.value]


def _render_parsed(text: bytes, form: Form) -> bytes:
    entry = _decode(text)
    return _encode(
        {
            "meta": parsed_meta(entry, form),
            "transaction": parsed_transaction(entry, form),
            "version": entry["version"],
        }
    )


def _accounts(text: bytes, form: Form, *, rewards: bool) -> bytes:
    """One text with its account keys and balances alone."""
    entry = _decode(text)
    meta: dict[str, Any] | None = entry["meta"]
    if meta is not None:
        kept = (*_OF_ACCOUNTS, "rewards") if rewards else _OF_ACCOUNTS
        meta = {name: meta[name] for name in kept if name in meta}
    return _encode(
        {
            "meta": meta,
            "transaction": {
                "accountKeys": parsed_accounts(entry, form),
                "signatures": entry["transaction"]["signatures"],
            },
            "version": entry["version"],
        }
    )
