"""Submissions and their fates: transactions, bundles, attempts, upstreams, counts."""

from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from access.models import ApiKey, Tier
from columns.keys import HashColumn, PubkeyColumn, SignatureColumn
from columns.numbers import SlotColumn
from priority.submissions import State

_STATES = [(state.value, state.value) for state in State]


class Upstream(models.Model):
    """A service that sends to the leaders. An empty `url` means the followed chain's."""

    class Kind(models.TextChoices):
        """The stored value, the plural on the landing page, the label in forms and lists."""

        LEADERS = "leaders", "leaders", "leaders, by TPU QUIC"
        NODE = "node", "nodes", "node, by JSON-RPC"
        BLOCK_ENGINE = "block_engine", "block engines", "block engine, for bundles"

        plural: str

        def __new__(cls, value: str, plural: str = "") -> Self:
            if not plural:
                raise TypeError(
                    f"Upstream.Kind in priority/models.py: {value} has no plural: write"
                    f' = "{value}", "its plural", "its label"'
                )
            kind = str.__new__(cls, value)
            kind._value_ = value
            kind.plural = plural
            return kind

    name = models.SlugField(
        max_length=40, unique=True, help_text="callers choose by it; `bundle` is reserved"
    )
    kind = models.CharField(max_length=20, choices=Kind.choices)
    url = models.CharField(
        "URL",
        max_length=500,
        blank=True,
        help_text="of the node that reports the leaders, of the node, or of the block engine;"
        " empty: those of the followed chain (the block engine: localnet's)",
    )
    tiers = models.ManyToManyField(
        Tier, blank=True, help_text="the tiers that it serves; none chosen: all"
    )
    weight = models.PositiveSmallIntegerField(
        default=100,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="of a hundred submissions that choose no upstream, so many go this way too",
    )
    is_enabled = models.BooleanField(default=True)
    own_tip_lamports = models.PositiveBigIntegerField(
        default=0,
        help_text="block engines: what we tip the engine ourselves, by a transaction of our own"
        " behind the bundle's; 0 leaves it to the bundle",
    )
    timeout_ms = models.PositiveIntegerField(
        "timeout (ms)",
        default=2_000,
        validators=[MinValueValidator(50), MaxValueValidator(60_000)],
    )
    # Since then it takes no new submission; what is under way is tried again until it settles.
    draining_since = models.DateTimeField(null=True, blank=True, editable=False)
    # The circuit breaker, as reported by the lander that opened it.
    broken_until = models.DateTimeField(null=True, blank=True, editable=False)
    broken_reason = models.CharField(max_length=300, blank=True, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=~Q(name="bundle"), name="bundle_is_a_reserved_name"),
            models.CheckConstraint(
                condition=Q(weight__gte=1, weight__lte=100), name="weight_is_1_to_100"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class BreakerOpening(models.Model):
    """A time in which an upstream's circuit breaker was open, as a lander reported it. `times`
    counts how often its pause started again.
    """

    upstream = models.ForeignKey(Upstream, on_delete=models.CASCADE, related_name="openings")
    opened_at = models.DateTimeField()
    reason = models.CharField(max_length=300, blank=True)
    times = models.PositiveIntegerField(default=1)
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_by = models.CharField(max_length=20, blank=True)

    class Meta:
        default_permissions = ()
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["upstream"],
                condition=Q(closed_at__isnull=True),
                name="one_open_breaker_per_upstream",
            )
        ]

    def __str__(self) -> str:
        return f"upstream {self.upstream_id}: {self.reason}"


