"""Token-2022's extension instructions against what the standard node shows."""

import struct
from base64 import b64encode
from typing import Any

import pytest
from solders.pubkey import Pubkey

from chain.parsed.instructions import parse_instruction

TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"

KEY = [bytes([n]) * 32 for n in range(1, 15)]
K = [str(Pubkey(key)) for key in KEY]
NO_KEY = bytes(32)

BALANCE = bytes(range(36))
BALANCE_TEXT = b64encode(BALANCE).decode()
ELGAMAL = bytes(range(100, 132))
ELGAMAL_TEXT = b64encode(ELGAMAL).decode()
AUDITOR = bytes(128)


def u16(value: int) -> bytes:
    return struct.pack("<H", value)


def u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def borsh(value: str) -> bytes:
    return struct.pack("<I", len(value.encode())) + value.encode()


def ui(amount: str, ui_amount: float, text: str) -> dict[str, Any]:
    return {"amount": amount, "decimals": 2, "uiAmount": ui_amount, "uiAmountString": text}


MINT = {"mint": K[0]}
ACCOUNT = {"account": K[0]}

# data, info without the authority, the authority's name and place, type
OWNED: list[tuple[bytes, dict[str, Any], str, int, str]] = [
    (
        bytes([26, 1]) + u64(55) + b"\2" + u64(5),
        {
            "source": K[0],
            "mint": K[1],
            "destination": K[2],
            "tokenAmount": ui("55", 0.55, "0.55"),
            "feeAmount": ui("5", 0.05, "0.05"),
        },
        "authority",
        3,
        "transferCheckedWithFee",
    ),
    (
        bytes([26, 2]),
        {"mint": K[0], "feeRecipient": K[1]},
        "withdrawWithheldAuthority",
        2,
        "withdrawWithheldTokensFromMint",
    ),
    (
        bytes([27, 2]) + BALANCE + u64(7) + b"\0",
        {
            **ACCOUNT,
            "mint": K[1],
            "decryptableZeroBalance": BALANCE_TEXT,
            "maximumPendingBalanceCreditCounter": 7,
            "proofInstructionOffset": 0,
            "proofContextStateAccount": K[2],
        },
        "owner",
        3,
        "configureConfidentialTransferAccount",
    ),
    (
        bytes([27, 2]) + BALANCE + u64(7) + b"\xff",
        {
            **ACCOUNT,
            "mint": K[1],
            "decryptableZeroBalance": BALANCE_TEXT,
            "maximumPendingBalanceCreditCounter": 7,
            "proofInstructionOffset": -1,
            "instructionsSysvar": K[2],
        },
        "owner",
        3,
        "configureConfidentialTransferAccount",
    ),
    (
        bytes([27, 4, 1]),
        {**ACCOUNT, "proofInstructionOffset": 1, "instructionsSysvar": K[1]},
        "owner",
        2,
        "emptyConfidentialTransferAccount",
    ),
    (
        bytes([27, 5]) + u64(42) + b"\2",
        {**ACCOUNT, "mint": K[1], "amount": 42, "decimals": 2},
        "owner",
        2,
        "depositConfidentialTransfer",
    ),
    (
        bytes([27, 8]) + u64(3) + BALANCE,
        {
            **ACCOUNT,
            "expectedPendingBalanceCreditCounter": 3,
            "newDecryptableAvailableBalance": BALANCE_TEXT,
        },
        "owner",
        1,
        "applyPendingConfidentialTransferBalance",
    ),
    (bytes([27, 9]), ACCOUNT, "owner", 1, "enableConfidentialTransferConfidentialCredits"),
    (bytes([27, 10]), ACCOUNT, "owner", 1, "disableConfidentialTransferConfidentialCredits"),
    (bytes([27, 11]), ACCOUNT, "owner", 1, "enableConfidentialTransferNonConfidentialCredits"),
    (bytes([27, 12]), ACCOUNT, "owner", 1, "disableConfidentialTransferNonConfidentialCredits"),
    (
        bytes([28, 1, 1]),
        {**MINT, "accountState": "initialized"},
        "freezeAuthority",
        1,
        "updateDefaultAccountState",
    ),
    (bytes([30, 0]), ACCOUNT, "owner", 1, "enableRequiredMemoTransfers"),
    (bytes([30, 1]), ACCOUNT, "owner", 1, "disableRequiredMemoTransfers"),
    (
        bytes([33, 1]) + struct.pack("<h", -150),
        {**MINT, "newRate": -150},
        "rateAuthority",
        1,
        "updateInterestBearingConfigRate",
    ),
    (bytes([34, 0]), ACCOUNT, "owner", 1, "enableCpiGuard"),
    (bytes([34, 1]), ACCOUNT, "owner", 1, "disableCpiGuard"),
    (
        bytes([36, 1]) + KEY[9],
        {**MINT, "programId": K[9]},
        "authority",
        1,
        "updateTransferHook",
    ),
    (bytes([36, 1]) + NO_KEY, MINT, "authority", 1, "updateTransferHook"),
    (
        bytes([37, 1, 0]) + BALANCE,
        {
            **MINT,
            "feeRecipient": K[1],
            "proofInstructionOffset": 0,
            "newDecryptableAvailableBalance": BALANCE_TEXT,
            "proofContextStateAccount": K[2],
        },
        "withdrawWithheldAuthority",
        3,
        "withdrawWithheldConfidentialTransferTokensFromMint",
    ),
    (bytes([37, 4]), ACCOUNT, "owner", 1, "enableConfidentialTransferFeeHarvestToMint"),
    (bytes([37, 5]), ACCOUNT, "owner", 1, "disableConfidentialTransferFeeHarvestToMint"),
    (
        bytes([39, 1]) + KEY[9],
        {**MINT, "metadataAddress": K[9]},
        "authority",
        1,
        "updateMetadataPointer",
    ),
    (
        bytes([40, 1]) + KEY[9],
        {**MINT, "groupAddress": K[9]},
        "authority",
        1,
        "updateGroupPointer",
    ),
    (
        bytes([41, 1]) + KEY[9],
        {**MINT, "memberAddress": K[9]},
        "authority",
        1,
        "updateGroupMemberPointer",
    ),
    (
        bytes([42, 1]) + ELGAMAL + b"\1",
        {
            **MINT,
            "newSupplyElGamalPubkey": ELGAMAL_TEXT,
            "proofInstructionOffset": 1,
            "instructionsSysvar": K[1],
        },
        "owner",
        2,
        "rotateConfidentialMintBurnSupplyElGamalPubkey",
    ),
    (
        bytes([42, 2]) + BALANCE,
        {**MINT, "newDecryptableSupply": BALANCE_TEXT},
        "owner",
        1,
        "updateConfidentialMintBurnDecryptableSupply",
    ),
    (bytes([42, 5]), MINT, "owner", 1, "applyPendingBurn"),
    (
        bytes([43, 1]) + struct.pack("<dq", 1.5, -7),
        {**MINT, "newMultiplier": "1.5", "newMultiplierTimestamp": -7},
        "authority",
        1,
        "updateMultiplier",
    ),
    (bytes([44, 1]), MINT, "authority", 1, "pause"),
    (bytes([44, 2]), MINT, "authority", 1, "resume"),
    (
        bytes([46, 1]) + u64(42),
        {**ACCOUNT, "mint": K[1], "permissionedBurnAuthority": K[2], "amount": "42"},
        "authority",
        3,
        "permissionedBurn",
    ),
    (
        bytes([46, 2]) + u64(42) + b"\2",
        {
            **ACCOUNT,
            "mint": K[1],
            "permissionedBurnAuthority": K[2],
            "tokenAmount": ui("42", 0.42, "0.42"),
        },
        "authority",
        3,
        "permissionedBurnChecked",
    ),
]

