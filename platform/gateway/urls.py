"""The process's own paths: health and readiness."""

from django.urls import path

from gateway.health import healthz, readyz

urlpatterns = [
    path("healthz", healthz),
    path("readyz", readyz),
]
