"""Bearer authentication with METRICS_TOKEN."""

import hmac
from typing import Any, ClassVar

from django.conf import settings
from rest_framework.authentication import BaseAuthentication

from gateway.refusals import Refusal


class TokenRefused(Refusal):
    """/metrics asks for the token of METRICS_TOKEN, not for an API key."""

    status = 401
    code = -32003
    reason = "unauthorized"
    response_body: ClassVar[dict[str, str]] = {"error": "unauthorized"}

    def __init__(self) -> None:
        super().__init__("The token of METRICS_TOKEN is required")

    def headers(self) -> dict[str, str]:
        return {"WWW-Authenticate": 'Bearer realm="metrics"'}


class MetricsToken(BaseAuthentication):
    """`Authorization: Bearer …` with the token, which belongs to no user."""

    def authenticate(self, request: Any) -> tuple[None, None]:
        """Raises TokenRefused."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        known: str = settings.METRICS_TOKEN
        if scheme.lower() != "bearer" or not hmac.compare_digest(
            token.strip().encode(), known.encode()
        ):
            raise TokenRefused
        return None, None
