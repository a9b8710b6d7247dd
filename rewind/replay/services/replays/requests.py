"""A replay as a form asks for it: a place, and changes of accounts and programs."""

from collections.abc import Iterable, Mapping

import msgspec
from solders.account import Account
from solders.pubkey import Pubkey

from chain import addresses
from chain.accounts import MOST_ACCOUNT_BYTES
from chain.encodings import b64decode
from rewind.errors import BadOverride
from rewind.positions import Asked
from rewind.replay.services.overrides import Override, check_effects
from rewind.replay.services.past_state import Past
from simulator.machine import CACHED_SYSVARS
from simulator.programs import code_key

_PROGRAMDATA = (3).to_bytes(4, "little")
# Of the account with an upgradeable program's code: a tag, the slot, and room for an authority.
_HEADER_SIZE = 45


class AccountEdit(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What of an account is to be another; None leaves a part as it was. `data` is base64; with an
    `offset` it replaces the bytes from there on, else all of them.
    """

    pubkey: str
    lamports: int | None = None
    owner: str | None = None
    data: str | None = None
    offset: int | None = None


class ProgramEdit(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Another build of a program: of the operator's shelf by its id, or an uploaded one, with its
    name, size in bytes and SHA-256 in hex.
    """

    program: str
    name: str
    size: int
    digest: str
    shelf_id: int | None = None
    upload_id: int | None = None


class ReplayRequest(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Without a slot the transactions run at the place of the first of them; with a slot at its
    end, or right after its transaction of the index.
    """

    slot: int | None = None
    index: int | None = None
    accounts: tuple[AccountEdit, ...] = ()
    program: ProgramEdit | None = None
    tolerate_gaps: bool = False

    @property
    def is_altered(self) -> bool:
        return bool(self.accounts) or self.program is not None

    def asked(self, slot: int, index: int) -> Asked:
        """The position; (slot, index) is the place of the first transaction."""
        if self.slot is None:
            return Asked(slot=slot, index=index, after=False)
        return Asked(slot=self.slot, index=self.index)


def overrides_of(request: ReplayRequest, there: Past, code: bytes | None) -> dict[Pubkey, Override]:
    """The accounts as the changes make them at the position; `code` is the other build's. Raises
    BadOverride, OverrideWithoutEffect and what Past.load raises.
    """
    edits = {Pubkey.from_string(each.pubkey): each for each in request.accounts}
    in_part = [key for key, each in edits.items() if each.offset is not None]
    # Native accounts are refused before anything of them is read.
    plain = {key: _override(each, None) for key, each in edits.items()}
    check_effects(plain, {})
    held = _held(there, in_part)
    found = {key: _override(each, held.get(key)) for key, each in edits.items()}
    if request.program is not None and code is not None:
        for key, override in _with_code(Pubkey.from_string(request.program.program), there, code):
            if key in found:
                raise BadOverride(
                    "the account is changed by hand and by the program's build", at=str(key)
                )
            found[key] = override
    return found


def _held(there: Past, keys: Iterable[Pubkey]) -> Mapping[Pubkey, Account | None]:
    keys = list(keys)
    sysvars = {key: there.sysvars[key] for key in keys if key in CACHED_SYSVARS}
    others = [key for key in keys if key not in sysvars]
    return {**sysvars, **(there.load(others) if others else {})}


def _override(edit: AccountEdit, held: Account | None) -> Override:
    data = None if edit.data is None else b64decode(edit.data)
    if data is not None and edit.offset is not None:
        before = b"" if held is None else bytes(held.data)
        if held is not None and edit.offset > len(before):
            raise BadOverride(
                f"the account has {len(before)} bytes of data there: none begin at {edit.offset}",
                at=edit.pubkey,
                found=edit.offset,
                maximum=len(before),
            )
        data = before[: edit.offset] + data + before[edit.offset + len(data) :]
    if data is not None and len(data) > MOST_ACCOUNT_BYTES:
        raise BadOverride(
            f"an account has at most {MOST_ACCOUNT_BYTES} bytes of data",
            at=edit.pubkey,
            found=len(data),
            maximum=MOST_ACCOUNT_BYTES,
        )
    owner = None if edit.owner is None else Pubkey.from_string(edit.owner)
    return Override(lamports=edit.lamports, owner=owner, data=data)


def _with_code(program: Pubkey, there: Past, code: bytes) -> list[tuple[Pubkey, Override]]:
    """The program with this ELF file for its code, by the loader that it has. One that is not there
    belongs to BPFLoader2, whose programs are the file alone.
    """
    own = there.load([program])[program]
    if own is None:
        return [(program, Override(owner=addresses.LOADER_2, data=code, executable=True))]
    if own.owner != addresses.LOADER_3:
        if own.owner not in (addresses.LOADER_1, addresses.LOADER_2):
            raise BadOverride("the account is not a program of a BPF loader", at=str(program))
        return [(program, Override(data=code))]
    at = code_key(own)
    if at is None:
        raise BadOverride("the account is not a program", at=str(program))
    held = there.load([at])[at]
    header = b"" if held is None else bytes(held.data[:_HEADER_SIZE])
    if header[:4] != _PROGRAMDATA or len(header) < _HEADER_SIZE:
        header = (_PROGRAMDATA + bytes(8)).ljust(_HEADER_SIZE, b"\0")
    elif int.from_bytes(header[4:12], "little") >= there.slot:
        # Code is visible from the slot after the one that it names.
        header = header[:4] + max(there.slot - 1, 0).to_bytes(8, "little") + header[12:]
    return [(at, Override(data=header + code, owner=addresses.LOADER_3))]
