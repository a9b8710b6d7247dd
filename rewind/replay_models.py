"""Replays that people made in forms, kept so that a link shows the same result again."""

from uuid import uuid4

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from access.models import ApiKey, Customer
from columns.keys import SignatureColumn
from columns.numbers import SlotColumn
from columns.packed_data import PackedDataColumn


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
