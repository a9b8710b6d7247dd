"""The pages below /docs/, and the two documents."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.html import escape
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from access import store as access_store
from access.callers import ANONYMOUS, SCOPES
from access.error_advice import advice
from alerts.kinds import COMMON_FIELDS, KINDS, Audience
from gateway.hosts import QOS_TIERS, RPC_TIERS
from reference import (
    collection,
    console,
    guides,
    openapi,
    operation_samples,
    pages,
    rpc_documents,
    samples,
    search,
    snippets,
)
from reference.catalogue import common_errors, errors
from reference.framing import base_of, page
from reference.paths import rpc_paths

_TEXTS = Path(__file__).parent / "texts"

# An example event.
_EVENT = {
    "keyId": 7,
    "name": "trading",
    "prefix": "tmk_Ab12",
    "lastFour": "x9Yz",
    "environment": "production",
    "expiresAt": "2026-02-07T14:05:09Z",
    "successorId": 8,
    "about": "API key trading (tmk_Ab12…x9Yz)",
    "text": "The key was rotated. Both keys work until 2026-02-07 14:05 UTC.",
}


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    ways = snippets.first_reads(base_of(request))
    found = {"ways": ways, "areas": pages.PAGES, "guides": guides.navigation()[0][1]}
    return page(request, "start", found)


@require_safe
def guide_page(request: HttpRequest, slug: str) -> HttpResponse:
    return _guide(request, guides.file_of(slug))


@require_safe
def decision_page(request: HttpRequest, slug: str) -> HttpResponse:
    if slug not in guides.decisions():
        raise Http404
    return _guide(request, f"docs/decisions/{slug}.md")


@require_safe
def changelog_page(request: HttpRequest) -> HttpResponse:
    return _guide(request, "CHANGELOG.md")


@require_safe
def endpoint_page(request: HttpRequest, slug: str) -> HttpResponse:
    """The operations of an area, each with a link to its page."""
    try:
        area = pages.page_of(slug)
    except KeyError:
        raise Http404 from None
    if slug == "http":
        return page(request, "gets", {"page": area, "operations": pages.plain_gets()})
    is_node = slug == "node"
    found = {
        "page": area,
        "sections": pages.sections(slug),
        "passed_on": rpc_documents.passed_on(rpc_paths()) if is_node else [],
        "is_node": is_node,
    }
    return page(request, "endpoint", found)


@require_safe
def operation_page(request: HttpRequest, slug: str, anchor: str) -> HttpResponse:
    """One method or GET."""
    try:
        area, operation = pages.page_of(slug), pages.operations(slug)[anchor]
    except KeyError:
        raise Http404 from None
    values = samples.samples()
    code = operation_samples.samples_of(operation, base_of(request), values)
    found: dict[str, Any] = {"page": area, "operation": operation, "samples": code}
    if not operation.is_get:
        text = pages.request_text(operation.path, operation.name, values)
        found["request_text"] = text
        found["answer"] = pages.answer_text(operation.path, operation.name)
    found["has_clients"] = operation_samples.has_clients(operation)
    found["has_words"] = any("{" + name + "}" in code[0].text for name in samples.READERS_OWN)
    return page(request, "operation", found)


@require_safe
def errors_page(request: HttpRequest) -> HttpResponse:
    common = {kind.reason for kind in common_errors()}
    rows = [
        {
            "error": pages.refused(kind),
            "area": kind.__module__.partition(".")[0],
            "is_common": kind.reason in common,
            "advice": advice(kind),
        }
        for kind in errors()
    ]
    return page(request, "errors", {"rows": rows})


@require_safe
def limits_page(request: HttpRequest) -> HttpResponse:
    tiers = access_store.tiers()
    found = {
        "tiers": [(tier, _hosts(tier.name)) for tier in tiers],
        "anonymous": ANONYMOUS,
        "scopes": SCOPES,
        "max_batch": settings.MAX_BATCH,
        "max_body": settings.MAX_BODY // 1024,
        "max_large_body": settings.MAX_LARGE_BODY // 1024,
    }
    return page(request, "limits", found)


@require_safe
def webhooks_page(request: HttpRequest) -> HttpResponse:
    kinds = [kind for kind in KINDS.values() if kind.audience is Audience.CUSTOMER]
    example = {
        "type": "key.rotated",
        "timestamp": "2026-01-31T14:05:09Z",
        "data": {
            name: _EVENT.get(name, "…") for name in (*KINDS["key.rotated"].fields, *COMMON_FIELDS)
        },
    }
    found = {
        "kinds": kinds,
        "common": COMMON_FIELDS.items(),
        "example": json.dumps(example, indent=2, ensure_ascii=False),
        "verify": (_TEXTS / "verify_webhook.txt").read_text(encoding="utf-8"),
    }
    return page(request, "webhooks", found)


@require_safe
def console_page(request: HttpRequest) -> HttpResponse:
    return page(request, "console", {"areas": console.areas(samples.samples())})


@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    """`q` in the docs, by kind. With `part` the answer is the list alone, for find.js."""
    text = request.GET.get("q", "").strip()[: search.LONGEST]
    found = {"asked": text, "found": search.index().find(text)}
    return page(request, "search_results" if "part" in request.GET else "search", found)


@require_safe
def openrpc_document(request: HttpRequest) -> HttpResponse:
    return _document(_openrpc_text(base_of(request)))


@require_safe
def openapi_document(request: HttpRequest) -> HttpResponse:
    return _document(_openapi_text(base_of(request)))


@require_safe
def postman_document(request: HttpRequest) -> HttpResponse:
    """`/postman.json`: the collection, with values of this chain."""
    found = collection.collection(base_of(request), samples.samples())
    return _document(json.dumps(found, ensure_ascii=False))


# Cached by base URL: each takes as long as a hundred calls.
@lru_cache(maxsize=16)
def _openrpc_text(base: str) -> str:
    return json.dumps(rpc_documents.whole_document(base), ensure_ascii=False)


@lru_cache(maxsize=16)
def _openapi_text(base: str) -> str:
    return json.dumps(openapi.document(base), ensure_ascii=False)


def _guide(request: HttpRequest, file: str) -> HttpResponse:
    try:
        made = guides.page(file)
    except FileNotFoundError:
        raise Http404 from None
    html = snippets.with_address(made.html, escape(base_of(request)))
    found = {"title": made.title, "html": mark_safe(html), "headings": made.headings}
    return page(request, "guide", found)


def _document(text: str) -> HttpResponse:
    # Client generators read it from pages of other origins.
    return HttpResponse(text, "application/json", headers={"Access-Control-Allow-Origin": "*"})


def _hosts(tier: str) -> list[str]:
    named = {"rpc": (*RPC_TIERS, "public"), "qos": QOS_TIERS}
    name = "public" if tier == ANONYMOUS else tier
    return [f"{name}.{kind}.{settings.DOMAIN}" for kind, tiers in named.items() if name in tiers]
