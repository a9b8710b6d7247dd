"""Token instructions against what the standard node shows for the same bytes."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from chain.parsed.instructions import parse_instruction

TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"

KEY = [bytes([n]) * 32 for n in range(1, 12)]
K = [str(Pubkey(key)) for key in KEY]


def u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def authority(name: str, at: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The authority at a place, alone and as a multisig with the next two accounts."""
    multisig = "multisig" + name[0].upper() + name[1:]
    return {name: K[at]}, {multisig: K[at], "signers": K[at + 1 : at + 3]}


AMOUNT = u64(42)
CHECKED = u64(42) + b"\2"
UI = {"amount": "42", "decimals": 2, "uiAmount": 0.42, "uiAmountString": "0.42"}

# data, how many accounts, type, info
FIXED: list[tuple[bytes, int, str, dict[str, Any]]] = [
    (
        b"\0\2" + KEY[5] + b"\1" + KEY[6],
        2,
        "initializeMint",
        {
            "mint": K[0],
            "rentSysvar": K[1],
            "decimals": 2,
            "mintAuthority": K[5],
            "freezeAuthority": K[6],
        },
    ),
    (
        b"\0\2" + KEY[5] + b"\0",
        2,
        "initializeMint",
        {"mint": K[0], "rentSysvar": K[1], "decimals": 2, "mintAuthority": K[5]},
    ),
    (
        b"\1",
        4,
        "initializeAccount",
        {"account": K[0], "mint": K[1], "owner": K[2], "rentSysvar": K[3]},
    ),
    (
        b"\x10" + KEY[5],
        3,
        "initializeAccount2",
        {"account": K[0], "mint": K[1], "owner": K[5], "rentSysvar": K[2]},
    ),
    (b"\x11", 1, "syncNative", {"account": K[0]}),
    (
        b"\x12" + KEY[5],
        2,
        "initializeAccount3",
        {"account": K[0], "mint": K[1], "owner": K[5]},
    ),
    (
        b"\x14\2" + KEY[5] + b"\1" + KEY[6],
        1,
        "initializeMint2",
        {"mint": K[0], "decimals": 2, "mintAuthority": K[5], "freezeAuthority": K[6]},
    ),
    (b"\x16", 1, "initializeImmutableOwner", {"account": K[0]}),
    (b"\x17" + AMOUNT, 1, "amountToUiAmount", {"mint": K[0], "amount": "42"}),
    (
        b"\x19\1" + KEY[5],
        1,
        "initializeMintCloseAuthority",
        {"mint": K[0], "newAuthority": K[5]},
    ),
    (b"\x19\0", 1, "initializeMintCloseAuthority", {"mint": K[0], "newAuthority": None}),
    (
        b"\x1f",
        3,
        "createNativeMint",
        {"payer": K[0], "nativeMint": K[1], "systemProgram": K[2]},
    ),
    (b"\x20", 1, "initializeNonTransferableMint", {"mint": K[0]}),
    (
        b"\x23" + KEY[5],
        1,
        "initializePermanentDelegate",
        {"mint": K[0], "delegate": K[5]},
    ),
]

