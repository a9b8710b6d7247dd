"""Account overrides: states that a caller sets in place of the archived ones."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from solders.account import Account
from solders.pubkey import Pubkey

from chain import addresses
from chain.units import U64_MAX
from rewind.accounts.services.loading import accounts_at
from rewind.accounts.services.position_lookup import resolve_position
from rewind.errors import OverrideWithoutEffect
from rewind.positions import Asked
from rewind.replay.services.past_state import Past
from simulator.defaults import rent_minimum
from simulator.machine import CACHED_SYSVARS


@dataclass(frozen=True, slots=True)
class Override:
    """What of an account is to be another; None leaves a part as it was. 0 lamports: no account."""

    lamports: int | None = None
    owner: Pubkey | None = None
    data: bytes | None = None
    executable: bool | None = None

    @property
    def has_data(self) -> bool:
        """Whether it says which data the account has; none is an answer too."""
        return self.data is not None or self.lamports == 0

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the account itself is left to look up."""
        if self.lamports == 0:
            return True
        return None not in (self.lamports, self.owner, self.data)


# Builtins and precompiles are the engine's own code, and the Instructions sysvar is made of the
# message: the engine stages nothing of these accounts (simulator/machine.py).
_OF_THE_ENGINE = addresses.BUILTINS | {addresses.INSTRUCTIONS}
_AT = "[1].overrides"
_AT_LOADS = "[1].overrideLoads"
_UNREAD = "the transaction does not load the account"


def check_effects(overrides: Mapping[Pubkey, Override], loads: Mapping[Pubkey, int]) -> None:
    """Raises OverrideWithoutEffect for what no transaction can take notice of."""
    for keys, at in ((overrides, _AT), (loads, _AT_LOADS)):
        for key in keys:
            if key in _OF_THE_ENGINE:
                raise OverrideWithoutEffect(key, _why_native(key), at)
    for key, override in overrides.items():
        if (override.lamports, override.owner, override.data) == (None, None, None):
            why = "none of `lamports`, `owner` and `data` is given"
            raise OverrideWithoutEffect(key, why, _AT)


def without_effect_on(
    read: Set[Pubkey], overrides: Mapping[Pubkey, Override], loads: Mapping[Pubkey, int]
) -> Iterator[OverrideWithoutEffect]:
    """The refusal of each that a transaction which reads these accounts cannot take notice of."""
    for key, override in overrides.items():
        if key in read or (key in CACHED_SYSVARS and (override.has_data or key in loads)):
            continue
        why = _UNREAD
        if key in CACHED_SYSVARS:
            why += ", and programs read no more than `data` of a sysvar that it does not load"
        yield OverrideWithoutEffect(key, why, _AT)
    for key in loads:
        if key not in read and key not in CACHED_SYSVARS:
            yield OverrideWithoutEffect(key, _UNREAD, _AT_LOADS)


def _why_native(key: Pubkey) -> str:
    if key == addresses.INSTRUCTIONS:
        return "the sysvar is made of the transaction's own instructions"
    return "it is native code of the engine, which reads nothing of its account"


def given_accounts(
    past: Past, overrides: Mapping[Pubkey, Override], loads: Mapping[Pubkey, int]
) -> dict[Pubkey, Account | None]:
    """The accounts that the overrides come to. `loads` names slots at whose end an account is taken
    instead. Raises what Past.load and `resolve_position` raise.
    """
    given: dict[Pubkey, Account | None] = {}
    by_slot: dict[int, list[Pubkey]] = {}
    for key, slot in loads.items():
        by_slot.setdefault(slot, []).append(key)
    for slot, keys in sorted(by_slot.items()):
        resolved = resolve_position(Asked(slot=slot), tolerate_gaps=past.tolerate_gaps)
        given.update(
            accounts_at(keys, resolved, tolerate_gaps=past.tolerate_gaps, findings=past.findings)
        )
    missing = [
        key for key, override in overrides.items() if key not in given and not override.is_whole
    ]
    given.update({key: past.sysvars[key] for key in missing if key in CACHED_SYSVARS})
    missing = [key for key in missing if key not in given]
    if missing:
        given.update(past.load(missing))
    given.update({key: _overridden(given.get(key), each) for key, each in overrides.items()})
    return given


def _overridden(account: Account | None, override: Override) -> Account | None:
    data = override.data if override.data is not None else account.data if account else b""
    lamports = override.lamports
    if lamports is None:
        # An account that was not there must live of something.
        lamports = account.lamports if account else rent_minimum(len(data))
    if lamports == 0:
        return None
    owner = override.owner or (account.owner if account else addresses.SYSTEM)
    executable = override.executable
    if executable is None:
        executable = account.executable if account else False
    return Account(lamports, data, owner, executable, account.rent_epoch if account else U64_MAX)
