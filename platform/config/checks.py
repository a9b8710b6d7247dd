"""Django's system checks: those that do not fit this project, and `check --deploy`'s own."""

from typing import Any

from django.core import checks

SILENCED = (
    # The check knows only memcached's and Django's own backends; django-redis counts atomically.
    "django_ratelimit.W001",
    # They look in MIDDLEWARE for what stands in ADMIN_MIDDLEWARE: the admin's own, and of
    # `check --deploy` those for security, framing and CSRF.
    "admin.E408",
    "admin.E409",
    "admin.E410",
    "security.W001",
    "security.W002",
    "security.W003",
    # Cookies for HTTPS alone: that is BEHIND_HTTPS, which the check below asks for.
    "security.W010",
    "security.W016",
)


@checks.register(checks.Tags.security, deploy=True)
def behind_https(**_options: Any) -> list[checks.CheckMessage]:
    """Pages need TLS before them on the internet."""
    from django.conf import settings

    if settings.BEHIND_HTTPS:
        return []
    return [
        checks.Warning(
            "Nothing is said to end TLS: keys, passwords and cookies are sent in the clear.",
            hint="Put nginx or Caddy in front (deploy/) and set BEHIND_HTTPS=true. `manage.py"
            " doctor` examines the rest of the installation.",
            id="tidemark.W001",
        )
    ]
