import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    replaces = [("alerts", "0007_plain_help_texts")]

    dependencies = [
        ("access", "0001_squashed_0011_kinds_of_calls"),
    ]

    operations = [
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=40)),
                ("about", models.CharField(help_text="what the event is about", max_length=200)),
                ("text", models.TextField(help_text="a description in one or two sentences")),
                ("data", models.JSONField(default=dict)),
                (
                    "once",
                    models.CharField(
                        blank=True,
                        help_text="an event with the same value is not written twice",
                        max_length=150,
                        null=True,
                        unique=True,
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "spread_at",
                    models.DateTimeField(
                        blank=True, help_text="when its deliveries were created", null=True
                    ),
                ),
                (
                    "customer",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="access.customer",
                    ),
                ),
            ],
            options={
                "ordering": ["-pk"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("spread_at__isnull", True)),
                        fields=["id"],
                        name="events_to_spread",
                    ),
                    models.Index(fields=["customer", "-id"], name="events_by_customer"),
                    models.Index(fields=["at"], name="events_by_time"),
                    models.Index(fields=["kind", "-id"], name="events_by_kind"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Webhook",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                (
                    "url",
                    models.CharField(
                        help_text="read by alerts.addresses", max_length=500, verbose_name="URL"
                    ),
                ),
                (
                    "kinds",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40),
                        blank=True,
                        default=list,
                        help_text="the events to deliver; empty: all",
                        size=None,
                    ),
                ),
                ("is_enabled", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("failing_since", models.DateTimeField(blank=True, editable=False, null=True)),
                ("disabled_reason", models.CharField(blank=True, editable=False, max_length=200)),
                (
                    "customer",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="webhooks",
                        to="access.customer",
                    ),
                ),
                (
                    "busy_until",
                    models.DateTimeField(
                        editable=False, help_text="a worker has claimed it until then", null=True
                    ),
                ),
                (
                    "delivered_at",
                    models.DateTimeField(editable=False, help_text="last success", null=True),
                ),
                (
                    "previous_until",
                    models.DateTimeField(
                        editable=False,
                        help_text="requests are signed with the previous secret too until then",
                        null=True,
                    ),
                ),
                ("sealed_previous", models.BinaryField(max_length=200, null=True)),
                ("sealed_secret", models.BinaryField(max_length=200)),
                (
                    "last_problem",
                    models.CharField(
                        blank=True,
                        editable=False,
                        help_text="of the last attempt; empty: it succeeded",
                        max_length=300,
                    ),
                ),
            ],
            options={
                "ordering": ["name", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("mail_to", models.EmailField(blank=True, max_length=254)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("delivered", "Delivered"),
                            ("failed", "given up"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                (
                    "tries",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="attempts since it was last queued"
                    ),
                ),
                ("due_at", models.DateTimeField(help_text="when the next attempt is due")),
                ("delivered_at", models.DateTimeField(blank=True, null=True)),
                (
                    "event",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="alerts.event",
                    ),
                ),
                (
                    "webhook",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="alerts.webhook",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "ordering": ["-pk"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "waiting")),
                        fields=["due_at"],
                        name="deliveries_due",
                    ),
                    models.Index(fields=["webhook", "-id"], name="deliveries_by_webhook"),
                    models.Index(fields=["state", "-id"], name="deliveries_by_state"),
                    models.Index(
                        condition=models.Q(("state", "waiting"), ("webhook__isnull", False)),
                        fields=["webhook", "due_at"],
                        name="deliveries_due_at_webhooks",
                    ),
                    models.Index(
                        condition=models.Q(("state", "waiting"), ("webhook__isnull", True)),
                        fields=["mail_to", "due_at"],
                        name="deliveries_due_by_mail",
                    ),
                    models.Index(
                        condition=models.Q(("mail_to", ""), _negated=True),
                        fields=["mail_to", "-id"],
                        name="deliveries_by_mail",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("event", "webhook", "mail_to"),
                        name="an_event_is_delivered_once_to_each",
                        nulls_distinct=False,
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("webhook__isnull", False),
                            models.Q(("mail_to", ""), _negated=True),
                            _connector="XOR",
                        ),
                        name="a_delivery_goes_to_a_webhook_or_by_mail",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Mailbox",
            fields=[
                ("address", models.EmailField(max_length=254, primary_key=True, serialize=False)),
                (
                    "mailed_at",
                    models.DateTimeField(help_text="when the last mail went out", null=True),
                ),
                (
                    "busy_until",
                    models.DateTimeField(help_text="a worker has claimed it until then", null=True),
                ),
            ],
            options={
                "verbose_name_plural": "mailboxes",
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
                ("at", models.DateTimeField()),
                (
                    "status",
                    models.PositiveSmallIntegerField(
                        blank=True, help_text="HTTP status", null=True
                    ),
                ),
                ("problem", models.CharField(blank=True, max_length=300)),
                (
                    "answer",
                    models.CharField(
                        blank=True, help_text="the start of the response", max_length=500
                    ),
                ),
                ("milliseconds", models.PositiveIntegerField(default=0)),
                (
                    "delivery",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="log",
                        to="alerts.delivery",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "db_table": "alerts_try",
            },
        ),
    ]
