"""Instructions of the native programs against what the standard node shows for the same bytes."""

import struct
from typing import Any

import pytest
from solders.pubkey import Pubkey
from solders.system_program import (
    CreateAccountWithSeedParams,
    TransferParams,
    TransferWithSeedParams,
    create_account_with_seed,
    transfer,
    transfer_with_seed,
)

from chain.parsed.instructions import parse_instruction

SYSTEM = "11111111111111111111111111111111"
STAKE = "Stake11111111111111111111111111111111111111"
VOTE = "Vote111111111111111111111111111111111111111"
LOADER = "BPFLoader2111111111111111111111111111111111"
UPGRADEABLE = "BPFLoaderUpgradeab1e11111111111111111111111"
LOOKUP_TABLE = "AddressLookupTab1e1111111111111111111111111"
ASSOCIATED_TOKEN = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
CLOCK = "SysvarC1ock11111111111111111111111111111111"
RENT = "SysvarRent111111111111111111111111111111111"
HISTORY = "SysvarStakeHistory1111111111111111111111111"
CONFIG = "StakeConfig11111111111111111111111111111111"

KEY = [bytes([n]) * 32 for n in range(1, 12)]
K = [str(Pubkey(key)) for key in KEY]


def u16(value: int) -> bytes:
    return struct.pack("<H", value)


def u32(value: int) -> bytes:
    return struct.pack("<I", value)


def u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def i64(value: int) -> bytes:
    return struct.pack("<q", value)


def text(value: str) -> bytes:
    return u64(len(value.encode())) + value.encode()


# data, accounts, how few of them are enough, type, info
Vector = tuple[bytes, list[str], int, str, dict[str, Any] | None]

SYSTEM_VECTORS: list[Vector] = [
    (
        u32(0) + u64(55) + u64(128) + KEY[2],
        K[:2],
        2,
        "createAccount",
        {"source": K[0], "newAccount": K[1], "lamports": 55, "space": 128, "owner": K[2]},
    ),
    (u32(1) + KEY[2], K[:1], 1, "assign", {"account": K[0], "owner": K[2]}),
    (
        u32(2) + u64(2**64 - 1),
        K[:2],
        2,
        "transfer",
        {"source": K[0], "destination": K[1], "lamports": 18446744073709551615},
    ),
    (
        u32(3) + KEY[0] + text("sæd") + u64(55) + u64(9) + KEY[3],
        K[:2],
        2,
        "createAccountWithSeed",
        {
            "source": K[0],
            "newAccount": K[1],
            "base": K[0],
            "seed": "sæd",
            "lamports": 55,
            "space": 9,
            "owner": K[3],
        },
    ),
    (
        u32(4),
        K[:3],
        3,
        "advanceNonce",
        {"nonceAccount": K[0], "recentBlockhashesSysvar": K[1], "nonceAuthority": K[2]},
    ),
    (
        u32(5) + u64(7),
        K[:5],
        5,
        "withdrawFromNonce",
        {
            "nonceAccount": K[0],
            "destination": K[1],
            "recentBlockhashesSysvar": K[2],
            "rentSysvar": K[3],
            "nonceAuthority": K[4],
            "lamports": 7,
        },
    ),
    (
        u32(6) + KEY[5],
        K[:3],
        3,
        "initializeNonce",
        {
            "nonceAccount": K[0],
            "recentBlockhashesSysvar": K[1],
            "rentSysvar": K[2],
            "nonceAuthority": K[5],
        },
    ),
    (
        u32(7) + KEY[5],
        K[:2],
        2,
        "authorizeNonce",
        {"nonceAccount": K[0], "nonceAuthority": K[1], "newAuthorized": K[5]},
    ),
    (u32(8) + u64(128), K[:1], 1, "allocate", {"account": K[0], "space": 128}),
    (
        u32(9) + KEY[4] + text("s") + u64(128) + KEY[5],
        K[:2],
        2,
        "allocateWithSeed",
        {"account": K[0], "base": K[4], "seed": "s", "space": 128, "owner": K[5]},
    ),
    (
        u32(10) + KEY[4] + text("s") + KEY[5],
        K[:2],
        2,
        "assignWithSeed",
        {"account": K[0], "base": K[4], "seed": "s", "owner": K[5]},
    ),
    (
        u32(11) + u64(55) + text("s") + KEY[5],
        K[:3],
        3,
        "transferWithSeed",
        {
            "source": K[0],
            "sourceBase": K[1],
            "destination": K[2],
            "lamports": 55,
            "sourceSeed": "s",
            "sourceOwner": K[5],
        },
    ),
    (u32(12), K[:1], 1, "upgradeNonce", {"nonceAccount": K[0]}),
    (
        u32(13) + u64(55) + u64(128) + KEY[5],
        K[:2],
        2,
        "createAccountAllowPrefund",
        {"newAccount": K[0], "source": K[1], "lamports": 55, "space": 128, "owner": K[5]},
    ),
    (
        u32(13) + u64(0) + u64(128) + KEY[5],
        K[:2],
        1,
        "createAccountAllowPrefund",
        {"newAccount": K[0], "space": 128, "owner": K[5]},
    ),
]

