import columns.keys
import columns.numbers
import django.contrib.postgres.constraints
import django.contrib.postgres.fields
import django.contrib.postgres.fields.ranges
import django.contrib.postgres.indexes
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    replaces = [("historical", "0008_unsigned_blocks")]

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="AddressEntries",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "address",
                        "first_slot",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("first_slot", columns.numbers.SlotColumn(help_text="The lowest slot of the run")),
                ("address", models.BinaryField(help_text="16 bytes: a digest of the address")),
                (
                    "entries",
                    models.BinaryField(help_text="(slot, position) pairs, packed, ascending"),
                ),
            ],
            options={
                "verbose_name_plural": "address entries",
                "indexes": [
                    django.contrib.postgres.indexes.BrinIndex(
                        autosummarize=True, fields=["first_slot"], name="entries_by_slot"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Import",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("file", models.TextField()),
                ("format", models.TextField(blank=True)),
                (
                    "state",
                    models.TextField(
                        choices=[("running", "Running"), ("done", "Done"), ("failed", "Failed")],
                        default="running",
                    ),
                ),
                ("started_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                ("blocks_recorded", models.IntegerField(default=0)),
                (
                    "blocks_present",
                    models.IntegerField(default=0, help_text="Were in the ledger already"),
                ),
                ("transactions_recorded", models.BigIntegerField(default=0)),
                ("first_slot", columns.numbers.SlotColumn(null=True)),
                ("last_slot", columns.numbers.SlotColumn(null=True)),
                ("warnings", models.TextField(blank=True)),
                ("failure", models.TextField(blank=True)),
            ],
            options={
                "ordering": ["-started_at"],
            },
        ),
        migrations.CreateModel(
            name="Block",
            fields=[
                ("slot", columns.numbers.SlotColumn(primary_key=True, serialize=False)),
                ("parent_slot", columns.numbers.SlotColumn()),
                ("blockhash", columns.keys.HashColumn(unique=True)),
                ("previous_blockhash", columns.keys.HashColumn()),
                (
                    "block_time",
                    models.BigIntegerField(db_index=True, help_text="Unix seconds", null=True),
                ),
                ("block_height", models.BigIntegerField(null=True)),
                ("transaction_count", models.IntegerField()),
                ("failed_count", models.IntegerField()),
                (
                    "newest_version",
                    models.SmallIntegerField(
                        help_text="Newest transaction version in the block: -1 legacy, 0, 1"
                    ),
                ),
                (
                    "form",
                    models.SmallIntegerField(help_text="Which optional fields its source wrote"),
                ),
                ("reward_partitions", models.IntegerField(null=True)),
                (
                    "rewards",
                    models.BinaryField(
                        help_text="JSON array; null if the source has none", null=True
                    ),
                ),
                (
                    "frames",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                ("body", models.BinaryField(help_text="Null once the block is sealed", null=True)),
                ("recorded_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["-slot"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("parent_slot__lt", models.F("slot")), ("slot", 0), _connector="OR"
                        ),
                        name="parent_comes_before_its_block",
                    )
                ],
                "indexes": [
                    models.Index(
                        condition=models.Q(("body__isnull", False)),
                        fields=["slot"],
                        name="blocks_that_are_not_sealed",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Transaction",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "slot",
                        "position",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("slot", columns.numbers.SlotColumn()),
                (
                    "position",
                    models.IntegerField(help_text="The transaction's place in the block, from 0"),
                ),
                ("start", models.IntegerField(help_text="Offset in the frame's text")),
                ("length", models.IntegerField()),
                ("frame", models.SmallIntegerField()),
                ("signature", columns.keys.SignatureColumn()),
                (
                    "err",
                    models.TextField(
                        help_text="JSON of the error; null when it succeeded", null=True
                    ),
                ),
                ("memo", models.TextField(help_text="JSON string; null without a memo", null=True)),
            ],
            options={
                "indexes": [
                    django.contrib.postgres.indexes.HashIndex(
                        fields=["signature"], name="transaction_by_signature"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Gap",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("from_slot", columns.numbers.SlotColumn()),
                ("to_slot", columns.numbers.SlotColumn()),
                (
                    "status",
                    models.TextField(choices=[("missing", "Missing"), ("unknown", "Unknown")]),
                ),
                (
                    "cause",
                    models.TextField(help_text="stream_lost, follower_down, writes_missing, …"),
                ),
                ("opened_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "closed_by",
                    models.TextField(blank=True, help_text="What filled it, or proved it skipped"),
                ),
                ("tries", models.IntegerField(default=0)),
                (
                    "next_try_at",
                    models.DateTimeField(blank=True, help_text="Empty: at once", null=True),
                ),
                (
                    "history",
                    models.JSONField(
                        default=list, help_text="[{at, event, source, result}], oldest first"
                    ),
                ),
                ("cannot_be_had_at", models.DateTimeField(blank=True, null=True)),
                (
                    "cannot_be_had_by",
                    models.TextField(
                        blank=True, help_text="What proves it, or who of the staff decided it"
                    ),
                ),
            ],
            options={
                "verbose_name": "ledger gap",
                "ordering": ["-from_slot"],
                "abstract": False,
                "indexes": [
                    models.Index(
                        condition=models.Q(("closed_at__isnull", True)),
                        fields=["-from_slot"],
                        name="historical_open_gaps",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("from_slot__lte", models.F("to_slot"))),
                        name="historical_gap_begins_before_it_ends",
                    ),
                    django.contrib.postgres.constraints.ExclusionConstraint(
                        condition=models.Q(("closed_at__isnull", True)),
                        expressions=[
                            (
                                models.Func(
                                    "from_slot",
                                    "to_slot",
                                    models.Value("[]"),
                                    function="int8range",
                                    output_field=django.contrib.postgres.fields.ranges.BigIntegerRangeField(),
                                ),
                                "&&",
                            )
                        ],
                        name="historical_open_gaps_never_overlap",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="BlockTally",
            fields=[
                (
                    "run",
                    models.BigIntegerField(
                        help_text="slot // 1,000", primary_key=True, serialize=False
                    ),
                ),
                ("blocks", models.IntegerField()),
                (
                    "skipped",
                    models.BigIntegerField(
                        help_text="Slots that the parent links of these blocks prove skipped, wherever they lie"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="IndexRun",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("sealed_range", models.BigIntegerField()),
                ("kind", models.SmallIntegerField(help_text="1: of signatures, 2: of addresses")),
                (
                    "level",
                    models.SmallIntegerField(help_text="How many times its entries were merged"),
                ),
                (
                    "state",
                    models.SmallIntegerField(
                        choices=[
                            (0, "being merged from others"),
                            (1, "read"),
                            (2, "replaced by a larger one"),
                        ]
                    ),
                ),
                ("first_slot", columns.numbers.SlotColumn()),
                ("last_slot", columns.numbers.SlotColumn()),
                ("entries", models.BigIntegerField()),
                (
                    "dropped",
                    models.BigIntegerField(
                        default=0,
                        help_text="Entries of its inputs that are not in it: of removed blocks, or twice",
                    ),
                ),
                (
                    "removed",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        default=list,
                        help_text="First and last slot of ranges whose entries do not count: their blocks were removed from the ledger",
                        size=None,
                    ),
                ),
                (
                    "inputs",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        default=list,
                        help_text="Runs it is merged from",
                        size=None,
                    ),
                ),
                (
                    "reached",
                    models.BinaryField(default=b"", help_text="The last entry that is merged"),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PackedIndex",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run",
                        "first_entry",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run", models.BigIntegerField()),
                ("first_entry", models.BinaryField()),
                ("block", models.BinaryField()),
            ],
            options={
                "verbose_name_plural": "packed index",
            },
        ),
        migrations.CreateModel(
            name="PackedTexts",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("sealed_range", models.BigIntegerField()),
                ("first_slot", columns.numbers.SlotColumn()),
                ("last_slot", columns.numbers.SlotColumn()),
                ("frame", models.BinaryField()),
            ],
            options={
                "verbose_name_plural": "packed texts",
            },
        ),
        migrations.CreateModel(
            name="SealedBlock",
            fields=[
                ("slot", columns.numbers.SlotColumn(primary_key=True, serialize=False)),
                ("sealed_range", models.BigIntegerField(help_text="The number of its SealedRange")),
                (
                    "entries",
                    models.BinaryField(
                        help_text="Of each transaction its signature, the number of its error in `errs`, and a checksum (historical/sealed/entries.py)"
                    ),
                ),
                (
                    "errs",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        help_text="The block's different errors, JSON",
                        size=None,
                    ),
                ),
                (
                    "memo_positions",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                (
                    "memos",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        help_text="JSON strings, of those positions",
                        size=None,
                    ),
                ),
                (
                    "frames",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), size=None
                    ),
                ),
                (
                    "ends",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                ("skipped", models.IntegerField()),
                (
                    "stored_bytes",
                    models.IntegerField(help_text="Its part of the frames, and its entries"),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SealedRange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("first_slot", columns.numbers.SlotColumn(unique=True)),
                ("last_slot", columns.numbers.SlotColumn()),
                (
                    "keys",
                    models.BinaryField(
                        help_text="A checksum, and keys of 32 bytes that occur often"
                    ),
                ),
                (
                    "dictionary",
                    models.BinaryField(help_text="A checksum, and a zstd dictionary; may be empty"),
                ),
                (
                    "unindexed",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        default=list,
                        help_text="Segments (transactions/segments.py) with sealed blocks whose address entries are not packed yet",
                        size=None,
                    ),
                ),
                (
                    "unsealable",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        default=list,
                        help_text="Blocks that could not be read completely, and stay as they are",
                        size=None,
                    ),
                ),
                ("blocks", models.BigIntegerField(default=0)),
                ("transactions", models.BigIntegerField(default=0)),
                (
                    "text_bytes",
                    models.BigIntegerField(
                        default=0, help_text="Of the transactions' stored texts"
                    ),
                ),
                (
                    "packed_bytes",
                    models.BigIntegerField(default=0, help_text="Of the frames of these texts"),
                ),
                (
                    "summarized_pages",
                    models.BigIntegerField(
                        default=0,
                        help_text="Of the table of address entries, how many its index by slots was made again for",
                    ),
                ),
                ("started_at", models.DateTimeField()),
                (
                    "finished_at",
                    models.DateTimeField(
                        help_text="When everything in the range was sealed and merged first",
                        null=True,
                    ),
                ),
            ],
            options={
                "ordering": ["-first_slot"],
            },
        ),
        migrations.CreateModel(
            name="SealVersion",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("number", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="LedgerScrub",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("is_running", models.BooleanField(default=False)),
                (
                    "slot",
                    columns.numbers.SlotColumn(
                        default=-1, help_text="The last block that was read; -1: none yet"
                    ),
                ),
                (
                    "run",
                    models.BigIntegerField(
                        help_text="Of the index; null: blocks are not done", null=True
                    ),
                ),
                (
                    "entry",
                    models.BinaryField(
                        default=b"", help_text="The last block of the run that was read"
                    ),
                ),
                ("finished_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="LedgerDamage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.TextField(
                        choices=[
                            ("texts", "frame of texts"),
                            ("entries", "entries of a block"),
                            ("dictionary", "dictionary of a range"),
                            ("index", "run of the index"),
                        ]
                    ),
                ),
                ("number", models.BigIntegerField()),
                ("first_slot", columns.numbers.SlotColumn()),
                ("last_slot", columns.numbers.SlotColumn()),
                ("reason", models.TextField()),
                ("found_by", models.TextField(help_text="scrub or read")),
                ("found_at", models.DateTimeField()),
                (
                    "state",
                    models.SmallIntegerField(
                        choices=[
                            (0, "damaged"),
                            (1, "repaired"),
                            (2, "opened as a gap"),
                            (3, "no longer read"),
                        ],
                        default=0,
                    ),
                ),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "ended_by",
                    models.TextField(default="", help_text="The copy that it was repaired from, …"),
                ),
            ],
            options={
                "verbose_name": "damage of the ledger",
                "verbose_name_plural": "damage of the ledger",
                "ordering": ["state", "-found_at", "-id"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", 0)),
                        fields=("kind", "number"),
                        name="one_open_damage_of_the_ledger",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="UnsignedBlock",
            fields=[
                ("slot", columns.numbers.SlotColumn(primary_key=True, serialize=False)),
                (
                    "positions",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(),
                        help_text="Those transactions; their metas say `unsigned`",
                        size=None,
                    ),
                ),
            ],
            options={
                "ordering": ["slot"],
            },
        ),
        migrations.RunSQL(
            [
                # Bodies and frames are compressed already: stored as they are, so that a part of
                # one reads only the pages it lies on. Entries are random.
                "ALTER TABLE historical_block ALTER COLUMN body SET STORAGE EXTERNAL",
                "ALTER TABLE historical_packedtexts ALTER COLUMN frame SET STORAGE EXTERNAL",
                "ALTER TABLE historical_sealedblock ALTER COLUMN entries SET STORAGE EXTERNAL",
                # Two fill a page.
                "ALTER TABLE historical_packedindex ALTER COLUMN block SET STORAGE PLAIN",
                "ALTER TABLE historical_packedindex ALTER COLUMN first_entry SET STORAGE PLAIN",
                # Nearly all of their rows are written once, in ascending order: room left in the
                # pages would stay empty.
                "ALTER INDEX historical_transaction_pkey SET (fillfactor = 100)",
                "ALTER INDEX historical_packedindex_pkey SET (fillfactor = 100)",
                "ALTER INDEX historical_packedtexts_pkey SET (fillfactor = 100)",
                "ALTER INDEX historical_sealedblock_pkey SET (fillfactor = 100)",
            ],
            migrations.RunSQL.noop,
        ),
    ]
