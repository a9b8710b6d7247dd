"""TTL classes: how long a tip address that is issued now stays valid."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

_LONGEST_SECONDS = 31_536_000  # a year


class TtlClass(models.Model):
    """One rung of the ladder. A batch of addresses is open for the window, and all of its addresses
    expire together, `ttl_seconds` or up to one window more after they were fetched.
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
    is_default = models.BooleanField(
        default=False, help_text="the class of a fetch that names no TTL; one class is it"
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
        ]

    def __str__(self) -> str:
        return f"{self.ttl_seconds} s"
