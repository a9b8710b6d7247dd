"""GET /metrics, for Prometheus."""

from typing import Any, ClassVar, NoReturn

from django.conf import settings
from rest_framework.response import Response

from gateway.open_views import OpenView
from gateway.refusals import NotAllowed
from operations import exposition
from operations.authentication import MetricsToken, TokenRefused
from operations.readings.present import present
from operations.services import alarms, held_alarms
from shared_state import clock


class Metrics(OpenView):
    name = "metrics"
    result = str  # in Prometheus' own format
    content_type = "text/plain"
    errors = (TokenRefused,)
    authentication_classes = (MetricsToken,)

    def get(self, request: Any) -> Response:
        """All metrics in Prometheus' text format. Takes the token of METRICS_TOKEN as
        `Authorization: Bearer …`, not an API key.
        """
        opened = [*alarms.open_alarms(), *held_alarms.open_alarms()]
        body = exposition.exposed(present(clock.now()), opened, version=settings.VERSION)
        return Response(body, content_type=exposition.CONTENT_TYPE)

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        if request.method not in ("GET", "HEAD"):
            self.http_method_not_allowed(request)  # before the token is asked for
        super().initial(request, *args, **kwargs)

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise _OnlyScraped(request.method or "", self.verb, preflight=False)


class _OnlyScraped(NotAllowed):
    """A JSON body, as every refusal of /metrics has."""

    response_body: ClassVar[dict[str, str]] = {"error": NotAllowed.reason}