CREATED = {
    "source": K[0],
    "account": K[1],
    "wallet": K[2],
    "mint": K[3],
    "systemProgram": K[4],
    "tokenProgram": K[5],
}
ASSOCIATED_TOKEN_VECTORS: list[Vector] = [
    # The deprecated form: no data, and an unused rent sysvar.
    (b"", [*K[:6], RENT], 6, "create", CREATED),
    (b"\0", K[:6], 6, "create", CREATED),
    (b"\1", K[:6], 6, "createIdempotent", CREATED),
    (
        b"\2",
        K[:7],
        7,
        "recoverNested",
        {
            "nestedSource": K[0],
            "nestedMint": K[1],
            "destination": K[2],
            "nestedOwner": K[3],
            "ownerMint": K[4],
            "wallet": K[5],
            "tokenProgram": K[6],
        },
    ),
]

TABLE = {"lookupTableAccount": K[0], "lookupTableAuthority": K[1]}
LOOKUP_TABLE_VECTORS: list[Vector] = [
    (
        u32(0) + u64(42) + b"\xfe",
        K[:4],
        4,
        "createLookupTable",
        {**TABLE, "payerAccount": K[2], "systemProgram": K[3], "recentSlot": 42, "bumpSeed": 254},
    ),
    (u32(1), K[:2], 2, "freezeLookupTable", TABLE),
    (u32(2) + u64(0), K[:2], 2, "extendLookupTable", {**TABLE, "newAddresses": []}),
    # A payer without the system program behind it is not shown.
    (u32(2) + u64(0), K[:3], 2, "extendLookupTable", {**TABLE, "newAddresses": []}),
    (
        u32(2) + u64(2) + KEY[7] + KEY[8],
        K[:4],
        4,
        "extendLookupTable",
        {**TABLE, "payerAccount": K[2], "systemProgram": K[3], "newAddresses": [K[7], K[8]]},
    ),
    (u32(3), K[:2], 2, "deactivateLookupTable", TABLE),
    (u32(4), K[:3], 3, "closeLookupTable", {**TABLE, "recipient": K[2]}),
]

LOADER_VECTORS: list[Vector] = [
    (
        u32(0) + u32(4242) + u64(3) + b"\x08\x09\x0a",
        K[:1],
        1,
        "write",
        {"account": K[0], "offset": 4242, "bytes": "CAkK"},
    ),
    (u32(1), K[:2], 2, "finalize", {"account": K[0]}),
]

