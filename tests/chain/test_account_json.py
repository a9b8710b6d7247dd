"""An account in every encoding."""

import threading
from functools import partial

import pytest
import zstandard
from solders.account import Account
from solders.pubkey import Pubkey

from chain.account_json import LONGEST_BASE58, AccountEncoding, DataTooLong, account_json
from chain.encodings import b58encode, b64decode, b64encode

OWNER = Pubkey(b"\x07" * 32)
SYSVAR = Pubkey.from_string("Sysvar1111111111111111111111111111111111111")
RENT = Pubkey.from_string("SysvarRent111111111111111111111111111111111")


def nothing(key: Pubkey) -> None:
    return None


def account(data: bytes, owner: Pubkey = OWNER) -> Account:
    return Account(2**64 - 1, data, owner, True, 2**64 - 1)


def test_an_account_is_shown_with_all_that_it_has() -> None:
    assert account_json(account(b"test data"), AccountEncoding.BASE64, load=nothing) == {
        "data": ["dGVzdCBkYXRh", "base64"],
        "executable": True,
        "lamports": 2**64 - 1,
        "owner": str(OWNER),
        "rentEpoch": 2**64 - 1,
        "space": 9,
    }


@pytest.mark.parametrize("encoding", [AccountEncoding.BINARY, AccountEncoding.BASE58])
def test_base58_holds_what_the_caller_lets_it(encoding: AccountEncoding) -> None:
    assert LONGEST_BASE58 == 128
    for longest in (LONGEST_BASE58, 129):
        ask = partial(account_json, encoding=encoding, load=nothing, longest_base58=longest)
        data = b"\x05" * longest
        text = b58encode(data)
        shown = ask(account(data))["data"]
        assert shown == (text if encoding is AccountEncoding.BINARY else [text, "base58"])
        with pytest.raises(DataTooLong):
            ask(account(data + b"\x05"))
        # What is written counts, not what there is.
        part = ask(account(data * 9), part=(5, longest))
        assert part["data"] == shown
        assert part["space"] == 9 * longest
    with pytest.raises(DataTooLong):
        account_json(account(b"\x05" * 129), encoding, load=nothing)


def test_a_part_beyond_the_end_is_empty() -> None:
    for part, expected in (((1, 2), b"bc"), ((2, 9), b"c"), ((3, 1), b""), ((2**63, 2**63), b"")):
        shown = account_json(account(b"abc"), AccountEncoding.BASE64, load=nothing, part=part)
        assert shown["data"] == [b64encode(expected), "base64"]
        assert shown["space"] == 3


def test_zstd_is_of_level_three_in_every_thread() -> None:
    data = bytes(range(256)) * 400
    stream = zstandard.ZstdCompressor(level=3).compressobj()
    expected = stream.compress(data) + stream.flush()
    # A frame without its content's size and with a window of 2 MB, as a node's begin.
    assert b64encode(expected).startswith("KLUv/QBY")
    found: list[list[str]] = []

    def ask() -> None:
        for _ in range(20):
            shown = account_json(account(data), AccountEncoding.BASE64_ZSTD, load=nothing)
            found.append(shown["data"])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[b64encode(expected), "base64+zstd"]] * 80
    read = zstandard.ZstdDecompressor().decompressobj()
    assert read.decompress(b64decode(found[0][0])) == data


def test_what_is_not_parsed_is_written_in_base64() -> None:
    shown = account_json(account(b"abc"), AccountEncoding.JSON_PARSED, load=nothing, part=(1, 1))
    assert shown["data"] == ["Yg==", "base64"]


def test_a_sysvar_is_parsed_where_its_pubkey_is_told() -> None:
    rent = account((6_960).to_bytes(8, "little") + bytes(9), SYSVAR)
    parsed = account_json(rent, AccountEncoding.JSON_PARSED, load=nothing, pubkey=RENT)
    assert parsed["data"] == {
        "program": "sysvar",
        "parsed": {"info": {"lamportsPerByte": "6960"}, "type": "rent"},
        "space": 17,
    }
    untold = account_json(rent, AccountEncoding.JSON_PARSED, load=nothing)
    assert untold["data"] == [b64encode(rent.data), "base64"]
