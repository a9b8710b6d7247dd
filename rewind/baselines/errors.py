"""Snapshots whose accounts are not those that they declare."""

from solders.hash import Hash

from rewind.errors import BadBaseline


class WrongSum(BadBaseline):
    """The accounts do not make the lattice hash that the file declares: `declared` and `found` are
    the checksums of the two sums, 32 bytes.
    """

    def __init__(self, declared: bytes, found: bytes, *, base_slot: int | None) -> None:
        whose = "its accounts"
        if base_slot is not None:
            whose += f" and those of the full snapshot of slot {base_slot} that is here"
        super().__init__(
            f"{whose} sum to {Hash(found)}, and its manifest declares {Hash(declared)}: an account"
            " is missing, altered or there twice"
        )
        self.declared = declared
        self.found = found


class WrongBankHash(BadBaseline):
    """The parts of the bank do not make the hash that the manifest declares; both are 32 bytes."""

    def __init__(self, declared: bytes, found: bytes) -> None:
        super().__init__(
            f"the bank of its manifest hashes to {Hash(found)}, and the manifest declares"
            f" {Hash(declared)}: the accounts, the parent's hash, the number of signatures, the"
            " blockhash or the hard forks are not those of the slot"
        )
        self.declared = declared
        self.found = found


class NoSum(BadBaseline):
    """Nothing shows that all accounts are in the file: it neither names its storages nor declares a
    sum that its accounts make.
    """

    def __init__(self) -> None:
        super().__init__(
            "its manifest names no storages, as since Agave 4.4, and its accounts do not sum to a"
            " hash in its manifest, in its name or of its bank: one may be missing"
        )


class OtherAccounts(BadBaseline):
    """An account is recorded at the end of the slot with another state than the snapshot has, or
    one that the snapshot does not have; then `pubkey` is None.
    """

    def __init__(self, slot: int, pubkey: str | None) -> None:
        super().__init__(
            f"an account is recorded at the end of slot {slot} that it does not have"
            if pubkey is None
            else f"account {pubkey} is recorded at the end of slot {slot} with another state than"
            " it has here: what is recorded is not what the cluster had"
        )
        self.slot = slot
        self.pubkey = pubkey


class OtherStakes(BadBaseline):
    """The stakes of an epoch are not those that another snapshot brought."""

    def __init__(self, epoch: int, source: str) -> None:
        super().__init__(
            f"its stakes of epoch {epoch} are not those of {source}, and no hash covers them: one"
            " of the two is false. --replace-stakes takes these"
        )
        self.epoch = epoch
        self.source = source


class FileChanged(BadBaseline):
    """The archive has other accounts in its second reading than it had in the first."""

    def __init__(self) -> None:
        super().__init__("it was changed while it was read: an account is not where it was")