PROGRAM = {"programDataAccount": K[0], "programAccount": K[1]}
UPGRADEABLE_VECTORS: list[Vector] = [
    (u32(0), K[:1], 1, "initializeBuffer", {"account": K[0]}),
    (u32(0), K[:2], 2, "initializeBuffer", {"account": K[0], "authority": K[1]}),
    (
        u32(1) + u32(4242) + u64(1) + b"\x08",
        K[:2],
        2,
        "write",
        {"account": K[0], "authority": K[1], "offset": 4242, "bytes": "CA=="},
    ),
    (
        u32(2) + u64(54321),
        K[:8],
        8,
        "deployWithMaxDataLen",
        {
            "payerAccount": K[0],
            "programDataAccount": K[1],
            "programAccount": K[2],
            "bufferAccount": K[3],
            "rentSysvar": K[4],
            "clockSysvar": K[5],
            "systemProgram": K[6],
            "authority": K[7],
            "maxDataLen": 54321,
        },
    ),
    (
        u32(3),
        K[:7],
        7,
        "upgrade",
        {
            **PROGRAM,
            "bufferAccount": K[2],
            "spillAccount": K[3],
            "rentSysvar": K[4],
            "clockSysvar": K[5],
            "authority": K[6],
        },
    ),
    (
        u32(4),
        K[:2],
        2,
        "setAuthority",
        {"account": K[0], "authority": K[1], "newAuthority": None},
    ),
    (
        u32(4),
        K[:3],
        3,
        "setAuthority",
        {"account": K[0], "authority": K[1], "newAuthority": K[2]},
    ),
    (
        u32(5),
        K[:3],
        3,
        "close",
        {"account": K[0], "recipient": K[1], "authority": K[2], "programAccount": None},
    ),
    (
        u32(5),
        K[:4],
        4,
        "close",
        {"account": K[0], "recipient": K[1], "authority": K[2], "programAccount": K[3]},
    ),
    (
        u32(6) + u32(42),
        K[:2],
        2,
        "extendProgram",
        {**PROGRAM, "additionalBytes": 42, "systemProgram": None, "payerAccount": None},
    ),
    (
        u32(6) + u32(42),
        K[:4],
        4,
        "extendProgram",
        {**PROGRAM, "additionalBytes": 42, "systemProgram": K[2], "payerAccount": K[3]},
    ),
    (
        u32(7),
        K[:3],
        3,
        "setAuthorityChecked",
        {"account": K[0], "authority": K[1], "newAuthority": K[2]},
    ),
]

