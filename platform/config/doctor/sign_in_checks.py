"""The sign-in provider: reachable, and with all that signing in needs. No one is signed in."""

from collections.abc import Iterator

from django.conf import settings

from config.doctor.findings import Finding, error, ok, warning
from operations.rules.table import BY_NAME
from staff import provider
from staff.provider import ProviderRefused


def of_provider() -> Iterator[Finding]:
    if not provider.is_on():
        if settings.OIDC_STAFF_GROUPS:
            yield warning(
                "OIDC_STAFF_GROUPS is set without a sign-in provider: it does not have any effect.",
                "Set OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET, or remove it.",
            )
        return
    try:
        provider.client().examine()
    except ProviderRefused as refusal:
        rule = BY_NAME["sign_in_failing"]
        yield error(f"No one can sign in by {settings.OIDC_ISSUER}. {refusal}.", rule.advice)
    else:
        yield ok(f"The sign-in provider {settings.OIDC_ISSUER} has all that signing in needs.")
