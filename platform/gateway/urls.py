"""The process's own paths (health and readiness), and who a caller is."""

from django.urls import path

from gateway.health import healthz, readyz
from gateway.hosts import EVERY
from gateway.reading import get_endpoint
from gateway.terms import Face, Terms
from gateway.whoami import who_asks

urlpatterns = [
    path("healthz", healthz),
    path("readyz", readyz),
    path("whoami", get_endpoint("whoami", who_asks, Terms("", EVERY, face=Face.WORD))),
]
