"""The running proof: what waits, the banks of proven slots, and up to where they reach."""

import columns.keys
import columns.numbers
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("rewind", "0013_baseline_proofs"),
    ]

    operations = [
        migrations.CreateModel(
            name="ProofRun",
            fields=[
                ("first_slot", columns.numbers.SlotColumn(primary_key=True, serialize=False)),
                ("last_slot", columns.numbers.SlotColumn()),
                (
                    "state",
                    models.TextField(
                        choices=[
                            ("proven", "Proven"),
                            ("refuted", "Refuted"),
                            ("unproven", "Unproven"),
                        ]
                    ),
                ),
                ("reason", models.TextField(blank=True, help_text="Why it is not proven")),
            ],
            options={
                "verbose_name": "proof of slots",
                "verbose_name_plural": "proof of slots",
                "ordering": ["-first_slot"],
            },
        ),
        migrations.CreateModel(
            name="NewestState",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "pubkey",
                        "start_slot",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("pubkey", columns.keys.PubkeyColumn(max_length=32)),
                (
                    "start_slot",
                    columns.numbers.SlotColumn(
                        help_text="The baseline that the chain of banks begins with"
                    ),
                ),
                ("slot", columns.numbers.SlotColumn(help_text="Of its last write")),
                ("state", models.BinaryField(help_text="rewind/proof/accounts.py")),
            ],
            options={
                "indexes": [models.Index(fields=["start_slot"], name="rewind_newest_states")],
            },
        ),
        migrations.CreateModel(
            name="SlotProof",
            fields=[
                ("slot", columns.numbers.SlotColumn(primary_key=True, serialize=False)),
                ("parent_slot", columns.numbers.SlotColumn()),
                ("bank_hash", columns.keys.HashColumn(max_length=32)),
                (
                    "parent_hash",
                    columns.keys.HashColumn(help_text="Of the parent's bank", max_length=32),
                ),
                ("signature_count", columns.numbers.U64Column()),
                ("blockhash", columns.keys.HashColumn(max_length=32)),
                (
                    "lattice",
                    models.BinaryField(help_text="2,048 bytes: the sum of all accounts at its end"),
                ),
                (
                    "start_slot",
                    columns.numbers.SlotColumn(
                        help_text="The baseline that its chain of banks begins with"
                    ),
                ),
                (
                    "floor_slot",
                    columns.numbers.SlotColumn(
                        help_text="States older than this are of no account that lived then"
                    ),
                ),
                (
                    "state",
                    models.SmallIntegerField(
                        choices=[(0, "not enough votes yet"), (1, "proven"), (2, "refuted")],
                        db_default=0,
                    ),
                ),
                (
                    "voted_slot",
                    columns.numbers.SlotColumn(
                        help_text="Whose votes settled it: its own, or one above", null=True
                    ),
                ),
                (
                    "voted_hash",
                    columns.keys.HashColumn(
                        help_text="What they voted for", max_length=32, null=True
                    ),
                ),
                ("voters", models.IntegerField(help_text="Vote accounts that did", null=True)),
                (
                    "stake",
                    columns.numbers.U64Column(
                        help_text="Their lamports; null where stakes are not known", null=True
                    ),
                ),
                ("total_stake", columns.numbers.U64Column(null=True)),
                (
                    "first_landed",
                    columns.numbers.SlotColumn(
                        help_text="The first block with one of these votes", null=True
                    ),
                ),
                ("last_landed", columns.numbers.SlotColumn(null=True)),
            ],
            options={
                "ordering": ["-slot"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", 0)),
                        fields=["start_slot", "slot"],
                        name="rewind_pending_banks",
                    ),
                    models.Index(
                        condition=models.Q(("state", 2)),
                        fields=["slot"],
                        name="rewind_refuted_banks",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SlotWrites",
            fields=[
                ("slot", columns.numbers.SlotColumn(primary_key=True, serialize=False)),
                ("parent_slot", columns.numbers.SlotColumn(db_index=True)),
                ("blockhash", columns.keys.HashColumn(max_length=32)),
                (
                    "signature_count",
                    models.BigIntegerField(help_text="Of the block's transactions, votes too"),
                ),
                (
                    "pubkeys",
                    models.BinaryField(help_text="32 bytes each, ascending, without filtered ones"),
                ),
                ("filtered", models.BinaryField(help_text="rewind/proof/accounts.py")),
                ("votes", models.BinaryField(help_text="rewind/proof/votes.py")),
                (
                    "is_done",
                    models.BooleanField(db_default=False, help_text="Its bank is computed"),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_done", False)),
                        fields=["slot"],
                        name="rewind_slots_to_prove",
                    )
                ],
            },
        ),
    ]
