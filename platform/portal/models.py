"""Who of a customer's people signs in, and what a customer did to a key."""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from access.models import ApiKey, Customer


class Member(models.Model):
    """One person of a customer. The user's name is the e-mail address, in lower case."""

    class Role(models.TextChoices):
        OWNER = "owner"  # sees and changes everything of the customer
        READER = "reader"  # sees everything, changes nothing

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="members")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.READER)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["customer", "pk"]
        verbose_name = "portal user"

    def __str__(self) -> str:
        return str(self.user.get_username())

    @property
    def is_owner(self) -> bool:
        return self.role == self.Role.OWNER


class KeyTerms(models.Model):
    """What staff gave a key, from the customer's first change of it on: how far the customer may
    change it. It binds as long as the key is as the customer left it (`set_…`); after a change by
    staff, what the key then has is what was given.
    """

    key = models.OneToOneField(ApiKey, on_delete=models.CASCADE, related_name="portal_terms")
    given_scopes = ArrayField(models.CharField(max_length=20), default=list)
    given_expires_at = models.DateTimeField(null=True)
    set_scopes = ArrayField(models.CharField(max_length=20), default=list)
    set_expires_at = models.DateTimeField(null=True)
    # A suspension or revocation of this very moment was the customer's own.
    suspended_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        verbose_name_plural = "key terms"

    def __str__(self) -> str:
        return f"terms of {self.key}"
