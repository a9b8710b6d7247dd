"""The process's own paths (health and readiness), and who a caller is."""

from django.urls import path

from gateway.health_views import Healthz, Readyz
from gateway.hosts import EVERY
from gateway.terms import Face, Terms
from gateway.whoami import WhoAmIView

urlpatterns = [
    path("healthz", Healthz.as_view()),
    path("readyz", Readyz.as_view()),
    path("whoami", WhoAmIView.as_view(terms=Terms("", EVERY, face=Face.WORD))),
]
