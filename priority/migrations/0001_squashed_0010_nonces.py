from typing import Any

import columns.keys
import columns.numbers
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import priority.submissions
from django.db import migrations, models

# The upstreams of an installation that follows one chain; the admin edits them.
UPSTREAMS = [
    {"name": "leaders", "kind": "leaders"},
    {"name": "node", "kind": "node"},
    {"name": "engine", "kind": "block_engine", "own_tip_lamports": 10_000},
]


def make_upstreams(apps: Any, schema_editor: Any) -> None:
    for each in UPSTREAMS:
        apps.get_model("priority", "Upstream").objects.create(**each)


class Migration(migrations.Migration):
    initial = True
    replaces = [("priority", "0010_nonces")]

    dependencies = [
        ("access", "0001_squashed_0011_kinds_of_calls"),
    ]

    operations = [
        migrations.CreateModel(
            name="Bundle",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("bundle_id", models.CharField(max_length=64, unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("received", "received"),
                            ("sent", "sent"),
                            ("landed", "landed"),
                            ("failed", "failed"),
                            ("expired", "expired"),
                            ("refused", "refused"),
                        ],
                        default=priority.submissions.State["RECEIVED"],
                        max_length=10,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=200)),
                ("engine_ids", models.JSONField(default=dict)),
                ("accepted_at", models.DateTimeField()),
                ("slot", columns.numbers.SlotColumn(blank=True, null=True)),
                ("settled_at", models.DateTimeField(blank=True, null=True)),
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
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("settled_at__isnull", True)),
                        fields=["id"],
                        name="bundles_unsettled",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Submission",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("signature", columns.keys.SignatureColumn(max_length=64, unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("transaction", "Transaction"),
                            ("bundle", "transaction of a bundle"),
                            ("sweep", "sweep of tips"),
                        ],
                        max_length=12,
                    ),
                ),
                ("tier", models.CharField(blank=True, max_length=30)),
                ("edge", models.CharField(blank=True, max_length=60)),
                ("request_id", models.CharField(blank=True, max_length=100)),
                ("bundle_index", models.PositiveSmallIntegerField(blank=True, null=True)),
                (
                    "only",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                ("max_retries", models.PositiveIntegerField(blank=True, null=True)),
                ("tip_address", columns.keys.PubkeyColumn(blank=True, max_length=32, null=True)),
                ("tip_lamports", models.BigIntegerField(blank=True, null=True)),
                ("tip_instruction_index", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("blockhash", columns.keys.HashColumn(max_length=32)),
                (
                    "is_nonced",
                    models.BooleanField(
                        default=False,
                        help_text="it stands on a durable nonce: no block height ends it",
                    ),
                ),
                ("accepted_at", models.DateTimeField()),
                ("accepted_slot", columns.numbers.SlotColumn(blank=True, null=True)),
                ("last_valid_block_height", models.BigIntegerField(blank=True, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("received", "received"),
                            ("sent", "sent"),
                            ("landed", "landed"),
                            ("failed", "failed"),
                            ("expired", "expired"),
                            ("refused", "refused"),
                        ],
                        default=priority.submissions.State["RECEIVED"],
                        max_length=10,
                    ),
                ),
                ("commitment", models.CharField(blank=True, max_length=10)),
                ("reason", models.CharField(blank=True, max_length=200)),
                ("slot", columns.numbers.SlotColumn(blank=True, null=True)),
                ("transaction_index", models.IntegerField(blank=True, null=True)),
                ("err", models.JSONField(blank=True, null=True)),
                ("tries", models.PositiveIntegerField(default=0)),
                ("sent_at", models.DateTimeField(blank=True, null=True)),
                ("seen_at", models.DateTimeField(blank=True, null=True)),
                ("settled_at", models.DateTimeField(blank=True, null=True)),
                (
                    "bundle",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="submissions",
                        to="priority.bundle",
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
                    "will_fail",
                    models.CharField(
                        blank=True,
                        db_default="",
                        help_text="why it was known to fail when it was accepted",
                        max_length=200,
                    ),
                ),
                (
                    "advance_index",
                    models.PositiveSmallIntegerField(
                        blank=True,
                        help_text="the instruction that advances a nonce in vain, as it is not the first",
                        null=True,
                    ),
                ),
                (
                    "is_watched",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="its nonce is watched until it is settled, or too old to be kept",
                    ),
                ),
                (
                    "nonce",
                    columns.keys.PubkeyColumn(
                        blank=True,
                        help_text="the nonce account that it stands on",
                        max_length=32,
                        null=True,
                    ),
                ),
                (
                    "nonce_check_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="when its nonce is looked at again; empty: at once",
                        null=True,
                    ),
                ),
                ("nonce_signers", models.BinaryField(blank=True, null=True)),
                (
                    "stopped",
                    models.CharField(
                        blank=True,
                        db_default="",
                        help_text="why it is not sent any more although it can still land",
                        max_length=200,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["key", "-id"], name="submissions_by_key"),
                    models.Index(fields=["accepted_at"], name="submissions_by_time"),
                    models.Index(
                        condition=models.Q(
                            ("state", priority.submissions.State["LANDED"]),
                            ("tip_lamports__isnull", False),
                        ),
                        fields=["seen_at"],
                        name="submissions_landed_tips",
                    ),
                    models.Index(
                        condition=models.Q(("request_id", ""), _negated=True),
                        fields=["request_id"],
                        name="submissions_by_request",
                    ),
                    models.Index(
                        condition=models.Q(("tip_address__isnull", False)),
                        fields=["tip_address"],
                        name="submissions_by_tip_address",
                    ),
                    models.Index(
                        condition=models.Q(("is_nonced", False), ("settled_at__isnull", True)),
                        fields=["id"],
                        name="submissions_unsettled",
                    ),
                    models.Index(
                        condition=models.Q(("is_watched", True), ("settled_at__isnull", True)),
                        fields=["nonce"],
                        name="submissions_by_nonce",
                    ),
                    models.Index(
                        condition=models.Q(("is_watched", True), ("settled_at__isnull", True)),
                        fields=["nonce_check_at"],
                        name="submissions_to_check",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("settled_at__isnull", True),
                            (
                                "state__in",
                                [
                                    priority.submissions.State["LANDED"],
                                    priority.submissions.State["FAILED"],
                                    priority.submissions.State["EXPIRED"],
                                    priority.submissions.State["REFUSED"],
                                ],
                            ),
                            _connector="OR",
                        ),
                        name="a_settled_submission_has_a_fate",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                (
                                    "state__in",
                                    [
                                        priority.submissions.State["LANDED"],
                                        priority.submissions.State["FAILED"],
                                    ],
                                ),
                                _negated=True,
                            ),
                            ("slot__isnull", False),
                            _connector="OR",
                        ),
                        name="what_is_on_chain_has_a_slot",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("upstream", models.CharField(max_length=40)),
                (
                    "target",
                    models.CharField(blank=True, help_text="a leader, or the host", max_length=120),
                ),
                (
                    "number",
                    models.PositiveIntegerField(
                        help_text="its number within the submission, from 1"
                    ),
                ),
                ("started_at", models.DateTimeField()),
                ("latency_us", models.PositiveIntegerField(verbose_name="latency (µs)")),
                (
                    "outcome",
                    models.CharField(
                        choices=[("sent", "Sent"), ("refused", "Refused"), ("failed", "Failed")],
                        max_length=10,
                    ),
                ),
                ("answer", models.CharField(blank=True, max_length=300)),
                (
                    "submission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="attempts",
                        to="priority.submission",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="Upstream",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "name",
                    models.SlugField(
                        help_text="callers choose by it; `bundle` is reserved",
                        max_length=40,
                        unique=True,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("leaders", "leaders, by TPU QUIC"),
                            ("node", "node, by JSON-RPC"),
                            ("block_engine", "block engine, for bundles"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "url",
                    models.CharField(
                        blank=True,
                        help_text="of the node that reports the leaders, of the node, or of the block engine; empty: those of the followed chain (the block engine: localnet's)",
                        max_length=500,
                        verbose_name="URL",
                    ),
                ),
                (
                    "weight",
                    models.PositiveSmallIntegerField(
                        default=100,
                        help_text="of a hundred submissions that choose no upstream, so many go this way too",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(100),
                        ],
                    ),
                ),
                ("is_enabled", models.BooleanField(default=True)),
                (
                    "own_tip_lamports",
                    models.PositiveBigIntegerField(
                        default=0,
                        help_text="block engines: what we tip the engine ourselves, by a transaction of our own behind the bundle's; 0 leaves it to the bundle",
                    ),
                ),
                (
                    "timeout_ms",
                    models.PositiveIntegerField(
                        default=2000,
                        validators=[
                            django.core.validators.MinValueValidator(50),
                            django.core.validators.MaxValueValidator(60000),
                        ],
                        verbose_name="timeout (ms)",
                    ),
                ),
                ("broken_until", models.DateTimeField(blank=True, editable=False, null=True)),
                ("broken_reason", models.CharField(blank=True, editable=False, max_length=300)),
                (
                    "tiers",
                    models.ManyToManyField(
                        blank=True,
                        help_text="the tiers that it serves; none chosen: all",
                        to="access.tier",
                    ),
                ),
                ("draining_since", models.DateTimeField(blank=True, editable=False, null=True)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("name", "bundle"), _negated=True),
                        name="bundle_is_a_reserved_name",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("weight__gte", 1), ("weight__lte", 100)),
                        name="weight_is_1_to_100",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CoSubmitter",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.BinaryField(max_length=64)),
                ("accepted_at", models.DateTimeField()),
                (
                    "key",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="access.apikey",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["accepted_at"], name="cosubmitters_by_time")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("name", "key"), name="a_cosubmitter_is_noted_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="LandingClock",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("counted_at", models.DateTimeField()),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="LandingChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("start", models.DateTimeField()),
                ("noted_at", models.DateTimeField()),
            ],
            options={
                "default_permissions": (),
                "indexes": [models.Index(fields=["start"], name="landing_changes_by_step")],
            },
        ),
        migrations.CreateModel(
            name="BreakerOpening",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("opened_at", models.DateTimeField()),
                ("reason", models.CharField(blank=True, max_length=300)),
                ("times", models.PositiveIntegerField(default=1)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                ("closed_by", models.CharField(blank=True, max_length=20)),
                (
                    "upstream",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="openings",
                        to="priority.upstream",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("closed_at__isnull", True)),
                        fields=("upstream",),
                        name="one_open_breaker_per_upstream",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="LandingCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("seconds", models.PositiveIntegerField()),
                ("start", models.DateTimeField()),
                ("measure", models.CharField(max_length=10)),
                ("tier", models.CharField(max_length=30)),
                ("upstream", models.CharField(max_length=40)),
                ("word", models.CharField(max_length=160)),
                ("number", models.IntegerField()),
                ("count", models.BigIntegerField()),
                ("amount", models.BigIntegerField()),
            ],
            options={
                "default_permissions": (),
                "indexes": [
                    models.Index(fields=["seconds", "start"], name="landing_counts_by_step")
                ],
                "db_table": "priority_landingtally",
            },
        ),
        migrations.CreateModel(
            name="LandingKeyCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("seconds", models.PositiveIntegerField()),
                ("start", models.DateTimeField()),
                ("tier", models.CharField(max_length=30)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("received", "received"),
                            ("sent", "sent"),
                            ("landed", "landed"),
                            ("failed", "failed"),
                            ("expired", "expired"),
                            ("refused", "refused"),
                        ],
                        max_length=10,
                    ),
                ),
                ("reason", models.CharField(max_length=160)),
                ("count", models.BigIntegerField()),
                (
                    "key",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="access.apikey",
                    ),
                ),
            ],
            options={
                "default_permissions": (),
                "indexes": [
                    models.Index(fields=["seconds", "start"], name="landing_keys_by_step"),
                    models.Index(fields=["key", "seconds", "start"], name="landing_keys_by_key"),
                    models.Index(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    priority.submissions.State["FAILED"],
                                    priority.submissions.State["EXPIRED"],
                                    priority.submissions.State["REFUSED"],
                                ],
                            )
                        ),
                        fields=["seconds", "start", "key", "count"],
                        name="landing_keys_lost",
                    ),
                ],
                "db_table": "priority_landingkeytally",
            },
        ),
        migrations.RunPython(make_upstreams, migrations.RunPython.noop),
    ]
