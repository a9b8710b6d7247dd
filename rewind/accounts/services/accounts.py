"""Accounts at a position: one, or several at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from solders.account import Account
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.account_json import AccountEncoding, Loader
from chain.addresses import TOKEN_PROGRAMS
from chain.parsed_accounts.token import is_account
from chain.units import Slot
from columns.packed_data import unpacked_size
from eventloop.faces import is_on_loop
from gaps.coverage import GapEntry
from jsonrpc.wire import Encoded, encode
from rewind.accounts.results.accounts import AccountSnapshot
from rewind.accounts.results.completeness import Completeness
from rewind.accounts.services import absence, position_lookup
from rewind.accounts.services.account_formatting import Shape, account_of, snapshot
from rewind.accounts.services.completeness import Findings
from rewind.accounts.services.position_lookup import ResolvedPosition
from rewind.accounts.store import account_reads
from rewind.accounts.store.absence import AbsenceFacts
from rewind.accounts.store.account_reads import Look
from rewind.accounts.store.slot_lookup import SlotLookup
from rewind.accounts.store.states import State, newest_state, newest_states
from rewind.accounts.store.walking import written_later_in_slot
from rewind.errors import NoAccounts, TooManyAccounts, WritesIncomplete
from rewind.explained.services.accounts import idl_reader
from rewind.positions import END_OF_SLOT, Asked, Position

_TOKEN_PROGRAMS = set(map(bytes, TOKEN_PROGRAMS))
# What stands around the entries of an answer, and around each of them.
_AROUND, _AROUND_EACH = 512, 32
# Bytes of data that are written on the loop.
_MOST_ON_LOOP = 16_384


@dataclass(frozen=True, slots=True)
class LoadedAccounts:
    """What there was of accounts at a position. `reasons` has a word for those that were not there
    or that the archive does not follow; `findings` say what is not known of what was read.
    """

    resolved: ResolvedPosition
    states: Mapping[bytes, State]
    reasons: Mapping[bytes, str]
    findings: Findings

    def state(self, pubkey: Pubkey) -> State | None:
        """None for an account that was not there, or was closed."""
        state = self.states.get(bytes(pubkey))
        return None if state is None or state.lamports == 0 else state

    def gap(self, pubkey: Pubkey) -> GapEntry | None:
        """The newest gap in which the account may have been written since."""
        state = self.states.get(bytes(pubkey))
        return self.resolved.gap_since(
            None if state is None else Position(state.slot, state.position)
        )


@dataclass(frozen=True, slots=True)
class Seen:
    """One account at a slot, as asked for and as stored, and the word that goes with it."""

    slot: Slot
    value: AccountSnapshot | None
    state: State | None
    reason: str | None
    gap: GapEntry | None
    completeness: Completeness


@dataclass(frozen=True, slots=True)
class SeenTogether:
    """Accounts at a slot in the order of the request, encoded already; `truncated` when the answer
    was full and the rest are None for that. `idl` is what IDLs say of each, if that was asked for.
    """

    slot: Slot
    values: list[Encoded | None]
    idl: list[Encoded | None] | None
    reasons: list[str | None]
    truncated: bool
    gap: GapEntry | None
    completeness: Completeness


def account_info(
    pubkey: Pubkey, asked: Asked, shape: Shape, *, tolerate_gaps: bool, look: Look | None = None
) -> Seen:
    """Raises what `resolve_position` does, WritesIncomplete and DataTooLong. `look` is what `alook`
    gave.
    """
    loaded = load_accounts([pubkey], asked, tolerate_gaps=tolerate_gaps, look=look)
    value = shown(pubkey, loaded, shape)
    return Seen(
        slot=loaded.resolved.slot,
        value=value,
        state=loaded.state(pubkey),
        reason=loaded.reasons.get(bytes(pubkey)),
        gap=loaded.gap(pubkey),
        completeness=loaded.findings.completeness(),
    )


async def alook(pubkey: Pubkey, asked: Asked, shape: Shape) -> Look | None:
    """All that is read of an account that was there at the end of a slot, awaited; None where more
    has to be read, or writing it takes long.
    """
    if asked.slot is None or asked.index is not None or not is_on_loop():
        return None
    if shape.encoding is AccountEncoding.JSON_PARSED:
        return None
    look = await account_reads.alook(bytes(pubkey), position_lookup.position_at(asked.slot))
    if look is None or look.state is None or not look.state.lamports:
        return None
    lookup, packed = look.lookup, look.state.packed
    if lookup.earliest is None or lookup.latest is None:
        return None
    if not lookup.earliest <= asked.slot <= lookup.latest:
        return None
    is_gap = lookup.gap_last is not None and lookup.gap_last >= asked.slot
    is_long = packed is None or unpacked_size(packed) > _MOST_ON_LOOP
    return None if is_gap or is_long else look


def multiple_accounts(
    pubkeys: Sequence[Pubkey],
    asked: Asked,
    shape: Shape,
    *,
    tolerate_gaps: bool,
    with_idl: bool,
    most_accounts: int,
    most_bytes: int,
) -> SeenTogether:
    """All at one position. Entries are resolved while the answer has no more than `most_bytes`, the
    first one whatever its size. Raises TooManyAccounts, NoAccounts, TooManyPrograms, and what
    account_info does.
    """
    if len(pubkeys) > most_accounts:
        raise TooManyAccounts(len(pubkeys), most_accounts)
    if not pubkeys:
        raise NoAccounts(most_accounts)
    loaded = load_accounts(pubkeys, asked, tolerate_gaps=tolerate_gaps)
    load = _loader(loaded, shape)
    read = None
    if with_idl:
        owners = {state.owner for state in map(loaded.state, pubkeys) if state is not None}
        read = idl_reader([*map(Pubkey, owners)], loaded.resolved.slot)
    left = most_bytes - _AROUND - _AROUND_EACH * len(pubkeys)
    values: list[Encoded | None] = []
    idl: list[Encoded | None] = []
    reasons: list[str | None] = []
    is_first = True
    for pubkey in pubkeys:
        state = loaded.state(pubkey)
        said = b""
        if state is not None:
            account = account_of(state)
            text = encode(snapshot(pubkey, account, state.slot, shape, load))
            said = b"" if read is None else encode(read(account))
            left -= len(text) + len(said)
            if left < 0 and not is_first:
                break
            is_first = False
        values.append(None if state is None else Encoded(text))
        idl.append(Encoded(said) if said else None)
        reasons.append(loaded.reasons.get(bytes(pubkey)))
    missing = len(pubkeys) - len(values)
    left_out = {bytes(pubkey) for pubkey in pubkeys[len(values) :]}
    left_out -= {bytes(pubkey) for pubkey in pubkeys[: len(values)]}
    return SeenTogether(
        slot=loaded.resolved.slot,
        values=values + [None] * missing,
        idl=idl + [None] * missing if with_idl else None,
        reasons=reasons + ["truncated"] * missing,
        truncated=missing > 0,
        gap=next(filter(None, map(loaded.gap, pubkeys)), None),
        completeness=loaded.findings.without(left_out).completeness(),
    )


def load_accounts(
    pubkeys: Sequence[Pubkey],
    asked: Asked,
    *,
    tolerate_gaps: bool,
    side: str = "",
    look: Look | None = None,
) -> LoadedAccounts:
    """What there was of the accounts. Raises what `resolve_position` does, and WritesIncomplete."""
    keys = list(dict.fromkeys(map(bytes, pubkeys)))
    reader = _ReaderOfOne(keys[0], look) if len(keys) == 1 else _ReaderOfSeveral(keys)
    resolved = position_lookup.resolve_position(
        asked, tolerate_gaps=tolerate_gaps, side=side, reader=reader
    )
    states, facts = reader.states, reader.facts
    if len(states) < len(keys):
        position_lookup.require_kept(resolved, side, earliest=reader.kept_from)
    findings = Findings()
    if resolved.is_coarse and resolved.position.order < END_OF_SLOT:
        for key in written_later_in_slot(keys, resolved.position, resolved.layout):
            if not tolerate_gaps:
                raise WritesIncomplete(resolved.position.slot, Pubkey(key), side)
            findings.coarse[key] = resolved.position.slot, resolved.position.slot
    living = [key for key in keys if key in states and states[key].lamports]
    reasons = dict.fromkeys(absence.stale_among(living, states, resolved), absence.Absence.FILTERED)
    unknown: list[bytes] = []
    if len(living) < len(keys):
        absences, unknown = absence.absences(keys, states, resolved, facts)
        reasons |= absences
    findings.note(keys, states, unknown, resolved)
    stale = (key for key in keys if reasons.get(key) is absence.Absence.FILTERED)
    findings.filtered.update(dict.fromkeys(stale))
    return LoadedAccounts(resolved, states, reasons, findings)


def shown(pubkey: Pubkey, loaded: LoadedAccounts, shape: Shape) -> AccountSnapshot | None:
    """The account as it is asked for; None where there was none. Raises DataTooLong."""
    state = loaded.state(pubkey)
    if state is None:
        return None
    return snapshot(pubkey, account_of(state), state.slot, shape, _loader(loaded, shape))


class _ReaderOfOne(position_lookup.Reader):
    """Reads the account with the position that is resolved: one round trip."""

    def __init__(self, key: bytes, look: Look | None) -> None:
        self._key = key
        self._at: Position | None = None
        self._look = look

    def around(self, signature: Signature, *, after: bool) -> Position | None:
        found = account_reads.look_around(self._key, bytes(signature), after=after)
        if found is None:
            return None
        self._at, self._look = found
        return self._at

    def look_up(self, position: Position, *, with_block: bool) -> SlotLookup:
        if self._look is None or self._at not in (None, position):
            self._look = account_reads.look(self._key, position, with_block=with_block)
        return self._look.lookup

    def transactions(self, slot: Slot) -> int | None:
        return None if self._look is None else self._look.transactions

    @property
    def states(self) -> Mapping[bytes, State]:
        state = None if self._look is None else self._look.state
        return {} if state is None else {self._key: state}

    @property
    def facts(self) -> AbsenceFacts | None:
        return None if self._look is None else self._look.facts

    @property
    def kept_from(self) -> int | None:
        """Set where one statement read everything: its rows were then still kept."""
        return None if self.facts is None or self._look is None else self._look.lookup.earliest


class _ReaderOfSeveral(position_lookup.Reader):
    """The same of several accounts."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = keys
        self.states: Mapping[bytes, State] = {}
        self.facts: AbsenceFacts | None = None
        self.kept_from: int | None = None

    def look_up(self, position: Position, *, with_block: bool) -> SlotLookup:
        found = account_reads.look_at_several(self._keys, position)
        self.states, self.facts, self.kept_from = found.states, found.facts, found.kept_from
        return found.lookup


