"""GET /healthz (this process answers) and /readyz (it can answer calls)."""

from typing import Any

from django.conf import settings
from rest_framework.response import Response

from gateway.health import Alive, Readiness, readiness, without_details
from gateway.open_views import OpenView
from gateway.sent_keys import has_metrics_token

# Status pages in a browser read both from another origin; they hold no secret.
CORS = {"Access-Control-Allow-Origin": "*"}


class Healthz(OpenView):
    name = "healthz"
    result = Alive
    own_headers = CORS

    def get(self, request: Any) -> Response:
        """Whether this process answers at all: for a supervisor that restarts it if not."""
        return Response(Alive("ok", settings.VERSION))


class Readyz(OpenView):
    name = "readyz"
    result = Readiness
    own_headers = CORS
    also = {503: "calls cannot be answered: `checks` says why"}

    def get(self, request: Any) -> Response:
        """200 when calls can be answered, else 503 with the failed checks: for a load balancer,
        which then sends no calls here. Details of the checks are for those who send METRICS_TOKEN
        as `Authorization: Bearer …`.
        """
        found = readiness()
        # An address shows no operator: behind a proxy or a tunnel that adds no header, and in a
        # page that a browser on this machine opened, everyone comes from a loopback address.
        if not has_metrics_token(request.META):
            found = without_details(found)
        return Response(found, status=503 if found.status == "unavailable" else 200)