GROUP_INIT = bytes([121, 113, 108, 39, 54, 51, 0, 4])
GROUP_SIZE = bytes([108, 37, 171, 143, 248, 30, 18, 110])
GROUP_AUTHORITY = bytes([161, 105, 88, 1, 237, 221, 216, 203])
GROUP_MEMBER = bytes([152, 32, 222, 176, 223, 237, 116, 134])
METADATA_INIT = bytes([210, 225, 30, 162, 88, 184, 77, 141])
METADATA_FIELD = bytes([221, 233, 49, 45, 181, 202, 220, 200])
METADATA_REMOVE = bytes([234, 18, 32, 56, 89, 141, 37, 181])
METADATA_AUTHORITY = bytes([215, 228, 166, 228, 84, 100, 86, 123])
METADATA_EMIT = bytes([250, 166, 180, 250, 13, 12, 184, 70])

GROUP = {"group": K[0], "updateAuthority": K[1]}
METADATA = {"metadata": K[0], "updateAuthority": K[1]}

# data, how many accounts, type, info
FIXED: list[tuple[bytes, int, str, dict[str, Any]]] = [
    (
        bytes([26, 0, 1]) + KEY[5] + b"\1" + KEY[6] + u16(42) + u64(2121),
        1,
        "initializeTransferFeeConfig",
        {
            **MINT,
            "transferFeeConfigAuthority": K[5],
            "withdrawWithheldAuthority": K[6],
            "transferFeeBasisPoints": 42,
            "maximumFee": 2121,
        },
    ),
    (
        bytes([26, 0, 0, 0]) + u16(42) + u64(2121),
        1,
        "initializeTransferFeeConfig",
        {**MINT, "transferFeeBasisPoints": 42, "maximumFee": 2121},
    ),
    (
        bytes([26, 3, 2]),
        5,
        "withdrawWithheldTokensFromAccounts",
        {
            **MINT,
            "feeRecipient": K[1],
            "withdrawWithheldAuthority": K[2],
            "sourceAccounts": K[3:5],
        },
    ),
    (
        bytes([27, 0]) + KEY[5] + b"\1" + ELGAMAL,
        1,
        "initializeConfidentialTransferMint",
        {
            **MINT,
            "authority": K[5],
            "autoApproveNewAccounts": True,
            "auditorElGamalPubkey": ELGAMAL_TEXT,
        },
    ),
    (
        bytes([27, 0]) + NO_KEY + b"\0" + NO_KEY,
        1,
        "initializeConfidentialTransferMint",
        {**MINT, "autoApproveNewAccounts": False, "auditorElGamalPubkey": None},
    ),
    (
        bytes([27, 1]) + b"\1" + NO_KEY,
        2,
        "updateConfidentialTransferMint",
        {
            **MINT,
            "confidentialTransferMintAuthority": K[1],
            "autoApproveNewAccounts": True,
            "auditorElGamalPubkey": None,
        },
    ),
    (
        bytes([27, 3]),
        3,
        "approveConfidentialTransferAccount",
        {**ACCOUNT, "mint": K[1], "confidentialTransferAuditorAuthority": K[2]},
    ),
    (
        bytes([27, 14]),
        3,
        "configureConfidentialAccountWithRegistry",
        {**ACCOUNT, "mint": K[1], "registry": K[2]},
    ),
    (
        bytes([28, 0, 0]),
        1,
        "initializeDefaultAccountState",
        {**MINT, "accountState": "uninitialized"},
    ),
    (bytes([28, 0, 2]), 1, "initializeDefaultAccountState", {**MINT, "accountState": "frozen"}),
    (
        bytes([33, 0]) + KEY[5] + struct.pack("<h", 500),
        1,
        "initializeInterestBearingConfig",
        {**MINT, "rateAuthority": K[5], "rate": 500},
    ),
    (
        bytes([33, 0]) + NO_KEY + struct.pack("<h", -1),
        1,
        "initializeInterestBearingConfig",
        {**MINT, "rateAuthority": None, "rate": -1},
    ),
    (
        bytes([36, 0]) + KEY[5] + KEY[6],
        1,
        "initializeTransferHook",
        {**MINT, "authority": K[5], "programId": K[6]},
    ),
    (bytes([36, 0]) + NO_KEY + NO_KEY, 1, "initializeTransferHook", MINT),
    (
        bytes([37, 0]) + KEY[5] + ELGAMAL,
        1,
        "initializeConfidentialTransferFeeConfig",
        {**MINT, "authority": K[5], "withdrawWithheldAuthorityElGamalPubkey": ELGAMAL_TEXT},
    ),
    (
        bytes([37, 0]) + NO_KEY + NO_KEY,
        1,
        "initializeConfidentialTransferFeeConfig",
        {**MINT, "withdrawWithheldAuthorityElGamalPubkey": b64encode(NO_KEY).decode()},
    ),
    (
        bytes([37, 2, 2, 1]) + BALANCE,
        6,
        "withdrawWithheldConfidentialTransferTokensFromAccounts",
        {
            **MINT,
            "feeRecipient": K[1],
            "proofInstructionOffset": 1,
            "newDecryptableAvailableBalance": BALANCE_TEXT,
            "instructionsSysvar": K[2],
            "withdrawWithheldAuthority": K[3],
            "sourceAccounts": K[4:6],
        },
    ),
    (
        bytes([39, 0]) + KEY[5] + KEY[6],
        1,
        "initializeMetadataPointer",
        {**MINT, "authority": K[5], "metadataAddress": K[6]},
    ),
    (
        bytes([40, 0]) + NO_KEY + KEY[6],
        1,
        "initializeGroupPointer",
        {**MINT, "groupAddress": K[6]},
    ),
    (
        bytes([41, 0]) + KEY[5] + NO_KEY,
        1,
        "initializeGroupMemberPointer",
        {**MINT, "authority": K[5]},
    ),
    (
        bytes([42, 0]) + ELGAMAL + BALANCE,
        1,
        "initializeConfidentialMintBurnMint",
        {**MINT, "supplyElGamalPubkey": ELGAMAL_TEXT, "decryptableSupply": BALANCE_TEXT},
    ),
    (
        bytes([43, 0]) + KEY[5] + struct.pack("<d", 2.0),
        1,
        "initializeScaledUiAmountConfig",
        {**MINT, "authority": K[5], "multiplier": "2"},
    ),
    (bytes([44, 0]) + KEY[5], 1, "initializePausableConfig", {**MINT, "authority": K[5]}),
    # No one is meant by no key here: the node shows it.
    (
        bytes([44, 0]) + NO_KEY,
        1,
        "initializePausableConfig",
        {**MINT, "authority": "11111111111111111111111111111111"},
    ),
    (
        bytes([46, 0]) + NO_KEY,
        1,
        "initializePermissionedBurnConfig",
        {**MINT, "authority": "11111111111111111111111111111111"},
    ),
    (
        GROUP_INIT + KEY[5] + u64(300),
        3,
        "initializeTokenGroup",
        {
            "group": K[0],
            "mint": K[1],
            "mintAuthority": K[2],
            "updateAuthority": K[5],
            "maxSize": 300,
        },
    ),
    (GROUP_SIZE + u64(500), 2, "updateTokenGroupMaxSize", {**GROUP, "maxSize": 500}),
    (GROUP_AUTHORITY + KEY[5], 2, "updateTokenGroupAuthority", {**GROUP, "newAuthority": K[5]}),
    (GROUP_AUTHORITY + NO_KEY, 2, "updateTokenGroupAuthority", {**GROUP, "newAuthority": None}),
    (
        GROUP_MEMBER,
        5,
        "initializeTokenGroupMember",
        {
            "member": K[0],
            "memberMint": K[1],
            "memberMintAuthority": K[2],
            "group": K[3],
            "groupUpdateAuthority": K[4],
        },
    ),
    (
        METADATA_INIT + borsh("Mega Token") + borsh("MEGA") + borsh("ipfs://méga"),
        4,
        "initializeTokenMetadata",
        {
            **METADATA,
            "mint": K[2],
            "mintAuthority": K[3],
            "name": "Mega Token",
            "symbol": "MEGA",
            "uri": "ipfs://méga",
        },
    ),
    (
        METADATA_FIELD + b"\0" + borsh("a"),
        2,
        "updateTokenMetadataField",
        {**METADATA, "field": "name", "value": "a"},
    ),
    (
        METADATA_FIELD + b"\1" + borsh("b"),
        2,
        "updateTokenMetadataField",
        {**METADATA, "field": "symbol", "value": "b"},
    ),
    (
        METADATA_FIELD + b"\2" + borsh("c"),
        2,
        "updateTokenMetadataField",
        {**METADATA, "field": "uri", "value": "c"},
    ),
    (
        METADATA_FIELD + b"\3" + borsh("new_field") + borsh("new_value"),
        2,
        "updateTokenMetadataField",
        {**METADATA, "field": "new_field", "value": "new_value"},
    ),
    (
        METADATA_REMOVE + b"\1" + borsh("new_field"),
        2,
        "removeTokenMetadataKey",
        {**METADATA, "key": "new_field", "idempotent": True},
    ),
    (
        METADATA_AUTHORITY + NO_KEY,
        2,
        "updateTokenMetadataAuthority",
        {**METADATA, "newAuthority": None},
    ),
    (METADATA_EMIT + b"\0\0", 1, "emitTokenMetadata", {"metadata": K[0]}),
    (
        METADATA_EMIT + b"\1" + u64(1) + b"\1" + u64(2),
        1,
        "emitTokenMetadata",
        {"metadata": K[0], "start": 1, "end": 2},
    ),
    (METADATA_EMIT + b"\0\1" + u64(2), 1, "emitTokenMetadata", {"metadata": K[0], "end": 2}),
]

