"""Path → endpoint and its policy."""

from django.urls import path

from gateway.endpoint import RpcEndpoint
from gateway.endpoint_policy import EndpointPolicy
from gateway.hosts import ARCHIVE
from rewind.accounts.methods import accounts, changes
from rewind.coverage import methods as coverage
from rewind.explained import methods as explaining
from rewind.jobs import methods as jobs
from rewind.method_table import methods
from rewind.proof import methods as proofs
from rewind.replay import methods as simulation

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