class Bundle(models.Model):
    """Transactions that land together or not at all. `engine_ids` is {upstream: its bundle id}."""

    bundle_id = models.CharField(max_length=64, unique=True)
    key = models.ForeignKey(
        ApiKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    state = models.CharField(max_length=10, choices=_STATES, default=State.RECEIVED)
    reason = models.CharField(max_length=200, blank=True)
    engine_ids = models.JSONField(default=dict)
    accepted_at = models.DateTimeField()
    slot = SlotColumn(null=True, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(
                fields=["id"], condition=Q(settled_at__isnull=True), name="bundles_unsettled"
            )
        ]

    def __str__(self) -> str:
        return self.bundle_id


class Submission(models.Model):
    """One accepted transaction. Its fate is final when `settled_at` is set."""

    class Kind(models.TextChoices):
        TRANSACTION = "transaction"
        BUNDLE = "bundle", "transaction of a bundle"
        SWEEP = "sweep", "sweep of tips"

    signature = SignatureColumn(max_length=64, unique=True)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    key = models.ForeignKey(
        ApiKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    tier = models.CharField(max_length=30, blank=True)
    edge = models.CharField(max_length=60, blank=True)
    request_id = models.CharField(max_length=100, blank=True)
    bundle = models.ForeignKey(
        Bundle, on_delete=models.CASCADE, null=True, blank=True, related_name="submissions"
    )
    # The attempts in their order, if the query has read them too.
    attempts_read: list["Attempt"]
    bundle_index = models.PositiveSmallIntegerField(null=True, blank=True)
    only = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    max_retries = models.PositiveIntegerField(null=True, blank=True)

    tip_address = PubkeyColumn(max_length=32, null=True, blank=True)
    tip_lamports = models.BigIntegerField(null=True, blank=True)
    tip_instruction_index = models.PositiveSmallIntegerField(null=True, blank=True)

    blockhash = HashColumn(max_length=32)
    is_nonced = models.BooleanField(
        default=False, help_text="it stands on a durable nonce: no block height ends it"
    )
    nonce = PubkeyColumn(
        max_length=32, null=True, blank=True, help_text="the nonce account that it stands on"
    )
    # The signers of the first instruction: the nonce's authority must be among them.
    nonce_signers = models.BinaryField(null=True, blank=True)
    is_watched = models.BooleanField(
        default=False,
        db_default=False,
        help_text="its nonce is watched until it is settled, or too old to be kept",
    )
    nonce_check_at = models.DateTimeField(
        null=True, blank=True, help_text="when its nonce is looked at again; empty: at once"
    )
    advance_index = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text="the instruction that advances a nonce in vain, as it is not the first",
    )
    will_fail = models.CharField(
        max_length=200,
        blank=True,
        db_default="",
        help_text="why it was known to fail when it was accepted",
    )
    accepted_at = models.DateTimeField()
    accepted_slot = SlotColumn(null=True, blank=True)
    last_valid_block_height = models.BigIntegerField(null=True, blank=True)

    state = models.CharField(max_length=10, choices=_STATES, default=State.RECEIVED)
    commitment = models.CharField(max_length=10, blank=True)
    reason = models.CharField(max_length=200, blank=True)
    slot = SlotColumn(null=True, blank=True)
    transaction_index = models.IntegerField(null=True, blank=True)
    err = models.JSONField(null=True, blank=True)
    stopped = models.CharField(
        max_length=200,
        blank=True,
        db_default="",
        help_text="why it is not sent any more although it can still land",
    )
    tries = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(settled_at__isnull=True)
                | Q(state__in=[State.LANDED, State.FAILED, State.EXPIRED, State.REFUSED]),
                name="a_settled_submission_has_a_fate",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=[State.LANDED, State.FAILED]) | Q(slot__isnull=False),
                name="what_is_on_chain_has_a_slot",
            ),
        ]
        indexes = [
            models.Index(
                fields=["id"],
                condition=Q(settled_at__isnull=True, is_nonced=False),
                name="submissions_unsettled",
            ),
            # A nonce has no end: these are found by the account, when it moves.
            models.Index(
                fields=["nonce"],
                condition=Q(settled_at__isnull=True, is_watched=True),
                name="submissions_by_nonce",
            ),
            models.Index(
                fields=["nonce_check_at"],
                condition=Q(settled_at__isnull=True, is_watched=True),
                name="submissions_to_check",
            ),
            models.Index(fields=["key", "-id"], name="submissions_by_key"),
            models.Index(fields=["accepted_at"], name="submissions_by_time"),
            # For people who look for one: by what they have in their hands.
            models.Index(
                fields=["request_id"], condition=~Q(request_id=""), name="submissions_by_request"
            ),
            models.Index(
                fields=["tip_address"],
                condition=Q(tip_address__isnull=False),
                name="submissions_by_tip_address",
            ),
            models.Index(
                fields=["seen_at"],
                condition=Q(state=State.LANDED, tip_lamports__isnull=False),
                name="submissions_landed_tips",
            ),
        ]

    def __str__(self) -> str:
        return str(self.signature)


