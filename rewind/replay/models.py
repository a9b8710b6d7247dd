"""Builds of programs, the replay audit, and replays that people made in forms, kept so that a link
shows the same result again.
"""

from uuid import uuid4

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from access.models import ApiKey, Customer
from columns.keys import HashColumn, PubkeyColumn, SignatureColumn
from columns.numbers import SlotColumn
from columns.packed_data import PackedDataColumn


class ProgramBuild(models.Model):
    """A build of a program and the slots in which it ran, given by the operator."""

    class Loader(models.IntegerChoices):
        DEPRECATED = 1, "BPFLoader1"
        FINAL = 2, "BPFLoader2"
        UPGRADEABLE = 3, "BPFLoaderUpgradeable"

    program = PubkeyColumn(max_length=32)
    code_key = PubkeyColumn(
        max_length=32, help_text="Where an upgradeable program has its code; else the program"
    )
    loader = models.SmallIntegerField(choices=Loader.choices)
    from_slot = SlotColumn(help_text="The first slot in which it was called")
    to_slot = SlotColumn(null=True, help_text="The last one; none: it still is")
    size = models.IntegerField()
    digest = HashColumn(max_length=32, help_text="SHA-256 of the ELF file")
    code = PackedDataColumn()
    source = models.TextField()
    recorded_at = models.DateTimeField()

    class Meta:
        ordering = ["program", "-from_slot"]
        indexes = [models.Index(fields=["code_key"], name="rewind_builds_by_code")]
        constraints = [
            models.CheckConstraint(
                condition=Q(to_slot__isnull=True) | Q(to_slot__gte=models.F("from_slot")),
                name="a_build_ends_after_it_began",
            ),
            models.UniqueConstraint(fields=["program", "from_slot"], name="one_build_at_a_time"),
        ]

    def __str__(self) -> str:
        return f"build of {self.program} from slot {self.from_slot}"


class ReplayTally(models.Model):
    """What replaying a day's transactions that call a program came to: `verified` ended as the
    chain says, `diverged` did not, `unverified` could not be replayed.
    """

    pk = models.CompositePrimaryKey("day", "program")
    day = models.DateField(help_text="UTC day of the replay")
    program = PubkeyColumn(max_length=32)
    verified = models.BigIntegerField(default=0)
    diverged = models.BigIntegerField(default=0)
    unverified = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.program} on {self.day}"


class AuditedDay(models.Model):
    """The replay audit of one UTC day, each transaction counted once."""

    day = models.DateField(primary_key=True)
    verified = models.BigIntegerField(default=0)
    diverged = models.BigIntegerField(default=0)
    unverified = models.BigIntegerField(default=0)
    reasons = models.JSONField(default=dict, help_text="Why not replayed: {reason: count}")
    passed_over = models.BigIntegerField(
        default=0, help_text="Slots that the audit left out because it fell behind"
    )

    class Meta:
        ordering = ["-day"]
        verbose_name = verbose_name_plural = "replay audit"

    def __str__(self) -> str:
        return f"replay audit of {self.day}"


class Divergence(models.Model):
    """A replay that did not end as the chain says: the archive or the engine is wrong."""

    slot = SlotColumn()
    position = models.IntegerField()
    signature = SignatureColumn(max_length=64, unique=True)
    programs = ArrayField(PubkeyColumn(max_length=32))
    fields = ArrayField(models.TextField(), help_text="What differs")
    differences = models.JSONField(help_text="[{field, expected, found}]")
    found_at = models.DateTimeField()
    tried_at = models.DateTimeField()
    reason = models.TextField(blank=True, help_text="Why the last replay had no result")
    resolved_at = models.DateTimeField(
        null=True, blank=True, help_text="When a later replay ended as the chain says"
    )

    class Meta:
        ordering = ["-found_at"]
        indexes = [
            models.Index(
                fields=["-found_at"],
                condition=Q(resolved_at__isnull=True),
                name="rewind_open_divergences",
            )
        ]

    def __str__(self) -> str:
        return f"divergence of {str(self.signature)[:8]}…"


class ReplayBuild(models.Model):
    """A build of a program that a user uploaded for replays; of staff without a customer."""

    customer = models.ForeignKey(
        Customer, models.CASCADE, null=True, blank=True, db_index=False, related_name="+"
    )
    digest = models.BinaryField(max_length=32, help_text="SHA-256 of the file")
    size = models.IntegerField(help_text="Bytes")
    name = models.TextField(help_text="The file's name")
    code = models.BinaryField(help_text="The ELF file")
    uploaded_by = models.TextField()
    uploaded_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        ordering = ["-uploaded_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["customer", "digest"],
                name="one_replay_build_per_customer_and_digest",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return self.name


class Replay(models.Model):
    """Transactions that were run again, with the changes that were made and what came of it. Of a
    customer it is seen by their members and by staff, of none by staff alone.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    customer = models.ForeignKey(
        Customer, models.CASCADE, null=True, blank=True, db_index=False, related_name="+"
    )
    key = models.ForeignKey(
        ApiKey,
        models.SET_NULL,
        null=True,
        blank=True,
        db_index=False,
        related_name="+",
        help_text="The key that it was counted on",
    )
    made_by = models.TextField()
    made_at = models.DateTimeField()
    note = models.CharField(max_length=100, blank=True)
    signatures = ArrayField(SignatureColumn(max_length=64), help_text="In their order")
    bundle_id = models.CharField(max_length=64, blank=True)
    slot = SlotColumn(help_text="The slot that they ran in")
    build = models.ForeignKey(
        ReplayBuild, models.SET_NULL, null=True, blank=True, related_name="replays"
    )
    outcome = models.TextField(help_text="What came of it, in a sentence")
    request = models.JSONField(help_text="Place and changes")
    # Logs may have what a column of JSON does not take.
    result = PackedDataColumn(help_text="JSON: each transaction as recorded and as replayed")

    class Meta:
        ordering = ["-made_at", "-pk"]
        permissions = [("run_replay", "Can replay transactions")]
        indexes = [
            models.Index(fields=["customer", "-made_at"], name="replays_by_customer"),
            models.Index(fields=["made_at"], name="replays_by_time"),
            GinIndex(fields=["signatures"], name="replays_by_signature"),
        ]

    def __str__(self) -> str:
        return f"replay {str(self.id)[:8]}"
