"""What the chain has and the engine does not: features, programs of native code, sysvars."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from solders.account import Account
from solders.pubkey import Pubkey

from chain import addresses
from simulator.features import activation_slots, known_features
from simulator.newer_features import NEWER_FEATURES, NewerFeature

Kind = Literal["feature", "program", "sysvar"]
_OWN_PROGRAMS = addresses.BUILTINS
# The Instructions sysvar is made of each message.
_OWN_SYSVARS = addresses.SYSVARS | {addresses.INSTRUCTIONS}
_UNNAMED = NewerFeature("")
_ACTIVE = 1


class MissingRule(NamedTuple):
    """A feature that is on, or a builtin, precompile or sysvar that is there. `name` is a feature's
    in Agave, None where this build has never heard of it.
    """

    kind: Kind
    address: Pubkey
    name: str | None = None


def missing_features(active: Mapping[Pubkey, int], *, is_mainnet: bool) -> tuple[MissingRule, ...]:
    """The features that the engine does not have and that a transaction may notice, of those
    `active` since the slots. Equal sets are judged once.
    """
    known = known_features()
    return _missing(
        frozenset(
            feature
            for feature, slot in active.items()
            if feature not in known and not (is_mainnet and slot <= _mainnet_is_known_up_to())
        )
    )


def missing_accounts(accounts: Mapping[Pubkey, Account | None]) -> tuple[MissingRule, ...]:
    """The builtins, precompiles and sysvars among the accounts that the engine does not have."""
    found = []
    for key, account in accounts.items():
        if account is None or key in _OWN_PROGRAMS or key in _OWN_SYSVARS:
            continue
        if account.owner == addresses.NATIVE_LOADER:
            found.append(MissingRule("program", key))
        elif account.owner == addresses.SYSVAR_OWNER:
            found.append(MissingRule("sysvar", key))
    return tuple(sorted(found, key=lambda rule: bytes(rule.address))) if found else ()


def activated_at(account: Account | None) -> int | None:
    """The slot since which the feature of this account is on; None while it is not."""
    if account is None or account.owner != addresses.FEATURE:
        return None
    data = account.data
    is_active = len(data) >= 9 and data[0] == _ACTIVE
    return int.from_bytes(data[1:9], "little") if is_active else None


def features_to_ask_for() -> Iterable[Pubkey]:
    """The features whose accounts can be asked for by address: the engine's and Agave's newer."""
    return known_features() | NEWER_FEATURES.keys()


@lru_cache(maxsize=1)
def _mainnet_is_known_up_to() -> int:
    """Mainnet's newest activation in the engine's table. Agave of that version followed mainnet
    through it, so that a feature which was on by then and which it does not list is built in.
    """
    return max(activation_slots().values())


@lru_cache(maxsize=64)
def _missing(features: frozenset[Pubkey]) -> tuple[MissingRule, ...]:
    found = []
    for feature in sorted(features, key=bytes):
        newer = NEWER_FEATURES.get(feature, _UNNAMED)
        if not newer.harmless:
            found.append(MissingRule("feature", feature, newer.name or None))
    return tuple(found)
