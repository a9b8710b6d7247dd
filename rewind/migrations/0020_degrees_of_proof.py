"""Proven and consistent slots, what both rest on, and the transactions of votes."""

import columns.numbers
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("rewind", "0019_stakes_origin"),
    ]

    operations = [
        migrations.AddField(
            model_name="proofrun",
            name="rests_on",
            field=models.TextField(
                blank=True,
                choices=[
                    ("snapshot", "a snapshot"),
                    ("operator", "a bank hash that the operator set"),
                    ("node", "the followed node"),
                    ("stream", "the stream's own vote accounts"),
                    ("accounts", "a number of vote accounts, whatever their stake"),
                    ("unchecked", "votes whose signatures were not checked"),
                ],
                db_default="",
                help_text="What settled it rests on this",
            ),
        ),
        migrations.AddField(
            model_name="proofrun",
            name="rests_on_slot",
            field=columns.numbers.SlotColumn(help_text="Of that snapshot or bank", null=True),
        ),
        migrations.AddField(
            model_name="slotwrites",
            name="vote_transactions",
            field=models.BinaryField(
                db_default=b"",
                help_text="Those of the votes, in their order; empty: from an older version",
            ),
        ),
        migrations.AlterField(
            model_name="proofrun",
            name="state",
            field=models.TextField(
                choices=[
                    ("proven", "Proven"),
                    ("consistent", "Consistent"),
                    ("refuted", "Refuted"),
                    ("unproven", "Unproven"),
                ]
            ),
        ),
        migrations.AlterField(
            model_name="slotproof",
            name="state",
            field=models.SmallIntegerField(
                choices=[(0, "not enough votes yet"), (1, "settled by votes"), (2, "refuted")],
                db_default=0,
            ),
        ),
        # The signatures of these slots' votes were never checked. The next slot that is proven
        # above them proves them too.
        migrations.RunSQL(
            "UPDATE rewind_proofrun SET state = 'consistent', rests_on = 'unchecked'"
            " WHERE state = 'proven'",
            "UPDATE rewind_proofrun SET state = 'proven' WHERE state = 'consistent'",
        ),
    ]
