"""The instructions of the confidential mint-and-burn and the permissioned burn extensions."""

from chain.parsed.amounts import checked_amount
from chain.parsed.cursor import Cursor
from chain.parsed.layouts import Layout, Parser, or_multisig, variants
from chain.parsed.token_proofs import (
    WithProof,
    WithProofs,
    auditor_ciphertexts,
    balance_ciphertext,
    elgamal_pubkey,
)

_OWNER = or_multisig("owner")
_AUTHORITY = or_multisig("authority")


def _burnt_or_minted(
    name: str,
    accounts: tuple[str, str],
    balance: str,
    authority: tuple[str, str],
    behind: tuple[str, ...] = (),
) -> WithProofs:
    layout = Layout(name, accounts, ((balance, balance_ciphertext), (None, auditor_ciphertexts)))
    proofs = ("equality", "ciphertextValidity", "range")
    return WithProofs(layout, proofs, authority, least=3 + len(behind), behind=behind)


_DESTINATION = ("destination", "mint")
_BURNT = ("account", "mint", "permissionedBurnAuthority")

_CONFIDENTIAL: dict[int, Parser] = {
    0: Layout(
        "initializeConfidentialMintBurnMint",
        ("mint",),
        (("supplyElGamalPubkey", elgamal_pubkey), ("decryptableSupply", balance_ciphertext)),
        exact=True,
    ),
    1: WithProof(
        Layout(
            "rotateConfidentialMintBurnSupplyElGamalPubkey",
            ("mint",),
            (("newSupplyElGamalPubkey", elgamal_pubkey), ("proofInstructionOffset", Cursor.i8)),
            exact=True,
        ),
        _OWNER,
    ),
    2: Layout(
        "updateConfidentialMintBurnDecryptableSupply",
        ("mint",),
        (("newDecryptableSupply", balance_ciphertext),),
        _OWNER,
        exact=True,
    ),
    3: _burnt_or_minted("confidentialMint", _DESTINATION, "newDecryptableSupply", _OWNER),
    # The node calls the account that is burnt from the destination.
    4: _burnt_or_minted("confidentialBurn", _DESTINATION, "newDecryptableAvailableBalance", _OWNER),
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
    3: _burnt_or_minted(
        "permissionedConfidentialBurn",
        ("account", "mint"),
        "newDecryptableAvailableBalance",
        _AUTHORITY,
        ("permissionedBurnAuthority",),
    ),
}

parse_confidential_mint_burn = variants(_CONFIDENTIAL, Cursor.u8)
parse_permissioned_burn = variants(_PERMISSIONED, Cursor.u8)
