"""Submissions and their fates: transactions, bundles, attempts."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from access.models import ApiKey
from columns.keys import HashColumn, PubkeyColumn, SignatureColumn
from columns.numbers import SlotColumn
from priority.reports import models as report_models  # noqa: F401  (for Django)
from priority.submissions import STATES, State
from priority.upstreams import models as upstream_models  # noqa: F401  (for Django)


class Bundle(models.Model):
    """Transactions that land together or not at all. `engine_ids` is {upstream: its bundle id}. Its
    rows are in `priority/fates/store/bundles.py`.
    """

    rows_read: list["Submission"]

    bundle_id = models.CharField(max_length=64, unique=True)
    key = models.ForeignKey(
        ApiKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    state = models.CharField(max_length=10, choices=STATES, default=State.RECEIVED)
    reason = models.CharField(max_length=200, blank=True)
    engine_ids = models.JSONField(default=dict)
    accepted_at = models.DateTimeField()
    slot = SlotColumn(null=True, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)
    signatures = ArrayField(
        models.BinaryField(max_length=64),
        null=True,
        blank=True,
        help_text="those of its transactions, in their order, if a row of one is in another bundle",
    )

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(
                fields=["id"], condition=Q(settled_at__isnull=True), name="bundles_unsettled"
            ),
            GinIndex(
                fields=["signatures"],
                condition=Q(signatures__isnull=False),
                name="bundles_overlapping",
            ),
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

    state = models.CharField(max_length=10, choices=STATES, default=State.RECEIVED)
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
    # No foreign key: it is not looked up, and a deleted key changes nothing here.
    made_for = models.BigIntegerField(
        null=True,
        blank=True,
        help_text="the id of the key whose submission it was made for, 0 for one without a key;"
        " empty: that of the row",
    )

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.upstream} {self.number}: {self.outcome}"
