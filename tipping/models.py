"""TTL classes, batches of tip addresses, what the addresses received, and where that went."""

from collections.abc import Collection

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from access.models import ApiKey
from columns.keys import PubkeyColumn, SignatureColumn
from columns.numbers import SlotColumn
from staff.formatting import in_units, with_sol

_LONGEST_SECONDS = 31_536_000  # a year
_MOST_ADDRESSES = 65_536


class TtlClass(models.Model):
    """How long tip addresses live. A batch of addresses is open for the window, and all of its
    addresses expire together, between `ttl_seconds` and one window more after they were fetched.
    """

    ttl_seconds = models.PositiveIntegerField(
        "TTL seconds",
        unique=True,
        validators=[MinValueValidator(1), MaxValueValidator(_LONGEST_SECONDS)],
        help_text="how long an address lives; a fetch takes the smallest class that is long enough",
    )
    window_seconds = models.PositiveIntegerField(
        validators=[MinValueValidator(1), MaxValueValidator(_LONGEST_SECONDS)],
        help_text="how long addresses of one batch are issued before the next batch opens",
    )
    batch_size = models.PositiveIntegerField(
        default=1_024,
        validators=[MinValueValidator(16), MaxValueValidator(_MOST_ADDRESSES)],
        help_text="addresses per batch; a batch with none left before its window ends is closed",
    )
    is_default = models.BooleanField(
        default=False, help_text="the class of a fetch without a TTL; exactly one class"
    )

    class Meta:
        verbose_name = "TTL class"
        verbose_name_plural = "TTL classes"
        ordering = ["ttl_seconds"]
        constraints = [
            models.UniqueConstraint(
                fields=["is_default"], condition=Q(is_default=True), name="one_default_ttl_class"
            ),
            models.CheckConstraint(
                condition=Q(ttl_seconds__gte=1, ttl_seconds__lte=_LONGEST_SECONDS),
                name="ttl_is_1_second_to_a_year",
            ),
            models.CheckConstraint(
                condition=Q(window_seconds__gte=1, window_seconds__lte=_LONGEST_SECONDS),
                name="window_is_1_second_to_a_year",
            ),
            models.CheckConstraint(
                condition=Q(batch_size__gte=16, batch_size__lte=_MOST_ADDRESSES),
                name="batch_has_16_to_65536_addresses",
            ),
        ]

    def __str__(self) -> str:
        return in_units(self.ttl_seconds)

    def validate_constraints(self, exclude: Collection[str] | None = None) -> None:
        # Saving a new default replaces the old one: no conflict.
        super().validate_constraints({*(exclude or ()), "is_default"})


class TipEpoch(models.Model):
    """A namespace of derived tip keys: its random word is part of the derivation path of all
    batches made in it. A restored copy of the database begins another epoch, so that the copy and
    the original never derive the same addresses. The newest epoch is the current one.
    """

    word = models.CharField(max_length=32, unique=True)
    began_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.word


class TipBatch(models.Model):
    """Addresses of one class that are issued in one window and expire together."""

    class State(models.TextChoices):
        PREPARED = "prepared"
        OPEN = "open"
        CLOSED = "closed"

    ttl_class = models.ForeignKey(TtlClass, on_delete=models.PROTECT, related_name="batches")
    # The word of the epoch that it was made in; empty for batches older than epochs.
    epoch = models.CharField(max_length=32, blank=True, default="", db_default="")
    # Part of the derivation path, with the epoch, the class's TTL and the address's position.
    # Starts at the Unix time, so that a restored database repeats none.
    number = models.BigIntegerField(unique=True)
    ttl_seconds = models.PositiveIntegerField("TTL seconds")
    size = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.PREPARED)
    prepared_at = models.DateTimeField()
    opened_at = models.DateTimeField(null=True, blank=True)
    window_ends_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    swept_at = models.DateTimeField(null=True, blank=True)
    # When the sweeper last read the addresses' balances from the node, and its remark on them.
    balances_read_at = models.DateTimeField(null=True, blank=True)
    sweep_note = models.CharField(max_length=300, blank=True, default="", db_default="")

    class Meta:
        verbose_name = "tip batch"
        verbose_name_plural = "tip batches"
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(
                fields=["ttl_class"], condition=Q(state="open"), name="one_open_batch_per_class"
            ),
            models.CheckConstraint(
                condition=Q(state="prepared")
                | Q(
                    opened_at__isnull=False,
                    window_ends_at__isnull=False,
                    expires_at__isnull=False,
                ),
                name="an_opened_batch_has_a_window",
            ),
            models.CheckConstraint(
                condition=Q(swept_at__isnull=True) | Q(state="closed"),
                name="only_a_closed_batch_is_swept",
            ),
        ]
        indexes = [
            models.Index(
                fields=["expires_at"],
                condition=Q(state="closed", swept_at__isnull=True),
                name="tip_batches_to_sweep",
            ),
            models.Index(
                fields=["ttl_class", "number"],
                condition=Q(state="prepared"),
                name="tip_batches_prepared",
            ),
        ]

    def __str__(self) -> str:
        return f"{in_units(self.ttl_seconds)}, {self.number}"