SOME, NONE = b"\1", b"\0"
STAKE_VECTORS: list[Vector] = [
    (
        u32(0) + KEY[4] + KEY[5] + i64(-5) + u64(11) + KEY[6],
        [K[0], RENT],
        2,
        "initialize",
        {
            "stakeAccount": K[0],
            "rentSysvar": RENT,
            "authorized": {"staker": K[4], "withdrawer": K[5]},
            "lockup": {"unixTimestamp": -5, "epoch": 11, "custodian": K[6]},
        },
    ),
    # A second account is the rent sysvar only if it is.
    (
        u32(0) + KEY[4] + KEY[5] + i64(1) + u64(11) + KEY[6],
        K[:2],
        1,
        "initialize",
        {
            "stakeAccount": K[0],
            "authorized": {"staker": K[4], "withdrawer": K[5]},
            "lockup": {"unixTimestamp": 1, "epoch": 11, "custodian": K[6]},
        },
    ),
    (
        u32(1) + KEY[4] + u32(0),
        [K[0], CLOCK, K[2]],
        3,
        "authorize",
        {
            "stakeAccount": K[0],
            "clockSysvar": CLOCK,
            "authority": K[2],
            "newAuthority": K[4],
            "authorityType": "Staker",
        },
    ),
    (
        u32(1) + KEY[4] + u32(1),
        K[:3],
        3,
        "authorize",
        {
            "stakeAccount": K[0],
            "authority": K[1],
            "custodian": K[2],
            "newAuthority": K[4],
            "authorityType": "Withdrawer",
        },
    ),
    (
        u32(2),
        [K[0], K[1], CLOCK, HISTORY, CONFIG, K[5]],
        6,
        "delegate",
        {
            "stakeAccount": K[0],
            "voteAccount": K[1],
            "clockSysvar": CLOCK,
            "stakeHistorySysvar": HISTORY,
            "stakeConfigAccount": CONFIG,
            "stakeAuthority": K[5],
        },
    ),
    (
        u32(2),
        K[:3],
        3,
        "delegate",
        {"stakeAccount": K[0], "voteAccount": K[1], "stakeAuthority": K[2]},
    ),
    (
        u32(3) + u64(55),
        K[:3],
        3,
        "split",
        {"stakeAccount": K[0], "newSplitAccount": K[1], "stakeAuthority": K[2], "lamports": 55},
    ),
    (
        u32(4) + u64(55),
        [K[0], K[1], CLOCK, HISTORY, K[4], K[5]],
        6,
        "withdraw",
        {
            "stakeAccount": K[0],
            "destination": K[1],
            "clockSysvar": CLOCK,
            "stakeHistorySysvar": HISTORY,
            "withdrawAuthority": K[4],
            "custodian": K[5],
            "lamports": 55,
        },
    ),
    (
        u32(4) + u64(55),
        K[:4],
        4,
        "withdraw",
        {
            "stakeAccount": K[0],
            "destination": K[1],
            "withdrawAuthority": K[2],
            "custodian": K[3],
            "lamports": 55,
        },
    ),
    (
        u32(5),
        [K[0], CLOCK, K[2]],
        3,
        "deactivate",
        {"stakeAccount": K[0], "clockSysvar": CLOCK, "stakeAuthority": K[2]},
    ),
    (u32(5), K[:2], 2, "deactivate", {"stakeAccount": K[0], "stakeAuthority": K[1]}),
    (
        u32(6) + SOME + i64(123) + SOME + u64(11) + SOME + KEY[6],
        K[:2],
        2,
        "setLockup",
        {
            "stakeAccount": K[0],
            "custodian": K[1],
            "lockup": {"unixTimestamp": 123, "epoch": 11, "custodian": K[6]},
        },
    ),
    (
        u32(6) + NONE + NONE + NONE,
        K[:2],
        2,
        "setLockup",
        {"stakeAccount": K[0], "custodian": K[1], "lockup": {}},
    ),
    (
        u32(7),
        [K[0], K[1], CLOCK, HISTORY, K[4]],
        5,
        "merge",
        {
            "destination": K[0],
            "source": K[1],
            "clockSysvar": CLOCK,
            "stakeHistorySysvar": HISTORY,
            "stakeAuthority": K[4],
        },
    ),
    (u32(7), K[:3], 3, "merge", {"destination": K[0], "source": K[1], "stakeAuthority": K[2]}),
    (
        u32(8) + KEY[4] + u32(1) + text("seed") + KEY[5],
        [K[0], K[1], CLOCK, K[3]],
        4,
        "authorizeWithSeed",
        {
            "stakeAccount": K[0],
            "authorityBase": K[1],
            "clockSysvar": CLOCK,
            "custodian": K[3],
            "newAuthorized": K[4],
            "authorityType": "Withdrawer",
            "authoritySeed": "seed",
            "authorityOwner": K[5],
        },
    ),
    (
        u32(9),
        [K[0], RENT, K[2], K[3]],
        4,
        "initializeChecked",
        {"stakeAccount": K[0], "rentSysvar": RENT, "staker": K[2], "withdrawer": K[3]},
    ),
    (
        u32(9),
        K[:3],
        3,
        "initializeChecked",
        {"stakeAccount": K[0], "staker": K[1], "withdrawer": K[2]},
    ),
    (
        u32(10) + u32(0),
        [K[0], CLOCK, K[2], K[3], K[4]],
        5,
        "authorizeChecked",
        {
            "stakeAccount": K[0],
            "clockSysvar": CLOCK,
            "authority": K[2],
            "newAuthority": K[3],
            "custodian": K[4],
            "authorityType": "Staker",
        },
    ),
    (
        u32(10) + u32(0),
        K[:3],
        3,
        "authorizeChecked",
        {
            "stakeAccount": K[0],
            "authority": K[1],
            "newAuthority": K[2],
            "authorityType": "Staker",
        },
    ),
    (
        u32(11) + u32(0) + text("seed") + KEY[5],
        [K[0], K[1], CLOCK, K[3]],
        4,
        "authorizeCheckedWithSeed",
        {
            "stakeAccount": K[0],
            "authorityBase": K[1],
            "clockSysvar": CLOCK,
            "newAuthorized": K[3],
            "authorityType": "Staker",
            "authoritySeed": "seed",
            "authorityOwner": K[5],
        },
    ),
    (
        u32(12) + SOME + i64(123) + NONE,
        K[:3],
        3,
        "setLockupChecked",
        {
            "stakeAccount": K[0],
            "custodian": K[1],
            "lockup": {"unixTimestamp": 123, "custodian": K[2]},
        },
    ),
    (u32(13), K[:1], 1, "getMinimumDelegation", None),
    (
        u32(14),
        K[:3],
        3,
        "deactivateDelinquent",
        {"stakeAccount": K[0], "voteAccount": K[1], "referenceVoteAccount": K[2]},
    ),
    (
        u32(15),
        K[:5],
        5,
        "redelegate",
        {
            "stakeAccount": K[0],
            "newStakeAccount": K[1],
            "voteAccount": K[2],
            "stakeConfigAccount": K[3],
            "stakeAuthority": K[4],
        },
    ),
    (
        u32(16) + u64(55),
        K[:3],
        3,
        "moveStake",
        {"source": K[0], "destination": K[1], "stakeAuthority": K[2], "lamports": 55},
    ),
    (
        u32(17) + u64(55),
        K[:3],
        3,
        "moveLamports",
        {"source": K[0], "destination": K[1], "stakeAuthority": K[2], "lamports": 55},
    ),
]

