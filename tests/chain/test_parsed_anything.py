"""Parsing any transaction returns a result and never fails."""

import json
import struct

from hypothesis import given, settings
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from chain.parsed.instructions import parse_instruction
from tests.examples import examples

NATIVE = [
    "11111111111111111111111111111111",
    "Vote111111111111111111111111111111111111111",
    "Stake11111111111111111111111111111111111111",
    "BPFLoader2111111111111111111111111111111111",
    "BPFLoaderUpgradeab1e11111111111111111111111",
    "AddressLookupTab1e1111111111111111111111111",
]
TOKENS = [
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
    "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
]
OTHERS = [
    "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL",
    "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
    "ComputeBudget111111111111111111111111111111",
]
INTERFACES = [
    bytes([121, 113, 108, 39, 54, 51, 0, 4]),
    bytes([210, 225, 30, 162, 88, 184, 77, 141]),
    bytes([221, 233, 49, 45, 181, 202, 220, 200]),
    bytes([234, 18, 32, 56, 89, 141, 37, 181]),
    bytes([250, 166, 180, 250, 13, 12, 184, 70]),
]

accounts = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "SysvarC1ock11111111111111111111111111111111",
                "SysvarRent111111111111111111111111111111111",
                "StakeConfig11111111111111111111111111111111",
            ]
        ),
        st.integers(0, 255).map(lambda n: str(Pubkey(bytes([n]) * 32))),
    ),
    max_size=12,
)
# Small numbers make lengths and tags that mean something; random bytes alone seldom do.
rest = st.one_of(
    st.binary(max_size=300),
    st.lists(st.sampled_from([b"\0", b"\1", b"\2", b"\xff", bytes(8), bytes(32)])).map(b"".join),
)
instructions = st.one_of(
    st.tuples(
        st.sampled_from(NATIVE),
        accounts,
        st.builds(lambda tag, tail: struct.pack("<I", tag) + tail, st.integers(0, 20), rest),
    ),
    st.tuples(
        st.sampled_from(TOKENS),
        accounts,
        st.builds(
            lambda tag, tail: tag + tail,
            st.one_of(
                st.sampled_from([*range(47), 255]).map(lambda tag: bytes([tag])),
                st.tuples(st.sampled_from([26, 27, 37, 42, 46]), st.integers(0, 14)).map(bytes),
                st.sampled_from(INTERFACES),
            ),
            rest,
        ),
    ),
    st.tuples(st.sampled_from(NATIVE + TOKENS + OTHERS), accounts, st.binary(max_size=1300)),
)


@settings(max_examples=examples(2_000))
@given(instructions)
def test_no_bytes_and_no_accounts_make_parsing_fail(
    instruction: tuple[str, list[str], bytes],
) -> None:
    shown = parse_instruction(*instruction)
    if shown is None:
        return
    assert set(shown) == {"program", "parsed"}
    parsed = shown["parsed"]
    assert isinstance(parsed, str) or set(parsed) in ({"info", "type"}, {"type"})
    # Whatever is shown can be sent: no lone surrogates, no numbers that JSON does not have.
    json.dumps(shown, allow_nan=False).encode()
