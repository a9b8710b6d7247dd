from typing import Any

import access.models
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.text
from django.db import migrations, models

# The tiers that an installation begins with; their limits are the administrator's to change. A
# burst is one second's worth.
LIMITS = (
    "name",
    "rank",
    "requests_per_second",
    "bundles_per_second",
    "landing_weight",
    "simulation_jobs",
    "simulations_per_job",
    "stream_connections",
    "stream_subscriptions",
    "stream_notifications_per_second",
)
TIERS = [
    ("anonymous", 0, 5, 5, 1, 0, 0, 5, 100, 100),
    ("basic", 10, 10, 5, 1, 2, 1_000, 10, 1_000, 500),
    ("ultra", 20, 50, 10, 2, 3, 5_000, 50, 5_000, 2_000),
    ("elite", 30, 200, 15, 4, 5, 20_000, 200, 10_000, 10_000),
    ("epic", 40, 500, 15, 8, 10, 100_000, 1_000, 10_000, None),
]


def make_tiers(apps: Any, schema_editor: Any) -> None:
    for values in TIERS:
        tier = dict(zip(LIMITS, values, strict=True))
        apps.get_model("access", "Tier").objects.create(
            requests_burst=tier["requests_per_second"],
            bundles_burst=tier["bundles_per_second"],
            tip_fetches_per_second=5,
            tip_fetches_burst=20,
            **tier,
        )


