"""Path → endpoint and its terms."""

from typing import Any

from gateway.endpoint import Page, RpcEndpoint, Terms
from gateway.hosts import EVERY
from priority.methods import bundles, health
from priority.methods.table import methods

# Importing a module of methods puts them into the table.
__all__ = ["bundles", "front_door", "health"]


def front_door(page: Page) -> Any:
    """`/`: RPC calls on every host, and the page to who looks with a browser."""
    terms = Terms("proxy", EVERY, scopes={"simulateBundle": "simulate"})
    return RpcEndpoint.as_view(methods=methods, terms=terms, page=page)