WITHDRAW = bytes([27, 6]) + u64(42) + b"\2" + BALANCE
TRANSFER = bytes([27, 7]) + BALANCE + AUDITOR
TRANSFER_WITH_FEE = bytes([27, 13]) + BALANCE + AUDITOR
MINTED = bytes([42, 3]) + BALANCE + AUDITOR
BURNT = bytes([42, 4]) + BALANCE + AUDITOR
PERMISSIONED = bytes([46, 3]) + BALANCE + AUDITOR

SENT = {
    "source": K[0],
    "mint": K[1],
    "destination": K[2],
    "newSourceDecryptableAvailableBalance": BALANCE_TEXT,
}
OFFSETS = {
    "equalityProofInstructionOffset": 0,
    "ciphertextValidityProofInstructionOffset": 0,
    "rangeProofInstructionOffset": 0,
}
SAME_TRANSACTION = {
    "equalityProofInstructionOffset": 1,
    "ciphertextValidityProofInstructionOffset": 2,
    "rangeProofInstructionOffset": 3,
}

# data, how many accounts, type, info
PROVEN: list[tuple[bytes, int, str, dict[str, Any]]] = [
    (
        WITHDRAW + b"\0\0",
        5,
        "withdrawConfidentialTransfer",
        {
            **ACCOUNT,
            "mint": K[1],
            "amount": 42,
            "decimals": 2,
            "newDecryptableAvailableBalance": BALANCE_TEXT,
            "equalityProofInstructionOffset": 0,
            "rangeProofInstructionOffset": 0,
            "equalityProofContextStateAccount": K[2],
            "rangeProofContextStateAccount": K[3],
            "owner": K[4],
        },
    ),
    (
        WITHDRAW + b"\1\0",
        5,
        "withdrawConfidentialTransfer",
        {
            **ACCOUNT,
            "mint": K[1],
            "amount": 42,
            "decimals": 2,
            "newDecryptableAvailableBalance": BALANCE_TEXT,
            "equalityProofInstructionOffset": 1,
            "rangeProofInstructionOffset": 0,
            "instructionsSysvar": K[2],
            "rangeProofContextStateAccount": K[3],
            "owner": K[4],
        },
    ),
    (
        TRANSFER + b"\0\0\0",
        7,
        "confidentialTransfer",
        {
            **SENT,
            **OFFSETS,
            "equalityProofContextStateAccount": K[3],
            "ciphertextValidityProofContextStateAccount": K[4],
            "rangeProofContextStateAccount": K[5],
            "owner": K[6],
        },
    ),
    (
        TRANSFER + b"\1\2\3",
        7,
        "confidentialTransfer",
        {
            **SENT,
            **SAME_TRANSACTION,
            "instructionsSysvar": K[3],
            "multisigOwner": K[4],
            "signers": K[5:7],
        },
    ),
    # With the owner alone there are no accounts left to be proofs.
    (TRANSFER + b"\0\0\0", 4, "confidentialTransfer", {**SENT, **OFFSETS, "owner": K[3]}),
    (
        TRANSFER_WITH_FEE + b"\0\0\0\0\0",
        9,
        "confidentialTransferWithFee",
        {
            **SENT,
            "equalityProofInstructionOffset": 0,
            "transferAmountCiphertextValidityProofInstructionOffset": 0,
            "feeSigmaProofInstructionOffset": 0,
            "feeCiphertextValidityProofInstructionOffset": 0,
            "rangeProofInstructionOffset": 0,
            "equalityProofContextStateAccount": K[3],
            "transferAmountCiphertextValidityProofContextStateAccount": K[4],
            "feeSigmaProofContextStateAccount": K[5],
            "feeCiphertextValidityProofContextStateAccount": K[6],
            "rangeProofContextStateAccount": K[7],
            "owner": K[8],
        },
    ),
    (
        TRANSFER_WITH_FEE + bytes([1, 2, 3, 4, 5]),
        5,
        "confidentialTransferWithFee",
        {
            **SENT,
            "equalityProofInstructionOffset": 1,
            "transferAmountCiphertextValidityProofInstructionOffset": 2,
            "feeSigmaProofInstructionOffset": 3,
            "feeCiphertextValidityProofInstructionOffset": 4,
            "rangeProofInstructionOffset": 5,
            "instructionsSysvar": K[3],
            "owner": K[4],
        },
    ),
    (
        MINTED + b"\0\0\0",
        6,
        "confidentialMint",
        {
            "destination": K[0],
            "mint": K[1],
            "newDecryptableSupply": BALANCE_TEXT,
            **OFFSETS,
            "equalityProofContextStateAccount": K[2],
            "ciphertextValidityProofContextStateAccount": K[3],
            "rangeProofContextStateAccount": K[4],
            "owner": K[5],
        },
    ),
    (
        BURNT + b"\1\2\3",
        4,
        "confidentialBurn",
        {
            "destination": K[0],
            "mint": K[1],
            "newDecryptableAvailableBalance": BALANCE_TEXT,
            **SAME_TRANSACTION,
            "instructionsSysvar": K[2],
            "owner": K[3],
        },
    ),
    (
        PERMISSIONED + b"\0\0\0",
        7,
        "permissionedConfidentialBurn",
        {
            **ACCOUNT,
            "mint": K[1],
            "newDecryptableAvailableBalance": BALANCE_TEXT,
            **OFFSETS,
            "equalityProofContextStateAccount": K[2],
            "ciphertextValidityProofContextStateAccount": K[3],
            "rangeProofContextStateAccount": K[4],
            "permissionedBurnAuthority": K[5],
            "authority": K[6],
        },
    ),
    (
        PERMISSIONED + b"\1\2\3",
        5,
        "permissionedConfidentialBurn",
        {
            **ACCOUNT,
            "mint": K[1],
            "newDecryptableAvailableBalance": BALANCE_TEXT,
            **SAME_TRANSACTION,
            "instructionsSysvar": K[2],
            "permissionedBurnAuthority": K[3],
            "authority": K[4],
        },
    ),
]


