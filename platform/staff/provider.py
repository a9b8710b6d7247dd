"""The sign-in provider (OpenID Connect): whether there is one, and whom it names."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from staff.errors import ActionRefused


class ProviderRefused(ActionRefused):
    """The sign-in is not accepted; the text says why."""


class NotBegun(ProviderRefused):
    """The provider's redirect belongs to no sign-in of this session."""

    def __init__(self) -> None:
        super().__init__(
            "This sign-in was not begun here, took too long, or was used: sign in again"
        )


@dataclass(frozen=True, slots=True)
class Identity:
    """Who signed in at the provider. The e-mail address is verified, and in lower case."""

    issuer: str
    subject: str
    email: str
    groups: frozenset[str]


def is_on() -> bool:
    return bool(settings.OIDC_ISSUER)


def client() -> Any:
    """staff.oidc_client, imported when it is used: 54 ms and 4 MB of each process, most of which
    never use it.
    """
    from staff import oidc_client

    return oidc_client
