"""The instructions of confidential transfers and of their fees."""

from chain.parsed.cursor import Cursor
from chain.parsed.layouts import (
    Info,
    Layout,
    Parser,
    Typed,
    at_least,
    or_multisig,
    put_authority,
    variant,
)
from chain.parsed.token_proofs import (
    auditor_ciphertexts,
    balance_ciphertext,
    elgamal_pubkey,
    nullable_elgamal_pubkey,
    put_proof,
    put_proofs,
)

_OWNER = or_multisig("owner")
_WITHHELD_AUTHORITY = or_multisig("withdrawWithheldAuthority")


def parse_confidential_transfer(accounts: list[str], cursor: Cursor) -> Typed:
    return variant(_TRANSFER, cursor.u8())(accounts, cursor)


def parse_confidential_fee(accounts: list[str], cursor: Cursor) -> Typed:
    return variant(_FEE, cursor.u8())(accounts, cursor)


def _initialize_mint(accounts: list[str], cursor: Cursor) -> Typed:
    authority = cursor.nullable_pubkey()
    info: Info = {
        "mint": accounts[0],
        "autoApproveNewAccounts": _any_bool(cursor),
        "auditorElGamalPubkey": nullable_elgamal_pubkey(cursor),
    }
    cursor.end()
    if authority is not None:
        info["authority"] = authority
    return "initializeConfidentialTransferMint", info


def _configure_account(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 4)
    info: Info = {
        "account": accounts[0],
        "mint": accounts[1],
        "decryptableZeroBalance": balance_ciphertext(cursor),
        "maximumPendingBalanceCreditCounter": cursor.u64(),
        "proofInstructionOffset": cursor.i8(),
    }
    cursor.end()
    put_proof(info, accounts, 2, info["proofInstructionOffset"])
    put_authority(info, accounts, 3, _OWNER)
    return "configureConfidentialTransferAccount", info


def _empty_account(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 3)
    info: Info = {"account": accounts[0], "proofInstructionOffset": cursor.i8()}
    cursor.end()
    put_proof(info, accounts, 1, info["proofInstructionOffset"])
    put_authority(info, accounts, 2, _OWNER)
    return "emptyConfidentialTransferAccount", info


def _withdraw(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 4)
    info: Info = {
        "account": accounts[0],
        "mint": accounts[1],
        "amount": cursor.u64(),
        "decimals": cursor.u8(),
        "newDecryptableAvailableBalance": balance_ciphertext(cursor),
    }
    offsets = {"equality": cursor.i8(), "range": cursor.i8()}
    cursor.end()
    put_authority(info, accounts, put_proofs(info, accounts, 2, offsets), _OWNER)
    return "withdrawConfidentialTransfer", info


def _transfer(accounts: list[str], cursor: Cursor) -> Typed:
    info = _transferred(accounts, cursor)
    offsets = {
        "equality": cursor.i8(),
        "ciphertextValidity": cursor.i8(),
        "range": cursor.i8(),
    }
    cursor.end()
    put_authority(info, accounts, put_proofs(info, accounts, 3, offsets), _OWNER)
    return "confidentialTransfer", info


def _transfer_with_fee(accounts: list[str], cursor: Cursor) -> Typed:
    info = _transferred(accounts, cursor)
    offsets = {
        "equality": cursor.i8(),
        "transferAmountCiphertextValidity": cursor.i8(),
        "feeSigma": cursor.i8(),
        "feeCiphertextValidity": cursor.i8(),
        "range": cursor.i8(),
    }
    cursor.end()
    put_authority(info, accounts, put_proofs(info, accounts, 3, offsets), _OWNER)
    return "confidentialTransferWithFee", info


def _transferred(accounts: list[str], cursor: Cursor) -> Info:
    at_least(accounts, 4)
    info: Info = {
        "source": accounts[0],
        "mint": accounts[1],
        "destination": accounts[2],
        "newSourceDecryptableAvailableBalance": balance_ciphertext(cursor),
    }
    auditor_ciphertexts(cursor)
    return info


