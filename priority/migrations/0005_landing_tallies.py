import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0003_simulation_jobs"),
        ("priority", "0004_cosubmitters"),
    ]

    operations = [
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
        migrations.AddField(
            model_name="upstream",
            name="draining_since",
            field=models.DateTimeField(blank=True, editable=False, null=True),
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
            name="LandingTally",
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
                    models.Index(fields=["seconds", "start"], name="landing_tallies_by_step")
                ],
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
            name="LandingKeyTally",
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
                ],
            },
        ),
        # What is there already is counted by the worker, step by step, newest first.
        migrations.RunSQL(
            "INSERT INTO priority_landingchange (start, noted_at)"
            " SELECT DISTINCT date_bin('300 seconds', accepted_at, '2000-01-01+00'),"
            " now() - interval '1 hour' FROM priority_submission",
            "DELETE FROM priority_landingchange",
        ),
    ]
