"""Tables of the running proof: what waits to be proven, what was, and up to where."""

from django.db import models
from django.db.models import Q

from columns.keys import HashColumn, PubkeyColumn
from columns.numbers import SlotColumn, U64Column


class SlotWrites(models.Model):
    """What a recorded slot has to do with the proof, until it is proven: the accounts that it
    wrote, its votes, and the last states of filtered accounts, which have no history.
    """

    slot = SlotColumn(primary_key=True)
    parent_slot = SlotColumn(db_index=True)
    blockhash = HashColumn(max_length=32)
    signature_count = models.BigIntegerField(help_text="Of the block's transactions, votes too")
    pubkeys = models.BinaryField(help_text="32 bytes each, ascending, without filtered ones")
    filtered = models.BinaryField(help_text="rewind/proof/accounts.py")
    votes = models.BinaryField(help_text="rewind/proof/votes.py")
    vote_transactions = models.BinaryField(
        db_default=b"", help_text="Those of the votes, in their order; empty: from an older version"
    )
    is_done = models.BooleanField(db_default=False, help_text="Its bank is computed")

    class Meta:
        indexes = [
            models.Index(fields=["slot"], condition=Q(is_done=False), name="rewind_slots_to_prove")
        ]

    def __str__(self) -> str:
        return f"writes of slot {self.slot}"


class SlotProof(models.Model):
    """A slot's bank as it follows from the archive, and the votes that settled it."""

    class State(models.IntegerChoices):
        PENDING = 0, "not enough votes yet"
        SETTLED = 1, "settled by votes"
        REFUTED = 2, "refuted"

    slot = SlotColumn(primary_key=True)
    parent_slot = SlotColumn()
    bank_hash = HashColumn(max_length=32)
    parent_hash = HashColumn(max_length=32, help_text="Of the parent's bank")
    signature_count = U64Column()
    blockhash = HashColumn(max_length=32)
    lattice = models.BinaryField(help_text="2,048 bytes: the sum of all accounts at its end")
    written = HashColumn(
        max_length=32,
        null=True,
        help_text="The checksum of what it wrote, without filtered accounts; null for a snapshot's"
        " bank, and from an older version",
    )
    start_slot = SlotColumn(help_text="The baseline that its chain of banks begins with")
    floor_slot = SlotColumn(help_text="States older than this are of no account that lived then")
    state = models.SmallIntegerField(choices=State.choices, db_default=State.PENDING.value)
    voted_slot = SlotColumn(null=True, help_text="Whose votes settled it: its own, or one above")
    voted_hash = HashColumn(max_length=32, null=True, help_text="What they voted for")
    voters = models.IntegerField(null=True, help_text="Vote accounts that did")
    stake = U64Column(null=True, help_text="Their lamports; null if stakes are not known")
    total_stake = U64Column(null=True)
    first_landed = SlotColumn(null=True, help_text="The first block with one of these votes")
    last_landed = SlotColumn(null=True)

    class Meta:
        ordering = ["-slot"]
        indexes = [
            models.Index(
                fields=["start_slot", "slot"], condition=Q(state=0), name="rewind_pending_banks"
            ),
            models.Index(fields=["slot"], condition=Q(state=2), name="rewind_refuted_banks"),
        ]

    def __str__(self) -> str:
        return f"bank of slot {self.slot}"


class ProofRun(models.Model):
    """Slots of one state, both ends included; skipped ones count with the block above them."""

    class State(models.TextChoices):
        PROVEN = "proven"
        CONSISTENT = "consistent"
        REFUTED = "refuted"
        UNPROVEN = "unproven"

    class RestsOn(models.TextChoices):
        """Where the stakes and voters are from that settled the slots."""

        SNAPSHOT = "snapshot", "a snapshot"
        OPERATOR = "operator", "a bank hash that the operator set"
        NODE = "node", "the followed node"
        STREAM = "stream", "the stream's own vote accounts"
        ACCOUNTS = "accounts", "a number of vote accounts, whatever their stake"
        UNCHECKED = "unchecked", "votes whose signatures were not checked"

    first_slot = SlotColumn(primary_key=True)
    last_slot = SlotColumn()
    state = models.TextField(choices=State.choices)
    reason = models.TextField(blank=True, help_text="Why it is not proven")
    rests_on = models.TextField(
        blank=True,
        choices=RestsOn.choices,
        db_default="",
        help_text="What settled it rests on this",
    )
    rests_on_slot = SlotColumn(null=True, help_text="Of that snapshot or bank")
    before_gap = models.TextField(
        blank=True,
        choices=State.choices,
        db_default="",
        help_text="What slots were that are lost, and are again once equal ones come",
    )

    class Meta:
        ordering = ["-first_slot"]
        verbose_name = "proof of slots"
        verbose_name_plural = "proof of slots"

    def __str__(self) -> str:
        return f"{self.state} from {self.first_slot} to {self.last_slot}"


class NewestState(models.Model):
    """A filtered account as the newest proven slot of a chain of banks left it."""

    pk = models.CompositePrimaryKey("pubkey", "start_slot")
    pubkey = PubkeyColumn(max_length=32)
    start_slot = SlotColumn(help_text="The baseline that the chain of banks begins with")
    slot = SlotColumn(help_text="Of its last write")
    state = models.BinaryField(help_text="rewind/proof/accounts.py")

    class Meta:
        indexes = [models.Index(fields=["start_slot"], name="rewind_newest_states")]

    def __str__(self) -> str:
        return f"{self.pubkey} at {self.slot}"
