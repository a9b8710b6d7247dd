"""parse_account on any bytes, and on megabytes made to be slow."""

import json
import struct
import time
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from chain.parsed.amounts import ui_amount
from chain.parsed_accounts.accounts import parse_account
from chain.parsed_accounts.mint_amounts import amounts_of_mint
from chain.parsed_accounts.raw import Shown
from tests.examples import examples

TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
LOOKUP_TABLES = "AddressLookupTab1e1111111111111111111111111"
VOTE = "Vote111111111111111111111111111111111111111"
SYSVAR = "Sysvar1111111111111111111111111111111111111"
CONFIG = "Config1111111111111111111111111111111111111"
OWNERS = [
    "11111111111111111111111111111111",
    LOOKUP_TABLES,
    "BPFLoaderUpgradeab1e11111111111111111111111",
    CONFIG,
    "Stake11111111111111111111111111111111111111",
    SYSVAR,
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
    TOKEN_2022,
    VOTE,
]
SLOT_HASHES = "SysvarS1otHashes111111111111111111111111111"
SYSVARS = [
    "SysvarC1ock11111111111111111111111111111111",
    "SysvarEpochRewards1111111111111111111111111",
    "SysvarEpochSchedu1e111111111111111111111111",
    "SysvarFees111111111111111111111111111111111",
    "SysvarLastRestartS1ot1111111111111111111111",
    "SysvarRecentB1ockHashes11111111111111111111",
    "SysvarRent111111111111111111111111111111111",
    "SysvarRewards111111111111111111111111111111",
    SLOT_HASHES,
    "SysvarS1otHistory11111111111111111111111111",
    "SysvarStakeHistory1111111111111111111111111",
]
PUBKEYS = [None, "StakeConfig11111111111111111111111111111111", *SYSVARS]
VALIDATOR_INFO = bytes(Pubkey.from_string("Va1idator1nfo111111111111111111111111111111"))
TEN_MEGABYTES = 10 * 1024 * 1024

small = st.integers(0, 4)
counts = st.one_of(small, st.integers(0, 2**64 - 1)).map(lambda number: struct.pack("<Q", number))
pieces = st.one_of(
    st.binary(max_size=40),
    counts,
    small.map(lambda number: struct.pack("<I", number)),
    st.tuples(st.integers(0, 30), st.binary(max_size=200)).map(
        lambda each: struct.pack("<HH", each[0], len(each[1])) + each[1]
    ),
    st.sampled_from([(10, 52), (25, 56)]).flatmap(
        lambda each: st.binary(min_size=each[1], max_size=each[1]).map(
            lambda body: struct.pack("<HH", *each) + body
        )
    ),
    st.just(b"\x01" + VALIDATOR_INFO + b"\0"),
    st.text(max_size=20).map(lambda text: struct.pack("<Q", len(text.encode())) + text.encode()),
    st.just(bytes(165)),
    st.just(bytes(1545)),
)
datas = st.lists(pieces, max_size=8).map(b"".join)
# A mint or an account in front makes extensions of the rest.
MINT = bytes(44) + b"\x06\x01" + bytes(36) + bytes(83) + b"\x01"
HOLDER = bytes(range(64)) + bytes(44) + b"\x01" + bytes(56) + b"\x02"


def six(mint: str) -> Shown:
    return partial(ui_amount, decimals=6)


@pytest.mark.parametrize("owner", [*OWNERS, str(Pubkey(b"\x01" * 32))])
@settings(max_examples=examples(200))
@given(data=datas, pubkey=st.sampled_from(PUBKEYS), front=st.sampled_from([b"", MINT, HOLDER]))
def test_any_bytes_are_parsed_or_not_but_never_break(
    owner: str, data: bytes, pubkey: str | None, front: bytes
) -> None:
    for each in (data, front + data, (front + data).ljust(355, b"\0")):
        found = parse_account(pubkey, owner, each, six)
        if found is not None:
            assert found["space"] == len(each)
            assert set(found["parsed"]) <= {"info", "type"}
            assert json.dumps(found, allow_nan=False).encode()


@pytest.mark.parametrize("pubkey", SYSVARS)
@given(data=datas)
def test_any_sysvar_is_parsed_or_not_but_never_breaks(pubkey: str, data: bytes) -> None:
    found = parse_account(pubkey, SYSVAR, data, six)
    if found is not None:
        assert json.dumps(found, allow_nan=False)


@settings(max_examples=examples(200))
@given(
    data=datas,
    decimals=st.integers(0, 255),
    amount=st.integers(0, 2**64 - 1),
    now=st.none() | st.integers(-(2**63), 2**63 - 1),
)
def test_an_amount_of_any_mint_can_be_shown(
    data: bytes, decimals: int, amount: int, now: int | None
) -> None:
    mint = MINT[:44] + bytes([decimals]) + MINT[45:] + data
    shown = amounts_of_mint(mint, lambda: now)(amount)
    assert (shown["amount"], shown["decimals"]) == (str(amount), decimals)
    assert json.dumps(shown, allow_nan=False)


def filled(front: bytes, entry: bytes) -> bytes:
    """Ten megabytes: the front, and the entry again and again."""
    return front + entry * ((TEN_MEGABYTES - len(front)) // len(entry))


@pytest.mark.parametrize(
    ("owner", "pubkey", "front", "entry"),
    [
        (LOOKUP_TABLES, None, b"\x01" + bytes(55), b"\x07" * 32),
        (VOTE, SLOT_HASHES, b"\x01" + bytes(68) + struct.pack("<Q", 800_000), b"\x07" * 12),
        (VOTE, SLOT_HASHES, b"\x01" + bytes(68) + b"\xff" * 8, b"\x07" * 12),
        (SYSVAR, SLOT_HASHES, struct.pack("<Q", 262_000), b"\x07" * 40),
        (TOKEN_2022, None, HOLDER, struct.pack("<HH", 7, 0)),
        (TOKEN_2022, None, MINT, struct.pack("<HH", 19, 65_535) + b"\x01" * 65_535),
        (CONFIG, None, b"\xff\xff\x03" + VALIDATOR_INFO + b"\0", VALIDATOR_INFO + b"\0"),
        (
            CONFIG,
            None,
            b"\x01" + VALIDATOR_INFO + b"\0" + struct.pack("<Q", TEN_MEGABYTES - 42),
            b"[],",
        ),
        *((owner, SLOT_HASHES, b"", b"\x01") for owner in OWNERS),
    ],
    ids=lambda value: value[:8] if isinstance(value, str) else "",
)
def test_ten_megabytes_of_made_up_data_cost_no_seconds(
    owner: str, pubkey: str | None, front: bytes, entry: bytes
) -> None:
    data = filled(front, entry)
    start = time.process_time()
    parse_account(pubkey, owner, data, six)
    assert time.process_time() - start < 1.0
