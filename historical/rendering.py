"""A stored transaction text in the encodings that an answer may ask for."""

from typing import Any

import msgspec
import zstandard

from chain.blocks import CURRENT_FORM, Form
from chain.commitment import TransactionEncoding
from chain.current_form import in_current_form
from chain.encodings import b58encode, b64encode
from chain.parsed.transactions import parsed_accounts, parsed_meta, parsed_transaction
from chain.transaction_json import wire_from_json
from chain.transactions import encode_wire

_encode = msgspec.json.Encoder().encode
_split = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode = msgspec.json.Decoder().decode

# Stored texts are ours: compact JSON with the members in this order. A quote inside a JSON string
# is always escaped, so these byte patterns occur only where the structure has them.
_TRANSACTION = b',"transaction":{"message":'
_VERSION = b',"version":'
_LEGACY = b',"version":"legacy"}'
_NO_META = b'{"meta":null,'
_NO_REWARDS = b'"rewards":[]'
_ANY_REWARDS = b'"rewards":[{'


def split(texts: bytes) -> list[bytes]:
    """The single texts of a whole body."""
    return [bytes(text) for text in _split(b"[" + texts + b"]")]


def without_version(texts: bytes) -> bytes:
    """Legacy transactions' texts as a caller reads them who knows no versions."""
    return texts.replace(_LEGACY, b"}")


def without_version_where_no_meta(texts: bytes) -> bytes:
    """The standard node leaves out the version of a transaction without meta."""
    if _NO_META not in texts:
        return texts
    return b",".join(
        text[: text.rindex(_VERSION)] + b"}" if text.startswith(_NO_META) else text
        for text in split(texts)
    )


def current(texts: bytes, form: Form) -> bytes:
    """The texts in the form of a node of today, whatever form they are stored in."""
    if form == CURRENT_FORM:
        return texts
    return b",".join(_encode(in_current_form(_decode(text))) for text in split(texts))


def without_rewards(texts: bytes) -> bytes:
    """The texts with their meta's rewards null, as the standard node writes it when the caller
    wants no rewards.
    """
    if _ANY_REWARDS in texts:
        return b",".join(_null_rewards(text) for text in split(texts))
    return texts.replace(_NO_REWARDS, b'"rewards":null')


def _null_rewards(text: bytes) -> bytes:
    entry = _decode(text)
    if entry["meta"] and "rewards" in entry["meta"]:
        entry["meta"]["rewards"] = None
    return _encode(entry)


def render(text: bytes, encoding: TransactionEncoding, form: Form) -> bytes:
    """One transaction's text in the encoding; the version member stays."""
    if encoding is TransactionEncoding.JSON:
        return text
    if encoding is TransactionEncoding.JSON_PARSED:
        return _render_parsed(text, form)
    return _render_binary(text, encoding)


def _render_binary(text: bytes, encoding: TransactionEncoding) -> bytes:
    start = text.rfind(_TRANSACTION)
    end = text.rfind(_VERSION)
    transaction = _decode(text[start + len(b',"transaction":') : end])
    version = _decode(text[end + len(_VERSION) : -1])
    wire = encode_wire(wire_from_json(transaction, version))
    if encoding is TransactionEncoding.BASE58:
        data = b58encode(wire)
    elif encoding is TransactionEncoding.BASE64:
        data = b64encode(wire)
    else:
        data = b64encode(zstandard.ZstdCompressor(level=3).compress(wire))
    pair = f',"transaction":["{data}","{encoding.value}"]'.encode()
    return text[:start] + pair + text[end:]


def _render_parsed(text: bytes, form: Form) -> bytes:
    entry = _decode(text)
    return _encode(
        {
            "meta": parsed_meta(entry, form),
            "transaction": parsed_transaction(entry, form),
            "version": entry["version"],
        }
    )


def render_accounts(text: bytes, form: Form, *, rewards: bool) -> bytes:
    """One transaction with its account keys and balances alone (transactionDetails `accounts`)."""
    entry = _decode(text)
    meta: dict[str, Any] | None = entry["meta"]
    if meta is not None:
        kept = ["err", "status", "fee", "preBalances", "postBalances"]
        kept += ["preTokenBalances", "postTokenBalances", *(["rewards"] if rewards else [])]
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
