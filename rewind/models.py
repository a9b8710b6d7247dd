"""The archive's tables: every account write, and which slots are complete."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from chain.blocks import Granularity
from columns.keys import HashColumn, PubkeyColumn
from columns.numbers import SlotColumn, U64Column
from columns.packed_data import PackedDataColumn
from gaps.slot_gap import SlotGap
from rewind.baselines import models as baseline_models  # noqa: F401  (for Django)
from rewind.jobs import models as job_models  # noqa: F401  (for Django)
from rewind.positions import END_OF_SLOT
from rewind.proof import models as proof_models  # noqa: F401  (for Django)
from rewind.replay import models as replay_models  # noqa: F401  (for Django)
from rewind.sealed import models as sealed_models  # noqa: F401  (for Django)


class Owner(models.Model):
    """A program that owns accounts: 4 bytes in each change instead of 32."""

    id = models.AutoField(primary_key=True)
    pubkey = PubkeyColumn(max_length=32, unique=True)
    filtered = models.BooleanField(
        default=False, help_text="Writes to its accounts are not archived; their baseline stays"
    )

    class Meta:
        verbose_name = "filtered owner"
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
    """An account as one write left it. Partitioned by slot (recording/store/partitions.py); each
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


class AccountSegments(models.Model):
    """Where an account occurs in old slots: one row for 64 segments of 432,000 slots."""

    pk = models.CompositePrimaryKey("pubkey", "run")
    run = models.IntegerField(help_text="slot // (64 * 432,000)")
    first_slot = SlotColumn()
    pubkey = PubkeyColumn(max_length=32)
    last_slots = ArrayField(
        models.BigIntegerField(), help_text="The last in each segment that has it, ascending"
    )

    def __str__(self) -> str:
        return f"{self.pubkey} in run {self.run} of segments"


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


class SlotOwners(models.Model):
    """Which accounts a slot left changed, by owner: what a program's subscription is found by."""

    slot = SlotColumn(primary_key=True)
    accounts = models.BinaryField(help_text="rewind/sealed/packing/slot_owners.py")

    def __str__(self) -> str:
        return f"accounts of slot {self.slot}"


class RuntimeAccount(models.Model):
    """An account that was met as one of the runtime's own: a feature, a program of native code or a
    sysvar. What it was at a position, and whether it still was one, its changes say.
    """

    pubkey = PubkeyColumn(max_length=32, primary_key=True)

    def __str__(self) -> str:
        return str(self.pubkey)


class SlotTally(models.Model):
    """Counts over a run of 1,000 slots, so that a summary reads fewer rows."""

    run = models.BigIntegerField(primary_key=True, help_text="slot // 1,000")
    slots = models.IntegerField()
    coarse_slots = models.IntegerField(help_text="Of granularity slot")
    changes = models.BigIntegerField()

    class Meta:
        verbose_name = verbose_name_plural = "coverage"

    def __str__(self) -> str:
        return f"run {self.run}"


class Gap(SlotGap):
    """Slots of the archive's range that are neither archived nor proved skipped."""

    class Meta(SlotGap.Meta):
        verbose_name = "archive gap"


class ProgramIdl(models.Model):
    """An IDL that staff uploaded: how a program's instructions are read from a slot on."""

    program = PubkeyColumn(max_length=32)
    from_slot = SlotColumn(
        default=0, help_text="Of transactions from this slot on, until that of the next IDL"
    )
    name = models.TextField(blank=True)
    version = models.TextField(blank=True)
    text = PackedDataColumn(help_text="JSON, as it was uploaded")
    uploaded_by = models.TextField()
    uploaded_at = models.DateTimeField()

    class Meta:
        ordering = ["program", "-from_slot"]
        verbose_name = "IDL"
        constraints = [
            models.UniqueConstraint(
                fields=["program", "from_slot"], name="one_idl_per_program_and_first_slot"
            )
        ]

    def __str__(self) -> str:
        return f"IDL of {self.program} from slot {self.from_slot}"


class ArchiveState(models.Model):
    """The one row of what the archive as a whole remembers."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    first_kept_slot = SlotColumn(default=0, help_text="Slots below it fell out of the window")
    edge_is_whole = models.BooleanField(
        default=False, help_text="Every account that lived when the first kept slot began has a row"
    )
    lost_first_slot = SlotColumn(null=True, help_text="The newest that left the window unseen")
    lost_last_slot = SlotColumn(null=True, help_text="The last slot of that run")
    layout = models.BigIntegerField(
        default=0, help_text="Another number whenever a partition comes or goes"
    )
    indexed_segments = models.IntegerField(
        default=0, help_text="Every segment below it is in AccountSegments"
    )
    indexed_slices = models.SmallIntegerField(
        default=0, help_text="Of the segment that is being indexed: first bytes that are done"
    )
    kept_segments = models.IntegerField(
        default=0, help_text="In every segment below it, writers keep AccountSegments themselves"
    )
    audited_slot = SlotColumn(default=-1, help_text="Up to here the replay audit has looked")
    audited_position = models.IntegerField(
        default=END_OF_SLOT, help_text="In that slot up to this transaction"
    )
    filters_set_for = models.TextField(
        blank=True, help_text="Genesis hash of the chain whose default filters were set"
    )
    slots_per_epoch = models.BigIntegerField(
        null=True,
        help_text="The followed chain's epoch schedule; null until a node has reported it",
    )
    first_normal_epoch = models.BigIntegerField(default=0)
    first_normal_slot = SlotColumn(default=0)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="the_archive_has_one_state")]

    def __str__(self) -> str:
        return "the archive's state"


class DroppedAccount(models.Model):
    """An account that lost writes to a filter. They lie between the two slots. The last slot is
    somewhat too high: it is not updated for each of a vote account's votes.
    """

    pubkey = PubkeyColumn(max_length=32, primary_key=True)
    first_slot = SlotColumn()
    last_slot = SlotColumn()

    def __str__(self) -> str:
        return f"{self.pubkey} from {self.first_slot} to {self.last_slot}"
