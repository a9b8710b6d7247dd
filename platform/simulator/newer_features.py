"""Features of the chain that are newer than the engine's: what Agave calls them, and which of them
no transaction can notice.

Which features the engine does not know is never read from here: the engine is asked (features.py).
From Agave 4.4.0: names are those of `agave-feature-set`; `SVM` is the struct of
`solana-svm-feature-set` with every feature that running a transaction asks for.
"""

from types import MappingProxyType
from typing import NamedTuple

from solders.pubkey import Pubkey


class NewerFeature(NamedTuple):
    """`harmless` says why no transaction's outcome depends on it, or what of this service stands in
    for it; empty: it may matter.
    """

    name: str
    harmless: str = ""


_RENT = (
    "Sets the Rent sysvar (solana-runtime, bank.rs), which the engine is given as the chain has it"
)
_SLOT_TIME = "Sets a slot's ticks and a block's limits (solana-runtime, slot_params.rs); not in SVM"

_FEATURES = {
    "expH2ppKPW2ANEdEmAjfhSEcnBQJfmoX4FjuNpe9ttg": NewerFeature(
        "SIMD-0529: big_integer mod_exp syscall"
    ),
    "3HcSrCTGXTUnrTueHi4DAwNuMxZSsm5xui2Ax3mgxHqf": NewerFeature(
        "SIMD-0232: Custom Commission Collector"
    ),
    "Crbnc267wkJvFhYakqwWWX57sx5bkrftJLekzy6yWKLT": NewerFeature(
        "SIMD-0123: Block Revenue Sharing"
    ),
    "BY4JhHLahVzS9ynfDz4exzGPbVXhFmJvEyMWsXbDBqME": NewerFeature(
        "SIMD-0392: Relaxation of post-execution min_balance check"
    ),
    "FEEXbxUuKobtrt1qNK5pjtzbPQhsppBTrNNG74xu4mai": NewerFeature(
        "SIMD-0290: Relax block constraint requiring valid fee-payer"
    ),
    "EhisBfVtGvEA8bVCVN5VMaYEaX6iTfoUrmcDi8LY7Kxy": NewerFeature(
        "SIMD-0433: Loader V3 Set Program Data to ELF Length"
    ),
    "A1pengvuM6JEcyNuTnMqepBKhwHE3N6PmUrdATGawhJS": NewerFeature(
        "SIMD-0326: Alpenglow: new consensus algorithm"
    ),
    "txv1aq4pp281K9um3tnPgkfX8UqtFT6wcVW3hNezGLL": NewerFeature(
        "SIMD-0385: Transaction V1",
        "Allows version 1 transactions, which this service reads itself; the others are as before",
    ),
    "FastLeaderHandover11111111111111111111111111": NewerFeature(
        "SIMD-0326: Alpenglow fast leader handover",
        "Lets a leader begin before the block ahead is there (solana-core, replay_stage); not in"
        " SVM",
    ),
    "iBRL5RuWhw4yqaAZu96RUULHckHTZAoe2b77qaV38JZ": NewerFeature(
        "SIMD-0525: Reduce slot time to 350ms", _SLOT_TIME
    ),
    "iBRLL3k18HST852F1Mf3Lv83waTNQmmqvKDxvYGwQFL": NewerFeature(
        "SIMD-0525: Reduce slot time to 300ms", _SLOT_TIME
    ),
    "iBRLMc81UjRa8fn8A6eE8bJTnRbgQoPTynM51akENCV": NewerFeature(
        "SIMD-0525: Reduce slot time to 250ms", _SLOT_TIME
    ),
    "iBRLjhJnkmDZgNoZRDMW11d8ZV7HvsL3vAyRjZB5npW": NewerFeature(
        "SIMD-0525: Reduce slot time to 200ms", _SLOT_TIME
    ),
    "turbzzBJLGMJJikLvgCCJu9e1hTmfxwarrbLndYAsK5": NewerFeature(
        "SIMD-0317: Enforce the Merkle proof size of a fixed 32:32 FEC set",
        "Of shreds (solana-gossip, duplicate_shred.rs); not in SVM",
    ),
    "rntCigrTppP5JdZz7K8TyN9sMzLdAcXp8SejYpVpX6D": NewerFeature(
        "SIMD-0437-3: Set lamports per byte to 2575", _RENT
    ),
    "rntD7invRBswCAdKtRsh1G4psKjrPdS3BKqtnA78C7N": NewerFeature(
        "SIMD-0437-4: Set lamports per byte to 1322", _RENT
    ),
    "rntTjNZ9boq8owDxjGVFHPfWNQPDaKiM5JcjxmDGg47": NewerFeature(
        "SIMD-0437-5: Set lamports per byte to 696", _RENT
    ),
    "rnt8ZQpz2HYhX3DkYBDGjJS1a36mYq69oXka7JrhEdi": NewerFeature(
        "SIMD-0438: Reset lamports per byte to legacy value of 6960", _RENT
    ),
    "s51VGwCAgebo2745DSUris72RavoLkXGUmVJosESCXr": NewerFeature(
        "SIMD-0391: Upgrade BPF Stake Program to v5.1.0 (fixed-point warmup/cooldown)",
        "Replaces a program's account, whose code the engine is given as the chain has it",
    ),
    "ddibiks7RHZR69QXYMCmk4EZNt6WckspTqEEWv6cS38": NewerFeature(
        "SIMD-0550: Double disinflation rate",
        "Of rewards at an epoch's end (solana-runtime, bank.rs); not in SVM",
    ),
    "RMsTKfD6hZnBhhNvgGBeKNrqCNkeoP3DYYxNtcuWtRg": NewerFeature(
        "SIMD-0599: Remove inactive stakes from stake delegations",
        "Of rewards at an epoch's end (solana-runtime, stakes.rs); not in SVM",
    ),
}
NEWER_FEATURES = MappingProxyType(
    {Pubkey.from_string(key): feature for key, feature in _FEATURES.items()}
)
