import django.db.models.deletion
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

from columns.poolers import is_pooled


def _without_timeout(_apps, schema_editor):
    raw = schema_editor.connection.connection
    # Behind a pooler a SET of ours would be the next client's.
    if raw is not None and not is_pooled(raw):
        schema_editor.execute("SET statement_timeout = 0")


def _with_timeout(_apps, schema_editor):
    raw = schema_editor.connection.connection
    if raw is not None and not is_pooled(raw):
        schema_editor.execute("RESET statement_timeout")


class Migration(migrations.Migration):
    """The way to one key's minutes, made while the table is written to."""

    atomic = False

    dependencies = [
        ("access", "0004_usage_sums"),
    ]

    operations = [
        migrations.RunPython(_without_timeout, _without_timeout),
        AddIndexConcurrently(
            model_name="usageminute",
            index=models.Index(fields=["key", "minute"], name="usage_by_key_and_minute"),
        ),
        migrations.RunPython(_with_timeout, _with_timeout),
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
