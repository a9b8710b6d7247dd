from typing import Any

import columns.keys
import columns.numbers
import django.core.validators
import django.db.models.deletion
from django.db import migrations, models

# The TTL classes that an installation begins with, and their windows in seconds; the admin edits
# them.
LADDER = [(900, 300), (3600, 600), (86_400, 3600), (172_800, 3600)]
DEFAULT = 3600


def make_ladder(apps: Any, schema_editor: Any) -> None:
    for ttl, window in LADDER:
        apps.get_model("tipping", "TtlClass").objects.create(
            ttl_seconds=ttl, window_seconds=window, is_default=ttl == DEFAULT
        )


class Migration(migrations.Migration):
    initial = True
    replaces = [("tipping", "0008_plain_help_texts")]

    dependencies = [
        ("access", "0001_squashed_0011_kinds_of_calls"),
    ]

    operations = [
        migrations.CreateModel(
            name="TtlClass",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "ttl_seconds",
                    models.PositiveIntegerField(
                        help_text="how long an address lives; a fetch takes the smallest class that is long enough",
                        unique=True,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(31536000),
                        ],
                        verbose_name="TTL seconds",
                    ),
                ),
                (
                    "window_seconds",
                    models.PositiveIntegerField(
                        help_text="how long addresses of one batch are issued before the next batch opens",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(31536000),
                        ],
                    ),
                ),
                (
                    "is_default",
                    models.BooleanField(
                        default=False,
                        help_text="the class of a fetch without a TTL; exactly one class",
                    ),
                ),
                (
                    "batch_size",
                    models.PositiveIntegerField(
                        default=1024,
                        help_text="addresses per batch; a batch with none left before its window ends is closed",
                        validators=[
                            django.core.validators.MinValueValidator(16),
                            django.core.validators.MaxValueValidator(65536),
                        ],
                    ),
                ),
            ],
            options={
                "verbose_name": "TTL class",
                "verbose_name_plural": "TTL classes",
                "ordering": ["ttl_seconds"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("is_default", True)),
                        fields=("is_default",),
                        name="one_default_ttl_class",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("ttl_seconds__gte", 1), ("ttl_seconds__lte", 31536000)),
                        name="ttl_is_1_second_to_a_year",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("window_seconds__gte", 1), ("window_seconds__lte", 31536000)
                        ),
                        name="window_is_1_second_to_a_year",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("batch_size__gte", 16), ("batch_size__lte", 65536)),
                        name="batch_has_16_to_65536_addresses",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Edge",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=60, unique=True)),
                ("first_seen_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="TipBatch",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.BigIntegerField(unique=True)),
                ("ttl_seconds", models.PositiveIntegerField(verbose_name="TTL seconds")),
                ("size", models.PositiveIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[("prepared", "Prepared"), ("open", "Open"), ("closed", "Closed")],
                        default="prepared",
                        max_length=10,
                    ),
                ),
                ("prepared_at", models.DateTimeField()),
                ("opened_at", models.DateTimeField(blank=True, null=True)),
                ("window_ends_at", models.DateTimeField(blank=True, null=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                ("swept_at", models.DateTimeField(blank=True, null=True)),
                (
                    "ttl_class",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="batches",
                        to="tipping.ttlclass",
                    ),
                ),
                ("balances_read_at", models.DateTimeField(blank=True, null=True)),
                (
                    "sweep_note",
                    models.CharField(blank=True, db_default="", default="", max_length=300),
                ),
                ("epoch", models.CharField(blank=True, db_default="", default="", max_length=32)),
            ],
            options={
                "verbose_name": "tip batch",
                "verbose_name_plural": "tip batches",
                "ordering": ["-number"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "closed"), ("swept_at__isnull", True)),
                        fields=["expires_at"],
                        name="tip_batches_to_sweep",
                    ),
                    models.Index(
                        condition=models.Q(("state", "prepared")),
                        fields=["ttl_class", "number"],
                        name="tip_batches_prepared",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "open")),
                        fields=("ttl_class",),
                        name="one_open_batch_per_class",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state", "prepared"),
                            models.Q(
                                ("expires_at__isnull", False),
                                ("opened_at__isnull", False),
                                ("window_ends_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="an_opened_batch_has_a_window",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("swept_at__isnull", True), ("state", "closed"), _connector="OR"
                        ),
                        name="only_a_closed_batch_is_swept",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TipAddress",
            fields=[
                (
                    "pubkey",
                    columns.keys.PubkeyColumn(max_length=32, primary_key=True, serialize=False),
                ),
                ("position", models.PositiveIntegerField()),
                ("issued_at", models.DateTimeField(blank=True, null=True)),
                (
                    "edge",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="tipping.edge",
                    ),
                ),
                (
                    "key",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="access.apikey",
                    ),
                ),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="addresses",
                        to="tipping.tipbatch",
                    ),
                ),
            ],
            options={
                "verbose_name": "tip address",
                "verbose_name_plural": "tip addresses",
                "indexes": [
                    models.Index(
                        condition=models.Q(("issued_at__isnull", True)),
                        fields=["batch", "edge", "position"],
                        name="tip_addresses_to_issue",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("batch", "position"), name="one_address_per_position"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("issued_at__isnull", True), ("edge__isnull", False), _connector="OR"
                        ),
                        name="an_issued_address_has_an_edge",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TipEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("signature", columns.keys.SignatureColumn(max_length=64)),
                ("pubkey", columns.keys.PubkeyColumn(max_length=32)),
                (
                    "kind",
                    models.CharField(
                        choices=[("tip", "Tip"), ("sweep", "Sweep"), ("other", "Other")],
                        max_length=10,
                    ),
                ),
                ("lamports", models.BigIntegerField(help_text="negative where the address paid")),
                ("slot", columns.numbers.SlotColumn()),
                ("is_static", models.BooleanField(default=False)),
                ("recorded_at", models.DateTimeField()),
                (
                    "key",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="access.apikey",
                    ),
                ),
            ],
            options={
                "verbose_name": "tip entry",
                "verbose_name_plural": "tip ledger",
                "ordering": ["-slot", "-id"],
                "indexes": [
                    models.Index(fields=["pubkey"], name="tip_entries_by_address"),
                    models.Index(fields=["slot"], name="tip_entries_by_slot"),
                    models.Index(fields=["recorded_at"], name="tip_entries_by_time"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("signature", "pubkey"), name="one_entry_per_transaction_and_address"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TipSweep",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("signature", columns.keys.SignatureColumn(max_length=64, unique=True)),
                ("wire", models.BinaryField(max_length=1232)),
                ("treasury", columns.keys.PubkeyColumn(max_length=32)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("planned", "Planned"),
                            ("landed", "Landed"),
                            ("failed", "Failed"),
                            ("expired", "Expired"),
                        ],
                        default="planned",
                        max_length=10,
                    ),
                ),
                ("lamports", models.BigIntegerField(help_text="what the addresses held")),
                ("fee", models.BigIntegerField(help_text="lamports of it that the network takes")),
                ("planned_at", models.DateTimeField()),
                ("settled_at", models.DateTimeField(blank=True, null=True)),
                ("slot", columns.numbers.SlotColumn(blank=True, null=True)),
                ("reason", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "verbose_name": "sweep",
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "planned")),
                        fields=["id"],
                        name="tip_sweeps_planned",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TipSweepPart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("lamports", models.BigIntegerField()),
                ("is_open", models.BooleanField(default=True)),
                (
                    "address",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="parts",
                        to="tipping.tipaddress",
                    ),
                ),
                (
                    "sweep",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="tipping.tipsweep",
                    ),
                ),
            ],
            options={
                "verbose_name": "swept address",
                "verbose_name_plural": "swept addresses",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("is_open", True)),
                        fields=("address",),
                        name="one_open_sweep_per_address",
                    ),
                    models.UniqueConstraint(
                        fields=("sweep", "address"), name="an_address_once_per_sweep"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TipDay",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("pubkey", columns.keys.PubkeyColumn(max_length=32, null=True)),
                ("ttl_seconds", models.PositiveIntegerField(null=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[("tip", "Tip"), ("sweep", "Sweep"), ("other", "Other")],
                        max_length=10,
                    ),
                ),
                ("is_static", models.BooleanField()),
                ("count", models.BigIntegerField()),
                ("received", models.BigIntegerField(help_text="lamports that came in")),
                ("paid", models.BigIntegerField(help_text="lamports that went out")),
            ],
            options={
                "ordering": ["-day"],
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("day", "pubkey", "ttl_seconds", "kind", "is_static"),
                        name="one_tip_day_per_address_or_class_and_kind",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TipEpoch",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("word", models.CharField(max_length=32, unique=True)),
                ("began_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["-pk"],
            },
        ),
        migrations.RunPython(make_ladder, migrations.RunPython.noop),
    ]
