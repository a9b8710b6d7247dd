"""One row of an account for 64 segments, in place of one for each."""

import django.contrib.postgres.fields
from django.db import migrations, models

import columns.keys
import columns.numbers

SEGMENT_SLOTS, SEGMENTS_OF_ROW = 432_000, 64


class Migration(migrations.Migration):
    dependencies = [("rewind", "0011_sealed_damage")]

    operations = [
        migrations.CreateModel(
            name="AccountSegments",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "pubkey",
                        "run",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run", models.IntegerField(help_text="slot // (64 * 432,000)")),
                ("first_slot", columns.numbers.SlotColumn()),
                ("pubkey", columns.keys.PubkeyColumn(max_length=32)),
                (
                    "last_slots",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        help_text="The last in each segment that has it, ascending",
                        size=None,
                    ),
                ),
            ],
        ),
        migrations.RunSQL(
            "CREATE FUNCTION rewind_last_slots(slots bigint[], segment_slots integer)"
            " RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$"
            " SELECT array_agg(slot ORDER BY slot) FROM"
            " (SELECT max(slot) AS slot FROM unnest(slots) AS each (slot)"
            " GROUP BY slot / segment_slots) AS last $$",
            "DROP FUNCTION rewind_last_slots",
        ),
        migrations.RunSQL(
            "INSERT INTO rewind_accountsegments (pubkey, run, first_slot, last_slots)"
            f" SELECT pubkey, segment / {SEGMENTS_OF_ROW}, min(first_slot),"
            " array_agg(last_slot ORDER BY segment)"
            " FROM rewind_accountsegment GROUP BY 1, 2",
            "INSERT INTO rewind_accountsegment (pubkey, segment, first_slot, last_slot, changes)"
            f" SELECT pubkey, slot / {SEGMENT_SLOTS}, slot / {SEGMENT_SLOTS} * {SEGMENT_SLOTS},"
            " slot, 1 FROM rewind_accountsegments, unnest(last_slots) AS slot",
        ),
        migrations.DeleteModel(name="AccountSegment"),
        migrations.AlterField(
            model_name="archivestate",
            name="indexed_segments",
            field=models.IntegerField(
                default=0, help_text="Every segment below it is in AccountSegments"
            ),
        ),
        migrations.AlterField(
            model_name="archivestate",
            name="kept_segments",
            field=models.IntegerField(
                default=0,
                help_text="In every segment below it, writers keep AccountSegments themselves",
            ),
        ),
    ]
