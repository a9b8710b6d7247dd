"""The instructions of the confidential mint-and-burn and the permissioned burn extensions."""

from chain.parsed.amounts import checked_amount
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
    put_proof,
    put_proofs,
)

_OWNER = or_multisig("owner")
_AUTHORITY = or_multisig("authority")


def parse_confidential_mint_burn(accounts: list[str], cursor: Cursor) -> Typed:
    return variant(_CONFIDENTIAL, cursor.u8())(accounts, cursor)


def parse_permissioned_burn(accounts: list[str], cursor: Cursor) -> Typed:
    return variant(_PERMISSIONED, cursor.u8())(accounts, cursor)


def _rotate_supply_elgamal_pubkey(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 3)
    info: Info = {
        "mint": accounts[0],
        "newSupplyElGamalPubkey": elgamal_pubkey(cursor),
        "proofInstructionOffset": cursor.i8(),
    }
    cursor.end()
    put_proof(info, accounts, 1, info["proofInstructionOffset"])
    put_authority(info, accounts, 2, _OWNER)
    return "rotateConfidentialMintBurnSupplyElGamalPubkey", info


def _confidential_mint(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 3)
    info: Info = {
        "destination": accounts[0],
        "mint": accounts[1],
        "newDecryptableSupply": balance_ciphertext(cursor),
    }
    at = put_proofs(info, accounts, 2, _offsets(cursor))
    put_authority(info, accounts, at, _OWNER)
    return "confidentialMint", info


def _confidential_burn(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 3)
    # The node calls the account that is burnt from the destination.
    info: Info = {
        "destination": accounts[0],
        "mint": accounts[1],
        "newDecryptableAvailableBalance": balance_ciphertext(cursor),
    }
    at = put_proofs(info, accounts, 2, _offsets(cursor))
    put_authority(info, accounts, at, _OWNER)
    return "confidentialBurn", info


def _permissioned_confidential_burn(accounts: list[str], cursor: Cursor) -> Typed:
    at_least(accounts, 4)
    info: Info = {
        "account": accounts[0],
        "mint": accounts[1],
        "newDecryptableAvailableBalance": balance_ciphertext(cursor),
    }
    at = put_proofs(info, accounts, 2, _offsets(cursor), behind=2)
    info["permissionedBurnAuthority"] = accounts[at]
    put_authority(info, accounts, at + 1, _AUTHORITY)
    return "permissionedConfidentialBurn", info


def _offsets(cursor: Cursor) -> dict[str, int]:
    auditor_ciphertexts(cursor)
    offsets = {
        "equality": cursor.i8(),
        "ciphertextValidity": cursor.i8(),
        "range": cursor.i8(),
    }
    cursor.end()
    return offsets


_BURNT = ("account", "mint", "permissionedBurnAuthority")

_CONFIDENTIAL: dict[int, Parser] = {
    0: Layout(
        "initializeConfidentialMintBurnMint",
        ("mint",),
        (("supplyElGamalPubkey", elgamal_pubkey), ("decryptableSupply", balance_ciphertext)),
        exact=True,
    ),
    1: _rotate_supply_elgamal_pubkey,
    2: Layout(
        "updateConfidentialMintBurnDecryptableSupply",
        ("mint",),
        (("newDecryptableSupply", balance_ciphertext),),
        _OWNER,
        exact=True,
    ),
    3: _confidential_mint,
    4: _confidential_burn,
    5: Layout("applyPendingBurn", ("mint",), (), _OWNER),
}

_PERMISSIONED: dict[int, Parser] = {
    0: Layout(
        "initializePermissionedBurnConfig",
        ("mint",),
        (("authority", Cursor.pubkey),),
        exact=True,
    ),
    1: Layout("permissionedBurn", _BURNT, (("amount", Cursor.u64_text),), _AUTHORITY, exact=True),
    2: Layout(
        "permissionedBurnChecked",
        _BURNT,
        (("tokenAmount", checked_amount),),
        _AUTHORITY,
        exact=True,
    ),
    3: _permissioned_confidential_burn,
}
