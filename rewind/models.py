"""The archive's tables: every account write, and which slots are wholly there."""

from django.db import models
from django.db.models import Q

from chain.blocks import Granularity
from columns.gaps import SlotGap
from columns.keys import HashColumn, PubkeyColumn
from columns.numbers import SlotColumn, U64Column
from columns.packed_data import PackedDataColumn


class Owner(models.Model):
    """A program that owns accounts: 4 bytes in each change instead of 32."""

    id = models.AutoField(primary_key=True)
    pubkey = PubkeyColumn(max_length=32, unique=True)
    filtered = models.BooleanField(
        default=False, help_text="Writes to its accounts are not archived; their baseline stays"
    )

    class Meta:
        indexes = [
            models.Index(fields=["id"], condition=Q(filtered=True), name="rewind_filtered_owners")
        ]

    def __str__(self) -> str:
        return str(self.pubkey)


class FilteredPubkey(models.Model):
    """An account whose writes are not archived; its baseline stays readable."""

    pubkey = PubkeyColumn(max_length=32, primary_key=True)

    class Meta:
        verbose_name = "filtered account"

    def __str__(self) -> str:
        return str(self.pubkey)


class AccountChange(models.Model):
    """An account as one write left it. Partitioned by slot (rewind/store/partitions.py); each
    partition has the unique index on the key, the table as a whole has none.
    """

    class Kind(models.IntegerChoices):
        WRITE = 0
        BASE = 1  # what was, without saying that it changed there

    # In this order PostgreSQL leaves no padding between them.
    pk = models.CompositePrimaryKey("pubkey", "slot", "position")
    slot = SlotColumn()
    write_version = U64Column(help_text="One validator's counter: information, never identity")
    lamports = U64Column()
    rent_epoch = U64Column()
    position = models.IntegerField(help_text="The transaction's index; see rewind/positions.py")
    owner = models.ForeignKey(Owner, models.DO_NOTHING, db_constraint=False, db_index=False)
    kind = models.SmallIntegerField(choices=Kind.choices)
    executable = models.BooleanField()
    pubkey = PubkeyColumn(max_length=32)
    data = PackedDataColumn()

    def __str__(self) -> str:
        return f"{self.pubkey} at {self.slot}, {self.position}"


class AccountSegment(models.Model):
    """Where an account occurs in sealed slots: one row for each segment of 432,000 slots."""

    pk = models.CompositePrimaryKey("pubkey", "segment")
    pubkey = PubkeyColumn(max_length=32)
    first_slot = SlotColumn()
    last_slot = SlotColumn()
    segment = models.IntegerField(help_text="slot // 432,000")
    changes = models.IntegerField()

    def __str__(self) -> str:
        return f"{self.pubkey} in segment {self.segment}"


class ArchivedSlot(models.Model):
    """A slot that is wholly in the archive: its row is the last one written."""

    slot = SlotColumn(primary_key=True)
    parent_slot = SlotColumn()
    recorded_at = models.DateTimeField()
    changes = models.IntegerField(help_text="Rows of kind write")
    granularity = models.SmallIntegerField(
        choices=[
            (Granularity.WRITE.value, "every write"),
            (Granularity.SLOT.value, "last write of each account"),
        ]
    )
    blockhash = HashColumn(max_length=32)
    source = models.TextField()

    class Meta:
        ordering = ["-slot"]
        constraints = [
            models.CheckConstraint(
                condition=Q(parent_slot__lt=models.F("slot")) | Q(slot=0),
                name="parent_comes_before_its_archived_slot",
            )
        ]

    def __str__(self) -> str:
        return f"slot {self.slot}"


class SlotTally(models.Model):
    """Counts over a run of 1,000 slots, so that a summary of millions of slots reads thousands of
    rows.
    """

    run = models.BigIntegerField(primary_key=True, help_text="slot // 1,000")
    slots = models.IntegerField()
    coarse_slots = models.IntegerField(help_text="Of granularity slot")
    changes = models.BigIntegerField()

    def __str__(self) -> str:
        return f"run {self.run}"


class Gap(SlotGap):
    """Slots of the archive's range that are neither archived nor proved skipped."""

    class Meta(SlotGap.Meta):
        verbose_name = "archive gap"


class Baseline(models.Model):
    """A snapshot that was brought in: each of its accounts is a row of kind base."""

    slot = SlotColumn()
    source = models.TextField()
    accounts = models.BigIntegerField()
    recorded_at = models.DateTimeField()

    class Meta:
        ordering = ["-slot"]
        constraints = [
            models.UniqueConstraint(fields=["slot", "source"], name="one_baseline_per_snapshot")
        ]

    def __str__(self) -> str:
        return f"baseline of slot {self.slot}"


class ArchiveState(models.Model):
    """The one row of what the archive as a whole remembers."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    first_kept_slot = SlotColumn(default=0, help_text="Slots below it fell out of the window")
    filters_set_for = models.TextField(
        blank=True, help_text="Genesis hash of the chain whose default filters were set"
    )

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="the_archive_has_one_state")]

    def __str__(self) -> str:
        return "the archive's state"
