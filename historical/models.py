"""The ledger's tables: blocks, two indexes of transactions, and both again for sealed ranges."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex, HashIndex
from django.db import models

from columns.keys import HashColumn, SignatureColumn
from columns.numbers import SlotColumn
from gaps.slot_gap import SlotGap
from sealed.damage import Damage


class Block(models.Model):
    """A produced slot. `body` holds the transactions in the standard node's `json` encoding,
    compressed in frames (blocks/bodies.py); `frames` are the frames' end offsets in it. A
    sealed block has no body, and no rows of its transactions: see SealedBlock.
    """

    slot = SlotColumn(primary_key=True)
    parent_slot = SlotColumn()
    blockhash = HashColumn(unique=True)
    previous_blockhash = HashColumn()
    block_time = models.BigIntegerField(null=True, db_index=True, help_text="Unix seconds")
    block_height = models.BigIntegerField(null=True)
    transaction_count = models.IntegerField()
    failed_count = models.IntegerField()
    newest_version = models.SmallIntegerField(
        help_text="Newest transaction version in the block: -1 legacy, 0, 1"
    )
    form = models.SmallIntegerField(help_text="Which optional fields its source wrote")
    reward_partitions = models.IntegerField(null=True)
    rewards = models.BinaryField(null=True, help_text="JSON array; null if the source has none")
    frames = ArrayField(models.IntegerField())
    body = models.BinaryField(null=True, help_text="Null once the block is sealed")
    recorded_at = models.DateTimeField()

    class Meta:
        ordering = ["-slot"]
        indexes = [
            models.Index(
                fields=["slot"],
                condition=models.Q(body__isnull=False),
                name="blocks_that_are_not_sealed",
            )
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(parent_slot__lt=models.F("slot")) | models.Q(slot=0),
                name="parent_comes_before_its_block",
            )
        ]

    def __str__(self) -> str:
        return f"block {self.slot}"


class Transaction(models.Model):
    """Where a transaction's text stands in its block's body, and what a list of them shows. `err`
    is the text `null` if the source had no status (transactions/outcomes.py).
    """

    pk = models.CompositePrimaryKey("slot", "position")
    slot = SlotColumn()
    position = models.IntegerField(help_text="The transaction's place in the block, from 0")
    start = models.IntegerField(help_text="Offset in the frame's text")
    length = models.IntegerField()
    frame = models.SmallIntegerField()  # last of the numbers: no padding before the signature
    signature = SignatureColumn()
    err = models.TextField(null=True, help_text="JSON of the error; null when it succeeded")  # noqa: DJ001
    memo = models.TextField(null=True, help_text="JSON string; null without a memo")  # noqa: DJ001

    class Meta:
        indexes = [HashIndex(fields=["signature"], name="transaction_by_signature")]

    def __str__(self) -> str:
        return f"transaction {self.signature}"


class AddressEntries(models.Model):
    """Where an address occurs in a run of slots of one segment (transactions/segments.py)."""

    pk = models.CompositePrimaryKey("address", "first_slot")
    first_slot = SlotColumn(help_text="The lowest slot of the run")
    address = models.BinaryField(help_text="16 bytes: a digest of the address")
    entries = models.BinaryField(help_text="(slot, position) pairs, packed, ascending")

    class Meta:
        verbose_name_plural = "address entries"
        # Entries are taken out by slots; the key begins with the address.
        indexes = [BrinIndex(fields=["first_slot"], name="entries_by_slot", autosummarize=True)]

    def __str__(self) -> str:
        return f"entries from slot {self.first_slot}"


class BlockTally(models.Model):
    """Counts over a run of 1,000 slots, updated with each block that is added or removed, so that a
    summary of millions of slots reads thousands of rows.
    """

    run = models.BigIntegerField(primary_key=True, help_text="slot // 1,000")
    blocks = models.IntegerField()
    skipped = models.BigIntegerField(
        help_text="Slots that the parent links of these blocks prove skipped, wherever they lie"
    )

    def __str__(self) -> str:
        return f"run {self.run}"


class UnsignedBlock(models.Model):
    """A block that was kept although some of its transactions are not what was signed."""

    slot = SlotColumn(primary_key=True)
    positions = ArrayField(
        models.IntegerField(), help_text="Those transactions; their metas say `unsigned`"
    )

    class Meta:
        ordering = ["slot"]

    def __str__(self) -> str:
        return f"unsigned transactions of block {self.slot}"


class Import(models.Model):
    """One file brought in, or why it was not."""

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    file = models.TextField()
    format = models.TextField(blank=True)
    state = models.TextField(choices=State.choices, default=State.RUNNING)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    blocks_recorded = models.IntegerField(default=0)
    blocks_present = models.IntegerField(default=0, help_text="Were in the ledger already")
    transactions_recorded = models.BigIntegerField(default=0)
    first_slot = SlotColumn(null=True)
    last_slot = SlotColumn(null=True)
    warnings = models.TextField(blank=True)
    failure = models.TextField(blank=True)

    class Meta:
        ordering = ["-started_at"]

    def __str__(self) -> str:
        return f"import of {self.file}"


class Gap(SlotGap):
    """Slots whose block was made, or may have been, and is not in the ledger."""

    class Meta(SlotGap.Meta):
        verbose_name = "ledger gap"


class SealedRange(models.Model):
    """A range of slots whose blocks are sealed, as a whole or so far."""

    id = models.BigAutoField(primary_key=True)
    first_slot = SlotColumn(unique=True)
    last_slot = SlotColumn()
    keys = models.BinaryField(help_text="A checksum, and keys of 32 bytes that occur often")
    dictionary = models.BinaryField(help_text="A checksum, and a zstd dictionary; may be empty")
    unindexed = ArrayField(
        models.BigIntegerField(),
        default=list,
        help_text="Segments (transactions/segments.py) with sealed blocks whose address entries are"
        " not packed yet",
    )
    unsealable = ArrayField(
        models.BigIntegerField(),
        default=list,
        help_text="Blocks that could not be read completely, and stay as they are",
    )
    blocks = models.BigIntegerField(default=0)
    transactions = models.BigIntegerField(default=0)
    text_bytes = models.BigIntegerField(default=0, help_text="Of the transactions' stored texts")
    packed_bytes = models.BigIntegerField(default=0, help_text="Of the frames of these texts")
    summarized_pages = models.BigIntegerField(
        default=0,
        help_text="Of the table of address entries, how many its index by slots was made again for",
    )
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(
        null=True, help_text="When everything in the range was sealed and merged first"
    )

    class Meta:
        ordering = ["-first_slot"]

    def __str__(self) -> str:
        return f"sealed range from slot {self.first_slot}"


class SealedBlock(models.Model):
    """The transactions of a sealed block: signatures and what lists of them show, and where their
    texts stand. `frames` are numbers of PackedTexts, `ends` the position behind the last one in
    each; in the first frame `skipped` texts of other blocks come before.
    """

    slot = SlotColumn(primary_key=True)
    sealed_range = models.BigIntegerField(help_text="The number of its SealedRange")
    entries = models.BinaryField(
        help_text="Of each transaction its signature, the number of its error in `errs`, and a"
        " checksum (historical/sealed/entries.py)"
    )
    errs = ArrayField(models.TextField(), help_text="The block's different errors, JSON")
    memo_positions = ArrayField(models.IntegerField())
    memos = ArrayField(models.TextField(), help_text="JSON strings, of those positions")
    frames = ArrayField(models.BigIntegerField())
    ends = ArrayField(models.IntegerField())
    skipped = models.IntegerField()
    stored_bytes = models.IntegerField(help_text="Its part of the frames, and its entries")

    def __str__(self) -> str:
        return f"sealed block {self.slot}"


class PackedTexts(models.Model):
    """A frame of transactions' texts (sealed/packed_texts.py) of one block or several."""

    id = models.BigAutoField(primary_key=True)
    sealed_range = models.BigIntegerField()
    first_slot = SlotColumn()
    last_slot = SlotColumn()
    frame = models.BinaryField()

    class Meta:
        verbose_name_plural = "packed texts"

    def __str__(self) -> str:
        return f"texts of slots {self.first_slot} to {self.last_slot}"