def parsed(accounts: list[str], data: bytes) -> Any:
    one = parse_instruction(TOKEN_2022, accounts, data)
    return None if one is None else one["parsed"]


@pytest.mark.parametrize(
    ("data", "info", "name", "at", "kind"), OWNED, ids=[row[4] for row in OWNED]
)
def test_an_extensions_authority_is_one_key_or_a_multisig_with_its_signers(
    data: bytes, info: dict[str, Any], name: str, at: int, kind: str
) -> None:
    multisig = "multisig" + name[0].upper() + name[1:]
    assert parsed(K[: at + 1], data) == {"info": {**info, name: K[at]}, "type": kind}
    assert parsed(K[: at + 3], data) == {
        "info": {**info, multisig: K[at], "signers": K[at + 1 : at + 3]},
        "type": kind,
    }
    assert parsed(K[:at], data) is None


@pytest.mark.parametrize(("data", "count", "kind", "info"), FIXED, ids=[row[2] for row in FIXED])
def test_an_extensions_instruction_is_shown_as_the_node_shows_it(
    data: bytes, count: int, kind: str, info: dict[str, Any]
) -> None:
    assert parsed(K[:count], data) == {"info": info, "type": kind}
    assert parsed(K[: count - 1], data) is None


@pytest.mark.parametrize(("data", "count", "kind", "info"), PROVEN, ids=[row[2] for row in PROVEN])
def test_proofs_name_their_accounts_or_the_sysvar(
    data: bytes, count: int, kind: str, info: dict[str, Any]
) -> None:
    assert parsed(K[:count], data) == {"info": info, "type": kind}
    assert parsed(K[:2], data) is None
    assert parsed(K[:count], data + b"\0") is None
    assert parsed(K[:count], data[:-1]) is None