VOTE_BYTES = u64(3) + u64(1) + u64(2) + u64(4) + KEY[7] + SOME + i64(1_234_567_890)
VOTE_INFO = {"slots": [1, 2, 4], "hash": K[7], "timestamp": 1_234_567_890}
VOTED = {
    "voteAccount": K[0],
    "slotHashesSysvar": K[1],
    "clockSysvar": K[2],
    "voteAuthority": K[3],
}
UPDATED = {"voteAccount": K[0], "voteAuthority": K[1]}
LOCKOUTS = [{"slot": 10, "confirmation_count": 2}, {"slot": 310, "confirmation_count": 1}]
UPDATE_BYTES = u64(2) + u64(10) + u32(2) + u64(310) + u32(1) + SOME + u64(9) + KEY[7] + NONE
UPDATE = {"lockouts": LOCKOUTS, "root": 9, "hash": K[7], "timestamp": None}
# Offsets from the root on: 1 and 300, each a varint, and a count of one byte.
COMPACT_BYTES = u64(9) + b"\2" + b"\x01\2" + b"\xac\x02\1" + KEY[7] + NONE
NO_ROOT_BYTES = u64(2**64 - 1) + b"\1" + b"\x0a\2" + KEY[7] + SOME + i64(5)
NO_ROOT = {"lockouts": LOCKOUTS[:1], "root": None, "hash": K[7], "timestamp": 5}

