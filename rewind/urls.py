"""Path → endpoint and its terms."""

from django.urls import path

from gateway.endpoint import RpcEndpoint, Terms
from gateway.hosts import ARCHIVE
from rewind.methods import accounts, changes, coverage, jobs, simulation
from rewind.methods.table import methods

# Importing a module of methods puts them into the table.
__all__ = ["accounts", "changes", "coverage", "jobs", "simulation", "urlpatterns"]

urlpatterns = [
    path(
        "rewind",
        RpcEndpoint.as_view(
            methods=methods, terms=Terms("rewind", ARCHIVE, large_scope="simulate")
        ),
    ),
]