@pytest.mark.parametrize(
    "data",
    [row[0] for row in [*FIXED, *OWNED]],
    ids=[*(row[2] for row in FIXED), *(row[4] for row in OWNED)],
)
def test_an_extensions_data_cut_short_is_not_parsed(data: bytes) -> None:
    for size in range(len(data)):
        cut = parsed(K, data[:size])
        assert cut is None, data[:size]


@pytest.mark.parametrize(
    "data",
    [
        bytes([26, 6]),
        bytes([27, 15]),
        bytes([28, 2, 0]),
        bytes([28, 0, 3]),
        bytes([28, 0, 1, 0]),
        bytes([30, 2]),
        bytes([33, 2]),
        bytes([34, 2]),
        bytes([36, 2]) + NO_KEY + NO_KEY,
        bytes([37, 6]),
        bytes([39, 0]) + NO_KEY + NO_KEY + b"\0",
        bytes([42, 6]),
        bytes([43, 2]),
        bytes([44, 3]),
        bytes([46, 4]),
        bytes([46, 1]) + u64(42) + b"\0",
        GROUP_MEMBER + b"\0",
        METADATA_EMIT + b"\0\0\0",
        METADATA_FIELD + b"\4" + borsh("a") + borsh("b"),
        METADATA_REMOVE + b"\2" + borsh("a"),
        METADATA_INIT + struct.pack("<I", 2**32 - 1) + b"a",
    ],
)
def test_an_extensions_data_that_makes_no_sense_is_not_parsed(data: bytes) -> None:
    assert parsed(K, data) is None


