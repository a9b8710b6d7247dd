"""GET /metrics, for Prometheus."""

import hmac
import json
from importlib import metadata

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from gateway.declarations import declare
from operations import exposition
from operations.readings.present import present
from operations.services import alarms

_VERBS = ("GET", "HEAD")


def metrics(request: HttpRequest) -> HttpResponse:
    """Everything that is measured, as Prometheus reads it. It asks for the token of METRICS_TOKEN,
    as `Authorization: Bearer …`, not for an API key.
    """
    if request.method not in _VERBS:
        return _refusal(405, "http_method_not_allowed", {"Allow": ", ".join(_VERBS)})
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    known: str = settings.METRICS_TOKEN
    if scheme.lower() != "bearer" or not hmac.compare_digest(
        token.strip().encode(), known.encode()
    ):
        return _refusal(401, "unauthorized", {"WWW-Authenticate": 'Bearer realm="metrics"'})
    body = exposition.exposed(present(timezone.now()), alarms.open_alarms(), version=_version())
    headers = {"Cache-Control": "no-store"}
    return HttpResponse(body, content_type=exposition.CONTENT_TYPE, headers=headers)


# The text is in Prometheus' own format.
declare(metrics, "metrics", result=str, content_type="text/plain")


def _refusal(status: int, word: str, headers: dict[str, str]) -> HttpResponse:
    body = json.dumps({"error": word})
    return HttpResponse(body, status=status, content_type="application/json", headers=headers)


def _version() -> str:
    try:
        return metadata.version("tidemark")
    except metadata.PackageNotFoundError:
        return "checkout"
