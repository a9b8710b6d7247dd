"""The extensions of Token-2022 mints and accounts in jsonParsed, and what they do to amounts."""

import struct
from base64 import b64encode
from typing import Any

import pytest
from solders.account import Account
from solders.pubkey import Pubkey

from chain.account_json import AccountEncoding, account_json
from chain.parsed_accounts.token_extensions import parse_extensions

TOKEN_2022 = Pubkey.from_string("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
CLOCK = Pubkey.from_string("SysvarC1ock11111111111111111111111111111111")
NATIVE_MINT = Pubkey.from_string("So11111111111111111111111111111111111111112")
A, B = bytes([1]) * 32, bytes([2]) * 32
A58, B58 = str(Pubkey(A)), str(Pubkey(B))
NONE = bytes(32)
MINT, HOLDER = Pubkey(A), Pubkey(B)
YEAR = 31_556_736


def b64(data: bytes) -> str:
    return b64encode(data).decode()


def entry(kind: int, body: bytes) -> bytes:
    return struct.pack("<HH", kind, len(body)) + body


def shown(owner: str, *entries: bytes) -> list[dict[str, Any]]:
    return parse_extensions(bytes(166) + b"".join(entries), owner)


def text(value: str) -> bytes:
    return struct.pack("<I", len(value.encode())) + value.encode()


KEY, SMALL, LOW, HIGH = (
    bytes(range(32)),
    bytes(range(36)),
    bytes(range(64)),
    bytes(range(64, 128)),
)
FEES = struct.pack("<QQH", 1, 100, 10) + struct.pack("<QQH", 2, 2**64 - 1, 20)
OF_MINTS: list[tuple[int, bytes, str, dict[str, Any] | None]] = [
    (
        1,
        A + NONE + struct.pack("<Q", 5) + FEES,
        "transferFeeConfig",
        {
            "newerTransferFee": {
                "epoch": 2,
                "maximumFee": 2**64 - 1,
                "transferFeeBasisPoints": 20,
            },
            "olderTransferFee": {"epoch": 1, "maximumFee": 100, "transferFeeBasisPoints": 10},
            "transferFeeConfigAuthority": A58,
            "withdrawWithheldAuthority": None,
            "withheldAmount": 5,
        },
    ),
    (3, NONE, "mintCloseAuthority", {"closeAuthority": None}),
    (
        4,
        A + b"\x01" + KEY,
        "confidentialTransferMint",
        {"auditorElgamalPubkey": b64(KEY), "authority": A58, "autoApproveNewAccounts": True},
    ),
    (
        4,
        NONE + b"\0" + NONE,
        "confidentialTransferMint",
        {"auditorElgamalPubkey": None, "authority": None, "autoApproveNewAccounts": False},
    ),
    (6, b"\x02", "defaultAccountState", {"accountState": "frozen"}),
    (6, b"\x09", "defaultAccountState", {"accountState": "uninitialized"}),
    (9, b"", "nonTransferable", None),
    (
        10,
        A + struct.pack("<qhqh", 100, -200, 300, 400),
        "interestBearingConfig",
        {
            "currentRate": 400,
            "initializationTimestamp": 100,
            "lastUpdateTimestamp": 300,
            "preUpdateAverageRate": -200,
            "rateAuthority": A58,
        },
    ),
    (12, B, "permanentDelegate", {"delegate": B58}),
    (14, A + NONE, "transferHook", {"authority": A58, "programId": None}),
    (
        16,
        A + NONE + b"\x01" + LOW,
        "confidentialTransferFeeConfig",
        {
            "authority": A58,
            "harvestToMintEnabled": True,
            # This one is never null.
            "withdrawWithheldAuthorityElgamalPubkey": b64(NONE),
            "withheldAmount": b64(LOW),
        },
    ),
    (18, NONE + B, "metadataPointer", {"authority": None, "metadataAddress": B58}),
    (
        19,
        A
        + B
        + text("Näme")
        + text("SYM")
        + text("")
        + struct.pack("<I", 1)
        + text("k")
        + text("v"),
        "tokenMetadata",
        {
            "additionalMetadata": [["k", "v"]],
            "mint": B58,
            "name": "Näme",
            "symbol": "SYM",
            "updateAuthority": A58,
            "uri": "",
        },
    ),
    (20, A + B, "groupPointer", {"authority": A58, "groupAddress": B58}),
    (
        21,
        NONE + B + struct.pack("<QQ", 1, 10),
        "tokenGroup",
        {"maxSize": 10, "mint": B58, "size": 1, "updateAuthority": None},
    ),
    (22, A + B, "groupMemberPointer", {"authority": A58, "memberAddress": B58}),
    (
        23,
        A + B + struct.pack("<Q", 3),
        "tokenGroupMember",
        {"group": B58, "memberNumber": 3, "mint": A58},
    ),
    (
        24,
        LOW + SMALL + KEY + HIGH,
        "confidentialMintBurn",
        {
            "confidentialSupply": b64(LOW),
            "decryptableSupply": b64(SMALL),
            "pendingBurn": b64(HIGH),
            "supplyElgamalPubkey": b64(KEY),
        },
    ),
    (
        25,
        A + struct.pack("<dqd", 2.0, -50, 0.1),
        "scaledUiAmountConfig",
        {
            "authority": A58,
            "multiplier": "2",
            "newMultiplier": "0.1",
            "newMultiplierEffectiveTimestamp": -50,
        },
    ),
    # As rustc 1.95 prints them: of two texts that are equally near, the one farther from zero.
    (
        25,
        A + struct.pack("<dqd", 1.25003814697265625, 0, -1.25003814697265625),
        "scaledUiAmountConfig",
        {
            "authority": A58,
            "multiplier": "1.2500381469726563",
            "newMultiplier": "-1.2500381469726563",
            "newMultiplierEffectiveTimestamp": 0,
        },
    ),
    (26, A + b"\x05", "pausableConfig", {"authority": A58, "paused": True}),
    (28, NONE, "permissionedBurnConfig", {"authority": None}),
]
OF_ACCOUNTS: list[tuple[int, bytes, str, dict[str, Any] | None]] = [
    (2, struct.pack("<Q", 2**63), "transferFeeAmount", {"withheldAmount": 2**63}),
    (
        5,
        b"\x01" + KEY + LOW + HIGH + LOW + SMALL + b"\x01\0" + struct.pack("<QQQQ", 1, 2, 3, 4),
        "confidentialTransferAccount",
        {
            "actualPendingBalanceCreditCounter": 4,
            "allowConfidentialCredits": True,
            "allowNonConfidentialCredits": False,
            "approved": True,
            "availableBalance": b64(LOW),
            "decryptableAvailableBalance": b64(SMALL),
            "elgamalPubkey": b64(KEY),
            "expectedPendingBalanceCreditCounter": 3,
            "maximumPendingBalanceCreditCounter": 2,
            "pendingBalanceCreditCounter": 1,
            "pendingBalanceHi": b64(HIGH),
            "pendingBalanceLo": b64(LOW),
        },
    ),
    (7, b"", "immutableOwner", None),
    (8, b"\x01", "memoTransfer", {"requireIncomingTransferMemos": True}),
    (11, b"\0", "cpiGuard", {"lockCpi": False}),
    (13, b"", "nonTransferableAccount", None),
    (15, b"\0", "transferHookAccount", {"transferring": False}),
    (17, HIGH, "confidentialTransferFeeAmount", {"withheldAmount": b64(HIGH)}),
    (27, b"", "pausableAccount", None),
]


@pytest.mark.parametrize(
    ("owner", "kind", "body", "name", "state"),
    [("mint", *each) for each in OF_MINTS] + [("account", *each) for each in OF_ACCOUNTS],
)
def test_an_extension_says_what_it_has(
    owner: str, kind: int, body: bytes, name: str, state: dict[str, Any] | None
) -> None:
    expected = {"extension": name} if state is None else {"extension": name, "state": state}
    assert shown(owner, entry(kind, body)) == [expected]
    if state is not None:
        assert list(state) == sorted(state)
        unparseable = [{"extension": "unparseableExtension"}]
        assert shown(owner, entry(kind, body[:-1])) == unparseable
        assert shown("mint" if owner == "account" else "account", entry(kind, body)) == unparseable


def test_every_kind_of_extension_is_in_the_tables() -> None:
    assert {kind for kind, *_ in OF_MINTS + OF_ACCOUNTS} == set(range(1, 29))


def test_extensions_are_listed_in_the_order_of_their_entries() -> None:
    memo, owner = entry(8, b"\x01"), entry(7, b"")
    found = [
        {"extension": "immutableOwner"},
        {"extension": "memoTransfer", "state": {"requireIncomingTransferMemos": True}},
    ]
    assert shown("account", owner, memo) == found
    assert shown("account", owner, memo, b"\0\0\x99\x99") == found
    assert shown("account", owner, memo, b"\x07") == found
    # The node finds a kind by its first entry.
    assert shown("account", owner, memo, entry(8, b"\0")) == [*found, found[1]]


@pytest.mark.parametrize(
    "bad", [entry(999, b""), b"\x07\0", b"\x07\0\x01\0", b"\x07\0\0", entry(7, b"") * 10_000]
)
def test_no_extension_is_shown_where_the_list_makes_no_sense(bad: bytes) -> None:
    assert shown("account", entry(7, b""), bad) == []


def mint_data(decimals: int, *entries: bytes) -> bytes:
    base = bytes(36) + struct.pack("<Q", 0) + bytes([decimals, 1]) + bytes(36)
    return base + bytes(83) + b"\x01" + b"".join(entries) if entries else base


def holding(amount: int, mint: bytes = A) -> Account:
    data = mint + B + struct.pack("<Q", amount) + bytes(36) + b"\x01" + bytes(56)
    return Account(1, data, TOKEN_2022, False, 0)


def token_amount(amount: int, mint: bytes, now: int | None) -> Any:
    accounts = {MINT: Account(1, mint, TOKEN_2022, False, 0)}
    if now is not None:
        clock = struct.pack("<QqQQq", 9, 0, 0, 0, now)
        accounts[CLOCK] = Account(1, clock, CLOCK, False, 0)
    shown = account_json(
        holding(amount), AccountEncoding.JSON_PARSED, load=accounts.get, pubkey=HOLDER
    )
    assert shown["data"]["parsed"]["info"]["tokenAmount"]["amount"] == str(amount)
    found = shown["data"]["parsed"]["info"]["tokenAmount"]
    return found["uiAmount"], found["uiAmountString"]


def interest(before: int, updated: int, rate: int) -> bytes:
    return entry(10, NONE + struct.pack("<qhqh", 0, before, updated, rate))


def multiplier(now: float, at: int, then: float) -> bytes:
    return entry(25, NONE + struct.pack("<dqd", now, at, then))


E18 = 10**18


@pytest.mark.parametrize(
    ("amount", "mint", "now", "expected"),
    [
        # As the program itself works it out.
        (
            E18,
            mint_data(18, interest(500, YEAR, 500)),
            YEAR,
            (1.0512710963760241, "1.051271096376024117"),
        ),
        (
            E18,
            mint_data(28, interest(500, YEAR, 500)),
            YEAR,
            (1.0512710963760242e-10, "0.0000000001051271096376024175"),
        ),
        (10**10, mint_data(10, interest(500, YEAR, 500)), YEAR, (1.0512710964, "1.0512710964")),
        (
            E18,
            mint_data(18, interest(-500, YEAR, -500)),
            YEAR,
            (0.9512294245007139, "0.951229424500713905"),
        ),
        (1, mint_data(0, interest(-500, YEAR, 500)), 2 * YEAR, (1.0, "1")),
        (4200, mint_data(2, interest(0, YEAR, 0)), YEAR, (42.0, "42")),
        (
            2**64 - 1,
            mint_data(0, interest(500, YEAR, 500)),
            2 * YEAR,
            (2.03868050834481e19, "20386805083448098816"),
        ),
        (2**64 - 1, mint_data(0, interest(32767, 0, 32767)), 1_000 * YEAR, (None, "inf")),
        (1, mint_data(1, multiplier(5.0, 1, 0.0)), 0, (0.5, "0.5")),
        (10**10, mint_data(10, multiplier(5.0, 1, 0.0)), 0, (5.0, "5")),
        (101, mint_data(2, multiplier(0.99, 1, 0.0)), 0, (0.99, "0.99")),
        (2**64 - 1, mint_data(0, multiplier(1.7e308, 1, 0.0)), 0, (None, "inf")),
        (1, mint_data(0, multiplier(float("nan"), 1, 0.0)), 0, (None, "NaN")),
        # The second multiplier holds from its time on.
        (100, mint_data(2, multiplier(5.0, 7, 3.0)), 6, (5.0, "5")),
        (100, mint_data(2, multiplier(5.0, 7, 3.0)), 7, (3.0, "3")),
        # Interest goes before a multiplier; what is no such extension changes nothing.
        (100, mint_data(2, multiplier(5.0, 0, 5.0), interest(0, 0, 0)), 9, (1.0, "1")),
        (100, mint_data(2, entry(25, b"")), 9, (1.0, "1")),
        (100, mint_data(2), None, (1.0, "1")),
        # Unknown without a clock, and where the times are too far apart.
        (100, mint_data(2, multiplier(5.0, 0, 5.0)), None, (None, "")),
        (100, mint_data(2, interest(1, -(2**63), 1)), 2**63 - 1, (None, "")),
    ],
)
def test_an_amount_is_shown_with_interest_or_multiplied(
    amount: int, mint: bytes, now: int | None, expected: tuple[float | None, str]
) -> None:
    assert token_amount(amount, mint, now) == expected


def test_wrapped_sol_is_shown_without_its_mint() -> None:
    account = holding(1_500_000_000, bytes(NATIVE_MINT))
    shown = account_json(account, AccountEncoding.JSON_PARSED, load=lambda key: None)
    assert shown["data"]["parsed"]["info"]["tokenAmount"] == {
        "amount": "1500000000",
        "decimals": 9,
        "uiAmount": 1.5,
        "uiAmountString": "1.5",
    }
