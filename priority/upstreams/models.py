"""Upstreams, and how often their circuit breakers opened."""

from typing import Self

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from access.models import Tier


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
                    f"Upstream.Kind in priority/upstreams/models.py: {value} has no plural: write"
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
