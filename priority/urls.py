"""Path → endpoint and its terms."""

from typing import Any

from gateway.endpoint import Page, RpcEndpoint, Terms
from gateway.hosts import EVERY
from priority.methods import methods


def front_door(page: Page) -> Any:
    """`/`: RPC calls on every host, and the page to who looks with a browser."""
    return RpcEndpoint.as_view(methods=methods, terms=Terms("proxy", EVERY), page=page)
