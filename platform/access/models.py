"""Customers, tiers, API keys (digest only) and usage: by the minute, and its sums."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import OpClass
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Upper

from access.announcements import Announced
from access.callers import QUOTAS, SCOPES
from access.networks import read_network
from access.origins import read_origin

# A JSON-RPC method, or the name under which a plain GET is counted.
METHOD_NAME = r"\A[A-Za-z][A-Za-z0-9_.]{0,59}\Z"


def all_scopes() -> list[str]:
    return list(SCOPES)


def validate_network(text: str) -> None:
    try:
        read_network(text)
    except ValueError as error:
        raise ValidationError(str(error)) from None


def validate_origin(text: str) -> None:
    try:
        read_origin(text)
    except ValueError as error:
        raise ValidationError(str(error)) from None


class Customer(models.Model):
    """A holder of keys: a person, a team or an installation."""

    name = models.CharField(max_length=100, unique=True)
    email = models.EmailField(blank=True, help_text="gets the mails about this customer's keys")
    alert_mails = models.BooleanField(
        "mail alerts",
        default=True,
        help_text="mail to the address above what concerns the keys: expiry, quota, suspension",
    )
    notes = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Announced["Customer"].as_manager()

    class Meta:
        ordering: ClassVar = ["name"]
        indexes: ClassVar = [
            models.Index(OpClass(Upper("name"), name="text_pattern_ops"), name="customers_by_name"),
            models.Index(OpClass(Upper("email"), name="text_pattern_ops"), name="customer_by_mail"),
        ]

    def __str__(self) -> str:
        return self.name


# What each of QUOTAS counts, in words.
_COUNTED = dict(zip(QUOTAS, ("calls", "bundles", "tip-address fetches"), strict=True))


def _rate(quota: str) -> "models.FloatField[float | None, float | None]":
    return models.FloatField(
        null=True, blank=True, help_text=f"{_COUNTED[quota]} per second; empty means no limit"
    )


def _burst(what: str, default: int) -> "models.PositiveIntegerField[int, int]":
    return models.PositiveIntegerField(
        default=default,
        validators=[MinValueValidator(1)],
        help_text=f"{what} that may come at once after a pause",
    )


def _calls_per_month(
    help_text: str,
) -> "models.PositiveBigIntegerField[int | None, int | None]":
    return models.PositiveBigIntegerField(
        "calls per month",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=help_text,
    )


class Tier(models.Model):
    """A class of service and its limits. Keyless callers have the one named `anonymous`."""

    name = models.SlugField(max_length=30, unique=True)
    rank = models.PositiveSmallIntegerField(
        help_text="opens hosts of this rank and below: basic 10, ultra 20, elite 30, epic 40"
    )
    requests_per_second = _rate("requests")
    requests_burst = _burst("calls", 10)
    bundles_per_second = _rate("bundles")
    bundles_burst = _burst("bundles", 5)
    tip_fetches_per_second = _rate("tip_fetches")
    tip_fetches_burst = _burst("tip-address fetches", 20)
    tip_fetches_daily_cap = models.PositiveIntegerField(
        null=True, blank=True, help_text="tip-address fetches a UTC day; empty means no limit"
    )
    calls_per_month = _calls_per_month(
        "calls that one key may make in a calendar month (UTC); empty means no limit"
    )
    simulation_jobs = models.PositiveIntegerField(
        default=2, help_text="batch simulation jobs of one key that may be open at once; 0 is none"
    )
    simulations_per_job = models.PositiveIntegerField(
        default=1_000, help_text="simulations that one batch job may ask for"
    )
    stream_connections = models.PositiveIntegerField(
        default=10,
        help_text="WebSockets that one key (or address without a key) may have open; 0 is none",
    )
    stream_subscriptions = models.PositiveIntegerField(
        default=1_000, help_text="subscriptions of one WebSocket"
    )
    stream_notifications_per_second = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="notifications per second to one key, over ten seconds; empty means no limit",
    )
    stream_bytes_per_month = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="bytes of notifications to one key in a calendar month (UTC);"
        " empty means no limit",
    )
    landing_weight = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="share of the landers' work while submissions wait: with 4, four of this tier are"
        " sent for one of a tier with 1",
    )

    objects = Announced["Tier"].as_manager()

    class Meta:
        ordering: ClassVar = ["rank", "name"]
        constraints: ClassVar = [
            *(
                models.CheckConstraint(
                    condition=Q(**{f"{name}_per_second__isnull": True})
                    | Q(**{f"{name}_per_second__gt": 0, f"{name}_per_second__lte": 1_000_000}),
                    name=f"tier_{name}_rate_is_positive",
                    violation_error_message=f"{_COUNTED[name].capitalize()} per second: more than"
                    " 0, at most 1,000,000. Empty means no limit.",
                )
                for name in QUOTAS
            ),
            *(
                models.CheckConstraint(
                    condition=Q(**{f"{name}_burst__gte": 1}),
                    name=f"tier_{name}_burst_is_positive",
                )
                for name in QUOTAS
            ),
            models.CheckConstraint(
                condition=Q(calls_per_month__isnull=True) | Q(calls_per_month__gte=1),
                name="tier_calls_per_month_is_positive",
            ),
            models.CheckConstraint(
                condition=Q(landing_weight__gte=1, landing_weight__lte=100),
                name="tier_landing_weight_is_1_to_100",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ApiKey(models.Model):
    """One key. Its secret was shown once, when it was issued; only the digest is stored."""

    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="keys")
    tier = models.ForeignKey(Tier, on_delete=models.PROTECT, related_name="keys")
    name = models.CharField(max_length=100)
    environment = models.CharField(max_length=30, blank=True)
    notes = models.TextField(blank=True)
    shown_prefix = models.CharField(max_length=12, editable=False)
    last_four = models.CharField(max_length=4, editable=False)
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    scopes = ArrayField(
        models.CharField(max_length=20, choices=[(scope, scope) for scope in SCOPES]),
        default=all_scopes,
        blank=True,
    )
    networks = ArrayField(
        models.CharField(max_length=50, validators=[validate_network]),
        default=list,
        blank=True,
        help_text="CIDR list: addresses that may use the key; empty allows any address",
    )
    methods = ArrayField(
        models.CharField(max_length=60, validators=[RegexValidator(METHOD_NAME)]),
        default=list,
        blank=True,
        help_text="methods that the key may call; empty allows all methods of its scopes",
    )
    origins = ArrayField(
        models.CharField(max_length=260, validators=[validate_origin]),
        default=list,
        blank=True,
        help_text="only pages of these web origins may use the key; empty allows any caller"
        " page, and any program",
    )
    calls_per_month = _calls_per_month(
        "calls that this key may make in a calendar month (UTC); empty applies its tier's limit"
    )
    requests_per_second = models.FloatField(
        "calls per second",
        null=True,
        blank=True,
        validators=[MinValueValidator(0.01), MaxValueValidator(1_000_000)],
        help_text="calls per second of this key;"
        " empty applies its tier's limit, which is the maximum",
    )
    # Written by the worker: until when, and with how many calls, the month's limit is reached.
    quota_reached_until = models.DateTimeField(null=True, blank=True, editable=False)
    quota_used = models.PositiveBigIntegerField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    suspended_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_address = models.GenericIPAddressField(null=True, blank=True, editable=False)
    rotated_from = models.OneToOneField(
        "self",
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="rotated_to",
    )

    objects = Announced["ApiKey"].as_manager()

    class Meta:
        verbose_name = "API key"
        ordering: ClassVar = ["-created_at", "-pk"]
        indexes: ClassVar = [
            models.Index(
                fields=["shown_prefix"],
                opclasses=["varchar_pattern_ops"],
                name="keys_by_shown_prefix",
            )
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(scopes__contained_by=list(SCOPES)), name="api_key_scopes_are_known"
            ),
            models.CheckConstraint(
                condition=Q(rotated_from__isnull=True) | ~Q(rotated_from=F("pk")),
                name="api_key_is_not_its_own_successor",
            ),
            models.CheckConstraint(
                condition=Q(calls_per_month__isnull=True) | Q(calls_per_month__gte=1),
                name="api_key_calls_per_month_is_positive",
            ),
            models.CheckConstraint(
                condition=Q(requests_per_second__isnull=True)
                | Q(requests_per_second__gt=0, requests_per_second__lte=1_000_000),
                name="api_key_requests_rate_is_positive",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.shown_prefix}…{self.last_four})"


class UsageMinute(models.Model):
    """Calls of one key (null: callers without a key) to one method with one outcome in a minute."""

    key = models.ForeignKey(
        ApiKey,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="usage",
        db_index=False,  # both indexes below begin with it
    )
    method = models.CharField(max_length=60)
    status = models.CharField(max_length=60, help_text="`ok`, or the refusal's reason")
    minute = models.DateTimeField()
    calls = models.PositiveBigIntegerField()
    microseconds = models.PositiveBigIntegerField(default=0, help_text="spent on these calls")
    bytes = models.PositiveBigIntegerField(
        default=0, db_default=0, help_text="of notifications that were sent"
    )

    class Meta:
        ordering: ClassVar = ["-minute"]
        indexes: ClassVar = [
            models.Index(fields=["minute"], name="usage_by_minute"),
            models.Index(fields=["key", "minute"], name="usage_by_key_and_minute"),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["key", "method", "status", "minute"],
                name="one_usage_row_per_key_method_status_minute",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"{self.minute:%Y-%m-%d %H:%M} {self.method} {self.status}: {self.calls}"


def _of_key() -> "models.ForeignKey[ApiKey | None, ApiKey | None]":
    """The key of a sum (null: callers without a key); the sum's unique constraint is its index."""
    return models.ForeignKey(
        ApiKey,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        db_index=False,
    )