def _loader(loaded: LoadedAccounts, shape: Shape) -> Loader:
    """What else a parsed account needs, its mint above all, at the same position."""
    known: dict[bytes, State | None] = dict(loaded.states)
    resolved = loaded.resolved
    if shape.encoding is AccountEncoding.JSON_PARSED and len(known) > 1:
        mints = _mints(loaded) - known.keys()
        found = newest_states(list(mints), resolved.position, resolved.layout) if mints else {}
        known |= {mint: found.get(mint) for mint in mints}

    def load(key: Pubkey) -> Account | None:
        raw = bytes(key)
        if raw not in known:
            known[raw] = newest_state(raw, resolved.position, resolved.layout)
        state = known[raw]
        if raw not in loaded.states:
            known_states = {} if state is None else {raw: state}
            unknown = absence.absences([raw], known_states, resolved)[1] if state is None else []
            loaded.findings.note([raw], known_states, unknown, resolved)
        return None if state is None or state.lamports == 0 else account_of(state)

    return load


def _mints(loaded: LoadedAccounts) -> set[bytes]:
    """Of the token accounts: asked for at once, for each would be a statement of its own."""
    tokens = [state.data for state in loaded.states.values() if state.owner in _TOKEN_PROGRAMS]
    return {data[:32] for data in tokens if is_account(data)}
