"""Path → endpoint and its policy."""

from django.urls import path

from gateway.endpoint import RpcEndpoint
from gateway.endpoint_policy import EndpointPolicy
from gateway.hosts import ARCHIVE
from rewind.methods import accounts, changes, coverage, explaining, jobs, proofs, simulation
from rewind.methods.table import methods

# Importing a module of methods puts them into the table.
__all__ = [
    "accounts",
    "changes",
    "coverage",
    "explaining",
    "jobs",
    "proofs",
    "simulation",
    "urlpatterns",
]

urlpatterns = [
    path(
        "rewind",
        RpcEndpoint.as_view(
            methods=methods, policy=EndpointPolicy("rewind", ARCHIVE, large_scope="simulate")
        ),
    ),
]