class CoSubmitter(models.Model):
    """A key that submitted what another customer had submitted before: it is sent once, and both
    may read its fate. `name` is a signature, or a bundle's id.
    """

    name = models.BinaryField(max_length=64)
    key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+")
    accepted_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "key"], name="a_cosubmitter_is_noted_once")
        ]
        indexes = [models.Index(fields=["accepted_at"], name="cosubmitters_by_time")]

    def __str__(self) -> str:
        return bytes(self.name).hex()


class Attempt(models.Model):
    """One attempt to send a submission by one upstream."""

    class Outcome(models.TextChoices):
        SENT = "sent"  # the upstream has it; a leader answers nothing more
        REFUSED = "refused"  # the upstream answered that it does not take it
        FAILED = "failed"  # no answer came

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="attempts")
    upstream = models.CharField(max_length=40)
    target = models.CharField(max_length=120, blank=True, help_text="a leader, or the host")
    number = models.PositiveIntegerField(help_text="its number within the submission, from 1")
    started_at = models.DateTimeField()
    latency_us = models.PositiveIntegerField("latency (µs)")
    outcome = models.CharField(max_length=10, choices=Outcome.choices)
    answer = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.upstream} {self.number}: {self.outcome}"


class LandingCount(models.Model):
    """How many submissions or attempts of one step of time (`seconds` long, by when they were
    accepted) were of a kind: priority.reports.store.counts says what the measures are.
    """

    seconds = models.PositiveIntegerField()
    start = models.DateTimeField()
    measure = models.CharField(max_length=10)
    tier = models.CharField(max_length=30)
    upstream = models.CharField(max_length=40)
    word = models.CharField(max_length=160)
    number = models.IntegerField()
    count = models.BigIntegerField()
    amount = models.BigIntegerField()

    class Meta:
        db_table = "priority_landingtally"
        default_permissions = ()
        indexes = [models.Index(fields=["seconds", "start"], name="landing_counts_by_step")]

    def __str__(self) -> str:
        return f"{self.start:%Y-%m-%d %H:%M} {self.measure} {self.word}: {self.count}"


class LandingKeyCount(models.Model):
    """How many submissions of one key (null: without one) have come how far, and why no further."""

    seconds = models.PositiveIntegerField()
    start = models.DateTimeField()
    # No constraint: what a deleted key had stays counted.
    key = models.ForeignKey(
        ApiKey,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="+",
    )
    tier = models.CharField(max_length=30)
    state = models.CharField(max_length=10, choices=_STATES)
    reason = models.CharField(max_length=160)
    count = models.BigIntegerField()

    class Meta:
        db_table = "priority_landingkeytally"
        default_permissions = ()
        indexes = [
            models.Index(fields=["seconds", "start"], name="landing_keys_by_step"),
            models.Index(fields=["key", "seconds", "start"], name="landing_keys_by_key"),
            # Who lost most is looked for among all keys.
            models.Index(
                fields=["seconds", "start", "key", "count"],
                condition=Q(state__in=[State.FAILED, State.EXPIRED, State.REFUSED]),
                name="landing_keys_lost",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.start:%Y-%m-%d %H:%M} key {self.key_id} {self.state}: {self.count}"


class LandingChange(models.Model):
    """A step whose submissions changed for good and has to be counted again. Inserted in the
    transaction of the change, never updated, so that no transaction waits for another.
    """

    start = models.DateTimeField()
    noted_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        indexes = [models.Index(fields=["start"], name="landing_changes_by_step")]

    def __str__(self) -> str:
        return f"{self.start:%Y-%m-%d %H:%M}"


class LandingClock(models.Model):
    """One row: until when submissions were counted last."""

    counted_at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.counted_at:%Y-%m-%d %H:%M:%S}"
