"""Stake, vote, config, loader and sysvar accounts in jsonParsed."""

import json
import struct
from typing import Any

import pytest
from solders.clock import Clock
from solders.hash import Hash
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey
from solders.stake_history import StakeHistory, StakeHistoryEntry

from chain.account_json import AccountEncoding, account_json
from chain.encodings import b58encode
from chain.parsed_accounts.accounts import parse_account

STAKE = "Stake11111111111111111111111111111111111111"
VOTE = "Vote111111111111111111111111111111111111111"
CONFIG = "Config1111111111111111111111111111111111111"
LOADER = "BPFLoaderUpgradeab1e11111111111111111111111"
SYSVAR = "Sysvar1111111111111111111111111111111111111"
STAKE_CONFIG = "StakeConfig11111111111111111111111111111111"
VALIDATOR_INFO = bytes(Pubkey.from_string("Va1idator1nfo111111111111111111111111111111"))
A, B, C, D = (bytes([number]) * 32 for number in (1, 2, 3, 4))
A58, B58, C58, D58 = (str(Pubkey(each)) for each in (A, B, C, D))


def parsed(owner: str, data: bytes, pubkey: str | None = D58) -> Any:
    """The parsed account, without mints."""
    found = parse_account(pubkey, owner, data, lambda mint: None)
    if found is None:
        return None
    assert found["space"] == len(data)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found["parsed"]


META = struct.pack("<Q", 2_282_880) + A + B + struct.pack("<qQ", -5, 7) + C
SHOWN_META = {
    "authorized": {"staker": A58, "withdrawer": B58},
    "lockup": {"custodian": C58, "epoch": 7, "unixTimestamp": -5},
    "rentExemptReserve": "2282880",
}


def test_a_delegated_stake_shows_whom_it_is_delegated_to() -> None:
    delegation = D + struct.pack("<QQQdQ", 8_007_935, 386, 2**64 - 1, 0.25, 169_965_713)
    data = struct.pack("<I", 2) + META + delegation + b"\0"
    expected = {
        "info": {
            "meta": SHOWN_META,
            "stake": {
                "creditsObserved": 169_965_713,
                "delegation": {
                    "activationEpoch": "386",
                    "deactivationEpoch": "18446744073709551615",
                    "stake": "8007935",
                    "voter": D58,
                },
            },
        },
        "type": "delegated",
    }
    assert parsed(STAKE, data) == expected
    assert parsed(STAKE, data.ljust(200, b"\0")) == expected
    assert parsed(STAKE, data[:-1]) is None


def test_a_stake_that_is_not_delegated_has_a_null_for_it() -> None:
    data = struct.pack("<I", 1) + META
    assert parsed(STAKE, data) == {
        "info": {"meta": SHOWN_META, "stake": None},
        "type": "initialized",
    }
    assert parsed(STAKE, data[:-1]) is None
    assert parsed(STAKE, bytes(200)) == {"type": "uninitialized"}
    assert parsed(STAKE, b"\x03\0\0\0") == {"type": "rewardsPool"}
    assert parsed(STAKE, b"\x04\0\0\0" + META) is None
    assert parsed(STAKE, b"") is None


def vote_state(version: int, *, commission: bytes, latency: bool) -> bytes:
    seen = b"\x02" if latency else b""
    votes = struct.pack("<Q", 2) + b"".join(
        seen + struct.pack("<QI", slot, count) for slot, count in ((500, 2), (501, 1))
    )
    voters = struct.pack("<QQ", 2, 9) + C + struct.pack("<Q", 8) + B
    prior = b"" if version == 3 else (A + bytes(16)) * 32 + struct.pack("<QB", 31, 0)
    earned = struct.pack("<Q6Q", 2, 7, 100, 40, 8, 2**64 - 1, 100)
    root, last = b"\x01" + struct.pack("<Q", 470), struct.pack("<Qq", 501, 1_700_000_000)
    return (
        struct.pack("<I", version)
        + A
        + B
        + commission
        + votes
        + root
        + voters
        + prior
        + earned
        + last
    )


