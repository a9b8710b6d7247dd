"""The front page: what this is, how it is now, and where to begin."""

from dataclasses import dataclass

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_safe

from config.pages import front_live
from config.pages.content_policy import ContentPolicyMiddleware
from gateway.health import failed_checks, readiness
from historical.blocks.services.bounds import newest_slot_or_none
from reference.framing import base_of
from reference.snippets import first_reads
from shared_state.outages import AWAY


@dataclass(frozen=True, slots=True)
class Status:
    """How the service is, for a person; `hue` is a word of site.css."""

    word: str
    hue: str
    text: str


@ContentPolicyMiddleware
@require_safe
def front_page(request: HttpRequest) -> HttpResponse:
    found = {
        "chain": _chain(),
        "status": _status(),
        "strip": front_live.strip() if settings.FRONT_FIGURES else None,
        "ways": first_reads(base_of(request)),
        "portal": _portal(),
    }
    return render(request, "front.html", found)


@ContentPolicyMiddleware
@require_safe
def live_strip(request: HttpRequest) -> HttpResponse:
    """The strip alone, for front.js: read once a second for all visitors of a process."""
    if not settings.FRONT_FIGURES:
        raise Http404
    response = render(request, "live.html", {"strip": front_live.strip()})
    response["Cache-Control"] = "public, max-age=1"
    return response


def _chain() -> str:
    if settings.LOCALNET:
        return "the standard node's methods, on localnet: for wallets and clients"
    if settings.UPSTREAM_RPC_URL:
        return "the standard node's methods, on the chain that is followed: for wallets and clients"
    return "getHealth; no node is set to pass other methods on to"


def _status() -> Status:
    found = readiness()
    failed = failed_checks(found)
    if failed:
        what = " and ".join(filter(None, [", ".join(failed[:-1]), failed[-1]]))
        return Status("not ready", "bad", f"It cannot answer everything now: see {what}.")
    try:
        newest = newest_slot_or_none()
    except AWAY:
        return Status("not ready", "bad", "The database does not answer.")
    if newest is None:
        return Status("ready", "good", f"The ledger is empty yet; {_source()}.")
    return Status("ready", "good", f"The ledger reaches slot {newest:,}; {_source()}.")


def _source() -> str:
    if settings.LOCALNET:
        return "localnet, a small chain of its own, is followed"
    if settings.UPSTREAM_GEYSER_URL or settings.UPSTREAM_RPC_URL:
        return "the chain is followed"
    return "no chain is followed, so that it holds what is imported"


def _portal() -> str:
    try:
        return reverse("portal:overview")
    except NoReverseMatch:
        return ""
