"""The ledger's tables: blocks, and two indexes of transactions."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex, HashIndex
from django.db import models

from columns.keys import HashColumn, SignatureColumn
from columns.numbers import SlotColumn
from gaps.slot_gap import SlotGap


class Block(models.Model):
    """A produced slot. `body` holds the transactions in the standard node's `json` encoding,
    compressed in frames (historical/block_bodies.py); `frames` are the frames' end offsets in it.
    """

    slot = SlotColumn(primary_key=True)
    parent_slot = SlotColumn()
    blockhash = HashColumn(unique=True)
    previous_blockhash = HashColumn()
    block_time = models.BigIntegerField(null=True, db_index=True, help_text="Unix seconds")
    block_height = models.BigIntegerField(null=True)
    transaction_count = models.IntegerField()
    failed_count = models.IntegerField()
    newest_version = models.SmallIntegerField(
        help_text="Newest transaction version in the block: -1 legacy, 0, 1"
    )
    form = models.SmallIntegerField(help_text="Which optional fields its source wrote")
    reward_partitions = models.IntegerField(null=True)
    rewards = models.BinaryField(null=True, help_text="JSON array; null if the source has none")
    frames = ArrayField(models.IntegerField())
    body = models.BinaryField()
    recorded_at = models.DateTimeField()

    class Meta:
        ordering = ["-slot"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(parent_slot__lt=models.F("slot")) | models.Q(slot=0),
                name="parent_comes_before_its_block",
            )
        ]

    def __str__(self) -> str:
        return f"block {self.slot}"


class Transaction(models.Model):
    """Where a transaction's text stands in its block's body, and what a list of them shows."""

    pk = models.CompositePrimaryKey("slot", "position")
    slot = SlotColumn()
    position = models.IntegerField(help_text="The transaction's place in the block, from 0")
    start = models.IntegerField(help_text="Offset in the frame's text")
    length = models.IntegerField()
    frame = models.SmallIntegerField()  # last of the numbers: no padding before the signature
    signature = SignatureColumn()
    err = models.TextField(null=True, help_text="JSON of the error; null when it succeeded")  # noqa: DJ001
    memo = models.TextField(null=True, help_text="JSON string; null without a memo")  # noqa: DJ001

    class Meta:
        indexes = [HashIndex(fields=["signature"], name="transaction_by_signature")]

    def __str__(self) -> str:
        return f"transaction {self.signature}"


class AddressEntries(models.Model):
    """Where an address occurs in a run of slots of one segment (historical/segments.py)."""

    pk = models.CompositePrimaryKey("address", "first_slot")
    first_slot = SlotColumn(help_text="The lowest slot of the run")
    address = models.BinaryField(help_text="16 bytes: a digest of the address")
    entries = models.BinaryField(help_text="(slot, position) pairs, packed, ascending")

    class Meta:
        verbose_name_plural = "address entries"
        # Entries are taken out by slots; the key begins with the address.
        indexes = [BrinIndex(fields=["first_slot"], name="entries_by_slot", autosummarize=True)]

    def __str__(self) -> str:
        return f"entries from slot {self.first_slot}"


class BlockTally(models.Model):
    """Counts over a run of 1,000 slots, updated with each block that is added or removed, so that a
    summary of millions of slots reads thousands of rows.
    """

    run = models.BigIntegerField(primary_key=True, help_text="slot // 1,000")
    blocks = models.IntegerField()
    skipped = models.BigIntegerField(
        help_text="Slots that the parent links of these blocks prove skipped, wherever they lie"
    )

    def __str__(self) -> str:
        return f"run {self.run}"


class Import(models.Model):
    """One file brought in, or why it was not."""

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    file = models.TextField()
    format = models.TextField(blank=True)
    state = models.TextField(choices=State.choices, default=State.RUNNING)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    blocks_recorded = models.IntegerField(default=0)
    blocks_present = models.IntegerField(default=0, help_text="Were in the ledger already")
    transactions_recorded = models.BigIntegerField(default=0)
    first_slot = SlotColumn(null=True)
    last_slot = SlotColumn(null=True)
    warnings = models.TextField(blank=True)
    failure = models.TextField(blank=True)

    class Meta:
        ordering = ["-started_at"]

    def __str__(self) -> str:
        return f"import of {self.file}"


class Gap(SlotGap):
    """Slots whose block was made, or may have been, and is not in the ledger."""

    class Meta(SlotGap.Meta):
        verbose_name = "ledger gap"