class IndexRun(models.Model):
    """Sorted blocks of index entries (sealed/packed_index.py). Runs of one range are merged
    into larger ones.
    """

    class State(models.IntegerChoices):
        MERGING = 0, "being merged from others"
        LIVE = 1, "read"
        MERGED = 2, "replaced by a larger one"

    id = models.BigAutoField(primary_key=True)
    sealed_range = models.BigIntegerField()
    kind = models.SmallIntegerField(help_text="1: of signatures, 2: of addresses")
    level = models.SmallIntegerField(help_text="How many times its entries were merged")
    state = models.SmallIntegerField(choices=State.choices)
    first_slot = SlotColumn()
    last_slot = SlotColumn()
    entries = models.BigIntegerField()
    dropped = models.BigIntegerField(
        default=0, help_text="Entries of its inputs that are not in it: of removed blocks, or twice"
    )
    removed = ArrayField(
        models.BigIntegerField(),
        default=list,
        help_text="First and last slot of ranges whose entries do not count: their blocks were"
        " removed from the ledger",
    )
    inputs = ArrayField(models.BigIntegerField(), default=list, help_text="Runs it is merged from")
    reached = models.BinaryField(default=b"", help_text="The last entry that is merged")

    def __str__(self) -> str:
        return f"run {self.id} of range {self.sealed_range}"


