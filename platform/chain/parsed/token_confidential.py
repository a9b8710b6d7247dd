"""The instructions of confidential transfers and of their fees."""

from chain.parsed.cursor import Cursor
from chain.parsed.layouts import (
    Info,
    Layout,
    Parser,
    Typed,
    at_least,
    or_multisig,
    variants,
)
from chain.parsed.token_proofs import (
    WithProof,
    WithProofs,
    auditor_ciphertexts,
    balance_ciphertext,
    elgamal_pubkey,
    nullable_elgamal_pubkey,
)

_OWNER = or_multisig("owner")
_WITHHELD_AUTHORITY = or_multisig("withdrawWithheldAuthority")


def _withdraw_withheld_from_accounts(accounts: list[str], cursor: Cursor) -> Typed:
    source_count = cursor.u8()
    at_least(accounts, 4 + source_count)
    first_source = len(accounts) - source_count
    name, info = _WITHHELD_FROM_ACCOUNTS(accounts[:first_source], cursor)
    info["sourceAccounts"] = accounts[first_source:]
    return name, info


def _harvest_withheld_to_mint(accounts: list[str], cursor: Cursor) -> Typed:
    info: Info = {"mint": accounts[0], "sourceAccounts": accounts[1:]}
    return "harvestWithheldConfidentialTransferTokensToMint", info


def _any_bool(cursor: Cursor) -> bool:
    return cursor.u8() != 0


def _withheld(source: str) -> WithProof:
    layout = Layout(
        f"withdrawWithheldConfidentialTransferTokensFrom{source}",
        ("mint", "feeRecipient"),
        (_OFFSET, ("newDecryptableAvailableBalance", balance_ciphertext)),
        exact=True,
    )
    return WithProof(layout, _WITHHELD_AUTHORITY)


def _transferred(name: str, *proofs: str) -> WithProofs:
    fields = (
        ("newSourceDecryptableAvailableBalance", balance_ciphertext),
        (None, auditor_ciphertexts),
    )
    return WithProofs(
        Layout(name, ("source", "mint", "destination"), fields), proofs, _OWNER, least=4
    )


def _of_account(name: str) -> Layout:
    return Layout(name, ("account",), (), _OWNER)


_OFFSET = ("proofInstructionOffset", Cursor.i8)
_OF_MINT = (
    ("autoApproveNewAccounts", _any_bool),
    ("auditorElGamalPubkey", nullable_elgamal_pubkey),
)

_WITHHELD_FROM_ACCOUNTS = _withheld("Accounts")

_TRANSFER: dict[int, Parser] = {
    0: Layout(
        "initializeConfidentialTransferMint",
        ("mint",),
        (("authority", Cursor.nullable_pubkey), *_OF_MINT),
        exact=True,
        omitted=("authority",),
    ),
    1: Layout(
        "updateConfidentialTransferMint",
        ("mint", "confidentialTransferMintAuthority"),
        _OF_MINT,
        exact=True,
    ),
    2: WithProof(
        Layout(
            "configureConfidentialTransferAccount",
            ("account", "mint"),
            (
                ("decryptableZeroBalance", balance_ciphertext),
                ("maximumPendingBalanceCreditCounter", Cursor.u64),
                _OFFSET,
            ),
            exact=True,
        ),
        _OWNER,
    ),
    3: Layout(
        "approveConfidentialTransferAccount",
        ("account", "mint", "confidentialTransferAuditorAuthority"),
    ),
    4: WithProof(
        Layout("emptyConfidentialTransferAccount", ("account",), (_OFFSET,), exact=True), _OWNER
    ),
    5: Layout(
        "depositConfidentialTransfer",
        ("account", "mint"),
        (("amount", Cursor.u64), ("decimals", Cursor.u8)),
        _OWNER,
        exact=True,
    ),
    6: WithProofs(
        Layout(
            "withdrawConfidentialTransfer",
            ("account", "mint"),
            (
                ("amount", Cursor.u64),
                ("decimals", Cursor.u8),
                ("newDecryptableAvailableBalance", balance_ciphertext),
            ),
        ),
        ("equality", "range"),
        _OWNER,
        least=4,
    ),
    7: _transferred("confidentialTransfer", "equality", "ciphertextValidity", "range"),
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
    13: _transferred(
        "confidentialTransferWithFee",
        "equality",
        "transferAmountCiphertextValidity",
        "feeSigma",
        "feeCiphertextValidity",
        "range",
    ),
    14: Layout("configureConfidentialAccountWithRegistry", ("account", "mint", "registry")),
}

_FEE: dict[int, Parser] = {
    0: Layout(
        "initializeConfidentialTransferFeeConfig",
        ("mint",),
        (
            ("authority", Cursor.nullable_pubkey),
            # Zeros are shown as a key here, unlike an auditor's.
            ("withdrawWithheldAuthorityElGamalPubkey", elgamal_pubkey),
        ),
        exact=True,
        omitted=("authority",),
    ),
    1: _withheld("Mint"),
    2: _withdraw_withheld_from_accounts,
    3: _harvest_withheld_to_mint,
    4: _of_account("enableConfidentialTransferFeeHarvestToMint"),
    5: _of_account("disableConfidentialTransferFeeHarvestToMint"),
}

parse_confidential_transfer = variants(_TRANSFER, Cursor.u8)
parse_confidential_fee = variants(_FEE, Cursor.u8)