def shown_vote(latency: int, **income: Any) -> dict[str, Any]:
    info = {
        "authorizedVoters": [
            {"authorizedVoter": B58, "epoch": 8},
            {"authorizedVoter": C58, "epoch": 9},
        ],
        "authorizedWithdrawer": B58,
        "epochCredits": [
            {"credits": "100", "epoch": 7, "previousCredits": "40"},
            {"credits": "18446744073709551615", "epoch": 8, "previousCredits": "100"},
        ],
        "lastTimestamp": {"slot": 501, "timestamp": 1_700_000_000},
        "nodePubkey": A58,
        "priorVoters": [],
        "rootSlot": 470,
        "votes": [
            {"confirmationCount": 2, "latency": latency, "slot": 500},
            {"confirmationCount": 1, "latency": latency, "slot": 501},
        ],
        **income,
    }
    return {"info": info, "type": "vote"}


@pytest.mark.parametrize(("version", "latency"), [(1, False), (2, True)])
def test_an_old_vote_account_is_shown_as_one_of_the_fourth_version(
    version: int, latency: bool
) -> None:
    data = vote_state(version, commission=b"\x32", latency=latency)
    expected = shown_vote(
        2 if latency else 0,
        blockRevenueCollector=A58,
        blockRevenueCommissionBps=10_000,
        blsPubkeyCompressed=None,
        commission=50,
        inflationRewardsCollector=D58,
        inflationRewardsCommissionBps=5_000,
        pendingDelegatorRewards="0",
    )
    assert parsed(VOTE, data) == expected
    assert list(parsed(VOTE, data)["info"]) == sorted(expected["info"])
    assert parsed(VOTE, data.ljust(3762, b"\0")) == expected
    assert parsed(VOTE, data[:-1]) is None
    # It collects its own rewards: the data does not contain which account that is.
    assert parsed(VOTE, data, pubkey=None) is None


def test_a_vote_account_of_the_fourth_version_shows_its_collectors() -> None:
    income = C + D + struct.pack("<HHQ", 1_250, 500, 77)
    bls = bytes(range(48))
    for tail, key in ((b"\x01" + bls, b58encode(bls)), (b"\0", None)):
        data = vote_state(3, commission=income + tail, latency=True)
        expected = shown_vote(
            2,
            blockRevenueCollector=D58,
            blockRevenueCommissionBps=500,
            blsPubkeyCompressed=key,
            commission=13,  # any part of a percent is a whole one
            inflationRewardsCollector=C58,
            inflationRewardsCommissionBps=1_250,
            pendingDelegatorRewards="77",
        )
        assert parsed(VOTE, data) == expected
        assert parsed(VOTE, data, pubkey=None) == expected
    assert parsed(VOTE, vote_state(3, commission=income + b"\x02", latency=True)) is None


def test_a_vote_account_of_no_known_version_is_not_parsed() -> None:
    assert parsed(VOTE, bytes(3762)) is None
    assert parsed(VOTE, vote_state(4, commission=b"\x32", latency=True)) is None


def test_an_account_of_the_loader_shows_its_code_in_base64() -> None:
    code = b"\x7fELF" + bytes(3)
    for authority, bytes_ in ((A58, b"\x01" + A), (None, b"\0")):
        assert parsed(LOADER, struct.pack("<I", 1) + bytes_ + code) == {
            "info": {"authority": authority, "data": ["f0VMRgAAAA==", "base64"]},
            "type": "buffer",
        }
        assert parsed(LOADER, struct.pack("<IQ", 3, 42) + bytes_ + code) == {
            "info": {"authority": authority, "data": ["f0VMRgAAAA==", "base64"], "slot": 42},
            "type": "programData",
        }
    assert parsed(LOADER, struct.pack("<I", 2) + B) == {
        "info": {"programData": B58},
        "type": "program",
    }
    assert parsed(LOADER, bytes(4)) == {"type": "uninitialized"}
    assert parsed(LOADER, struct.pack("<I", 4) + B) is None
    assert parsed(LOADER, struct.pack("<I", 2) + B[1:]) is None