def _initialize_fee_config(accounts: list[str], cursor: Cursor) -> Typed:
    authority = cursor.nullable_pubkey()
    # Zeros are shown as a key here, unlike an auditor's.
    info: Info = {
        "mint": accounts[0],
        "withdrawWithheldAuthorityElGamalPubkey": elgamal_pubkey(cursor),
    }
    cursor.end()
    if authority is not None:
        info["authority"] = authority
    return "initializeConfidentialTransferFeeConfig", info


def _withdraw_withheld_from_mint(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 4)
    info = _withheld(accounts, cursor)
    put_authority(info, accounts, 3, _WITHHELD_AUTHORITY)
    return "withdrawWithheldConfidentialTransferTokensFromMint", info


def _withdraw_withheld_from_accounts(accounts: list[str], cursor: Cursor) -> Typed:
    source_count = cursor.u8()
    at_least(accounts, 4 + source_count)
    first_source = len(accounts) - source_count
    info = _withheld(accounts, cursor)
    info["sourceAccounts"] = accounts[first_source:]
    put_authority(info, accounts[:first_source], 3, _WITHHELD_AUTHORITY)
    return "withdrawWithheldConfidentialTransferTokensFromAccounts", info


def _withheld(accounts: list[str], cursor: Cursor) -> Info:
    info: Info = {
        "mint": accounts[0],
        "feeRecipient": accounts[1],
        "proofInstructionOffset": cursor.i8(),
        "newDecryptableAvailableBalance": balance_ciphertext(cursor),
    }
    cursor.end()
    put_proof(info, accounts, 2, info["proofInstructionOffset"])
    return info


def _harvest_withheld_to_mint(accounts: list[str], cursor: Cursor) -> Typed:
    info: Info = {"mint": accounts[0], "sourceAccounts": accounts[1:]}
    return "harvestWithheldConfidentialTransferTokensToMint", info


def _any_bool(cursor: Cursor) -> bool:
    return cursor.u8() != 0


def _of_account(name: str) -> Layout:
    return Layout(name, ("account",), (), _OWNER)


_TRANSFER: dict[int, Parser] = {
    0: _initialize_mint,
    1: Layout(
        "updateConfidentialTransferMint",
        ("mint", "confidentialTransferMintAuthority"),
        (
            ("autoApproveNewAccounts", _any_bool),
            ("auditorElGamalPubkey", nullable_elgamal_pubkey),
        ),
        exact=True,
    ),
    2: _configure_account,
    3: Layout(
        "approveConfidentialTransferAccount",
        ("account", "mint", "confidentialTransferAuditorAuthority"),
    ),
    4: _empty_account,
    5: Layout(
        "depositConfidentialTransfer",
        ("account", "mint"),
        (("amount", Cursor.u64), ("decimals", Cursor.u8)),
        _OWNER,
        exact=True,
    ),
    6: _withdraw,
    7: _transfer,
    8: Layout(
        "applyPendingConfidentialTransferBalance",
        ("account",),
        (
            ("expectedPendingBalanceCreditCounter", Cursor.u64),
            ("newDecryptableAvailableBalance", balance_ciphertext),
        ),
        _OWNER,
        exact=True,
    ),
    9: _of_account("enableConfidentialTransferConfidentialCredits"),
    10: _of_account("disableConfidentialTransferConfidentialCredits"),
    11: _of_account("enableConfidentialTransferNonConfidentialCredits"),
    12: _of_account("disableConfidentialTransferNonConfidentialCredits"),
    13: _transfer_with_fee,
    14: Layout("configureConfidentialAccountWithRegistry", ("account", "mint", "registry")),
}

_FEE: dict[int, Parser] = {
    0: _initialize_fee_config,
    1: _withdraw_withheld_from_mint,
    2: _withdraw_withheld_from_accounts,
    3: _harvest_withheld_to_mint,
    4: _of_account("enableConfidentialTransferFeeHarvestToMint"),
    5: _of_account("disableConfidentialTransferFeeHarvestToMint"),
}
