"""Keys that no transaction can write, even if its header requests it."""

from chain.addresses import (
    BUILTINS,
    CONFIG,
    FEATURE,
    INSTRUCTIONS,
    LOADER_3,
    LOADER_4,
    LOOKUP_TABLE,
    NATIVE_LOADER,
    REWARDS,
    STAKE,
    STAKE_CONFIG,
    SYSVAR_OWNER,
    SYSVARS,
    ZK_TOKEN_PROOFS,
)

UPGRADEABLE_LOADER = str(LOADER_3)

RESERVED_KEYS = frozenset(
    str(key)
    for key in BUILTINS
    | {LOADER_4, LOOKUP_TABLE, CONFIG, FEATURE, NATIVE_LOADER, STAKE, STAKE_CONFIG, ZK_TOKEN_PROOFS}
    | SYSVARS
    | {SYSVAR_OWNER, INSTRUCTIONS, REWARDS}
)
