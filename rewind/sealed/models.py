"""Tables of sealed account changes: packed blocks, sorted by account."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from columns.keys import PubkeyColumn
from columns.numbers import SlotColumn
from sealed.damage import Damage


class SealedSegment(models.Model):
    """A range of slots whose changes lie in packed blocks. While it is built readers do not know
    it; a retired one was merged into another and is deleted after a while.
    """

    class State(models.IntegerChoices):
        BUILDING = 0, "building"
        ACTIVE = 1, "active"
        RETIRED = 2, "retired"

    first_slot = SlotColumn()
    last_slot = SlotColumn()
    state = models.SmallIntegerField(choices=State.choices, default=State.BUILDING)
    tables = ArrayField(models.TextField(), help_text="Partitions that it replaces")
    segments = ArrayField(models.IntegerField(), help_text="Sealed segments that it replaces")
    dictionary = models.BinaryField(null=True, help_text="Of zstd; null if none was worth it")
    changes = models.BigIntegerField(default=0)
    blocks = models.BigIntegerField(default=0)
    data_bytes = models.BigIntegerField(default=0, help_text="Account data, unpacked")
    stored_bytes = models.BigIntegerField(default=0, help_text="Its blocks, packed")
    replaced_bytes = models.BigIntegerField(
        default=0, help_text="What its partitions took, with their indexes"
    )
    lamports = models.DecimalField(
        max_digits=40, decimal_places=0, default=0, help_text="Sum over all changes"
    )
    digest = models.BinaryField(default=bytes, help_text="Sum of all changes' hashes")
    has_genesis = models.BooleanField(
        default=False, help_text="It has the accounts of genesis in slot 0"
    )
    done_pubkey = models.BinaryField(null=True, help_text="The last change that was packed")
    done_slot = SlotColumn(default=0)
    done_position = models.IntegerField(default=0)
    started_at = models.DateTimeField()
    sealed_at = models.DateTimeField(null=True)
    retired_at = models.DateTimeField(null=True)
    cold_name = models.TextField(
        default="", help_text="Where its objects lie in the store; empty where it has none"
    )
    cold_buckets = models.SmallIntegerField(
        default=0, help_text="First bytes of pubkeys, from 0 on, whose blocks lie in the store"
    )
    cold_bytes = models.BigIntegerField(default=0, help_text="Its objects in the store")
    cold_at = models.DateTimeField(null=True, help_text="All of its blocks lie in the store")

    class Meta:
        ordering = ["-first_slot", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["state"],
                condition=Q(state=0),
                name="one_segment_is_built_at_a_time",
            ),
            models.UniqueConstraint(
                fields=["first_slot"],
                condition=Q(state=1),
                name="one_active_segment_per_range",
            ),
        ]

    def __str__(self) -> str:
        return f"sealed segment of slots {self.first_slot} to {self.last_slot}"


class SealedBlock(models.Model):
    """Some 200 changes, sorted by (pubkey, slot, position): those from its first one up to the
    first one of the next block. No block has pubkeys of two first bytes.
    """

    id = models.BigAutoField(primary_key=True)
    segment = models.ForeignKey(
        SealedSegment, models.DO_NOTHING, db_constraint=False, db_index=False
    )
    changes = models.IntegerField()
    slot = SlotColumn(help_text="Of its first change")
    position = models.IntegerField(help_text="Of its first change")
    bucket = models.SmallIntegerField(help_text="The first byte of its pubkeys")
    pubkey = PubkeyColumn(max_length=32, help_text="Of its first change")
    block = models.BinaryField(null=True, help_text="Null if it lies in the store")
    at = models.BigIntegerField(null=True, help_text="Where it begins in its object of the store")
    size = models.IntegerField(null=True, help_text="Its bytes in the store")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(block__isnull=False, at__isnull=True, size__isnull=True)
                | Q(block__isnull=True, at__isnull=False, size__isnull=False),
                name="a_sealed_block_lies_here_or_in_the_store",
            ),
            models.UniqueConstraint(
                fields=["segment", "pubkey", "slot", "position"],
                name="one_sealed_block_per_first_change",
            ),
        ]

    def __str__(self) -> str:
        return f"block {self.id} of segment {self.segment_id}"


class LateRow(models.Model):
    """A change that was written to a partition while it was being sealed: noted by a trigger."""

    pk = models.CompositePrimaryKey("pubkey", "slot", "position")
    slot = SlotColumn()
    position = models.IntegerField()
    pubkey = PubkeyColumn(max_length=32)

    def __str__(self) -> str:
        return f"{self.pubkey} at {self.slot}, {self.position}"


class SealedDamage(Damage):
    """A sealed block, or a segment as a whole, that is not what was sealed: where it lies, and what
    became of it.
    """

    segment = models.BigIntegerField(help_text="The number of its SealedSegment")
    block = models.BigIntegerField(
        help_text="The number of its SealedBlock; 0: the segment as a whole, such as its dictionary"
    )
    first_slot = SlotColumn(help_text="Of the segment: the block's changes lie from here on")
    last_slot = SlotColumn(help_text="Of the segment")
    pubkey = PubkeyColumn(max_length=32, null=True, help_text="The first account of the block")
    last_pubkey = PubkeyColumn(
        max_length=32, null=True, help_text="The next block begins with it; null: the last block"
    )
    changes = models.BigIntegerField(default=0, help_text="How many it had")
    place = models.TextField(default="database", help_text="The database, or an object's name")
    found_by = models.TextField(help_text="scrub, read or merge")

    class Meta(Damage.Meta):
        verbose_name = "damaged block"
        constraints = [
            models.UniqueConstraint(
                fields=["segment", "block"],
                condition=Q(state=0),
                name="one_open_damage_per_sealed_block",
            )
        ]

    def __str__(self) -> str:
        what = f"block {self.block}" if self.block else "the whole"
        return f"{what} of segment {self.segment}"


class SegmentScrub(models.Model):
    """How far a sealed segment has been read through for damage, and when all of it last was."""

    segment = models.BigIntegerField(primary_key=True)
    pubkey = models.BinaryField(null=True, help_text="The first change of the last block read")
    slot = SlotColumn(default=0)
    position = models.IntegerField(default=0)
    changes = models.BigIntegerField(default=0, help_text="In the blocks read so far")
    checked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"scrub of segment {self.segment}"