class Edge(models.Model):
    """A location that issues addresses: the EDGE_NAME of its processes. It registers itself."""

    name = models.CharField(max_length=60, unique=True)
    first_seen_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class TipAddress(models.Model):
    """One address. `edge` is set when an edge claims it for its slice of the batch, `issued_at`
    when a caller gets it. Unissued addresses are deleted after their batch closes.
    """

    pubkey = PubkeyColumn(max_length=32, primary_key=True)
    batch = models.ForeignKey(TipBatch, on_delete=models.PROTECT, related_name="addresses")
    position = models.PositiveIntegerField()
    edge = models.ForeignKey(Edge, on_delete=models.PROTECT, null=True, blank=True)
    issued_at = models.DateTimeField(null=True, blank=True)
    # Null if it was fetched without a key.
    key = models.ForeignKey(
        ApiKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = "tip address"
        verbose_name_plural = "tip addresses"
        constraints = [
            models.UniqueConstraint(fields=["batch", "position"], name="one_address_per_position"),
            models.CheckConstraint(
                condition=Q(issued_at__isnull=True) | Q(edge__isnull=False),
                name="an_issued_address_has_an_edge",
            ),
        ]
        indexes = [
            models.Index(
                fields=["batch", "edge", "position"],
                condition=Q(issued_at__isnull=True),
                name="tip_addresses_to_issue",
            )
        ]

    def __str__(self) -> str:
        return str(self.pubkey)


class TipEntry(models.Model):
    """The ledger of tips: by how much one finalized transaction changed the balance of one of our
    addresses, static and dynamic ones and the treasury. The entries of an address add up to its
    balance, from when it was first issued.
    """

    class Kind(models.TextChoices):
        TIP = "tip"  # to a tip address, by any sender
        SWEEP = "sweep"  # by a transaction of our own: out of a tip address, into the treasury
        OTHER = "other"  # any other change of the treasury's balance

    signature = SignatureColumn(max_length=64)
    pubkey = PubkeyColumn(max_length=32)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    lamports = models.BigIntegerField(help_text="negative where the address paid")
    slot = SlotColumn()
    is_static = models.BooleanField(default=False)
    # The key that submitted the transaction; null if it was not submitted here.
    key = models.ForeignKey(
        ApiKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    recorded_at = models.DateTimeField()

    class Meta:
        verbose_name = "tip entry"
        verbose_name_plural = "tip ledger"
        ordering = ["-slot", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["signature", "pubkey"], name="one_entry_per_transaction_and_address"
            )
        ]
        indexes = [
            models.Index(fields=["pubkey"], name="tip_entries_by_address"),
            models.Index(fields=["slot"], name="tip_entries_by_slot"),
            models.Index(fields=["recorded_at"], name="tip_entries_by_time"),
        ]

    def __str__(self) -> str:
        return f"{with_sol(self.lamports)}, {self.pubkey}"


class TipDay(models.Model):
    """The sums of a UTC day's TipEntry rows of one kind: of all addresses of a class (by its TTL),
    or of one that the settings name (`pubkey`).
    """

    day = models.DateField()
    pubkey = PubkeyColumn(max_length=32, null=True)
    ttl_seconds = models.PositiveIntegerField(null=True)
    kind = models.CharField(max_length=10, choices=TipEntry.Kind.choices)
    is_static = models.BooleanField()
    count = models.BigIntegerField()
    received = models.BigIntegerField(help_text="lamports that came in")
    paid = models.BigIntegerField(help_text="lamports that went out")

    class Meta:
        default_permissions = ()
        ordering = ["-day"]
        constraints = [
            models.UniqueConstraint(
                fields=["day", "pubkey", "ttl_seconds", "kind", "is_static"],
                name="one_tip_day_per_address_or_class_and_kind",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.kind}: {with_sol(self.received - self.paid)}"


class TipSweep(models.Model):
    """One transaction that moves the whole balance of some addresses to the treasury. Its bytes are
    stored before it is sent, and its addresses are in no other sweep until its fate is known.
    """

    class State(models.TextChoices):
        PLANNED = "planned"
        LANDED = "landed"
        FAILED = "failed"  # on chain, with an error: its addresses are free again
        EXPIRED = "expired"  # can never land: its addresses are free again

    signature = SignatureColumn(max_length=64, unique=True)
    wire = models.BinaryField(max_length=1_232)
    treasury = PubkeyColumn(max_length=32)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PLANNED)
    lamports = models.BigIntegerField(help_text="what the addresses held")
    fee = models.BigIntegerField(help_text="lamports of it that the network takes")
    planned_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True, blank=True)
    slot = SlotColumn(null=True, blank=True)
    reason = models.CharField(max_length=200, blank=True)

    class Meta:
        verbose_name = "sweep"
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["id"], condition=Q(state="planned"), name="tip_sweeps_planned")
        ]

    def __str__(self) -> str:
        return str(self.signature)


class TipSweepPart(models.Model):
    """An address of a sweep, and the balance that it moves. While `is_open` no other sweep may have
    the address.
    """

    sweep = models.ForeignKey(TipSweep, on_delete=models.CASCADE, related_name="parts")
    address = models.ForeignKey(TipAddress, on_delete=models.PROTECT, related_name="parts")
    lamports = models.BigIntegerField()
    is_open = models.BooleanField(default=True)

    class Meta:
        verbose_name = "swept address"
        verbose_name_plural = "swept addresses"
        constraints = [
            models.UniqueConstraint(
                fields=["address"], condition=Q(is_open=True), name="one_open_sweep_per_address"
            ),
            models.UniqueConstraint(fields=["sweep", "address"], name="an_address_once_per_sweep"),
        ]

    def __str__(self) -> str:
        return f"{with_sol(self.lamports)} of {self.address_id}"
