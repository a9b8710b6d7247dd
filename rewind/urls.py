"""Path → endpoint and its terms."""

from django.urls import path

from gateway.endpoint import RpcEndpoint, Terms
from gateway.hosts import ARCHIVE
from rewind.methods import coverage
from rewind.methods.table import methods

# Importing a module of methods puts them into the table.
__all__ = ["coverage", "urlpatterns"]

urlpatterns = [
    path("rewind", RpcEndpoint.as_view(methods=methods, terms=Terms("rewind", ARCHIVE))),
]
