"""Program builds of a time: the operator's shelf, and which of the archive's own are of that time.

The archive's record of a program counts before the shelf where it is known to have held at the
position: a snapshot or the node had it, or a transaction wrote it, or the code says that it was
deployed in the slot of its row; and no gap lies between.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from hashlib import sha256

from django.db import transaction
from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey

from chain import addresses
from chain.accounts import MOST_ACCOUNT_BYTES
from chain.units import U64_MAX
from rewind.accounts.services.position_lookup import ResolvedPosition
from rewind.accounts.store.prefetching import builds_at
from rewind.accounts.store.replaying import next_writes
from rewind.accounts.store.states import State, newest_states
from rewind.errors import BadBuild
from rewind.models import AccountChange
from rewind.positions import END_OF_SLOT, Position
from rewind.replay.models import ProgramBuild
from rewind.replay.store import builds as store
from rewind.replay.store.builds import Build
from simulator.code_check import load_fault
from simulator.defaults import rent_minimum

_ELF = b"\x7fELF"
_LOADERS = {1: addresses.LOADER_1, 2: addresses.LOADER_2, 3: addresses.LOADER_3}
_PROGRAM = (2).to_bytes(4, "little")
_PROGRAMDATA = (3).to_bytes(4, "little")
# Of the account with an upgradeable program's code: a tag, the slot, and room for an authority.
_HEADER_SIZE = 45
_BASE = AccountChange.Kind.BASE.value


@transaction.atomic
def add_build(
    program: Pubkey,
    code: bytes,
    *,
    loader: int,
    from_slot: int,
    to_slot: int | None,
    source: str,
    now: datetime,
) -> ProgramBuild:
    """Puts the ELF file on the shelf, as what ran in these slots, both included. Raises BadBuild.
    The same once more changes nothing.
    """
    if to_slot is not None and to_slot < from_slot:
        raise BadBuild(f"slot {to_slot} lies before slot {from_slot}")
    require_build(code)
    store.lock()
    digest = Hash(sha256(code).digest())
    for other in store.builds_between(program, from_slot, to_slot):
        if (other.from_slot, other.to_slot, other.digest) == (from_slot, to_slot, digest):
            return other
        raise BadBuild(f"there is a build from slot {other.from_slot} to {other.to_slot or 'now'}")
    return store.create(
        program=program,
        code_key=_code_key(program) if loader == ProgramBuild.Loader.UPGRADEABLE else program,
        loader=loader,
        from_slot=from_slot,
        to_slot=to_slot,
        size=len(code),
        digest=digest,
        code=code,
        source=source,
        recorded_at=now,
    )


def require_build(code: bytes) -> None:
    """Raises BadBuild for a file that is no program."""
    if not code.startswith(_ELF):
        raise BadBuild("no ELF file")
    if len(code) > MOST_ACCOUNT_BYTES - _HEADER_SIZE:
        raise BadBuild(f"{len(code)} bytes are more than an account has")
    fault = load_fault(code)
    if fault is not None:
        raise BadBuild(f"the engine cannot load it: {fault}")


def shelved(
    keys: Collection[Pubkey], resolved: ResolvedPosition, balances: Mapping[Pubkey, int]
) -> dict[Pubkey, Account]:
    """Those of the accounts that are programs, or their code, for which the archive has no build of
    the time and the shelf has one. `balances` are lamports that are known of the moment.
    """
    position = resolved.position
    found = builds_at([bytes(key) for key in keys], position.slot, resolved.ahead)
    if not found:
        return {}
    wanted = [key for build in found for key in (build.program, build.code_key)]
    states = newest_states(wanted, position, resolved.layout)
    accounts: dict[Pubkey, Account] = {}
    for build in found:
        own, code = states.get(build.program), states.get(build.code_key)
        if not (_is_of_the_time(own, resolved) and _is_of_the_time(code, resolved)):
            accounts.update(_accounts(build, own, balances))
    return {key: account for key, account in accounts.items() if key in keys}


def deployed_before(keys: Collection[Pubkey], resolved: ResolvedPosition) -> dict[Pubkey, Account]:
    """Those of the accounts that have no record at the position and are known by a later one: code
    says in which slot it was deployed, and the same code was there ever since.
    """
    position = resolved.position
    later = next_writes([bytes(key) for key in keys], position, resolved.latest)
    found: dict[Pubkey, Account] = {}
    for each in later:
        state = _at(each.pubkey, Position(each.slot, each.position), resolved)
        if state is None or Pubkey(state.owner) != addresses.LOADER_3:
            continue
        code = state
        if state.data[:4] == _PROGRAM:
            after = next_writes([state.data[4:36]], position, resolved.latest)
            known = [_at(one.pubkey, Position(one.slot, one.position), resolved) for one in after]
            if not known or known[0] is None:
                continue
            code = known[0]
        deployed = _deployed_in(code)
        if deployed is not None and deployed < position.slot:
            account = Account(
                state.lamports,
                state.data,
                addresses.LOADER_3,
                state.executable,
                state.rent_epoch,
            )
            found[Pubkey(each.pubkey)] = account
    return found


def unknown_among(programs: Collection[Pubkey], resolved: ResolvedPosition) -> set[Pubkey]:
    """Those of the called programs whose build, in the archive or on the shelf, is not known
    to be the one of that time.
    """
    keys = {bytes(each) for each in programs if each not in addresses.BUILTINS}
    code = {key: bytes(_code_key(Pubkey(key))) for key in keys}
    states = newest_states([*keys, *code.values()], resolved.position, resolved.layout)
    on_shelf = {each.program for each in store.builds_at(list(keys), resolved.position.slot)}
    unknown = set()
    for key in keys - on_shelf:
        own = states.get(key)
        needed = [own]
        if own is not None and Pubkey(own.owner) == addresses.LOADER_3:
            needed = [states.get(code[key])]
        if not all(_is_of_the_time(each, resolved) for each in needed):
            unknown.add(Pubkey(key))
    return unknown


def with_code(programs: Collection[Pubkey]) -> set[Pubkey]:
    """The programs, and where each would have its code."""
    return {*programs, *map(_code_key, programs)}


def _is_of_the_time(state: State | None, resolved: ResolvedPosition) -> bool:
    if state is None or resolved.unseen_since(_place_of(state)) is not None:
        return False
    by_transaction = 0 <= state.position < END_OF_SLOT
    # What a chain begins with is no deployment.
    is_genesis = state.slot == 0
    return state.kind == _BASE or by_transaction or is_genesis or _deployed_in(state) == state.slot


def _place_of(state: State) -> Position:
    return Position(state.slot, state.position)


def _deployed_in(state: State) -> int | None:
    """The slot that an account with code says it was deployed in."""
    if not state.lamports or Pubkey(state.owner) != addresses.LOADER_3:
        return None
    data = state.data
    return int.from_bytes(data[4:12], "little") if data[:4] == _PROGRAMDATA else None


def _at(key: bytes, position: Position, resolved: ResolvedPosition) -> State | None:
    state = newest_states([key], position, resolved.layout).get(key)
    return state if state is not None and state.lamports else None


def _accounts(
    build: Build, own: State | None, balances: Mapping[Pubkey, int]
) -> dict[Pubkey, Account]:
    """The program's account, and that of its code where it has one of its own."""
    program, code_key = Pubkey(build.program), Pubkey(build.code_key)
    loader, code = _LOADERS[build.loader], store.code_of(build.id)
    if loader == addresses.LOADER_3:
        slot = max(build.from_slot - 1, 0)  # code is visible from the slot after its own
        header = (_PROGRAMDATA + slot.to_bytes(8, "little")).ljust(_HEADER_SIZE, b"\0")
        data = {program: _PROGRAM + bytes(code_key), code_key: header + code}
    else:
        data = {program: code}
    return {
        key: Account(
            _lamports(key, held, build, own, balances), held, loader, key == program, U64_MAX
        )
        for key, held in data.items()
    }


def _lamports(
    key: Pubkey, data: bytes, build: Build, own: State | None, balances: Mapping[Pubkey, int]
) -> int:
    if balances.get(key):
        return balances[key]
    if own is not None and own.lamports and bytes(key) == build.program:
        return own.lamports
    return rent_minimum(len(data))


def _code_key(program: Pubkey) -> Pubkey:
    return Pubkey.find_program_address([bytes(program)], addresses.LOADER_3)[0]
