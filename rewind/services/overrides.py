"""Accounts as a caller wants them to have been, instead of what they were."""

from collections.abc import Mapping
from dataclasses import dataclass

from solders.account import Account
from solders.pubkey import Pubkey

from chain.units import U64_MAX
from rewind.positions import Asked
from rewind.services.loading import accounts_at
from rewind.services.past import Past
from rewind.services.placing import place
from simulator import addresses
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
    def is_whole(self) -> bool:
        """Whether nothing of the account itself is left to look up."""
        if self.lamports == 0:
            return True
        return None not in (self.lamports, self.owner, self.data)


def given_accounts(
    past: Past, overrides: Mapping[Pubkey, Override], loads: Mapping[Pubkey, int]
) -> dict[Pubkey, Account | None]:
    """The accounts that the overrides come to. `loads` names slots at whose end an account is taken
    instead. Raises what Past.load and `place` raise.
    """
    given: dict[Pubkey, Account | None] = {}
    by_slot: dict[int, list[Pubkey]] = {}
    for key, slot in loads.items():
        by_slot.setdefault(slot, []).append(key)
    for slot, keys in sorted(by_slot.items()):
        placed = place(Asked(slot=slot), tolerate_gaps=past.tolerate_gaps)
        given.update(
            accounts_at(keys, placed, tolerate_gaps=past.tolerate_gaps, findings=past.findings)
        )
    lacking = [
        key for key, override in overrides.items() if key not in given and not override.is_whole
    ]
    given.update({key: past.sysvars[key] for key in lacking if key in CACHED_SYSVARS})
    lacking = [key for key in lacking if key not in given]
    if lacking:
        given.update(past.load(lacking))
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
