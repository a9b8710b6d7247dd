"""Management keys, and the responses that are kept for repeated requests."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models

from access.models import validate_network
from management.scopes import SCOPES
from portal.models import Member


class ManagementKey(models.Model):
    """A key of the management API; only its digest is stored. One with a member is the token of
    that member's customer, any other a root key.
    """

    name = models.CharField(max_length=100)
    member = models.ForeignKey(
        Member, on_delete=models.CASCADE, null=True, blank=True, related_name="tokens"
    )
    scopes = ArrayField(models.CharField(max_length=20, choices=[(each, each) for each in SCOPES]))
    networks = ArrayField(
        models.CharField(max_length=50, validators=[validate_network]),
        default=list,
        blank=True,
        help_text="CIDR list: addresses that may use the key; empty allows any address",
    )
    shown_prefix = models.CharField(max_length=12, editable=False)
    last_four = models.CharField(max_length=4, editable=False)
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    created_by = models.CharField(max_length=150, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_address = models.GenericIPAddressField(null=True, blank=True, editable=False)

    class Meta:
        ordering: ClassVar = ["-pk"]

    def __str__(self) -> str:
        return f"{self.name} ({self.shown_prefix}…{self.last_four})"


class KeptResponse(models.Model):
    """The response to a POST with an `Idempotency-Key`, for requests that repeat it. It may hold a
    secret that was shown once: it is encrypted.
    """

    key = models.ForeignKey(ManagementKey, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=255, help_text="the Idempotency-Key")
    request_digest = models.BinaryField(max_length=32)
    sealed = models.BinaryField(default=bytes)
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        default_permissions = ()
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["key", "name"], name="one_response_per_idempotency_key")
        ]

    def __str__(self) -> str:
        return self.name
