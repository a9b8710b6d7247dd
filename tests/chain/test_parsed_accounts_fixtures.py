"""Real accounts in jsonParsed, if the fixtures are present."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from solders.account import Account
from solders.pubkey import Pubkey

from chain.account_json import AccountEncoding, account_json
from chain.encodings import b64decode

KEYS = "3xxDCjN8s6MgNHwdRExRLa6gHmmRTWPnUdzkbKfEgNAe"


def accounts_of(folder: Path) -> dict[Pubkey, Account]:
    """All the accounts of a folder."""
    found = {}
    for path in sorted(folder.rglob("*.json")):
        file = json.loads(path.read_bytes())
        given = file["account"]
        owner = Pubkey.from_string(given["owner"])
        data = b64decode(given["data"][0])
        key = Pubkey.from_string(file["pubkey"])
        found[key] = Account(given["lamports"], data, owner, given["executable"], 0)
    return found


@pytest.fixture(scope="module")
def kit(fixtures: Path) -> dict[Pubkey, Account]:
    """One account of each kind that jsonParsed knows."""
    return accounts_of(fixtures / "accounts" / "kit-localnet")


def shown(accounts: dict[Pubkey, Account], address: str) -> Any:
    """The account's parsed data."""
    key = Pubkey.from_string(address)
    found = account_json(accounts[key], AccountEncoding.JSON_PARSED, load=accounts.get, pubkey=key)[
        "data"
    ]
    assert found["space"] == len(accounts[key].data)
    return found["program"], found["parsed"]["type"], found["parsed"]["info"]


def test_the_small_ones_are_shown_whole(kit: dict[Pubkey, Account]) -> None:
    assert shown(kit, "AfFRmCFz8yUWzug2jiRc13xEEzBwyxxYSRGVE5uQMpHk") == (
        "bpf-upgradeable-loader",
        "program",
        {"programData": "3vnUTQbDuCgfVn7yQcigUwMQNGkLBZ7GfKWb3gYbAY23"},
    )
    assert shown(kit, "FtLZBmDW4Y6WNTYYZv9AcC2nQupDMDzX5Q5mp5MLpmdY") == (
        "config",
        "validatorInfo",
        {
            "configData": {"name": "HoldTheNode", "website": "https://holdthenode.com"},
            "keys": [
                {"pubkey": "Va1idator1nfo111111111111111111111111111111", "signer": False},
                {"pubkey": "5hvJ19nRgtzAkosb5bcx9bqeN2QA1Qwxq4M349Q2L6s2", "signer": True},
            ],
        },
    )
    assert shown(kit, "AiZExP8mK4RxDozh4r57knvqSZgkz86HrzPAMx61XMqU") == (
        "nonce",
        "initialized",
        {
            "authority": KEYS,
            "blockhash": "TcVy2wVcs7WqWVopv8LAJBHQfqVYZrm8UDqjDvBFQt8",
            "feeCalculator": {"lamportsPerSignature": "5000"},
        },
    )
    assert shown(kit, "4Uh9vK5nnxfskc73asy7AeRYDfZocrv1th9DEjtdCn88") == (
        "spl-token",
        "multisig",
        {
            "isInitialized": True,
            "numRequiredSigners": 2,
            "numValidSigners": 2,
            "signers": [
                "Fkc4FN7PPhyGsAcHPW3dBBJ4BvtYkDr2rBFBgFpvy3nB",
                "5scSndUhfZJ8j8wZz5UNHhvuPBhvN1RboTdkKSvFHLtW",
            ],
        },
    )
    program, kind, table = shown(kit, "2JPQuT3dHtPjrdcbUQyrrT4XYRYaWpWfmAJ54SUapg6n")
    assert (program, kind, len(table.pop("addresses"))) == (
        "address-lookup-table",
        "lookupTable",
        39,
    )
    assert table == {
        "authority": "4msgK65vdz5ADUAB3eTQGpF388NuQUAoknLxutUQJd5B",
        "deactivationSlot": "204699277",
        "lastExtendedSlot": "204699234",
        "lastExtendedSlotStartIndex": 20,
    }


def test_a_stake_is_shown_with_its_delegation(kit: dict[Pubkey, Account]) -> None:
    staker = "3HRNKNXafhr3wE9NSXRpNVdFYt6EVygdqFwqf6WpG57V"
    assert shown(kit, "CSg2vQGbnwWdSyJpwK4i3qGfB6FebaV3xQTx4U1MbixN") == (
        "stake",
        "delegated",
        {
            "meta": {
                "authorized": {"staker": staker, "withdrawer": staker},
                "lockup": {"custodian": str(Pubkey(bytes(32))), "epoch": 0, "unixTimestamp": 0},
                "rentExemptReserve": "2282880",
            },
            "stake": {
                "creditsObserved": 169_965_713,
                "delegation": {
                    "activationEpoch": "386",
                    "deactivationEpoch": "471",
                    "stake": "8007935",
                    "voter": "CertusDeBmqN8ZawdkxK5kFGMwBXdudvWHYwtNgNhvLu",
                },
            },
        },
    )


