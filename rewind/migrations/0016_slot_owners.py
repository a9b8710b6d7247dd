"""Lists of the accounts that each slot left changed, by owner."""

from django.db import migrations, models

import columns.numbers


class Migration(migrations.Migration):
    dependencies = [
        ("rewind", "0015_stakes_of_nodes"),
    ]

    operations = [
        migrations.CreateModel(
            name="SlotOwners",
            fields=[
                ("slot", columns.numbers.SlotColumn(primary_key=True, serialize=False)),
                ("accounts", models.BinaryField(help_text="rewind/sealing/slot_owners.py")),
            ],
        ),
        migrations.RunSQL(
            # It is packed already.
            "ALTER TABLE rewind_slotowners ALTER COLUMN accounts SET STORAGE EXTERNAL",
            migrations.RunSQL.noop,
        ),
    ]
