"""Bearer authentication with METRICS_TOKEN."""

from typing import Any, ClassVar

from rest_framework.authentication import BaseAuthentication

from gateway.refusals import Refusal
from gateway.sent_keys import has_metrics_token


class TokenRefused(Refusal):
    """/metrics requires the token of METRICS_TOKEN, not an API key."""

    status = 401
    code = -32003
    reason = "unauthorized"
    response_body: ClassVar[dict[str, str]] = {"error": "unauthorized"}
    text = "The token of METRICS_TOKEN is required"

    def headers(self) -> dict[str, str]:
        return {"WWW-Authenticate": 'Bearer realm="metrics"'}


class MetricsToken(BaseAuthentication):
    """`Authorization: Bearer …` with the token, which belongs to no user."""

    def authenticate(self, request: Any) -> tuple[None, None]:
        """Raises TokenRefused."""
        if not has_metrics_token(request.META):
            raise TokenRefused
        return None, None