def info_account(text: bytes) -> bytes:
    return (
        b"\x02" + VALIDATOR_INFO + b"\0" + A + b"\x01" + struct.pack("<Q", len(text)) + text
    ).ljust(643, b"\0")


def test_a_validator_info_shows_the_json_that_it_holds() -> None:
    text = '{"website":"https://a.example","name":"Änne","n":[1,-2,1.5,18446744073709551616]}'
    assert parsed(CONFIG, info_account(text.encode())) == {
        "info": {
            "configData": {
                "n": [1, -2, 1.5, 18446744073709552000.0],
                "name": "Änne",
                "website": "https://a.example",
            },
            "keys": [
                {"pubkey": "Va1idator1nfo111111111111111111111111111111", "signer": False},
                {"pubkey": A58, "signer": True},
            ],
        },
        "type": "validatorInfo",
    }


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"{} x",
        b"NaN",
        b"[-Infinity]",
        b"1e999",
        b"9" * 400,
        rb'"\ud800"',
        rb'{"\udfff": 1}',
        b'"\xff"',
        b"[" * 150 + b"]" * 150,
        b"[" * 60_000,
        b'"' + b"a" * 70_000 + b'"',
    ],
)
def test_a_validator_info_of_anything_else_is_not_parsed(text: bytes) -> None:
    assert parsed(CONFIG, info_account(text)) is None


def test_the_stake_config_is_not_parsed() -> None:
    data = b"\0" + struct.pack("<dB", 0.25, 12)
    assert parsed(CONFIG, data, pubkey=STAKE_CONFIG) is None
    assert parsed(CONFIG, data) is None
    assert parsed(CONFIG, data, pubkey=None) is None


def sysvar(name: str, data: bytes) -> Any:
    return parsed(SYSVAR, data, pubkey=name)


def test_each_sysvar_is_known_by_its_pubkey() -> None:
    slots = struct.pack("<QQ", 1, 42) + A
    assert sysvar("SysvarS1otHashes111111111111111111111111111", slots) == {
        "info": [{"hash": A58, "slot": 42}],
        "type": "slotHashes",
    }
    blockhashes = struct.pack("<Q", 1) + A + struct.pack("<Q", 5_000)
    assert sysvar("SysvarRecentB1ockHashes11111111111111111111", blockhashes) == {
        "info": [{"blockhash": A58, "feeCalculator": {"lamportsPerSignature": "5000"}}],
        "type": "recentBlockhashes",
    }
    stakes = StakeHistory()
    stakes.add(600, StakeHistoryEntry(30, 20, 10))
    assert sysvar("SysvarStakeHistory1111111111111111111111111", bytes(stakes)) == {
        "info": [
            {
                "epoch": 600,
                "stakeHistory": {"activating": 20, "deactivating": 10, "effective": 30},
            }
        ],
        "type": "stakeHistory",
    }
    assert sysvar("SysvarFees111111111111111111111111111111111", struct.pack("<Q", 7)) == {
        "info": {"feeCalculator": {"lamportsPerSignature": "7"}},
        "type": "fees",
    }
    for value, shown in ((0.5, 0.5), (float("nan"), None), (float("-inf"), None)):
        data = struct.pack("<dd", value, 0.0)
        assert sysvar("SysvarRewards111111111111111111111111111111", data) == {
            "info": {"validatorPointValue": shown},
            "type": "rewards",
        }
    rewards = struct.pack("<QQ", 9, 3) + A + (2**100).to_bytes(16, "little")
    rewards += struct.pack("<QQB", 500, 20, 1)
    assert sysvar("SysvarEpochRewards1111111111111111111111111", rewards) == {
        "info": {
            "active": True,
            "distributedRewards": "20",
            "distributionStartingBlockHeight": 9,
            "numPartitions": 3,
            "parentBlockhash": A58,
            "totalPoints": "1267650600228229401496703205376",
            "totalRewards": "500",
        },
        "type": "epochRewards",
    }
    assert sysvar(D58, slots) is None
    assert parsed(SYSVAR, slots, pubkey=None) is None
    for short in (slots[:-1], blockhashes, b""):
        assert (
            sysvar("SysvarS1otHashes111111111111111111111111111", short[: len(slots) - 1]) is None
        )


