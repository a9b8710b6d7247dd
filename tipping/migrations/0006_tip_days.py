import columns.keys
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # The ledger goes on while the index is built.
    atomic = False

    dependencies = [
        ("access", "0003_simulation_jobs"),
        ("tipping", "0005_prepared_index"),
    ]

    operations = [
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
            },
        ),
        AddIndexConcurrently(
            model_name="tipentry",
            index=models.Index(fields=["recorded_at"], name="tip_entries_by_time"),
        ),
        migrations.AddConstraint(
            model_name="tipday",
            constraint=models.UniqueConstraint(
                fields=("day", "pubkey", "ttl_seconds", "kind", "is_static"),
                name="one_tip_day_per_address_or_class_and_kind",
                nulls_distinct=False,
            ),
        ),
    ]
