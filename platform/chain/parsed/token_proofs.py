"""Common parts of the instructions on encrypted token balances: ciphertexts and proofs."""

from dataclasses import dataclass

from chain.encodings import b64encode
from chain.parsed.cursor import Cursor
from chain.parsed.layouts import Info, Layout, at_least, put_authority

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


@dataclass(frozen=True, slots=True)
class WithProof:
    """A layout with the offset of one proof among its fields. The proof's account follows the
    layout's: where the proof was verified before (offset 0), or the sysvar through which it is
    found in the same transaction. Then comes the authority.
    """

    layout: Layout
    authority: tuple[str, str]

    def __call__(self, accounts: list[str], cursor: Cursor) -> tuple[str, Info]:
        at = len(self.layout.accounts)
        at_least(accounts, at + 2)
        name, info = self.layout(accounts, cursor)
        is_here = info["proofInstructionOffset"] != 0
        info["instructionsSysvar" if is_here else "proofContextStateAccount"] = accounts[at]
        put_authority(info, accounts, at + 1, self.authority)
        return name, info


@dataclass(frozen=True, slots=True)
class WithProofs:
    """A layout, then the offset of each of several proofs. The proofs' accounts follow the
    layout's, then come those `behind` and the authority: at least `least` accounts in all.
    """

    layout: Layout
    proofs: tuple[str, ...]
    authority: tuple[str, str]
    least: int
    behind: tuple[str, ...] = ()

    def __call__(self, accounts: list[str], cursor: Cursor) -> tuple[str, Info]:
        at_least(accounts, self.least)
        name, info = self.layout(accounts, cursor)
        offsets = {proof: cursor.i8() for proof in self.proofs}
        cursor.end()
        at, free = len(self.layout.accounts), len(accounts) - len(self.behind) - 1
        for proof, offset in offsets.items():
            info[f"{proof}ProofInstructionOffset"] = offset
        if any(offsets.values()) and at < free:
            info["instructionsSysvar"] = accounts[at]
            at += 1
        for proof, offset in offsets.items():
            if offset == 0 and at < free:
                info[f"{proof}ProofContextStateAccount"] = accounts[at]
                at += 1
        info.update(zip(self.behind, accounts[at:], strict=False))
        put_authority(info, accounts, at + len(self.behind), self.authority)
        return name, info
