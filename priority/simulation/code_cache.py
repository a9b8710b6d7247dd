"""A cache of programs' code: it is large, and the same in every simulation."""

from operator import attrgetter
from typing import NamedTuple

from solders.account import Account
from solders.pubkey import Pubkey

from chain.addresses import LOADER_2, LOADER_3
from columns.caches import ByteCache
from simulator.programs import code_key

# An upgradeable program's code begins with its kind, the slot it was deployed in and who may
# upgrade it. All that follows is settled by that slot: nothing deploys twice in one slot.
HEAD = 45
_SETTLED = 12
_PROGRAMDATA = (3).to_bytes(4, "little")
# By then the slot's block is the only one there will ever be.
_ROOTED_AFTER = 64


class _Code(NamedTuple):
    account: Account
    head: bytes
    size: int


_codes: ByteCache[_Code] = ByteCache(64 * 1024 * 1024, size_of=attrgetter("size"))
# By program, of 4,096 of them.
_behind: ByteCache[Pubkey] = ByteCache(4_096, size_of=lambda _code: 1)


def knows(key: Pubkey) -> bool:
    """Whether its code is remembered, so that the head of the account is enough to read."""
    return _codes.find(key) is not None


def remember(key: Pubkey, account: Account, slot: int) -> None:
    """Keeps the account's code, or where its code lies, as of the slot."""
    owner = account.owner
    if owner == LOADER_3:
        behind = code_key(account)
        if behind is not None:
            _behind.replace(key, behind)
            return
    elif owner != LOADER_2 or not account.executable:
        return
    data = account.data
    head = data[:HEAD]
    if owner == LOADER_3 and (
        head[:4] != _PROGRAMDATA or int.from_bytes(head[4:12], "little") + _ROOTED_AFTER > slot
    ):
        return
    _codes.replace(key, _Code(account, head, len(data)))


def restored(key: Pubkey, fresh: Account, size: int | None) -> Account | None:
    """The whole account, from its `fresh` head and its size. None, and the code forgotten, if they
    do not match the remembered code.
    """
    code = _codes.find(key)
    if code is None:
        return None
    held, head, length = code
    now = fresh.data
    if (
        fresh.owner != held.owner
        or fresh.executable != held.executable
        or size != length
        or now[:_SETTLED] != head[:_SETTLED]
        or (held.owner == LOADER_2 and now != head)
    ):
        _codes.drop([key])
        return None
    if now == head and (fresh.lamports, fresh.rent_epoch) == (held.lamports, held.rent_epoch):
        return held
    data = now + held.data[HEAD:]
    return Account(fresh.lamports, data, fresh.owner, fresh.executable, fresh.rent_epoch)


def code_behind(program: Pubkey) -> Pubkey | None:
    """Where an upgradeable program's code was found to lie: worth reading with the program."""
    return _behind.find(program)


def forget() -> None:
    """Remembers nothing."""
    _codes.forget()
    _behind.forget()
