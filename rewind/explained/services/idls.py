"""IDLs of programs: those that staff uploaded, and those that programs keep on chain."""

from collections.abc import Collection
from datetime import datetime
from functools import lru_cache

from solders.pubkey import Pubkey

from chain.explained.instructions import KnownIdl
from chain.idl.on_chain import OnChain, idl_accounts, idl_text
from chain.idl.reading import MOST_BYTES, Idl, read_idl
from chain.idl.types import BadIdl
from jsonrpc.errors import RpcError
from rewind.accounts.services.newest import accounts_after
from rewind.explained import store
from rewind.models import ProgramIdl

# A transaction of 1,232 bytes calls fewer; one of 4,096 may name more.
MOST_PROGRAMS = 32
# IDLs that a process remembers, each as the functions that read its types.
_MOST_READ = 32


def upload_idl(
    text: bytes, *, program: Pubkey | None, from_slot: int, by: str, now: datetime
) -> ProgramIdl:
    """Keeps an IDL for transactions from the slot on; the program may be omitted if the IDL
    names it. Raises BadIdl.
    """
    found = read_idl(text)
    if program is not None and found.address not in (None, program):
        raise BadIdl(f"it is the IDL of {found.address}")
    subject = program or found.address
    if subject is None:
        raise BadIdl("it does not name its program: name it beside the file")
    return store.save_idl(
        subject,
        from_slot,
        name=found.name,
        version=found.version,
        text=text,
        by=by,
        now=now,
    )


def idls_at(programs: Collection[Pubkey], slot: int) -> dict[str, KnownIdl]:
    """The IDL of each program as of the slot, by its id: one that was uploaded, or else the one
    that the archive has of it on chain then, or, of a program that had none then, its newest. One
    that cannot be read counts as none. Of more than MOST_PROGRAMS some are left out.
    """
    wanted = sorted(programs, key=bytes)[:MOST_PROGRAMS]
    known: dict[str, KnownIdl] = {}
    for row in store.uploaded_idls(wanted, slot):
        idl = _read_uploaded(row.pk, row.uploaded_at)
        if idl is not None:
            known[str(row.program)] = KnownIdl(idl, "uploaded", row.from_slot)
    places = {
        account: (kind, program)
        for program in wanted
        if str(program) not in known
        for kind, account in idl_accounts(program).items()
    }
    try:
        accounts = accounts_after(list(places), slot) if places else {}
    except RpcError:  # the slot left the archive's window: an explanation is whole without IDLs
        return known
    for account, (kind, program) in places.items():
        held = accounts.get(account)
        if held is None or str(program) in known or len(held.data) > MOST_BYTES:
            continue
        on_chain = _read_on_chain(kind, program, held.owner, bytes(held.data))
        if on_chain is not None:
            known[str(program)] = KnownIdl(on_chain, kind, None)
    return known


@lru_cache(maxsize=_MOST_READ)
def _read_uploaded(pk: int, uploaded_at: datetime) -> Idl | None:
    """`uploaded_at` differs where another text took the place of the one that was read."""
    text = store.text_of(pk)
    try:
        return None if text is None else read_idl(text)
    except BadIdl:
        return None


@lru_cache(maxsize=_MOST_READ)
def _read_on_chain(kind: OnChain, program: Pubkey, owner: Pubkey, data: bytes) -> Idl | None:
    try:
        return read_idl(idl_text(kind, program, owner, data))
    except BadIdl:
        return None
