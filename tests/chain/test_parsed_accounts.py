"""Accounts in jsonParsed: shapes by hand, real ones where they lie, and any bytes at all."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.account import Account
from solders.pubkey import Pubkey

from chain.account_json import AccountEncoding, account_json
from chain.encodings import b64decode
from chain.parsed_accounts.accounts import parse_account

TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
LOOKUP_TABLES = "AddressLookupTab1e1111111111111111111111111"
SYSTEM = "11111111111111111111111111111111"
A, B, C = (bytes([number]) * 32 for number in (1, 2, 3))
A58, B58, C58 = (str(Pubkey(each)) for each in (A, B, C))
NONE = bytes(4)
SOME = b"\x01\0\0\0"


def six(mint: str) -> int:
    return 6


def token_account(*, delegate: bytes, native: bytes, closer: bytes, state: int = 1) -> bytes:
    amount, delegated = struct.pack("<Q", 1_500_000), struct.pack("<Q", 250_000)
    return A + B + amount + delegate + bytes([state]) + native + delegated + closer


PLAIN = token_account(delegate=NONE + bytes(32), native=NONE + bytes(8), closer=NONE + bytes(32))
RICH = token_account(
    delegate=SOME + C, native=SOME + struct.pack("<Q", 2_039_280), closer=SOME + C, state=2
)


def amount(raw: int, text: str) -> dict[str, Any]:
    return {"amount": str(raw), "decimals": 6, "uiAmount": raw / 10**6, "uiAmountString": text}


def test_a_token_account_shows_what_it_has() -> None:
    info = {
        "isNative": False,
        "mint": A58,
        "owner": B58,
        "state": "initialized",
        "tokenAmount": amount(1_500_000, "1.5"),
    }
    assert parse_account(TOKEN, PLAIN, six) == {
        "program": "spl-token",
        "parsed": {"info": info, "type": "account"},
        "space": 165,
    }
    rich = parse_account(TOKEN, RICH, six)
    assert rich is not None
    assert rich["parsed"]["info"] == {
        **info,
        "closeAuthority": C58,
        "delegate": C58,
        "delegatedAmount": amount(250_000, "0.25"),
        "isNative": True,
        "rentExemptReserve": amount(2_039_280, "2.03928"),
        "state": "frozen",
    }


def test_a_token_account_without_its_mint_is_not_parsed() -> None:
    assert parse_account(TOKEN, PLAIN, lambda mint: None) is None


def test_extensions_are_listed_or_the_whole_is_left_unparsed() -> None:
    memo = struct.pack("<HH", 8, 1) + b"\x01"
    owner = struct.pack("<HH", 7, 0)
    found = parse_account(TOKEN_2022, PLAIN + b"\x02" + owner + memo + bytes(6), six)
    assert found is not None
    assert found["program"] == "spl-token-2022"
    assert found["parsed"]["info"]["extensions"] == [
        {"extension": "immutableOwner"},
        {"extension": "memoTransfer", "state": {"requireIncomingTransferMemos": True}},
    ]
    unknown = struct.pack("<HH", 999, 0)
    assert parse_account(TOKEN_2022, PLAIN + b"\x02" + unknown, six) is None


def test_a_multisig_shows_its_signers() -> None:
    data = bytes([2, 3, 1]) + A + B + C + bytes(32 * 8)
    found = parse_account(TOKEN, data, six)
    assert found is not None
    assert found["parsed"] == {
        "info": {
            "isInitialized": True,
            "numRequiredSigners": 2,
            "numValidSigners": 3,
            "signers": [A58, B58, C58],
        },
        "type": "multisig",
    }


def test_a_nonce_shows_its_authority_and_blockhash() -> None:
    data = struct.pack("<II", 1, 1) + A + B + struct.pack("<Q", 5_000)
    found = parse_account(SYSTEM, data, six)
    assert found is not None
    assert found["parsed"] == {
        "info": {
            "authority": A58,
            "blockhash": B58,
            "feeCalculator": {"lamportsPerSignature": "5000"},
        },
        "type": "initialized",
    }
    assert parse_account(SYSTEM, bytes(80), six) is None
    assert parse_account(SYSTEM, b"", six) is None


@pytest.mark.parametrize("owner", [TOKEN, TOKEN_2022, LOOKUP_TABLES, SYSTEM, A58])
@given(data=st.binary(max_size=400), tail=st.sampled_from([b"", b"\x01", b"\x02"]))
def test_any_bytes_are_parsed_or_not_but_never_break(owner: str, data: bytes, tail: bytes) -> None:
    for each in (data, data.ljust(165, b"\x01")[:165] + tail + data, data.ljust(355, b"\0")):
        found = parse_account(owner, each, six)
        if found is not None:
            assert found["space"] == len(each)
            assert json.dumps(found)


def test_real_accounts_are_shown_as_what_they_are(fixtures: Path) -> None:
    kinds: dict[str, int] = {}
    mint = Account(1, bytes(44) + b"\x09\x01" + bytes(36), Pubkey.from_string(TOKEN), False, 0)
    for path in sorted((fixtures / "accounts" / "sanctum-infinity").glob("*.json")):
        file = json.loads(path.read_bytes())["account"]
        owner = Pubkey.from_string(file["owner"])
        account = Account(file["lamports"], b64decode(file["data"][0]), owner, False, 0)
        shown = account_json(account, AccountEncoding.JSON_PARSED, load=lambda key: mint)
        assert shown["space"] == len(account.data)
        if file["owner"] == TOKEN:
            kind = shown["data"]["parsed"]["type"]
            kinds[kind] = kinds.get(kind, 0) + 1
    assert kinds["mint"] > 2
    assert kinds["account"] > 5
