"""The keypair files that solana-test-validator leaves in its ledger, for tests that read them."""

from pathlib import Path

from localnet.identities import FAUCET, Validator


def write_keypairs(folder: Path, validator: Validator) -> None:
    """The faucet's, the validator's and its vote account's. The keys are public: localnet's are the
    same everywhere. OSError.
    """
    for name, keypair in (
        ("faucet", FAUCET),
        ("validator", validator.identity),
        ("vote-account", validator.voter),
    ):
        (folder / f"{name}-keypair.json").write_text(keypair.to_json())
