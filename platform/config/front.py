"""The front page: what answers here, for whoever opens the address in a browser."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def front_page(request: HttpRequest) -> HttpResponse:
    base = f"{request.scheme}://{request.get_host()}"
    return render(request, "front.html", {"base": base, "chain": _chain()})


def _chain() -> str:
    if settings.LOCALNET:
        return "the standard node's methods, on localnet: for wallets and clients"
    if settings.UPSTREAM_RPC_URL:
        return "the standard node's methods, on the chain that is followed: for wallets and clients"
    return "getHealth; no node is set to pass other methods on to"
