"""The process's own paths (health and readiness), and who a caller is."""

from django.urls import path

from gateway.endpoint_policy import EndpointPolicy, ErrorFormat
from gateway.health_views import Healthz, Readyz
from gateway.hosts import EVERY
from gateway.whoami import WhoAmIView

urlpatterns = [
    path("healthz", Healthz.as_view()),
    path("readyz", Readyz.as_view()),
    path(
        "whoami",
        WhoAmIView.as_view(policy=EndpointPolicy("", EVERY, error_format=ErrorFormat.WORD)),
    ),
]
