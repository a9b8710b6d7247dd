"""An account at two positions, and what differs."""

from dataclasses import dataclass

from solders.pubkey import Pubkey

from chain.units import Slot
from gaps.coverage import GapEntry
from jsonrpc.errors import InvalidParams, RpcError
from rewind.accounts.results.accounts import AccountPair, Diff
from rewind.accounts.results.completeness import Completeness
from rewind.accounts.services.account_formatting import Shape
from rewind.accounts.services.accounts import LoadedAccounts, load_accounts, shown
from rewind.accounts.services.completeness import completeness
from rewind.accounts.store.states import State
from rewind.errors import SlotInArchiveGap, SlotTooNew, SlotTooOld, UnknownSignature
from rewind.positions import Asked

# Others, of the archive's own state, come last.
_ORDER = (InvalidParams, SlotTooNew, SlotTooOld, UnknownSignature, SlotInArchiveGap)


@dataclass(frozen=True, slots=True)
class SeenTwice:
    """The account at both positions, and the word and the gap that go with each side."""

    value: AccountPair
    reason_a: str | None
    reason_b: str | None
    gap_a: GapEntry | None
    gap_b: GapEntry | None
    completeness: Completeness
    slot_a: Slot
    slot_b: Slot


def account_diff(
    pubkey: Pubkey, asked_a: Asked, asked_b: Asked, shape: Shape, *, tolerate_gaps: bool
) -> SeenTwice:
    """What is refused, and how, is what account_info refuses."""
    a, b = _load_both(pubkey, {"A": asked_a, "B": asked_b}, tolerate_gaps=tolerate_gaps)
    state_a, state_b = a.state(pubkey), b.state(pubkey)
    return SeenTwice(
        value=AccountPair(
            a=shown(pubkey, a, shape),
            b=shown(pubkey, b, shape),
            diff=_diff(state_a, state_b) if state_a and state_b else None,
        ),
        reason_a=a.reasons.get(bytes(pubkey)),
        reason_b=b.reasons.get(bytes(pubkey)),
        gap_a=a.gap(pubkey),
        gap_b=b.gap(pubkey),
        completeness=completeness([a.findings, b.findings]),
        slot_a=a.resolved.slot,
        slot_b=b.resolved.slot,
    )


def _load_both(
    pubkey: Pubkey, sides: dict[str, Asked], *, tolerate_gaps: bool
) -> list[LoadedAccounts]:
    """Of two refusals that one is raised which the interface puts first, side A's of two alike."""
    loaded: list[LoadedAccounts] = []
    refusals: list[RpcError] = []
    for side, asked in sides.items():
        try:
            loaded.append(load_accounts([pubkey], asked, tolerate_gaps=tolerate_gaps, side=side))
        except RpcError as refusal:
            refusals.append(refusal)
    if refusals:
        raise min(refusals, key=_place)
    return loaded


def _place(refusal: RpcError) -> int:
    places = (place for place, kind in enumerate(_ORDER) if isinstance(refusal, kind))
    return next(places, len(_ORDER))


def _diff(a: State, b: State) -> Diff:
    data_a, data_b = a.data, b.data
    return Diff(
        lamports_delta=b.lamports - a.lamports,
        owner_changed=a.owner != b.owner,
        executable_changed=a.executable != b.executable,
        rent_epoch_delta=b.rent_epoch - a.rent_epoch,
        data_changed=data_a != data_b,
        data_len_a=len(data_a),
        data_len_b=len(data_b),
    )
