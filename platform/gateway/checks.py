"""System checks for settings with which the gateway would refuse all callers, or none."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register


@register
def check_gateway(
    app_configs: Sequence[AppConfig] | None = None, **_options: Any
) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    domain: str = settings.DOMAIN
    if not domain or domain.strip(".").lower() != domain:
        found.append(
            Error(
                f"DOMAIN={domain!r} is no lower-case host name",
                hint="For hosts like basic.rpc.example.com write DOMAIN=example.com",
                id="gateway.E001",
            )
        )
    for network in settings.TRUSTED_PROXIES:
        if network.prefixlen == 0:
            found.append(
                checks.Warning(
                    f"TRUSTED_PROXIES={network} lets every client write its own address",
                    hint="Name the proxies' addresses alone",
                    id="gateway.W001",
                )
            )
    first = next(iter(settings.MIDDLEWARE), None)
    if first != "gateway.middleware.HostMiddleware":
        found.append(
            Error(
                "gateway.middleware.HostMiddleware is not the first middleware",
                hint="It names the Host, gives every answer its id and calls the endpoints",
                id="gateway.E003",
            )
        )
    backend = settings.CACHES.get("default", {}).get("BACKEND", "")
    if "redis" not in backend:
        found.append(
            Error(
                f"CACHES['default'] is {backend or 'absent'}: not shared by the processes",
                hint="Keyless callers are counted there: use django_redis.cache.RedisCache",
                id="gateway.E004",
            )
        )
    return found
