"""Token accounts, nonces and lookup tables in jsonParsed: shapes by hand."""

import struct
from functools import partial
from typing import Any

from solders.pubkey import Pubkey

from chain.parsed.amounts import ui_amount
from chain.parsed_accounts.accounts import parse_account
from chain.parsed_accounts.raw import Shown

TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
LOOKUP_TABLES = "AddressLookupTab1e1111111111111111111111111"
SYSTEM = "11111111111111111111111111111111"
A, B, C = (bytes([number]) * 32 for number in (1, 2, 3))
A58, B58, C58 = (str(Pubkey(each)) for each in (A, B, C))
NONE = bytes(4)
SOME = b"\x01\0\0\0"


def six(mint: str) -> Shown:
    return partial(ui_amount, decimals=6)


def parsed(owner: str, data: bytes) -> dict[str, Any] | None:
    return parse_account(A58, owner, data, six)


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
    assert parsed(TOKEN, PLAIN) == {
        "program": "spl-token",
        "parsed": {"info": info, "type": "account"},
        "space": 165,
    }
    rich = parsed(TOKEN, RICH)
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
    assert parse_account(A58, TOKEN, PLAIN, lambda mint: None) is None


def test_a_mint_has_nothing_but_zeros_between_itself_and_its_kind() -> None:
    mint = NONE + bytes(32) + struct.pack("<Q", 7) + b"\x02\x01" + SOME + A
    for data in (mint, mint + bytes(83) + b"\x01"):
        found = parsed(TOKEN_2022, data)
        assert found is not None
        assert found["parsed"] == {
            "info": {
                "decimals": 2,
                "freezeAuthority": A58,
                "isInitialized": True,
                "mintAuthority": None,
                "supply": "7",
            },
            "type": "mint",
        }
    assert parsed(TOKEN_2022, mint + bytes(82) + b"\x01\x01") is None
    assert parsed(TOKEN_2022, mint + bytes(83)) is None


def test_a_multisig_shows_its_signers() -> None:
    data = bytes([2, 3, 1]) + A + B + C + bytes(32 * 8)
    found = parsed(TOKEN, data)
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
    # Every key that is there is shown, whatever the count says.
    more = parsed(TOKEN, bytes([2, 200, 1]) + A + bytes(32) + C + bytes(32 * 8))
    assert more is not None
    assert more["parsed"]["info"]["signers"] == [A58, C58]
    assert parsed(TOKEN, bytes([2, 3, 0]) + A * 11) is None


def test_a_nonce_shows_its_authority_and_blockhash() -> None:
    data = struct.pack("<II", 1, 1) + A + B + struct.pack("<Q", 5_000)
    found = parsed(SYSTEM, data)
    assert found is not None
    assert found["parsed"] == {
        "info": {
            "authority": A58,
            "blockhash": B58,
            "feeCalculator": {"lamportsPerSignature": "5000"},
        },
        "type": "initialized",
    }
    # The node reads no further than the nonce goes, in either of its versions.
    assert parsed(SYSTEM, b"\0" + data[1:] + b"\x07") == {**found, "space": 81}
    assert parsed(SYSTEM, bytes(80)) is None
    assert parsed(SYSTEM, data[:79]) is None
    assert parsed(SYSTEM, b"") is None


def test_a_lookup_table_shows_its_addresses() -> None:
    state = struct.pack("<IQQB", 1, 2**64 - 1, 30, 4)
    closed = parsed(LOOKUP_TABLES, state + b"\x01" + A + b"\0\0" + B + C)
    assert closed is not None
    assert closed["parsed"] == {
        "info": {
            "addresses": [B58, C58],
            "authority": A58,
            "deactivationSlot": "18446744073709551615",
            "lastExtendedSlot": "30",
            "lastExtendedSlotStartIndex": 4,
        },
        "type": "lookupTable",
    }
    frozen = parsed(LOOKUP_TABLES, state + bytes(35))
    assert frozen is not None
    assert "authority" not in frozen["parsed"]["info"]
    assert frozen["parsed"]["info"]["addresses"] == []
    none = parsed(LOOKUP_TABLES, bytes(56))
    assert none is not None
    assert none["parsed"] == {"type": "uninitialized"}
    assert parsed(LOOKUP_TABLES, state + bytes(36)) is None
