"""getAccountInfo and its kin in jsonParsed, for accounts of every program that is parsed."""

import json
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from solders.pubkey import Pubkey

from chain.encodings import b64encode
from tests.localnet_process import Localnet, running_localnet

CLOCK = "SysvarC1ock11111111111111111111111111111111"
RENT = "SysvarRent111111111111111111111111111111111"
SLOT_HISTORY = "SysvarS1otHistory11111111111111111111111111"
SYSVARS = "Sysvar1111111111111111111111111111111111111"
TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
PARSED = {"encoding": "jsonParsed"}


def test_sysvars_are_parsed_by_their_pubkeys(localnet: Localnet) -> None:
    localnet.wait_for_slot(2)
    clock, rent = localnet.call("getMultipleAccounts", [CLOCK, RENT], PARSED)["value"]
    assert clock["data"]["program"] == "sysvar"
    assert clock["data"]["parsed"]["type"] == "clock"
    assert clock["data"]["parsed"]["info"]["slot"] >= 2
    per_byte = localnet.call("getMinimumBalanceForRentExemption", 0) // 128
    assert rent["data"]["parsed"] == {"info": {"lamportsPerByte": str(per_byte)}, "type": "rent"}
    found = localnet.call("getAccountInfo", SLOT_HISTORY, PARSED)
    history = found["value"]["data"]["parsed"]["info"]
    assert len(history["bits"]) == 1 << 20
    assert history["nextSlot"] == found["context"]["slot"] + 1
    kinds = {
        each["pubkey"]: each["account"]["data"]["parsed"]["type"]
        for each in localnet.call("getProgramAccounts", SYSVARS, PARSED)
    }
    assert kinds[CLOCK] == "clock"
    assert len(set(kinds.values())) == len(kinds) > 5


@contextmanager
def loaded(folder: Path) -> Iterator[tuple[Localnet, dict[str, str]]]:
    """A localnet with the folder's accounts, and their pubkeys by file name."""
    keys = {path.stem: json.loads(path.read_bytes())["pubkey"] for path in folder.glob("*.json")}
    with running_localnet("--accounts", str(folder)) as running:
        running.wait_for_slot(1)
        yield running, keys


def test_accounts_of_every_program_are_parsed(fixtures: Path) -> None:
    expected = {
        "bpf-upgradeable-loader-program-account": ("bpf-upgradeable-loader", "program"),
        "config-validator-account": ("config", "validatorInfo"),
        "nonce-account": ("nonce", "initialized"),
        "spl-token-22-account-mega-token": ("spl-token-2022", "account"),
        "stake-account": ("stake", "delegated"),
        "vote-account": ("vote", "vote"),
    }
    with loaded(fixtures / "accounts" / "kit-localnet") as (localnet, keys):
        found: dict[str, Any] = {
            name: localnet.call("getAccountInfo", keys[name], PARSED)["value"]["data"]
            for name in expected
        }
        assert {
            name: (data["program"], data["parsed"]["type"]) for name, data in found.items()
        } == expected
        # Its mint bears interest, which the bank's clock tells.
        amount = found["spl-token-22-account-mega-token"]["parsed"]["info"]["tokenAmount"]
        assert (amount["uiAmount"], amount["uiAmountString"]) == (0.0, "0")
        vote = found["vote-account"]["parsed"]["info"]
        assert vote["inflationRewardsCollector"] == keys["vote-account"]


def test_balances_and_supply_have_their_mints_multiplier(tmp_path: Path) -> None:
    """And the node's words for a mint that cannot be read, whoever owns it."""
    mint, holder, broken, orphan = (Pubkey(bytes([number]) * 32) for number in (1, 2, 3, 4))
    mint_data = bytes(36) + struct.pack("<QBB", 5_000, 2, 1) + bytes(36)
    doubled = struct.pack("<HH32sdqd", 25, 56, bytes(32), 2.0, 2**62, 9.0)
    holding = bytes(32) + struct.pack("<Q", 1_250) + bytes(36) + b"\1" + bytes(56)
    datas = {
        mint: mint_data + bytes(83) + b"\1" + doubled,
        holder: bytes(mint) + holding,
        broken: bytes(82),
        orphan: bytes(broken) + holding,
    }
    for key, data in datas.items():
        account = {
            "lamports": 10**9,
            "data": [b64encode(data), "base64"],
            "owner": TOKEN_2022,
            "executable": False,
            "rentEpoch": 2**64 - 1,
        }
        (tmp_path / f"{key}.json").write_text(json.dumps({"pubkey": str(key), "account": account}))
    with loaded(tmp_path) as (localnet, _):
        balance = {"amount": "1250", "decimals": 2, "uiAmount": 25.0, "uiAmountString": "25"}
        found = localnet.call("getAccountInfo", str(holder), PARSED)["value"]["data"]["parsed"]
        assert found["info"]["tokenAmount"] == balance
        assert localnet.call("getTokenAccountBalance", str(holder))["value"] == balance
        largest = localnet.call("getTokenLargestAccounts", str(mint))["value"]
        assert largest == [{"address": str(holder), **balance}]
        supply = localnet.call("getTokenSupply", str(mint))["value"]
        assert supply["uiAmountString"] == "100"
        for method, key, words in (
            ("getTokenAccountBalance", orphan, "Token mint could not be unpacked"),
            ("getTokenLargestAccounts", broken, "Token mint could not be unpacked"),
            ("getTokenLargestAccounts", Pubkey.default(), "Token mint could not be unpacked"),
            ("getTokenSupply", broken, "mint could not be unpacked"),
        ):
            with pytest.raises(AssertionError, match=f"Invalid param: {words}"):
                localnet.call(method, str(key))
