"""Baselines are proven by the sums of their accounts; the stakes that snapshots carry."""

import columns.keys
import columns.numbers
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("rewind", "0012_segments_of_accounts"),
    ]

    operations = [
        migrations.AddField(
            model_name="baseline",
            name="bank_hash",
            field=columns.keys.HashColumn(
                help_text="As the manifest has it", max_length=32, null=True
            ),
        ),
        migrations.AddField(
            model_name="baseline",
            name="lattice",
            field=models.BinaryField(
                help_text="2,048 bytes: the sum of all accounts; null where it is not known",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="baseline",
            name="parent_hash",
            field=columns.keys.HashColumn(
                help_text="Of the parent's bank", max_length=32, null=True
            ),
        ),
        migrations.AddField(
            model_name="baseline",
            name="parent_slot",
            field=columns.numbers.SlotColumn(null=True),
        ),
        migrations.AddField(
            model_name="baseline",
            name="proven",
            field=models.BooleanField(
                db_default=False,
                help_text="Its accounts make the lattice hash that the file declares",
            ),
        ),
        migrations.AddField(
            model_name="baseline",
            name="signature_count",
            field=columns.numbers.U64Column(help_text="Of the slot's block", null=True),
        ),
        migrations.AddField(
            model_name="baseline",
            name="why_unproven",
            field=models.TextField(
                blank=True,
                db_default="imported before the sums of baselines were checked: import it again",
                help_text="Empty where it is proven",
            ),
        ),
        migrations.CreateModel(
            name="EpochStake",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "epoch",
                        "vote_account",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("epoch", models.BigIntegerField()),
                ("vote_account", columns.keys.PubkeyColumn(max_length=32)),
                ("stake", columns.numbers.U64Column(help_text="Lamports, never 0")),
                (
                    "voter",
                    columns.keys.PubkeyColumn(
                        help_text="Who may sign its votes in the epoch; null: not known",
                        max_length=32,
                        null=True,
                    ),
                ),
                (
                    "baseline",
                    models.ForeignKey(
                        db_constraint=False,
                        help_text="Whose manifest",
                        on_delete=django.db.models.deletion.CASCADE,
                        to="rewind.baseline",
                    ),
                ),
            ],
        ),
    ]