def test_the_slot_history_is_a_text_of_a_million_bits() -> None:
    blocks = bytearray(131_072)
    blocks[0], blocks[-1] = 0b101, 0b1000_0000
    data = b"\x01" + struct.pack("<Q", 16_384) + blocks + struct.pack("<QQ", 1 << 20, 43)
    name = "SysvarS1otHistory11111111111111111111111111"
    shown = sysvar(name, data)
    assert shown["type"] == "slotHistory"
    assert shown["info"]["nextSlot"] == 43
    bits = shown["info"]["bits"]
    assert len(bits) == 1 << 20
    assert bits[:4] == "1010"
    assert bits.count("1") == 3
    assert bits[-1] == "1"
    assert sysvar(name, data[:-1]) is None
    assert sysvar(name, b"\0" + data[1:]) is None


def test_the_sysvars_of_a_running_bank_are_read_as_solders_reads_them() -> None:
    svm = LiteSVM()
    svm.set_clock(Clock(123_456, -7, 3, 4, 1_700_000_001))
    svm.warp_to_slot(123_456)

    def shown(name: str) -> Any:
        key = Pubkey.from_string(name)
        account = svm.get_account(key)
        assert account is not None
        found = account_json(
            account, AccountEncoding.JSON_PARSED, load=svm.get_account, pubkey=key
        )["data"]
        assert found["program"] == "sysvar"
        return found["parsed"]

    assert shown("SysvarC1ock11111111111111111111111111111111") == {
        "info": {
            "epoch": 3,
            "epochStartTimestamp": -7,
            "leaderScheduleEpoch": 4,
            "slot": 123_456,
            "unixTimestamp": 1_700_000_001,
        },
        "type": "clock",
    }
    schedule = svm.get_epoch_schedule()
    assert shown("SysvarEpochSchedu1e111111111111111111111111") == {
        "info": {
            "firstNormalEpoch": schedule.first_normal_epoch,
            "firstNormalSlot": schedule.first_normal_slot,
            "leaderScheduleSlotOffset": schedule.leader_schedule_slot_offset,
            "slotsPerEpoch": schedule.slots_per_epoch,
            "warmup": schedule.warmup,
        },
        "type": "epochSchedule",
    }
    # One number is all that the node shows of it since 4.1.
    rent = svm.get_account(Pubkey.from_string("SysvarRent111111111111111111111111111111111"))
    assert rent is not None
    assert shown("SysvarRent111111111111111111111111111111111") == {
        "info": {"lamportsPerByte": str(int.from_bytes(rent.data[:8], "little"))},
        "type": "rent",
    }
    assert shown("SysvarLastRestartS1ot1111111111111111111111")["info"] == {
        "lastRestartSlot": svm.get_last_restart_slot()
    }
    rewards = svm.get_epoch_rewards()
    info = shown("SysvarEpochRewards1111111111111111111111111")["info"]
    assert info["parentBlockhash"] == str(Hash(bytes(rewards.parent_blockhash)))
    assert info["active"] is rewards.active
    hashes = shown("SysvarS1otHashes111111111111111111111111111")["info"]
    assert [(each["slot"], each["hash"]) for each in hashes] == [
        (slot, str(hash_)) for slot, hash_ in svm.get_slot_hashes()
    ]
    history = svm.get_slot_history()
    info = shown("SysvarS1otHistory11111111111111111111111111")["info"]
    assert info["nextSlot"] == history.next_slot