def test_harvests_list_their_sources() -> None:
    for tag, kind in (
        (26, "harvestWithheldTokensToMint"),
        (37, "harvestWithheldConfidentialTransferTokensToMint"),
    ):
        data = bytes([tag, 4 if tag == 26 else 3])
        assert parsed(K[:3], data) == {
            "info": {**MINT, "sourceAccounts": K[1:3]},
            "type": kind,
        }
        assert parsed(K[:1], data) == {"info": {**MINT, "sourceAccounts": []}, "type": kind}


def test_a_withdrawal_from_accounts_tells_signers_from_sources() -> None:
    assert parsed(K[:6], bytes([26, 3, 1])) == {
        "info": {
            **MINT,
            "feeRecipient": K[1],
            "multisigWithdrawWithheldAuthority": K[2],
            "signers": K[3:5],
            "sourceAccounts": K[5:6],
        },
        "type": "withdrawWithheldTokensFromAccounts",
    }
    assert parsed(K[:3], bytes([26, 3, 0])) == {
        "info": {
            **MINT,
            "feeRecipient": K[1],
            "withdrawWithheldAuthority": K[2],
            "sourceAccounts": [],
        },
        "type": "withdrawWithheldTokensFromAccounts",
    }


def test_the_authority_over_transfer_fees_keeps_the_nodes_spelling() -> None:
    data = bytes([26, 5]) + u16(42) + u64(2121)
    fee = {**MINT, "transferFeeBasisPoints": 42, "maximumFee": 2121}
    assert parsed(K[:2], data)["info"] == {**fee, "transferFeeConfigAuthority": K[1]}
    assert parsed(K[:3], data)["info"] == {
        **fee,
        "multisigtransferFeeConfigAuthority": K[1],
        "signers": K[2:3],
    }


@pytest.mark.parametrize(
    ("multiplier", "text"),
    [
        (0.1, "0.1"),
        (1.0, "1"),
        (-0.0, "-0"),
        (1e21, "1000000000000000000000"),
        (1.5e-9, "0.0000000015"),
        (1e300, "1" + "0" * 300),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (float("nan"), "NaN"),
    ],
)
def test_a_multiplier_is_written_as_rust_writes_floats(multiplier: float, text: str) -> None:
    data = bytes([43, 0]) + NO_KEY + struct.pack("<d", multiplier)
    assert parsed(K[:1], data)["info"] == {**MINT, "authority": None, "multiplier": text}
