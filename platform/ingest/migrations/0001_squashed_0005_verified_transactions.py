import columns.numbers
import django.contrib.postgres.constraints
import django.contrib.postgres.fields.ranges
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    replaces = [("ingest", "0005_verified_transactions")]

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="RangeOrder",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.TextField(
                        choices=[
                            ("reingest", "re-ingest"),
                            ("verify", "verification"),
                            ("locate", "refuted-slot search"),
                        ]
                    ),
                ),
                ("first_slot", columns.numbers.SlotColumn()),
                ("last_slot", columns.numbers.SlotColumn()),
                ("archive", models.BooleanField(default=True)),
                ("ledger", models.BooleanField(default=True)),
                (
                    "source",
                    models.TextField(
                        blank=True, help_text="stream, a node's name, or empty: stored data only"
                    ),
                ),
                (
                    "state",
                    models.TextField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Failed"),
                        ],
                        default="queued",
                    ),
                ),
                ("asked_by", models.TextField()),
                ("asked_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("next_slot", columns.numbers.SlotColumn(help_text="Where the next step begins")),
                ("sound", models.BigIntegerField(default=0, help_text="Slots found correct")),
                (
                    "stored",
                    models.BigIntegerField(
                        default=0, help_text="Slots that were missing and are stored now"
                    ),
                ),
                (
                    "changed",
                    models.BigIntegerField(
                        default=0, help_text="Slots that differed and were replaced"
                    ),
                ),
                ("findings", models.BigIntegerField(default=0)),
                ("failure", models.TextField(blank=True)),
                (
                    "tries",
                    models.SmallIntegerField(
                        default=0, help_text="Steps that failed since the last one"
                    ),
                ),
                ("due_at", models.DateTimeField()),
                (
                    "transactions",
                    models.BigIntegerField(
                        default=0, help_text="Transactions whose signatures were verified"
                    ),
                ),
            ],
            options={
                "verbose_name": "range order",
                "ordering": ["-pk"],
                "permissions": [
                    ("order_ranges", "Can order re-ingests and verifications of ranges")
                ],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ["queued", "running"])),
                        fields=["due_at"],
                        name="open_range_orders",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("first_slot__lte", models.F("last_slot"))),
                        name="a_range_order_begins_before_it_ends",
                    ),
                    django.contrib.postgres.constraints.ExclusionConstraint(
                        condition=models.Q(("state__in", ["queued", "running"])),
                        expressions=[
                            (
                                models.Func(
                                    "first_slot",
                                    "last_slot",
                                    models.Value("[]"),
                                    function="int8range",
                                    output_field=django.contrib.postgres.fields.ranges.BigIntegerRangeField(),
                                ),
                                "&&",
                            )
                        ],
                        name="one_open_order_at_a_time_per_range",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Finding",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slot", columns.numbers.SlotColumn()),
                ("area", models.TextField(help_text="archive or ledger")),
                ("what", models.TextField(help_text="A key of ingest/findings.py")),
                ("detail", models.TextField(blank=True)),
                (
                    "order",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="found",
                        to="ingest.rangeorder",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="StoredChain",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("genesis_hash", models.TextField()),
                ("source", models.TextField(help_text="What was stored first: a file or a node")),
                ("claimed_at", models.DateTimeField(db_column="told_at")),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", 1)), name="one_chain_in_one_database"
                    )
                ],
            },
        ),
    ]