class PackedIndex(models.Model):
    """A block of a run's entries; `first_entry` is the first one in it."""

    pk = models.CompositePrimaryKey("run", "first_entry")
    run = models.BigIntegerField()
    first_entry = models.BinaryField()
    block = models.BinaryField()

    class Meta:
        verbose_name_plural = "packed index"

    def __str__(self) -> str:
        return f"block of run {self.run}"


class SealVersion(models.Model):
    """One row, whose number moves with each commit that changes what is sealed: reads that take
    several statements compare it.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    number = models.BigIntegerField()

    def __str__(self) -> str:
        return f"seal version {self.number}"


class LedgerDamage(Damage):
    """Something that was sealed of the ledger and is not what was written, and what became of it.
    `number` is that of a frame of PackedTexts, the slot of a SealedBlock, or the number of a
    SealedRange or of an IndexRun.
    """

    class Kind(models.TextChoices):
        TEXTS = "texts", "frame of texts"
        ENTRIES = "entries", "entries of a block"
        DICTIONARY = "dictionary", "dictionary of a range"
        INDEX = "index", "run of the index"

    kind = models.TextField(choices=Kind.choices)
    number = models.BigIntegerField()
    found_by = models.TextField(help_text="scrub or read")

    class Meta(Damage.Meta):
        verbose_name = "damage of the ledger"
        verbose_name_plural = "damage of the ledger"
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "number"],
                condition=models.Q(state=0),
                name="one_open_damage_of_the_ledger",
            )
        ]

    def __str__(self) -> str:
        return f"{self.Kind(self.kind).label} {self.number}"


class LedgerScrub(models.Model):
    """One row: how far what is sealed has been read through for damage, blocks first and then the
    index, and when all of it last was.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    is_running = models.BooleanField(default=False)
    slot = SlotColumn(default=-1, help_text="The last block that was read; -1: none yet")
    run = models.BigIntegerField(null=True, help_text="Of the index; null: blocks are not done")
    entry = models.BinaryField(default=b"", help_text="The last block of the run that was read")
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return "the scrub of the ledger"