class Migration(migrations.Migration):
    initial = True
    replaces = [("access", "0011_kinds_of_calls")]

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Customer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True)),
                (
                    "email",
                    models.EmailField(
                        blank=True,
                        help_text="gets the mails about this customer's keys",
                        max_length=254,
                    ),
                ),
                ("notes", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "alert_mails",
                    models.BooleanField(
                        default=True,
                        help_text="mail to the address above what concerns the keys: expiry, quota, suspension",
                        verbose_name="mail alerts",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "indexes": [
                    models.Index(
                        django.contrib.postgres.indexes.OpClass(
                            django.db.models.functions.text.Upper("name"), name="text_pattern_ops"
                        ),
                        name="customers_by_name",
                    ),
                    models.Index(
                        django.contrib.postgres.indexes.OpClass(
                            django.db.models.functions.text.Upper("email"), name="text_pattern_ops"
                        ),
                        name="customer_by_mail",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="UsageClaim",
            fields=[
                ("name", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("claimed_at", models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="Tier",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=30, unique=True)),
                (
                    "rank",
                    models.PositiveSmallIntegerField(
                        help_text="opens hosts of this rank and below: basic 10, ultra 20, elite 30, epic 40"
                    ),
                ),
                (
                    "requests_per_second",
                    models.FloatField(
                        blank=True, help_text="calls per second; empty means no limit", null=True
                    ),
                ),
                (
                    "requests_burst",
                    models.PositiveIntegerField(
                        default=10,
                        help_text="calls that may come at once after a pause",
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "bundles_per_second",
                    models.FloatField(
                        blank=True, help_text="bundles per second; empty means no limit", null=True
                    ),
                ),
                (
                    "bundles_burst",
                    models.PositiveIntegerField(
                        default=5,
                        help_text="bundles that may come at once after a pause",
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "tip_fetches_per_second",
                    models.FloatField(
                        blank=True,
                        help_text="tip-address fetches per second; empty means no limit",
                        null=True,
                    ),
                ),
                (
                    "tip_fetches_burst",
                    models.PositiveIntegerField(
                        default=20,
                        help_text="tip-address fetches that may come at once after a pause",
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "tip_fetches_daily_cap",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="tip-address fetches a UTC day; empty means no limit",
                        null=True,
                    ),
                ),
                (
                    "simulation_jobs",
                    models.PositiveIntegerField(
                        default=2,
                        help_text="batch simulation jobs of one key that may be open at once; 0 is none",
                    ),
                ),
                (
                    "simulations_per_job",
                    models.PositiveIntegerField(
                        default=1000, help_text="simulations that one batch job may ask for"
                    ),
                ),
                (
                    "calls_per_month",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="calls that one key may make in a calendar month (UTC); empty means no limit",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="calls per month",
                    ),
                ),
                (
                    "landing_weight",
                    models.PositiveSmallIntegerField(
                        default=1,
                        help_text="share of the landers' work while submissions wait: with 4, four of this tier are sent for one of a tier with 1",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(100),
                        ],
                    ),
                ),
                (
                    "stream_bytes_per_month",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="bytes of notifications to one key in a calendar month (UTC); empty means no limit",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "stream_connections",
                    models.PositiveIntegerField(
                        default=10,
                        help_text="WebSockets that one key (or address without a key) may have open; 0 is none",
                    ),
                ),
                (
                    "stream_notifications_per_second",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="notifications per second to one key, over ten seconds; empty means no limit",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "stream_subscriptions",
                    models.PositiveIntegerField(
                        default=1000, help_text="subscriptions of one WebSocket"
                    ),
                ),
            ],
            options={
                "ordering": ["rank", "name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("requests_per_second__isnull", True),
                            models.Q(
                                ("requests_per_second__gt", 0),
                                ("requests_per_second__lte", 1000000),
                            ),
                            _connector="OR",
                        ),
                        name="tier_requests_rate_is_positive",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("bundles_per_second__isnull", True),
                            models.Q(
                                ("bundles_per_second__gt", 0), ("bundles_per_second__lte", 1000000)
                            ),
                            _connector="OR",
                        ),
                        name="tier_bundles_rate_is_positive",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("tip_fetches_per_second__isnull", True),
                            models.Q(
                                ("tip_fetches_per_second__gt", 0),
                                ("tip_fetches_per_second__lte", 1000000),
                            ),
                            _connector="OR",
                        ),
                        name="tier_tip_fetches_rate_is_positive",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("requests_burst__gte", 1)),
                        name="tier_requests_burst_is_positive",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("bundles_burst__gte", 1)),
                        name="tier_bundles_burst_is_positive",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("tip_fetches_burst__gte", 1)),
                        name="tier_tip_fetches_burst_is_positive",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("calls_per_month__isnull", True),
                            ("calls_per_month__gte", 1),
                            _connector="OR",
                        ),
                        name="tier_calls_per_month_is_positive",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("landing_weight__gte", 1), ("landing_weight__lte", 100)
                        ),
                        name="tier_landing_weight_is_1_to_100",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("environment", models.CharField(blank=True, max_length=30)),
                ("notes", models.TextField(blank=True)),
                ("shown_prefix", models.CharField(editable=False, max_length=12)),
                ("last_four", models.CharField(editable=False, max_length=4)),
                ("digest", models.BinaryField(max_length=32, unique=True)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("priority", "priority"),
                                ("bundle", "bundle"),
                                ("rewind", "rewind"),
                                ("historical", "historical"),
                                ("simulate", "simulate"),
                                ("proxy", "proxy"),
                            ],
                            max_length=20,
                        ),
                        blank=True,
                        default=access.models.all_scopes,
                        size=None,
                    ),
                ),
                (
                    "networks",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            max_length=50, validators=[access.models.validate_network]
                        ),
                        blank=True,
                        default=list,
                        help_text="CIDR list: addresses that may use the key; empty allows any address",
                        size=None,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("suspended_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "last_used_address",
                    models.GenericIPAddressField(blank=True, editable=False, null=True),
                ),
                (
                    "rotated_from",
                    models.OneToOneField(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="rotated_to",
                        to="access.apikey",
                    ),
                ),
                (
                    "customer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="keys",
                        to="access.customer",
                    ),
                ),
                (
                    "tier",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="keys",
                        to="access.tier",
                    ),
                ),
                (
                    "calls_per_month",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="calls that this key may make in a calendar month (UTC); empty applies its tier's limit",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="calls per month",
                    ),
                ),
                (
                    "methods",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            max_length=60,
                            validators=[
                                django.core.validators.RegexValidator(
                                    "\\A[A-Za-z][A-Za-z0-9_.]{0,59}\\Z"
                                )
                            ],
                        ),
                        blank=True,
                        default=list,
                        help_text="methods that the key may call; empty allows all methods of its scopes",
                        size=None,
                    ),
                ),
                (
                    "quota_reached_until",
                    models.DateTimeField(blank=True, editable=False, null=True),
                ),
                (
                    "quota_used",
                    models.PositiveBigIntegerField(blank=True, editable=False, null=True),
                ),
            ],
            options={
                "verbose_name": "API key",
                "ordering": ["-created_at", "-pk"],
                "indexes": [
                    models.Index(
                        fields=["shown_prefix"],
                        name="keys_by_shown_prefix",
                        opclasses=["varchar_pattern_ops"],
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "scopes__contained_by",
                                ["priority", "bundle", "rewind", "historical", "simulate", "proxy"],
                            )
                        ),
                        name="api_key_scopes_are_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("rotated_from__isnull", True),
                            models.Q(("rotated_from", models.F("pk")), _negated=True),
                            _connector="OR",
                        ),
                        name="api_key_is_not_its_own_successor",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("calls_per_month__isnull", True),
                            ("calls_per_month__gte", 1),
                            _connector="OR",
                        ),
                        name="api_key_calls_per_month_is_positive",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="UsageMinute",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("method", models.CharField(max_length=60)),
                (
                    "status",
                    models.CharField(help_text="`ok`, or the refusal's reason", max_length=60),
                ),
                ("minute", models.DateTimeField()),
                ("calls", models.PositiveBigIntegerField()),
                (
                    "microseconds",
                    models.PositiveBigIntegerField(default=0, help_text="spent on these calls"),
                ),
                (
                    "key",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="usage",
                        to="access.apikey",
                    ),
                ),
                (
                    "bytes",
                    models.PositiveBigIntegerField(
                        db_default=0, default=0, help_text="of notifications that were sent"
                    ),
                ),
            ],
            options={
                "ordering": ["-minute"],
                "indexes": [
                    models.Index(fields=["minute"], name="usage_by_minute"),
                    models.Index(fields=["key", "minute"], name="usage_by_key_and_minute"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("key", "method", "status", "minute"),
                        name="one_usage_row_per_key_method_status_minute",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="KeyDay",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("calls", models.PositiveBigIntegerField()),
                ("ok", models.PositiveBigIntegerField()),
                ("counted", models.PositiveBigIntegerField()),
                (
                    "key",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="access.apikey",
                    ),
                ),
                ("bytes", models.PositiveBigIntegerField(db_default=0, default=0)),
                ("refused", models.PositiveBigIntegerField(db_default=0, default=0)),
                ("failed", models.PositiveBigIntegerField(db_default=0, default=0)),
            ],
            options={
                "ordering": ["-day"],
                "default_permissions": (),
                "indexes": [models.Index(fields=["key", "day"], name="key_days_by_key_and_day")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("day", "key"), name="one_key_day_per_key_day", nulls_distinct=False
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="KeyHour",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("hour", models.DateTimeField()),
                ("calls", models.PositiveBigIntegerField()),
                ("ok", models.PositiveBigIntegerField()),
                (
                    "key",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="access.apikey",
                    ),
                ),
                ("counted", models.PositiveBigIntegerField(db_default=0, default=0)),
                ("refused", models.PositiveBigIntegerField(db_default=0, default=0)),
                ("failed", models.PositiveBigIntegerField(db_default=0, default=0)),
            ],
            options={
                "ordering": ["-hour"],
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("hour", "key"),
                        name="one_key_hour_per_key_hour",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="UsageDay",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("method", models.CharField(max_length=60)),
                ("status", models.CharField(max_length=60)),
                ("day", models.DateField()),
                ("calls", models.PositiveBigIntegerField()),
                ("microseconds", models.PositiveBigIntegerField(default=0)),
                (
                    "key",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="access.apikey",
                    ),
                ),
                ("bytes", models.PositiveBigIntegerField(db_default=0, default=0)),
            ],
            options={
                "ordering": ["-day"],
                "default_permissions": (),
                "indexes": [
                    models.Index(fields=["key", "day"], name="usage_days_by_key_and_day"),
                    models.Index(fields=["day"], name="usage_days_by_day"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("key", "method", "status", "day"),
                        name="one_usage_day_per_key_method_status_day",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="UsageHour",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("method", models.CharField(max_length=60)),
                ("status", models.CharField(max_length=60)),
                ("hour", models.DateTimeField()),
                ("calls", models.PositiveBigIntegerField()),
                ("microseconds", models.PositiveBigIntegerField(default=0)),
            ],
            options={
                "ordering": ["-hour"],
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("hour", "method", "status"),
                        name="one_usage_hour_per_method_status_hour",
                    )
                ],
            },
        ),
        migrations.RunPython(make_tiers, migrations.RunPython.noop),
    ]