def test_a_vote_account_is_shown_with_its_tower(kit: dict[Pubkey, Account]) -> None:
    address = "4QUZQ4c7bZuJ4o4L8tYAEGnePFV27SUFEVmC7BYfsXRp"
    node = "HMU77m6WSL9Xew9YvVCgz1hLuhzamz74eD9avi4XPdr"
    program, kind, info = shown(kit, address)
    assert (program, kind) == ("vote", "vote")
    earned = info.pop("epochCredits")
    assert [each["epoch"] for each in earned] == list(range(593, 657))
    assert earned[0] == {"credits": "117764802", "epoch": 593, "previousCredits": "117762806"}
    assert all(
        later["previousCredits"] == earlier["credits"] for earlier, later in pairwise(earned)
    )
    assert info.pop("votes") == [
        {"confirmationCount": count, "latency": 0, "slot": 283_619_439 - count}
        for count in range(31, 0, -1)
    ]
    assert info == {
        "authorizedVoters": [{"authorizedVoter": node, "epoch": 656}],
        "authorizedWithdrawer": node,
        "blockRevenueCollector": node,
        "blockRevenueCommissionBps": 10_000,
        "blsPubkeyCompressed": None,
        "commission": 50,
        "inflationRewardsCollector": address,
        "inflationRewardsCommissionBps": 5_000,
        "lastTimestamp": {"slot": 283_619_438, "timestamp": 1_709_828_565},
        "nodePubkey": node,
        "pendingDelegatorRewards": "0",
        "priorVoters": [],
        "rootSlot": 283_619_407,
    }


def test_mints_and_token_accounts_are_shown_with_their_extensions(
    kit: dict[Pubkey, Account],
) -> None:
    authority = "7MyTjmRygJoCuDBUtAuSugiYZFULD2SWaoUTmtjtRDzD"
    fee = {"epoch": 457, "maximumFee": 3_906_250_000_000_000_000, "transferFeeBasisPoints": 690}
    assert shown(kit, "CKfatsPMUf8SkiURsDXs7eK6GWb4Jsd6UDbs7twMCWxo") == (
        "spl-token-2022",
        "mint",
        {
            "decimals": 5,
            "extensions": [
                {
                    "extension": "transferFeeConfig",
                    "state": {
                        "newerTransferFee": fee,
                        "olderTransferFee": {**fee, "epoch": 455, "transferFeeBasisPoints": 0},
                        "transferFeeConfigAuthority": authority,
                        "withdrawWithheldAuthority": authority,
                        "withheldAmount": 0,
                    },
                }
            ],
            "freezeAuthority": authority,
            "isInitialized": True,
            "mintAuthority": authority,
            "supply": "99998926239436",
        },
    )
    assert shown(kit, "AyGCwnwxQMCqaU4ixReHt8h5W4dwmxU7eM3BEQBdWVca")[2]["tokenAmount"] == {
        "amount": "9999999779500000",
        "decimals": 6,
        "uiAmount": 9999999779.5,
        "uiAmountString": "9999999779.5",
    }
    # Its group was written by a program that had smaller numbers in it.
    names = [
        each["extension"]
        for each in shown(kit, "5gSwsLGzyCwgwPJSnxjsQCaFeE19ZFaibHMLky9TDFim")[2]["extensions"]
    ]
    assert names == [
        "mintCloseAuthority",
        "permanentDelegate",
        "interestBearingConfig",
        "nonTransferable",
        "defaultAccountState",
        "transferFeeConfig",
        "confidentialTransferMint",
        "confidentialTransferFeeConfig",
        "transferHook",
        "metadataPointer",
        "groupPointer",
        "groupMemberPointer",
        "tokenMetadata",
        "unparseableExtension",
    ]
    group = shown(kit, "6sN6TS566ttRqmQzSTKxuHBtb8rPNZoqZeiERggev7zW")[2]["extensions"][1]
    assert group["extension"] == "tokenGroup"
    assert (group["state"]["size"], group["state"]["maxSize"]) == (0, 100)
    member = shown(kit, "A2ka2DEVUy1Jm8iuPbXETSKFZQ2wDTq5HW8SrJqMiCi3")[2]["extensions"][1]
    assert member["extension"] == "tokenGroupMember"
    assert member["state"]["memberNumber"] == 1
    holder = shown(kit, "aUg6iJ3p43hTJsxHrQ1KfqMQYStoFvqcSJRcc51cYzK")[2]["extensions"]
    assert [each["extension"] for each in holder] == [
        "immutableOwner",
        "nonTransferableAccount",
        "transferFeeAmount",
        "transferHookAccount",
        "memoTransfer",
        "cpiGuard",
        "confidentialTransferAccount",
        "confidentialTransferFeeAmount",
    ]


@pytest.mark.parametrize(
    ("folder", "mints", "holders"), [("sanctum-infinity", 6, 15), ("orca-whirlpools", 3, 5)]
)
def test_mainnet_tokens_are_shown_as_what_they_are(
    fixtures: Path, folder: str, mints: int, holders: int
) -> None:
    accounts = accounts_of(fixtures / "accounts" / folder)
    kinds: dict[str, int] = {}
    for key, account in accounts.items():
        found = account_json(account, AccountEncoding.JSON_PARSED, load=accounts.get, pubkey=key)
        if str(account.owner).startswith("Token"):
            kind = found["data"]["parsed"]["type"]
            kinds[kind] = kinds.get(kind, 0) + 1
        else:
            assert found["data"][1] == "base64"
    assert kinds == {"account": holders, "mint": mints}