VOTE_VECTORS: list[Vector] = [
    (
        u32(0) + KEY[5] + KEY[6] + KEY[7] + b"\x0a",
        K[:4],
        4,
        "initialize",
        {
            "voteAccount": K[0],
            "rentSysvar": K[1],
            "clockSysvar": K[2],
            "node": K[3],
            "authorizedVoter": K[6],
            "authorizedWithdrawer": K[7],
            "commission": 10,
        },
    ),
    (
        u32(1) + KEY[5] + u32(0),
        K[:3],
        3,
        "authorize",
        {
            "voteAccount": K[0],
            "clockSysvar": K[1],
            "authority": K[2],
            "newAuthority": K[5],
            "authorityType": "Voter",
        },
    ),
    (
        u32(1) + KEY[5] + u32(2) + bytes([1]) * 48 + bytes([2]) * 96,
        K[:3],
        3,
        "authorize",
        {
            "voteAccount": K[0],
            "clockSysvar": K[1],
            "authority": K[2],
            "newAuthority": K[5],
            "authorityType": {
                "VoterWithBLS": {"bls_pubkey": [1] * 48, "bls_proof_of_possession": [2] * 96}
            },
        },
    ),
    (u32(2) + VOTE_BYTES, K[:4], 4, "vote", {**VOTED, "vote": VOTE_INFO}),
    (
        u32(3) + u64(55),
        K[:3],
        3,
        "withdraw",
        {"voteAccount": K[0], "destination": K[1], "withdrawAuthority": K[2], "lamports": 55},
    ),
    (
        u32(4),
        K[:3],
        3,
        "updateValidatorIdentity",
        {"voteAccount": K[0], "newValidatorIdentity": K[1], "withdrawAuthority": K[2]},
    ),
    (
        u32(5) + b"\x0a",
        K[:2],
        2,
        "updateCommission",
        {"voteAccount": K[0], "withdrawAuthority": K[1], "commission": 10},
    ),
    (
        u32(6) + VOTE_BYTES + KEY[8],
        K[:4],
        4,
        "voteSwitch",
        {**VOTED, "vote": VOTE_INFO, "hash": K[8]},
    ),
    (
        u32(7) + u32(1),
        K[:4],
        4,
        "authorizeChecked",
        {
            "voteAccount": K[0],
            "clockSysvar": K[1],
            "authority": K[2],
            "newAuthority": K[3],
            "authorityType": "Withdrawer",
        },
    ),
    (u32(8) + UPDATE_BYTES, K[:2], 2, "updatevotestate", {**UPDATED, "voteStateUpdate": UPDATE}),
    (
        u32(9) + UPDATE_BYTES + KEY[8],
        K[:2],
        2,
        "updatevotestateswitch",
        {**UPDATED, "voteStateUpdate": UPDATE, "hash": K[8]},
    ),
    (
        u32(10) + u32(0) + KEY[5] + text("SEED") + KEY[6],
        K[:3],
        3,
        "authorizeWithSeed",
        {
            "voteAccount": K[0],
            "clockSysvar": K[1],
            "authorityBaseKey": K[2],
            "authorityOwner": K[5],
            "authoritySeed": "SEED",
            "newAuthority": K[6],
            "authorityType": "Voter",
        },
    ),
    (
        u32(11) + u32(0) + KEY[5] + text("SEED"),
        K[:4],
        4,
        "authorizeCheckedWithSeed",
        {
            "voteAccount": K[0],
            "clockSysvar": K[1],
            "authorityBaseKey": K[2],
            "authorityOwner": K[5],
            "authoritySeed": "SEED",
            "newAuthority": K[3],
            "authorityType": "Voter",
        },
    ),
    (
        u32(12) + COMPACT_BYTES,
        K[:2],
        2,
        "compactupdatevotestate",
        {**UPDATED, "voteStateUpdate": UPDATE},
    ),
    (
        u32(13) + NO_ROOT_BYTES + KEY[8],
        K[:2],
        2,
        "compactupdatevotestateswitch",
        {**UPDATED, "voteStateUpdate": NO_ROOT, "hash": K[8]},
    ),
    (
        u32(14) + COMPACT_BYTES + KEY[9],
        K[:2],
        2,
        "towersync",
        {**UPDATED, "towerSync": {**UPDATE, "blockId": K[9]}},
    ),
    (
        u32(15) + NO_ROOT_BYTES + KEY[9] + KEY[8],
        K[:2],
        2,
        "towersyncswitch",
        {**UPDATED, "towerSync": {**NO_ROOT, "blockId": K[9]}, "hash": K[8]},
    ),
    (
        u32(16) + KEY[1] + KEY[4] + b"\1" * 48 + bytes(96) + KEY[5] + u16(500) + u16(10_000),
        K[:4],
        4,
        "initializeV2",
        {
            "voteAccount": K[0],
            "node": K[1],
            "inflationRewardsCollector": K[2],
            "blockRevenueCollector": K[3],
            "authorizedVoter": K[4],
            "authorizedVoterBlsPubkey": "AQEB" * 16,
            "authorizedVoterBlsProofOfPossession": "AAAA" * 32,
            "authorizedWithdrawer": K[5],
            "inflationRewardsCommissionBps": 500,
            "blockRevenueCommissionBps": 10_000,
        },
    ),
    (
        u32(17) + u32(1),
        K[:3],
        3,
        "updateCommissionCollector",
        {
            "voteAccount": K[0],
            "newCollector": K[1],
            "withdrawAuthority": K[2],
            "commissionKind": "BlockRevenue",
        },
    ),
    (
        u32(18) + u16(500) + u32(0),
        K[:2],
        2,
        "updateCommissionBps",
        {
            "voteAccount": K[0],
            "withdrawAuthority": K[1],
            "commissionBps": 500,
            "commissionKind": "InflationRewards",
        },
    ),
    (
        u32(19) + u64(55),
        K[:2],
        2,
        "depositDelegatorRewards",
        {"voteAccount": K[0], "source": K[1], "deposit": 55},
    ),
]

VECTORS = [
    pytest.param(program, name, *vector, id=f"{name}-{vector[3]}")
    for program, name, vectors in (
        (SYSTEM, "system", SYSTEM_VECTORS),
        (ASSOCIATED_TOKEN, "spl-associated-token-account", ASSOCIATED_TOKEN_VECTORS),
        (LOOKUP_TABLE, "address-lookup-table", LOOKUP_TABLE_VECTORS),
        (LOADER, "bpf-loader", LOADER_VECTORS),
        (UPGRADEABLE, "bpf-upgradeable-loader", UPGRADEABLE_VECTORS),
        (STAKE, "stake", STAKE_VECTORS),
        (VOTE, "vote", VOTE_VECTORS),
    )
    for vector in vectors
]


