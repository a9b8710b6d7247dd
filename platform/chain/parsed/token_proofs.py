"""Common parts of the instructions on encrypted token balances: ciphertexts and proofs."""

from chain.encodings import b64encode
from chain.parsed.cursor import Cursor
from chain.parsed.layouts import Info

_NO_KEY = bytes(32)
# An amount twice, low and high bits, encrypted for the auditor: never shown.
_AUDITOR_CIPHERTEXTS = 2 * 64


def balance_ciphertext(cursor: Cursor) -> str:
    """A balance as its owner's AES ciphertext, base64."""
    return b64encode(cursor.take(36))


def elgamal_pubkey(cursor: Cursor) -> str:
    """An ElGamal public key, base64."""
    return b64encode(cursor.take(32))


def nullable_elgamal_pubkey(cursor: Cursor) -> str | None:
    """An ElGamal public key whose 32 zero bytes mean none."""
    key = cursor.take(32)
    return None if key == _NO_KEY else b64encode(key)


def auditor_ciphertexts(cursor: Cursor) -> None:
    cursor.take(_AUDITOR_CIPHERTEXTS)


def put_proof(info: Info, accounts: list[str], at: int, offset: int) -> None:
    """Names the account of an instruction's one proof: where it was verified before (offset 0),
    or the sysvar through which it is found in the same transaction.
    """
    info["instructionsSysvar" if offset else "proofContextStateAccount"] = accounts[at]


def put_proofs(
    info: Info, accounts: list[str], at: int, offsets: dict[str, int], *, behind: int = 1
) -> int:
    """Shows each proof's offset and names the accounts of the proofs from `at` on, leaving the
    last `behind` accounts to others. Returns the place after them.
    """
    free = len(accounts) - behind
    for proof, offset in offsets.items():
        info[f"{proof}ProofInstructionOffset"] = offset
    if any(offsets.values()) and at < free:
        info["instructionsSysvar"] = accounts[at]
        at += 1
    for proof, offset in offsets.items():
        if offset == 0 and at < free:
            info[f"{proof}ProofContextStateAccount"] = accounts[at]
            at += 1
    return at
