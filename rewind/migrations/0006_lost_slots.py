from django.db import migrations

import columns.numbers
import columns.packed_data


class Migration(migrations.Migration):
    dependencies = [
        ("rewind", "0005_program_builds"),
    ]

    operations = [
        migrations.AddField(
            model_name="archivestate",
            name="lost_first_slot",
            field=columns.numbers.SlotColumn(
                help_text="The newest that left the window unseen",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="archivestate",
            name="lost_last_slot",
            field=columns.numbers.SlotColumn(help_text="The last slot of that run", null=True),
        ),
        migrations.AlterField(
            model_name="simulationresult",
            name="answer",
            field=columns.packed_data.PackedDataColumn(
                help_text="JSON: {context, value} or {error}"
            ),
        ),
        # What left the window before this is not known to have been whole.
        migrations.RunSQL(
            "UPDATE rewind_archivestate SET lost_first_slot = 0,"
            " lost_last_slot = first_kept_slot - 1"
            " WHERE first_kept_slot > 0 AND NOT edge_is_whole",
            migrations.RunSQL.noop,
        ),
    ]
