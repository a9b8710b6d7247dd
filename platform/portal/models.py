"""Members of customers, and the rights of keys."""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from access.models import ApiKey, Customer


class Member(models.Model):
    """A user of a customer. The user name is the e-mail address in lower case."""

    class Role(models.TextChoices):
        OWNER = "owner"  # sees and changes everything of the customer
        DEVELOPER = "developer"  # sees everything, changes keys
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

    @property
    def manages_keys(self) -> bool:
        return self.role in (self.Role.OWNER, self.Role.DEVELOPER)


class KeyTerms(models.Model):
    """The rights that staff gave a key (`given_…`), from the customer's first change on: the limits
    of further changes. Valid while the key is as the customer left it (`set_…`); after a change by
    staff, the key's own rights are the given ones.
    """

    key = models.OneToOneField(ApiKey, on_delete=models.CASCADE, related_name="portal_terms")
    given_scopes = ArrayField(models.CharField(max_length=20), default=list)
    given_expires_at = models.DateTimeField(null=True)
    given_methods = ArrayField(models.CharField(max_length=60), default=list)
    given_requests_per_second = models.FloatField(null=True)
    set_scopes = ArrayField(models.CharField(max_length=20), default=list)
    set_expires_at = models.DateTimeField(null=True)
    set_methods = ArrayField(models.CharField(max_length=60), default=list)
    set_requests_per_second = models.FloatField(null=True)
    # A suspension or revocation at exactly this time was the customer's own.
    suspended_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        verbose_name_plural = "key terms"

    def __str__(self) -> str:
        return f"terms of {self.key}"
