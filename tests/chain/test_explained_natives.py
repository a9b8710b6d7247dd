"""Instructions of the node's own programs that jsonParsed does not show."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from chain.encodings import b58encode, b64encode
from chain.explained import programs
from chain.explained.instructions import decode
from chain.explained.natives import parse_native

A, B, C = (str(Pubkey(bytes([n]) * 32)) for n in (1, 2, 3))
KEY, MESSAGE = bytes([7]) * 32, b"signed"
KNOWN = [
    programs.COMPUTE_BUDGET,
    programs.CONFIG,
    programs.LOADER_V4,
    programs.UPGRADEABLE_LOADER,
    programs.ZK_PROOFS,
    programs.ED25519,
    programs.SECP256R1,
    programs.SECP256K1,
]


def u(size: int, *numbers: int) -> bytes:
    return b"".join(number.to_bytes(size, "little") for number in numbers)


def ed25519(key_in: int = 0xFFFF, message_in: int = 0xFFFF, size: int = len(MESSAGE)) -> bytes:
    """One signature: its bytes, its key and what is signed follow the offsets."""
    offsets = u(2, 48, 0xFFFF, 16, key_in, 112, size, message_in)
    return bytes([1, 0]) + offsets + KEY + bytes(64) + MESSAGE


@pytest.mark.parametrize(
    ("program", "accounts", "data", "kind", "info"),
    [
        (programs.COMPUTE_BUDGET, [], b"\0" + u(4, 300, 5), "requestUnits", {"units": 300}),
        (programs.COMPUTE_BUDGET, [], b"\1" + u(4, 32_768), "requestHeapFrame", {"bytes": 32_768}),
        (programs.COMPUTE_BUDGET, [], b"\2" + u(4, 9), "setComputeUnitLimit", {"units": 9}),
        (programs.COMPUTE_BUDGET, [], b"\3" + u(8, 9), "setComputeUnitPrice", {"microLamports": 9}),
        (
            programs.COMPUTE_BUDGET,
            [],
            b"\4" + u(4, 9),
            "setLoadedAccountsDataSizeLimit",
            {"bytes": 9},
        ),
        (
            programs.CONFIG,
            [A, B],
            b"\2" + KEY + b"\0" + bytes(32) + b"\1" + b"{}",
            "store",
            {
                "account": A,
                "keys": [
                    {"pubkey": b58encode(KEY), "signer": False},
                    {"pubkey": "1" * 32, "signer": True},
                ],
                "data": b64encode(b"{}"),
            },
        ),
        (
            programs.LOADER_V4,
            [A, B],
            u(4, 0, 64) + u(8, 2) + b"hi",
            "write",
            {"program": A, "authority": B, "offset": 64, "bytes": "aGk="},
        ),
        (programs.LOADER_V4, [A, B, C], u(4, 1, 1, 2, 3), "copy", {"source": C, "length": 3}),
        (programs.LOADER_V4, [A, B], u(4, 2, 500), "setProgramLength", {"newSize": 500}),
        (programs.LOADER_V4, [A, B], u(4, 3), "deploy", {"program": A, "authority": B}),
        (programs.LOADER_V4, [A, B], u(4, 4), "retract", {"program": A}),
        (programs.LOADER_V4, [A, B, C], u(4, 5), "transferAuthority", {"newAuthority": C}),
        (programs.LOADER_V4, [A, B, C], u(4, 6), "finalize", {"nextVersion": C}),
        (programs.UPGRADEABLE_LOADER, [A, B, C], u(4, 8), "migrate", {"authority": C}),
        (
            programs.UPGRADEABLE_LOADER,
            [A, B, C],
            u(4, 9, 1_024),
            "extendProgramChecked",
            {"programAccount": B, "additionalBytes": 1_024},
        ),
        (
            programs.ZK_PROOFS,
            [A, B, C],
            b"\0",
            "closeContextState",
            {"contextStateAccount": A, "destination": B, "contextStateOwner": C},
        ),
        (
            programs.ZK_PROOFS,
            [A, B],
            b"\4" + bytes(96),
            "verifyPubkeyValidity",
            {"proofBytes": 96, "contextStateAccount": A, "contextStateOwner": B},
        ),
        (
            programs.ZK_PROOFS,
            [A],
            b"\7" + u(4, 8),
            "verifyBatchedRangeProofU128",
            {"proofAccount": A, "offset": 8},
        ),
        (
            programs.ED25519,
            [],
            ed25519(),
            "verify",
            {
                "signatures": [
                    {
                        "message": b64encode(MESSAGE),
                        "messageBytes": 6,
                        "publicKey": b58encode(KEY),
                    }
                ]
            },
        ),
        (
            programs.ED25519,
            [],
            ed25519(key_in=2, message_in=0),
            "verify",
            {"signatures": [{"messageBytes": 6, "messageInstruction": 1}]},
        ),
        (
            programs.SECP256K1,
            [],
            b"\1" + u(2, 12) + b"\0" + u(2, 77) + b"\0" + u(2, 97, 6) + b"\0" + bytes(91),
            "verify",
            {"signatures": [{"messageBytes": 6, "messageInstruction": 1}]},
        ),
    ],
    ids=lambda each: str(each)[:24],
)
def test_each_is_called_by_its_name(
    program: str, accounts: list[str], data: bytes, kind: str, info: dict[str, Any]
) -> None:
    found = decode(program, accounts, b58encode(data))
    assert (found.kind, found.by) == (kind, "program")
    assert info.items() <= dict(found.info or {}).items()


@pytest.mark.parametrize(
    ("program", "accounts", "data"),
    [
        (programs.COMPUTE_BUDGET, [], b"\5" + u(4, 1)),
        (programs.COMPUTE_BUDGET, [], b"\2\0"),
        (programs.LOADER_V4, [A], u(4, 3)),
        (programs.ZK_PROOFS, [], b"\x0d"),
        (programs.ED25519, [], ed25519(size=7)),
        (programs.ED25519, [], b"\1\0"),
        (programs.CONFIG, [], b"\0"),
    ],
)
def test_what_the_program_would_not_read_is_not_named(
    program: str, accounts: list[str], data: bytes
) -> None:
    assert decode(program, accounts, b58encode(data)).by is None


@given(st.sampled_from(KNOWN), st.lists(st.just(A), max_size=4), st.binary(max_size=80))
def test_any_data_is_named_or_not(program: str, accounts: list[str], data: bytes) -> None:
    found = parse_native(program, accounts, data)
    assert found is None or found[0]
