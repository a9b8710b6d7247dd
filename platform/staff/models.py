"""The audit log, its check, sign-outs, authenticator apps, and accounts at the sign-in provider."""

import secrets
from base64 import b64decode, b64encode
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django_otp.plugins.otp_totp.models import TOTPDevice

from staff import sealing

_APPS = "authenticator apps"


class AuditEntry(models.Model):
    """One action of a staff user. A trigger of the database refuses to change or delete rows."""

    at = models.DateTimeField()
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.DO_NOTHING,
        null=True,
        blank=True,
        db_constraint=False,
        related_name="+",
    )
    who = models.CharField(max_length=150, help_text="the user's name at the time")
    address = models.GenericIPAddressField(null=True, blank=True)
    request_id = models.CharField(max_length=100, blank=True)
    verb = models.CharField(max_length=40, help_text="added, changed, deleted, signed in, …")
    subject_type = models.CharField(max_length=80, blank=True, help_text="app.model")
    subject_id = models.CharField(max_length=100, blank=True)
    subject = models.CharField(max_length=300, blank=True)
    text = models.TextField(blank=True)
    changes = models.JSONField(default=dict, help_text="{field: [before, after]}; no secrets")
    digest = models.BinaryField(
        max_length=32, help_text="SHA-256 over the entry before and this one's content"
    )

    class Meta:
        ordering: ClassVar = ["-pk"]
        verbose_name = "audit entry"
        verbose_name_plural = "audit log"
        indexes: ClassVar = [
            models.Index(fields=["subject_type", "subject_id"], name="audit_by_subject"),
            models.Index(fields=["user", "-id"], name="audit_by_user"),
            models.Index(fields=["at"], name="audit_by_time"),
            models.Index(fields=["verb", "-id"], name="audit_by_verb"),
        ]

    def __str__(self) -> str:
        return f"{self.who} {self.verb} {self.subject}".strip()


class AuditCheck(models.Model):
    """How far the audit log was checked: one row. New entries are checked from there; a full check
    (`round_…`) goes from the first entry to the last, in parts.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    entry_id = models.BigIntegerField(default=0, help_text="the last entry that was looked at")
    digest = models.BinaryField(max_length=32, default=bytes)
    looked_at = models.DateTimeField(null=True)
    round_id = models.BigIntegerField(default=0, help_text="where the round is; 0: none goes on")
    round_digest = models.BinaryField(max_length=32, default=bytes)
    # When a full check last ended without a break, and at which entry.
    whole_at = models.DateTimeField(null=True)
    whole_to = models.BigIntegerField(default=0)
    problem = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(id=1), name="one_check_of_the_audit_log"),
        ]

    def __str__(self) -> str:
        return self.problem or f"unbroken to entry {self.whole_to}"


class SignOut(models.Model):
    """Ends the sessions of a user that began before this time."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="sign_out",
    )
    before = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.user} before {self.before:%Y-%m-%d %H:%M:%S}"


class ProviderAccount(models.Model):
    """The account at an OpenID Connect provider by which a user signs in: its `sub` never changes,
    while an e-mail address may pass to another person.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="provider_accounts"
    )
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255, help_text="the claim `sub`")
    email = models.CharField(max_length=254, help_text="as the provider verified it at first")
    bound_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        default_permissions = ()
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="one_user_per_subject"),
            models.UniqueConstraint(fields=["user", "issuer"], name="one_subject_per_user"),
        ]

    def __str__(self) -> str:
        return f"{self.email} at {self.issuer}"


class App(TOTPDevice):  # type: ignore[misc]
    """An authenticator app. `key` is its secret, encrypted: unreadable with the database alone."""

    class Meta:
        proxy = True
        default_permissions = ()

    @classmethod
    def new(cls, user: Any, *, confirmed: bool = False) -> "App":
        sealed = sealing.seal(secrets.token_bytes(20), purpose=_APPS)
        app: App = cls.objects.create(
            user_id=user.pk, name="app", confirmed=confirmed, key=b64encode(sealed).decode()
        )
        return app

    @property
    def bin_key(self) -> bytes:
        """The secret. Raises SealBroken after a change of SECRET_KEY."""
        return sealing.unseal(b64decode(self.key), purpose=_APPS)

    @property
    def is_readable(self) -> bool:
        try:
            return bool(self.bin_key)
        except sealing.SealBroken:
            return False

    def verify_token(self, token: str) -> bool:
        """Whether it is a code of now that was not given before."""
        return self.is_readable and bool(super().verify_token(token))
