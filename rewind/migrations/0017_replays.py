"""Replays that people made in forms, and the builds of programs that they uploaded for them."""

import columns.keys
import columns.numbers
import columns.packed_data
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0010_find_indexes"),
        ("rewind", "0016_slot_owners"),
    ]

    operations = [
        migrations.CreateModel(
            name="ReplayBuild",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.BinaryField(help_text="SHA-256 of the file", max_length=32)),
                ("size", models.IntegerField(help_text="Bytes")),
                ("name", models.TextField(help_text="The file's name")),
                ("code", models.BinaryField(help_text="The ELF file")),
                ("uploaded_by", models.TextField()),
                ("uploaded_at", models.DateTimeField()),
                (
                    "customer",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="access.customer",
                    ),
                ),
            ],
            options={
                "ordering": ["-uploaded_at", "-pk"],
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="Replay",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("made_by", models.TextField()),
                ("made_at", models.DateTimeField()),
                ("note", models.CharField(blank=True, max_length=100)),
                (
                    "signatures",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=columns.keys.SignatureColumn(max_length=64),
                        help_text="In their order",
                        size=None,
                    ),
                ),
                ("bundle_id", models.CharField(blank=True, max_length=64)),
                ("slot", columns.numbers.SlotColumn(help_text="The slot that they ran in")),
                ("outcome", models.TextField(help_text="What came of it, in a sentence")),
                ("request", models.JSONField(help_text="Place and changes")),
                (
                    "result",
                    columns.packed_data.PackedDataColumn(
                        help_text="JSON: each transaction as recorded and as replayed"
                    ),
                ),
                (
                    "customer",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="access.customer",
                    ),
                ),
                (
                    "key",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        help_text="The key that it was counted on",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="access.apikey",
                    ),
                ),
                (
                    "build",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="replays",
                        to="rewind.replaybuild",
                    ),
                ),
            ],
            options={
                "ordering": ["-made_at", "-pk"],
                "permissions": [("run_replay", "Can replay transactions")],
            },
        ),
        migrations.AddConstraint(
            model_name="replaybuild",
            constraint=models.UniqueConstraint(
                fields=("customer", "digest"),
                name="one_replay_build_per_customer_and_digest",
                nulls_distinct=False,
            ),
        ),
        migrations.AddIndex(
            model_name="replay",
            index=models.Index(fields=["customer", "-made_at"], name="replays_by_customer"),
        ),
        migrations.AddIndex(
            model_name="replay",
            index=models.Index(fields=["made_at"], name="replays_by_time"),
        ),
        migrations.AddIndex(
            model_name="replay",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["signatures"], name="replays_by_signature"
            ),
        ),
    ]