# data, info without the authority, the authority's name, its place, type
OWNED: list[tuple[bytes, dict[str, Any], str, int, str]] = [
    (
        b"\3" + AMOUNT,
        {"source": K[0], "destination": K[1], "amount": "42"},
        "authority",
        2,
        "transfer",
    ),
    (
        b"\4" + u64(2**64 - 1),
        {"source": K[0], "delegate": K[1], "amount": "18446744073709551615"},
        "owner",
        2,
        "approve",
    ),
    (b"\5", {"source": K[0]}, "owner", 1, "revoke"),
    (
        b"\7" + AMOUNT,
        {"mint": K[0], "account": K[1], "amount": "42"},
        "mintAuthority",
        2,
        "mintTo",
    ),
    (b"\x08" + AMOUNT, {"account": K[0], "mint": K[1], "amount": "42"}, "authority", 2, "burn"),
    (b"\x09", {"account": K[0], "destination": K[1]}, "owner", 2, "closeAccount"),
    (b"\x0a", {"account": K[0], "mint": K[1]}, "freezeAuthority", 2, "freezeAccount"),
    (b"\x0b", {"account": K[0], "mint": K[1]}, "freezeAuthority", 2, "thawAccount"),
    (
        b"\x0c" + CHECKED,
        {"source": K[0], "mint": K[1], "destination": K[2], "tokenAmount": UI},
        "authority",
        3,
        "transferChecked",
    ),
    (
        b"\x0d" + CHECKED,
        {"source": K[0], "mint": K[1], "delegate": K[2], "tokenAmount": UI},
        "owner",
        3,
        "approveChecked",
    ),
    (
        b"\x0e" + CHECKED,
        {"mint": K[0], "account": K[1], "tokenAmount": UI},
        "mintAuthority",
        2,
        "mintToChecked",
    ),
    (
        b"\x0f" + CHECKED,
        {"account": K[0], "mint": K[1], "tokenAmount": UI},
        "authority",
        2,
        "burnChecked",
    ),
    (
        b"\x1d" + b"\2\0" + b"\x08\0",
        {
            "account": K[0],
            "payer": K[1],
            "systemProgram": K[2],
            "extensionTypes": ["transferFeeAmount", "memoTransfer"],
        },
        "owner",
        3,
        "reallocate",
    ),
    (b"\x26", {"source": K[0], "destination": K[1]}, "authority", 2, "withdrawExcessLamports"),
    (b"\x2d\0", {"source": K[0], "destination": K[1]}, "authority", 2, "unwrapLamports"),
    (
        b"\x2d\1" + AMOUNT,
        {"source": K[0], "destination": K[1], "amount": "42"},
        "authority",
        2,
        "unwrapLamports",
    ),
]

AUTHORITY_TYPES = [
    (0, "mintTokens", "mint"),
    (1, "freezeAccount", "mint"),
    (2, "accountOwner", "account"),
    (3, "closeAccount", "account"),
    (4, "transferFeeConfig", "mint"),
    (5, "withheldWithdraw", "mint"),
    (6, "closeMint", "mint"),
    (7, "interestRate", "mint"),
    (8, "permanentDelegate", "mint"),
    (9, "confidentialTransferMint", "mint"),
    (10, "transferHookProgramId", "mint"),
    (11, "confidentialTransferFeeConfig", "mint"),
    (12, "metadataPointer", "mint"),
    (13, "groupPointer", "mint"),
    (14, "groupMemberPointer", "mint"),
    (15, "scaledUiAmount", "mint"),
    (16, "pause", "mint"),
    (17, "permissionedBurn", "mint"),
]

EXTENSION_TYPES = [
    "uninitialized",
    "transferFeeConfig",
    "transferFeeAmount",
    "mintCloseAuthority",
    "confidentialTransferMint",
    "confidentialTransferAccount",
    "defaultAccountState",
    "immutableOwner",
    "memoTransfer",
    "nonTransferable",
    "interestBearingConfig",
    "cpiGuard",
    "permanentDelegate",
    "nonTransferableAccount",
    "transferHook",
    "transferHookAccount",
    "confidentialTransferFeeConfig",
    "confidentialTransferFeeAmount",
    "metadataPointer",
    "tokenMetadata",
    "groupPointer",
    "tokenGroup",
    "groupMemberPointer",
    "tokenGroupMember",
    "confidentialMintBurn",
    "scaledUiAmount",
    "pausable",
    "pausableAccount",
    "permissionedBurn",
]


def parsed(accounts: list[str], data: bytes) -> Any:
    one = parse_instruction(TOKEN, accounts, data)
    two = parse_instruction(TOKEN_2022, accounts, data)
    assert one == two
    if one is None:
        return None
    assert one["program"] == "spl-token"
    return one["parsed"]


