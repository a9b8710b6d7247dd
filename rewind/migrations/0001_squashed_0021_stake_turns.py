import columns.keys
import columns.numbers
import columns.packed_data
import django.contrib.postgres.constraints
import django.contrib.postgres.fields
import django.contrib.postgres.fields.ranges
import django.contrib.postgres.indexes
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    replaces = [("rewind", "0021_stake_turns")]

    dependencies = [
        ("access", "0001_squashed_0011_kinds_of_calls"),
    ]

    operations = [
        migrations.CreateModel(
            name="FilteredPubkey",
            fields=[
                (
                    "pubkey",
                    columns.keys.PubkeyColumn(max_length=32, primary_key=True, serialize=False),
                ),
            ],
            options={
                "verbose_name": "filtered account",
            },
        ),
        migrations.CreateModel(
            name="SlotTally",
            fields=[
                (
                    "run",
                    models.BigIntegerField(
                        help_text="slot // 1,000", primary_key=True, serialize=False
                    ),
                ),
                ("slots", models.IntegerField()),
                ("coarse_slots", models.IntegerField(help_text="Of granularity slot")),
                ("changes", models.BigIntegerField()),
            ],
            options={
                "verbose_name": "coverage",
                "verbose_name_plural": "coverage",
            },
        ),
        migrations.CreateModel(
            name="ArchivedSlot",
            fields=[
                ("slot", columns.numbers.SlotColumn(primary_key=True, serialize=False)),
                ("parent_slot", columns.numbers.SlotColumn()),
                ("recorded_at", models.DateTimeField()),
                ("changes", models.IntegerField(help_text="Rows of kind write")),
                (
                    "granularity",
                    models.SmallIntegerField(
                        choices=[(0, "every write"), (1, "last write of each account")]
                    ),
                ),
                ("blockhash", columns.keys.HashColumn(max_length=32)),
                ("source", models.TextField()),
            ],
            options={
                "ordering": ["-slot"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("parent_slot__lt", models.F("slot")), ("slot", 0), _connector="OR"
                        ),
                        name="parent_comes_before_its_archived_slot",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ArchiveState",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                (
                    "first_kept_slot",
                    columns.numbers.SlotColumn(
                        default=0, help_text="Slots below it fell out of the window"
                    ),
                ),
                (
                    "filters_set_for",
                    models.TextField(
                        blank=True,
                        help_text="Genesis hash of the chain whose default filters were set",
                    ),
                ),
                (
                    "audited_position",
                    models.IntegerField(
                        default=2147483647, help_text="In that slot up to this transaction"
                    ),
                ),
                (
                    "audited_slot",
                    columns.numbers.SlotColumn(
                        default=-1, help_text="Up to here the replay audit has looked"
                    ),
                ),
                (
                    "edge_is_whole",
                    models.BooleanField(
                        default=False,
                        help_text="Every account that lived when the first kept slot began has a row",
                    ),
                ),
                (
                    "indexed_segments",
                    models.IntegerField(
                        default=0, help_text="Every segment below it is in AccountSegments"
                    ),
                ),
                (
                    "indexed_slices",
                    models.SmallIntegerField(
                        default=0,
                        help_text="Of the segment that is being indexed: first bytes that are done",
                    ),
                ),
                (
                    "kept_segments",
                    models.IntegerField(
                        default=0,
                        help_text="In every segment below it, writers keep AccountSegments themselves",
                    ),
                ),
                (
                    "layout",
                    models.BigIntegerField(
                        default=0, help_text="Another number whenever a partition comes or goes"
                    ),
                ),
                ("first_normal_epoch", models.BigIntegerField(default=0)),
                ("first_normal_slot", columns.numbers.SlotColumn(default=0)),
                (
                    "slots_per_epoch",
                    models.BigIntegerField(
                        help_text="The followed chain's epoch schedule; null until a node has reported it",
                        null=True,
                    ),
                ),
                (
                    "lost_first_slot",
                    columns.numbers.SlotColumn(
                        help_text="The newest that left the window unseen", null=True
                    ),
                ),
                (
                    "lost_last_slot",
                    columns.numbers.SlotColumn(help_text="The last slot of that run", null=True),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", 1)), name="the_archive_has_one_state"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Baseline",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slot", columns.numbers.SlotColumn()),
                ("source", models.TextField()),
                ("accounts", models.BigIntegerField()),
                ("recorded_at", models.DateTimeField()),
                (
                    "whole",
                    models.BooleanField(
                        default=False,
                        help_text="Every account of the chain: what is not in it did not exist then",
                    ),
                ),
                (
                    "base_slot",
                    columns.numbers.SlotColumn(
                        help_text="Of the full snapshot that it builds on", null=True
                    ),
                ),
                ("block_height", models.BigIntegerField(null=True)),
                (
                    "blockhash",
                    columns.keys.HashColumn(
                        help_text="Null if the file has none", max_length=32, null=True
                    ),
                ),
                (
                    "owners",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=columns.keys.PubkeyColumn(max_length=32),
                        default=list,
                        help_text="Only accounts of these programs; empty where none were chosen",
                        size=None,
                    ),
                ),
                (
                    "bank_hash",
                    columns.keys.HashColumn(
                        help_text="As the manifest has it", max_length=32, null=True
                    ),
                ),
                (
                    "lattice",
                    models.BinaryField(
                        help_text="2,048 bytes: the sum of all accounts; null if it is not known",
                        null=True,
                    ),
                ),
                (
                    "parent_hash",
                    columns.keys.HashColumn(
                        help_text="Of the parent's bank", max_length=32, null=True
                    ),
                ),
                ("parent_slot", columns.numbers.SlotColumn(null=True)),
                (
                    "proven",
                    models.BooleanField(
                        db_default=False,
                        help_text="Its accounts make the lattice hash that the file declares",
                    ),
                ),
                (
                    "signature_count",
                    columns.numbers.U64Column(help_text="Of the slot's block", null=True),
                ),
                (
                    "why_unproven",
                    models.TextField(
                        blank=True,
                        db_default="imported before the sums of baselines were checked: import it again",
                        help_text="Empty where it is proven",
                    ),
                ),
            ],
            options={
                "ordering": ["-slot"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("slot", "source"), name="one_baseline_per_snapshot"
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
                "verbose_name": "archive gap",
                "ordering": ["-from_slot"],
                "abstract": False,
                "indexes": [
                    models.Index(
                        condition=models.Q(("closed_at__isnull", True)),
                        fields=["-from_slot"],
                        name="rewind_open_gaps",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("from_slot__lte", models.F("to_slot"))),
                        name="rewind_gap_begins_before_it_ends",
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
                        name="rewind_open_gaps_never_overlap",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Owner",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("pubkey", columns.keys.PubkeyColumn(max_length=32, unique=True)),
                (
                    "filtered",
                    models.BooleanField(
                        default=False,
                        help_text="Writes to its accounts are not archived; their baseline stays",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("filtered", True)),
                        fields=["id"],
                        name="rewind_filtered_owners",
                    )
                ],
                "verbose_name": "filtered owner",
            },
        ),
        # Django writes no PARTITION BY. The parent carries no key of its own: each partition has
        # its unique index, so that one without can be put in its place.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    """
                    CREATE TABLE rewind_accountchange (
                        slot bigint NOT NULL,
                        write_version bigint NOT NULL,
                        lamports bigint NOT NULL,
                        rent_epoch bigint NOT NULL,
                        position integer NOT NULL,
                        owner_id integer NOT NULL,
                        kind smallint NOT NULL,
                        executable boolean NOT NULL,
                        pubkey bytea NOT NULL,
                        data bytea NOT NULL
                    ) PARTITION BY RANGE (slot)
                    """,
                    "DROP TABLE rewind_accountchange",
                )
            ],
            state_operations=[
                migrations.CreateModel(
                    name="AccountChange",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "pubkey",
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
                            "write_version",
                            columns.numbers.U64Column(
                                help_text="One validator's counter: information, never identity"
                            ),
                        ),
                        ("lamports", columns.numbers.U64Column()),
                        ("rent_epoch", columns.numbers.U64Column()),
                        (
                            "position",
                            models.IntegerField(
                                help_text="The transaction's index; see rewind/positions.py"
                            ),
                        ),
                        ("kind", models.SmallIntegerField(choices=[(0, "Write"), (1, "Base")])),
                        ("executable", models.BooleanField()),
                        ("pubkey", columns.keys.PubkeyColumn(max_length=32)),
                        ("data", columns.packed_data.PackedDataColumn()),
                        (
                            "owner",
                            models.ForeignKey(
                                db_constraint=False,
                                db_index=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                to="rewind.owner",
                            ),
                        ),
                    ],
                ),
            ],
        ),
        migrations.CreateModel(
            name="AuditedDay",
            fields=[
                ("day", models.DateField(primary_key=True, serialize=False)),
                ("verified", models.BigIntegerField(default=0)),
                ("diverged", models.BigIntegerField(default=0)),
                ("unverified", models.BigIntegerField(default=0)),
                (
                    "reasons",
                    models.JSONField(default=dict, help_text="Why not replayed: {reason: count}"),
                ),
                (
                    "passed_over",
                    models.BigIntegerField(
                        default=0, help_text="Slots that the audit left out because it fell behind"
                    ),
                ),
            ],
            options={
                "verbose_name": "replay audit",
                "verbose_name_plural": "replay audit",
                "ordering": ["-day"],
            },
        ),
        migrations.CreateModel(
            name="DroppedAccount",
            fields=[
                (
                    "pubkey",
                    columns.keys.PubkeyColumn(max_length=32, primary_key=True, serialize=False),
                ),
                ("first_slot", columns.numbers.SlotColumn()),
                ("last_slot", columns.numbers.SlotColumn()),
            ],
        ),
        migrations.CreateModel(
            name="ReplayTally",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "day",
                        "program",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("day", models.DateField(help_text="UTC day of the replay")),
                ("program", columns.keys.PubkeyColumn(max_length=32)),
                ("verified", models.BigIntegerField(default=0)),
                ("diverged", models.BigIntegerField(default=0)),
                ("unverified", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="Divergence",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slot", columns.numbers.SlotColumn()),
                ("position", models.IntegerField()),
                ("signature", columns.keys.SignatureColumn(max_length=64, unique=True)),
                (
                    "programs",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=columns.keys.PubkeyColumn(max_length=32), size=None
                    ),
                ),
                (
                    "fields",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), help_text="What differs", size=None
                    ),
                ),
                ("differences", models.JSONField(help_text="[{field, expected, found}]")),
                ("found_at", models.DateTimeField()),
                ("tried_at", models.DateTimeField()),
                (
                    "reason",
                    models.TextField(blank=True, help_text="Why the last replay had no result"),
                ),
                (
                    "resolved_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When a later replay ended as the chain says",
                        null=True,
                    ),
                ),
            ],
            options={
                "ordering": ["-found_at"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("resolved_at__isnull", True)),
                        fields=["-found_at"],
                        name="rewind_open_divergences",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SimulationJob",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                (
                    "key_id",
                    models.BigIntegerField(
                        db_index=True, help_text="The API key that handed it in"
                    ),
                ),
                ("tier", models.TextField()),
                (
                    "client_reference",
                    models.TextField(
                        help_text="The caller's own name for it: handed in twice it is one job",
                        null=True,
                    ),
                ),
                (
                    "state",
                    models.TextField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Failed"),
                        ],
                        default="queued",
                    ),
                ),
                ("request", models.JSONField(help_text="The job as it was handed in")),
                ("total", models.IntegerField(help_text="Simulations")),
                ("done", models.IntegerField(default=0)),
                (
                    "failed",
                    models.IntegerField(
                        default=0, help_text="Of those done: answered with an error"
                    ),
                ),
                (
                    "stored_bytes",
                    models.BigIntegerField(default=0, help_text="Of results, unpacked"),
                ),
                ("submitted_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "expires_at",
                    models.DateTimeField(help_text="When its results are deleted", null=True),
                ),
                ("failure", models.TextField(blank=True)),
                ("turn", models.IntegerField(default=0)),
                ("due_at", models.DateTimeField(help_text="When its worker counts as gone")),
                (
                    "tries",
                    models.SmallIntegerField(
                        default=0, help_text="Workers that were gone since the last result"
                    ),
                ),
            ],
            options={
                "ordering": ["-submitted_at"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ["queued", "running"])),
                        fields=["due_at"],
                        name="rewind_open_jobs",
                    ),
                    models.Index(
                        condition=models.Q(("expires_at__isnull", False)),
                        fields=["expires_at"],
                        name="rewind_finished_jobs",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("key_id", "client_reference"), name="one_job_per_key_and_reference"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("done__gte", 0),
                            ("done__lte", models.F("total")),
                            ("failed__lte", models.F("done")),
                        ),
                        name="a_job_has_done_no_more_than_all",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SimulationResult",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "job_id",
                        "number",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "number",
                    models.IntegerField(
                        help_text="From 0: the job's transactions, each at each position"
                    ),
                ),
                (
                    "answer",
                    columns.packed_data.PackedDataColumn(
                        help_text="JSON: {context, value} or {error}"
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="rewind.simulationjob",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ProgramBuild",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("program", columns.keys.PubkeyColumn(max_length=32)),
                (
                    "code_key",
                    columns.keys.PubkeyColumn(
                        help_text="Where an upgradeable program has its code; else the program",
                        max_length=32,
                    ),
                ),
                (
                    "loader",
                    models.SmallIntegerField(
                        choices=[(1, "BPFLoader1"), (2, "BPFLoader2"), (3, "BPFLoaderUpgradeable")]
                    ),
                ),
                (
                    "from_slot",
                    columns.numbers.SlotColumn(help_text="The first slot in which it was called"),
                ),
                (
                    "to_slot",
                    columns.numbers.SlotColumn(
                        help_text="The last one; none: it still is", null=True
                    ),
                ),
                ("size", models.IntegerField()),
                (
                    "digest",
                    columns.keys.HashColumn(help_text="SHA-256 of the ELF file", max_length=32),
                ),
                ("code", columns.packed_data.PackedDataColumn()),
                ("source", models.TextField()),
                ("recorded_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["program", "-from_slot"],
                "indexes": [models.Index(fields=["code_key"], name="rewind_builds_by_code")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("to_slot__isnull", True),
                            ("to_slot__gte", models.F("from_slot")),
                            _connector="OR",
                        ),
                        name="a_build_ends_after_it_began",
                    ),
                    models.UniqueConstraint(
                        fields=("program", "from_slot"), name="one_build_at_a_time"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="LateRow",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "pubkey",
                        "slot",
                        "position",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("slot", columns.numbers.SlotColumn()),
                ("position", models.IntegerField()),
                ("pubkey", columns.keys.PubkeyColumn(max_length=32)),
            ],
        ),
        migrations.CreateModel(
            name="SealedSegment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("first_slot", columns.numbers.SlotColumn()),
                ("last_slot", columns.numbers.SlotColumn()),
                (
                    "state",
                    models.SmallIntegerField(
                        choices=[(0, "building"), (1, "active"), (2, "retired")], default=0
                    ),
                ),
                (
                    "tables",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        help_text="Partitions that it replaces",
                        size=None,
                    ),
                ),
                (
                    "segments",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(),
                        help_text="Sealed segments that it replaces",
                        size=None,
                    ),
                ),
                (
                    "dictionary",
                    models.BinaryField(help_text="Of zstd; null if none was worth it", null=True),
                ),
                ("changes", models.BigIntegerField(default=0)),
                ("blocks", models.BigIntegerField(default=0)),
                (
                    "data_bytes",
                    models.BigIntegerField(default=0, help_text="Account data, unpacked"),
                ),
                ("stored_bytes", models.BigIntegerField(default=0, help_text="Its blocks, packed")),
                (
                    "replaced_bytes",
                    models.BigIntegerField(
                        default=0, help_text="What its partitions took, with their indexes"
                    ),
                ),
                (
                    "lamports",
                    models.DecimalField(
                        decimal_places=0, default=0, help_text="Sum over all changes", max_digits=40
                    ),
                ),
                (
                    "digest",
                    models.BinaryField(default=bytes, help_text="Sum of all changes' hashes"),
                ),
                (
                    "has_genesis",
                    models.BooleanField(
                        default=False, help_text="It has the accounts of genesis in slot 0"
                    ),
                ),
                (
                    "done_pubkey",
                    models.BinaryField(help_text="The last change that was packed", null=True),
                ),
                ("done_slot", columns.numbers.SlotColumn(default=0)),
                ("done_position", models.IntegerField(default=0)),
                ("started_at", models.DateTimeField()),
                ("sealed_at", models.DateTimeField(null=True)),
                ("retired_at", models.DateTimeField(null=True)),
                (
                    "cold_at",
                    models.DateTimeField(help_text="All of its blocks lie in the store", null=True),
                ),
                (
                    "cold_buckets",
                    models.SmallIntegerField(
                        default=0,
                        help_text="First bytes of pubkeys, from 0 on, whose blocks lie in the store",
                    ),
                ),
                (
                    "cold_bytes",
                    models.BigIntegerField(default=0, help_text="Its objects in the store"),
                ),
                (
                    "cold_name",
                    models.TextField(
                        default="",
                        help_text="Where its objects lie in the store; empty where it has none",
                    ),
                ),
            ],
            options={
                "ordering": ["-first_slot", "-id"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", 0)),
                        fields=("state",),
                        name="one_segment_is_built_at_a_time",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", 1)),
                        fields=("first_slot",),
                        name="one_active_segment_per_range",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SealedBlock",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("changes", models.IntegerField()),
                ("slot", columns.numbers.SlotColumn(help_text="Of its first change")),
                ("position", models.IntegerField(help_text="Of its first change")),
                ("bucket", models.SmallIntegerField(help_text="The first byte of its pubkeys")),
                (
                    "pubkey",
                    columns.keys.PubkeyColumn(help_text="Of its first change", max_length=32),
                ),
                (
                    "block",
                    models.BinaryField(help_text="Null if it lies in the store", null=True),
                ),
                (
                    "segment",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        to="rewind.sealedsegment",
                    ),
                ),
                (
                    "at",
                    models.BigIntegerField(
                        help_text="Where it begins in its object of the store", null=True
                    ),
                ),
                ("size", models.IntegerField(help_text="Its bytes in the store", null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("segment", "pubkey", "slot", "position"),
                        name="one_sealed_block_per_first_change",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("at__isnull", True),
                                ("block__isnull", False),
                                ("size__isnull", True),
                            ),
                            models.Q(
                                ("at__isnull", False),
                                ("block__isnull", True),
                                ("size__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="a_sealed_block_lies_here_or_in_the_store",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SegmentScrub",
            fields=[
                ("segment", models.BigIntegerField(primary_key=True, serialize=False)),
                (
                    "pubkey",
                    models.BinaryField(
                        help_text="The first change of the last block read", null=True
                    ),
                ),
                ("slot", columns.numbers.SlotColumn(default=0)),
                ("position", models.IntegerField(default=0)),
                (
                    "changes",
                    models.BigIntegerField(default=0, help_text="In the blocks read so far"),
                ),
                ("checked_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="SealedDamage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("segment", models.BigIntegerField(help_text="The number of its SealedSegment")),
                (
                    "block",
                    models.BigIntegerField(
                        help_text="The number of its SealedBlock; 0: the segment as a whole, such as its dictionary"
                    ),
                ),
                (
                    "first_slot",
                    columns.numbers.SlotColumn(
                        help_text="Of the segment: the block's changes lie from here on"
                    ),
                ),
                ("last_slot", columns.numbers.SlotColumn(help_text="Of the segment")),
                (
                    "pubkey",
                    columns.keys.PubkeyColumn(
                        help_text="The first account of the block", max_length=32, null=True
                    ),
                ),
                (
                    "last_pubkey",
                    columns.keys.PubkeyColumn(
                        help_text="The next block begins with it; null: the last block",
                        max_length=32,
                        null=True,
                    ),
                ),
                ("changes", models.BigIntegerField(default=0, help_text="How many it had")),
                (
                    "place",
                    models.TextField(
                        default="database", help_text="The database, or an object's name"
                    ),
                ),
                ("reason", models.TextField()),
                ("found_by", models.TextField(help_text="scrub, read or merge")),
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
                "verbose_name": "damaged block",
                "ordering": ["state", "-found_at", "-id"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", 0)),
                        fields=("segment", "block"),
                        name="one_open_damage_per_sealed_block",
                    )
                ],
            },
        ),
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
                        help_text="Whose manifest; null: the archive's own, or a node's word",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="rewind.baseline",
                    ),
                ),
                (
                    "computed_slot",
                    columns.numbers.SlotColumn(
                        help_text="The archive computed it from its accounts at the end of this slot",
                        null=True,
                    ),
                ),
            ],
        ),
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
                            ("consistent", "Consistent"),
                            ("refuted", "Refuted"),
                            ("unproven", "Unproven"),
                        ]
                    ),
                ),
                ("reason", models.TextField(blank=True, help_text="Why it is not proven")),
                (
                    "rests_on",
                    models.TextField(
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
                (
                    "rests_on_slot",
                    columns.numbers.SlotColumn(help_text="Of that snapshot or bank", null=True),
                ),
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
                        choices=[
                            (0, "not enough votes yet"),
                            (1, "settled by votes"),
                            (2, "refuted"),
                        ],
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
                        help_text="Their lamports; null if stakes are not known", null=True
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
                (
                    "vote_transactions",
                    models.BinaryField(
                        db_default=b"",
                        help_text="Those of the votes, in their order; empty: from an older version",
                    ),
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
        migrations.CreateModel(
            name="SlotOwners",
            fields=[
                ("slot", columns.numbers.SlotColumn(primary_key=True, serialize=False)),
                ("accounts", models.BinaryField(help_text="rewind/sealed/packing/slot_owners.py")),
            ],
        ),
        migrations.CreateModel(
            name="ReplayBuild",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.BinaryField(help_text="SHA-256 of the file", max_length=32)),
                ("size", models.IntegerField(help_text="Bytes")),
                ("name", models.TextField(help_text="The file's name")),
                ("code", models.BinaryField(help_text="The ELF file")),
                ("uploaded_by", models.TextField()),
                ("uploaded_at", models.DateTimeField()),
                (
                    "customer",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="access.customer",
                    ),
                ),
            ],
            options={
                "ordering": ["-uploaded_at", "-pk"],
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("customer", "digest"),
                        name="one_replay_build_per_customer_and_digest",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Replay",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("made_by", models.TextField()),
                ("made_at", models.DateTimeField()),
                ("note", models.CharField(blank=True, max_length=100)),
                (
                    "signatures",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=columns.keys.SignatureColumn(max_length=64),
                        help_text="In their order",
                        size=None,
                    ),
                ),
                ("bundle_id", models.CharField(blank=True, max_length=64)),
                ("slot", columns.numbers.SlotColumn(help_text="The slot that they ran in")),
                ("outcome", models.TextField(help_text="What came of it, in a sentence")),
                ("request", models.JSONField(help_text="Place and changes")),
                (
                    "result",
                    columns.packed_data.PackedDataColumn(
                        help_text="JSON: each transaction as recorded and as replayed"
                    ),
                ),
                (
                    "customer",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="access.customer",
                    ),
                ),
                (
                    "key",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        help_text="The key that it was counted on",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="access.apikey",
                    ),
                ),
                (
                    "build",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="replays",
                        to="rewind.replaybuild",
                    ),
                ),
            ],
            options={
                "ordering": ["-made_at", "-pk"],
                "permissions": [("run_replay", "Can replay transactions")],
                "indexes": [
                    models.Index(fields=["customer", "-made_at"], name="replays_by_customer"),
                    models.Index(fields=["made_at"], name="replays_by_time"),
                    django.contrib.postgres.indexes.GinIndex(
                        fields=["signatures"], name="replays_by_signature"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RuntimeAccount",
            fields=[
                (
                    "pubkey",
                    columns.keys.PubkeyColumn(max_length=32, primary_key=True, serialize=False),
                ),
            ],
        ),
        migrations.CreateModel(
            name="StakeAccount",
            fields=[
                (
                    "pubkey",
                    columns.keys.PubkeyColumn(max_length=32, primary_key=True, serialize=False),
                ),
            ],
        ),
        migrations.CreateModel(
            name="StakeTurn",
            fields=[
                (
                    "epoch",
                    models.BigIntegerField(
                        help_text="That begins", primary_key=True, serialize=False
                    ),
                ),
                (
                    "state_slot",
                    columns.numbers.SlotColumn(
                        help_text="The accounts count as they were at its end"
                    ),
                ),
                ("first_slot", columns.numbers.SlotColumn(help_text="The epoch's first block")),
                (
                    "outcome",
                    models.TextField(
                        choices=[
                            ("running", "Running"),
                            ("computed", "the stakes follow from it"),
                            ("differs", "a snapshot has other stakes, which stay"),
                            ("refused", "not all stake accounts are here as they were"),
                        ],
                        db_default="running",
                    ),
                ),
                (
                    "reason",
                    models.TextField(blank=True, help_text="Why it did not end with stakes"),
                ),
                (
                    "after",
                    models.BinaryField(
                        db_default=b"", help_text="Accounts up to this pubkey are counted"
                    ),
                ),
                (
                    "sums",
                    models.BinaryField(db_default=b"", help_text="rewind/proof/stake_sums.py"),
                ),
                (
                    "accounts",
                    models.BigIntegerField(
                        db_default=0, help_text="Stake accounts that were counted"
                    ),
                ),
            ],
            options={
                "ordering": ["-epoch"],
            },
        ),
        # Data is packed before it comes here.
        migrations.RunSQL(
            [
                "ALTER TABLE rewind_accountchange ALTER COLUMN data SET STORAGE EXTERNAL",
                "ALTER TABLE rewind_sealedblock ALTER COLUMN block SET STORAGE EXTERNAL",
                "ALTER TABLE rewind_slotowners ALTER COLUMN accounts SET STORAGE EXTERNAL",
            ],
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(
            "CREATE SEQUENCE rewind_partition_turns", "DROP SEQUENCE rewind_partition_turns"
        ),
        migrations.RunSQL(
            "CREATE FUNCTION rewind_note_late_row() RETURNS trigger LANGUAGE plpgsql AS $$"
            " BEGIN"
            " INSERT INTO rewind_laterow (pubkey, slot, position)"
            " VALUES (NEW.pubkey, NEW.slot, NEW.position) ON CONFLICT DO NOTHING;"
            " RETURN NULL;"
            " END $$",
            "DROP FUNCTION rewind_note_late_row",
        ),
        migrations.RunSQL(
            "CREATE FUNCTION rewind_last_slots(slots bigint[], segment_slots integer)"
            " RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$"
            " SELECT array_agg(slot ORDER BY slot) FROM"
            " (SELECT max(slot) AS slot FROM unnest(slots) AS each (slot)"
            " GROUP BY slot / segment_slots) AS last $$",
            "DROP FUNCTION rewind_last_slots",
        ),
    ]