@pytest.mark.parametrize(("program", "name", "data", "accounts", "fewest", "kind", "info"), VECTORS)
def test_an_instruction_is_shown_as_the_node_shows_it(
    program: str,
    name: str,
    data: bytes,
    accounts: list[str],
    fewest: int,
    kind: str,
    info: dict[str, Any] | None,
) -> None:
    parsed = {"type": kind} if info is None else {"info": info, "type": kind}
    assert parse_instruction(program, accounts, data) == {"program": name, "parsed": parsed}


@pytest.mark.parametrize(("program", "name", "data", "accounts", "fewest", "kind", "info"), VECTORS)
def test_with_too_few_accounts_an_instruction_is_not_shown_as_itself(
    program: str,
    name: str,
    data: bytes,
    accounts: list[str],
    fewest: int,
    kind: str,
    info: dict[str, Any] | None,
) -> None:
    assert parse_instruction(program, accounts[:fewest], data) is not None
    fewer = parse_instruction(program, accounts[: fewest - 1], data)
    assert fewer is None or fewer["parsed"].get("info") != info


@pytest.mark.parametrize(("program", "name", "data", "accounts", "fewest", "kind", "info"), VECTORS)
def test_data_cut_short_is_not_parsed(
    program: str,
    name: str,
    data: bytes,
    accounts: list[str],
    fewest: int,
    kind: str,
    info: dict[str, Any] | None,
) -> None:
    # An associated token account instruction without data is a create.
    for size in range(1 if program == ASSOCIATED_TOKEN else 0, len(data)):
        assert parse_instruction(program, accounts, data[:size]) is None


@pytest.mark.parametrize(
    ("program", "data", "accounts"),
    [
        (SYSTEM, u32(2) + u64(55), K[:1]),
        (SYSTEM, u32(13) + u64(1) + u64(128) + KEY[5], K[:1]),
        (STAKE, u32(2), [K[0], K[1], CLOCK, HISTORY]),
        (STAKE, u32(4) + u64(55), [K[0], K[1], CLOCK, HISTORY]),
        (STAKE, u32(7), [K[0], K[1], CLOCK]),
        (STAKE, u32(9), [K[0], RENT, K[2]]),
        (STAKE, u32(10) + u32(0), [K[0], CLOCK, K[2]]),
        (STAKE, u32(11) + u32(0) + text("seed") + KEY[5], [K[0], K[1], CLOCK]),
        (STAKE, u32(1) + KEY[4] + u32(0), [K[0], CLOCK]),
        (STAKE, u32(13), []),
        (UPGRADEABLE, u32(5), K[:2]),
        (LOADER, u32(1), K[:1]),
    ],
)
def test_accounts_that_are_missing_leave_an_instruction_unparsed(
    program: str, data: bytes, accounts: list[str]
) -> None:
    assert parse_instruction(program, accounts, data) is None


@pytest.mark.parametrize(
    ("program", "data"),
    [
        (SYSTEM, u32(14)),
        (SYSTEM, u32(10) + KEY[4] + u64(1) + b"\xff" + KEY[5]),  # a seed that is not UTF-8
        (SYSTEM, u32(10) + KEY[4] + u64(2**64 - 1) + b"s" + KEY[5]),  # a seed without end
        (STAKE, u32(18)),
        (STAKE, u32(1) + KEY[4] + u32(2)),  # no such authority
        (STAKE, u32(6) + b"\2" + bytes(60)),  # an option that is neither some nor none
        (VOTE, u32(20)),
        (VOTE, u32(1) + KEY[4] + u32(3)),
        (VOTE, u32(18) + u16(1) + u32(2)),
        (VOTE, u32(2) + u64(2**61) + bytes(64)),  # more slots than the data can hold
        (VOTE, u32(12) + u64(9) + b"\x82\x00" + b"\x01\2" * 2 + KEY[7] + NONE),  # a long length
        (VOTE, u32(12) + u64(9) + b"\1" + b"\x81\x00\2" + KEY[7] + NONE),  # a long varint
        (VOTE, u32(12) + u64(9) + b"\1" + b"\xff" * 9 + b"\x01\2" + KEY[7] + NONE),  # overflow
        (VOTE, u32(12) + u64(9) + b"\1" + b"\xff" * 9 + b"\x02\2" + KEY[7] + NONE),
        (LOADER, u32(2)),
        (UPGRADEABLE, u32(10)),
        (LOOKUP_TABLE, u32(5)),
        (LOOKUP_TABLE, u32(2) + u64(2**64 - 1) + KEY[4]),
        (ASSOCIATED_TOKEN, b"\3"),
        (ASSOCIATED_TOKEN, b"\1\0"),  # borsh leaves no bytes over
    ],
)
def test_data_that_makes_no_sense_is_not_parsed(program: str, data: bytes) -> None:
    assert parse_instruction(program, K, data) is None