@pytest.mark.parametrize(("data", "count", "kind", "info"), FIXED, ids=[row[2] for row in FIXED])
def test_an_instruction_without_authority_is_shown_as_the_node_shows_it(
    data: bytes, count: int, kind: str, info: dict[str, Any]
) -> None:
    assert parsed(K[:count], data) == {"info": info, "type": kind}
    assert parsed(K[: count + 1], data) == {"info": info, "type": kind}
    assert parsed(K[: count - 1], data) is None
    for size in range(len(data)):
        assert parsed(K, data[:size]) is None


@pytest.mark.parametrize(
    ("data", "info", "name", "at", "kind"), OWNED, ids=[row[4] for row in OWNED]
)
def test_an_authority_is_one_key_or_a_multisig_with_its_signers(
    data: bytes, info: dict[str, Any], name: str, at: int, kind: str
) -> None:
    single, multisig = authority(name, at)
    assert parsed(K[: at + 1], data) == {"info": {**info, **single}, "type": kind}
    assert parsed(K[: at + 3], data) == {"info": {**info, **multisig}, "type": kind}
    assert parsed(K[:at], data) is None


@pytest.mark.parametrize(("tag", "name", "owned"), AUTHORITY_TYPES)
def test_set_authority_names_what_is_owned_and_by_which_right(
    tag: int, name: str, owned: str
) -> None:
    data = bytes([6, tag])
    info = {owned: K[0], "authorityType": name, "newAuthority": K[5], "authority": K[1]}
    assert parsed(K[:2], data + b"\1" + KEY[5]) == {"info": info, "type": "setAuthority"}
    multisig = {
        owned: K[0],
        "authorityType": name,
        "newAuthority": None,
        "multisigAuthority": K[1],
        "signers": K[2:4],
    }
    assert parsed(K[:4], data + b"\0") == {"info": multisig, "type": "setAuthority"}


def test_set_authority_needs_a_known_right_two_accounts_and_an_option() -> None:
    assert parsed(K[:2], bytes([6, 18]) + b"\0") is None
    assert parsed(K[:1], bytes([6, 0]) + b"\0") is None
    assert parsed(K[:2], bytes([6, 0]) + b"\2" + KEY[5]) is None
    assert parsed(K[:2], bytes([6, 0])) is None


def test_a_multisig_lists_its_signers() -> None:
    assert parsed(K[:5], b"\2\x03") == {
        "info": {"multisig": K[0], "rentSysvar": K[1], "signers": K[2:5], "m": 3},
        "type": "initializeMultisig",
    }
    assert parsed(K[:2], b"\2\x03") is None
    assert parsed(K[:4], b"\x13\x02") == {
        "info": {"multisig": K[0], "signers": K[1:4], "m": 2},
        "type": "initializeMultisig2",
    }
    assert parsed(K[:1], b"\x13\x02") is None


def test_every_extension_type_has_its_name() -> None:
    for number, name in enumerate(EXTENSION_TYPES):
        assert parsed(K[:1], b"\x15" + struct.pack("<H", number)) == {
            "info": {"mint": K[0], "extensionTypes": [name]},
            "type": "getAccountDataSize",
        }
    assert parsed(K[:1], b"\x15" + struct.pack("<H", len(EXTENSION_TYPES))) is None
    assert parsed(K[:1], b"\x15\7\0\7") is None  # half an extension type
    assert parsed(K[:1], b"\x15") == {"info": {"mint": K[0]}, "type": "getAccountDataSize"}


def test_ui_amount_to_amount_shows_the_text_it_was_given() -> None:
    assert parsed(K[:1], b"\x180.42") == {
        "info": {"mint": K[0], "uiAmount": "0.42"},
        "type": "uiAmountToAmount",
    }
    assert parsed(K[:1], b"\x18\xff") is None