class UsageDay(models.Model):
    """The sum of a UTC day's UsageMinute rows, written with them and kept for good."""

    key = _of_key()
    method = models.CharField(max_length=60)
    status = models.CharField(max_length=60)
    day = models.DateField()
    calls = models.PositiveBigIntegerField()
    microseconds = models.PositiveBigIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0, db_default=0)

    class Meta:
        ordering: ClassVar = ["-day"]
        default_permissions = ()
        indexes: ClassVar = [
            models.Index(fields=["key", "day"], name="usage_days_by_key_and_day"),
            models.Index(fields=["day"], name="usage_days_by_day"),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["key", "method", "status", "day"],
                name="one_usage_day_per_key_method_status_day",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.method} {self.status}: {self.calls}"


class UsageHour(models.Model):
    """An hour's UsageMinute rows over all callers, kept for good: few rows, for reports on all."""

    method = models.CharField(max_length=60)
    status = models.CharField(max_length=60)
    hour = models.DateTimeField()
    calls = models.PositiveBigIntegerField()
    microseconds = models.PositiveBigIntegerField(default=0)

    class Meta:
        ordering: ClassVar = ["-hour"]
        default_permissions = ()
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["hour", "method", "status"], name="one_usage_hour_per_method_status_hour"
            )
        ]

    def __str__(self) -> str:
        return f"{self.hour:%Y-%m-%d %H:00} {self.method} {self.status}: {self.calls}"


