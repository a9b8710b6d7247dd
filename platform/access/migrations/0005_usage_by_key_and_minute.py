import django.db.models.deletion
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """The way to one key's minutes, made while the table is written to."""

    atomic = False

    dependencies = [
        ("access", "0004_usage_sums"),
    ]

    operations = [
        migrations.RunSQL("SET statement_timeout = 0", "SET statement_timeout = 0"),
        AddIndexConcurrently(
            model_name="usageminute",
            index=models.Index(fields=["key", "minute"], name="usage_by_key_and_minute"),
        ),
        migrations.RunSQL("RESET statement_timeout", "RESET statement_timeout"),
        migrations.AlterField(
            model_name="usageminute",
            name="key",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="usage",
                to="access.apikey",
            ),
        ),
    ]
