"""Tables of baselines, and of the stakes that snapshots carry."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from columns.keys import HashColumn, PubkeyColumn
from columns.numbers import SlotColumn, U64Column


class Baseline(models.Model):
    """A snapshot that was brought in: each of its accounts is a row of kind base.

    `lattice` is the sum of all accounts of the chain at the end of the slot, of those over its base
    where it is incremental, and of those that were not chosen too. A `proven` one's is what its
    file declares, and makes the bank's hash.
    """

    slot = SlotColumn()
    source = models.TextField()
    accounts = models.BigIntegerField()
    whole = models.BooleanField(
        default=False, help_text="Every account of the chain: what is not in it did not exist then"
    )
    owners = ArrayField(
        PubkeyColumn(max_length=32),
        default=list,
        help_text="Only accounts of these programs; empty where none were chosen",
    )
    blockhash = HashColumn(max_length=32, null=True, help_text="Null if the file has none")
    block_height = models.BigIntegerField(null=True)
    base_slot = SlotColumn(null=True, help_text="Of the full snapshot that it builds on")
    proven = models.BooleanField(
        db_default=False, help_text="Its accounts make the lattice hash that the file declares"
    )
    why_unproven = models.TextField(
        db_default="imported before the sums of baselines were checked: import it again",
        blank=True,
        help_text="Empty where it is proven",
    )
    lattice = models.BinaryField(
        null=True, help_text="2,048 bytes: the sum of all accounts; null if it is not known"
    )
    bank_hash = HashColumn(max_length=32, null=True, help_text="As the manifest has it")
    parent_hash = HashColumn(max_length=32, null=True, help_text="Of the parent's bank")
    parent_slot = SlotColumn(null=True)
    signature_count = U64Column(null=True, help_text="Of the slot's block")
    recorded_at = models.DateTimeField()

    class Meta:
        ordering = ["-slot"]
        constraints = [
            models.UniqueConstraint(fields=["slot", "source"], name="one_baseline_per_snapshot")
        ]

    def __str__(self) -> str:
        return f"baseline of slot {self.slot}"


class EpochStake(models.Model):
    """What a vote account's votes weigh in an epoch: on the word of a snapshot's manifest or of a
    node, or as the archive computed it from its own accounts.
    """

    pk = models.CompositePrimaryKey("epoch", "vote_account")
    epoch = models.BigIntegerField()
    vote_account = PubkeyColumn(max_length=32)
    stake = U64Column(help_text="Lamports, never 0")
    voter = PubkeyColumn(
        max_length=32, null=True, help_text="Who may sign its votes in the epoch; null: not known"
    )
    baseline = models.ForeignKey(
        Baseline,
        on_delete=models.CASCADE,
        null=True,
        db_constraint=False,
        help_text="Whose manifest; null: the archive's own, or a node's word",
    )
    computed_slot = SlotColumn(
        null=True, help_text="The archive computed it from its accounts at the end of this slot"
    )

    def __str__(self) -> str:
        return f"stake of {self.vote_account} in epoch {self.epoch}"


class StakeAccount(models.Model):
    """An account that was the stake program's: in a snapshot, or as a slot wrote it. What it is at
    a slot, its changes say.
    """

    pubkey = PubkeyColumn(max_length=32, primary_key=True)

    def __str__(self) -> str:
        return str(self.pubkey)


class StakeTurn(models.Model):
    """The count of all stake accounts at an epoch's turn, which the stakes of the next epoch follow
    from: how far it is, or how it ended.
    """

    class Outcome(models.TextChoices):
        RUNNING = "running"
        COMPUTED = "computed", "the stakes follow from it"
        DIFFERS = "differs", "a snapshot has other stakes, which stay"
        REFUSED = "refused", "not all stake accounts are here as they were"

    epoch = models.BigIntegerField(primary_key=True, help_text="That begins")
    state_slot = SlotColumn(help_text="The accounts count as they were at its end")
    first_slot = SlotColumn(help_text="The epoch's first block")
    outcome = models.TextField(choices=Outcome.choices, db_default=Outcome.RUNNING.value)
    reason = models.TextField(blank=True, help_text="Why it did not end with stakes")
    after = models.BinaryField(db_default=b"", help_text="Accounts up to this pubkey are counted")
    sums = models.BinaryField(db_default=b"", help_text="rewind/proof/stake_sums.py")
    accounts = models.BigIntegerField(db_default=0, help_text="Stake accounts that were counted")

    class Meta:
        ordering = ["-epoch"]

    def __str__(self) -> str:
        return f"turn of epoch {self.epoch}"