def test_bytes_behind_a_native_instruction_are_ignored() -> None:
    assert parse_instruction(SYSTEM, K, u32(12) + b"more") == {
        "program": "system",
        "parsed": {"info": {"nonceAccount": K[0]}, "type": "upgradeNonce"},
    }


def test_instructions_that_solders_makes_are_read_back() -> None:
    made = [
        transfer(TransferParams(from_pubkey=Pubkey(KEY[0]), to_pubkey=Pubkey(KEY[1]), lamports=55)),
        create_account_with_seed(
            CreateAccountWithSeedParams(
                from_pubkey=Pubkey(KEY[0]),
                to_pubkey=Pubkey(KEY[1]),
                base=Pubkey(KEY[2]),
                seed="seed",
                lamports=55,
                space=9,
                owner=Pubkey(KEY[3]),
            )
        ),
        transfer_with_seed(
            TransferWithSeedParams(
                from_pubkey=Pubkey(KEY[0]),
                from_base=Pubkey(KEY[1]),
                from_seed="seed",
                from_owner=Pubkey(KEY[3]),
                to_pubkey=Pubkey(KEY[2]),
                lamports=55,
            )
        ),
    ]
    parsed = [
        parse_instruction(
            str(instruction.program_id),
            [str(meta.pubkey) for meta in instruction.accounts],
            bytes(instruction.data),
        )
        for instruction in made
    ]
    assert [one and one["parsed"] for one in parsed] == [
        {"info": {"destination": K[1], "lamports": 55, "source": K[0]}, "type": "transfer"},
        {
            "info": {
                "base": K[2],
                "lamports": 55,
                "newAccount": K[1],
                "owner": K[3],
                "seed": "seed",
                "source": K[0],
                "space": 9,
            },
            "type": "createAccountWithSeed",
        },
        {
            "info": {
                "destination": K[2],
                "lamports": 55,
                "source": K[0],
                "sourceBase": K[1],
                "sourceOwner": K[3],
                "sourceSeed": "seed",
            },
            "type": "transferWithSeed",
        },
    ]


@pytest.mark.parametrize(
    "program",
    [
        "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
        "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
        "Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH",
    ],
)
def test_a_memo_is_its_text_and_needs_no_accounts(program: str) -> None:
    memo = "🦖"
    assert parse_instruction(program, [], memo.encode()) == {"program": "spl-memo", "parsed": memo}
    assert parse_instruction(program, K, b"") == {"program": "spl-memo", "parsed": ""}
    assert parse_instruction(program, [], b"\x80") is None
    assert parse_instruction(program, [], b"\xed\xa0\x80") is None  # a lone surrogate


def test_an_unknown_program_is_not_parsed() -> None:
    assert parse_instruction("ComputeBudget111111111111111111111111111111", [], b"\2") is None
    assert parse_instruction("BPFLoader1111111111111111111111111111111111", K, u32(1)) is None


def test_info_has_its_keys_in_the_nodes_order() -> None:
    parsed = parse_instruction(SYSTEM, K[:2], u32(0) + u64(55) + u64(128) + KEY[2])
    assert parsed is not None
    assert list(parsed["parsed"]) == ["info", "type"]
    assert list(parsed["parsed"]["info"]) == ["lamports", "newAccount", "owner", "source", "space"]