@pytest.mark.parametrize(
    ("amount", "decimals", "ui_amount", "text"),
    [
        (0, 0, 0.0, "0"),
        (0, 9, 0.0, "0"),
        (1, 0, 1.0, "1"),
        (100, 0, 100.0, "100"),
        (100, 2, 1.0, "1"),
        (1, 6, 1e-06, "0.000001"),
        (3_800_000, 6, 3.8, "3.8"),
        (96449438144093, 6, 96449438.144093, "96449438.144093"),
        (2**64 - 1, 9, 18446744073.709551615, "18446744073.709551615"),
        (1, 19, 1e-19, "0.0000000000000000001"),
        # 10**20 is no u64, and the node gives up on the float, not on the text.
        (1, 20, None, "0.00000000000000000001"),
        (5, 255, None, "0." + "0" * 254 + "5"),
    ],
)
def test_a_token_amount_has_the_nodes_decimal_forms(
    amount: int, decimals: int, ui_amount: float | None, text: str
) -> None:
    data = b"\x0c" + u64(amount) + bytes([decimals])
    assert parsed(K[:4], data)["info"]["tokenAmount"] == {
        "amount": str(amount),
        "decimals": decimals,
        "uiAmount": ui_amount,
        "uiAmountString": text,
    }


@given(st.integers(0, 2**64 - 1), st.integers(0, 19))
def test_the_text_of_a_token_amount_is_exact_and_its_float_near(amount: int, decimals: int) -> None:
    shown = parsed(K[:4], b"\x0c" + u64(amount) + bytes([decimals]))["info"]["tokenAmount"]
    whole, _, part = shown["uiAmountString"].partition(".")
    assert int(whole + part.ljust(decimals, "0")) == amount
    assert not part.endswith("0")
    assert shown["uiAmount"] == pytest.approx(amount / 10**decimals, rel=1e-12)


def test_a_batch_shows_its_instructions_and_deals_out_the_accounts() -> None:
    close = b"\x09"
    transfer = b"\3" + AMOUNT
    data = b"\xff" + bytes([3, len(transfer)]) + transfer + bytes([3, len(close)]) + close
    assert parsed(K[:6], data) == {
        "info": {
            "instructions": [
                {
                    "info": {
                        "source": K[0],
                        "destination": K[1],
                        "amount": "42",
                        "authority": K[2],
                    },
                    "type": "transfer",
                },
                {
                    "info": {"account": K[3], "destination": K[4], "owner": K[5]},
                    "type": "closeAccount",
                },
            ]
        },
        "type": "batch",
    }
    assert parsed(K[:5], data) is None  # the second has no accounts left
    assert parsed(K[:6], data[:-1]) is None
    assert parsed(K[:1], b"\xff") == {"info": {"instructions": []}, "type": "batch"}


@pytest.mark.parametrize(
    "inner",
    [
        bytes([1, 1]) + b"\xff",  # a batch in a batch
        bytes([0, 1]) + b"\x11",  # no accounts
        bytes([1, 0]),  # no data
        bytes([1]),  # no length
        bytes([1, 1]) + b"\x2f",  # no such instruction
    ],
)
def test_a_batch_with_an_instruction_that_cannot_be_parsed_is_not_parsed(inner: bytes) -> None:
    assert parsed(K, b"\xff" + inner) is None


@pytest.mark.parametrize("data", [b"", b"\x2f", b"\xfe", b"\xd2\xe1\x1e\xa2\x58\xb8\x4d"])
def test_data_that_is_no_token_instruction_is_not_parsed(data: bytes) -> None:
    assert parsed(K, data) is None


def test_a_token_instruction_without_accounts_is_not_parsed() -> None:
    assert parsed([], b"\x11") is None


def test_bytes_behind_a_token_instruction_are_ignored() -> None:
    assert parsed(K[:1], b"\x11more") == {"info": {"account": K[0]}, "type": "syncNative"}
