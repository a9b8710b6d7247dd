"""Accounts of the runtime itself: features, programs of native code, sysvars."""

import columns.keys
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("rewind", "0017_replays"),
    ]

    operations = [
        migrations.CreateModel(
            name="RuntimeAccount",
            fields=[
                (
                    "pubkey",
                    columns.keys.PubkeyColumn(max_length=32, primary_key=True, serialize=False),
                ),
            ],
        ),
    ]