class KeyHour(models.Model):
    """One key's hour, by access.counted_calls; the rest of `calls` is pushed. Kept for days."""

    key = _of_key()
    hour = models.DateTimeField()
    calls = models.PositiveBigIntegerField()
    ok = models.PositiveBigIntegerField()
    counted = models.PositiveBigIntegerField(default=0, db_default=0)
    refused = models.PositiveBigIntegerField(default=0, db_default=0)
    failed = models.PositiveBigIntegerField(default=0, db_default=0)

    class Meta:
        ordering: ClassVar = ["-hour"]
        default_permissions = ()
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["hour", "key"], name="one_key_hour_per_key_hour", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return f"{self.hour:%Y-%m-%d %H:00} key {self.key_id}: {self.calls}"


class KeyDay(models.Model):
    """The same of one key's UTC day, kept for good; `bytes` are those of notifications."""

    key = _of_key()
    day = models.DateField()
    calls = models.PositiveBigIntegerField()
    ok = models.PositiveBigIntegerField()
    counted = models.PositiveBigIntegerField()
    refused = models.PositiveBigIntegerField(default=0, db_default=0)
    failed = models.PositiveBigIntegerField(default=0, db_default=0)
    bytes = models.PositiveBigIntegerField(default=0, db_default=0)

    class Meta:
        ordering: ClassVar = ["-day"]
        default_permissions = ()
        indexes: ClassVar = [models.Index(fields=["key", "day"], name="key_days_by_key_and_day")]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["day", "key"], name="one_key_day_per_key_day", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} key {self.key_id}: {self.calls}"


class UsageClaim(models.Model):
    """A batch of counters that was added to UsageMinute: makes the roll-up idempotent."""

    name = models.CharField(max_length=64, primary_key=True)
    claimed_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.name
