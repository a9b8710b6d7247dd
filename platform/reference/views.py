"""The pages below /docs/, and the two documents."""

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils.html import escape
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from access import store as access_store
from access import windows
from access.callers import ANONYMOUS, SCOPES, Quota
from alerts.kinds import COMMON_FIELDS, KINDS, Audience
from gateway.addresses import client_address
from gateway.hosts import QOS_TIERS, RPC_TIERS
from reference import guides, openapi, pages, rpc_documents, samples, snippets
from reference.advice import advice
from reference.catalogue import common_errors, errors
from reference.paths import rpc_paths

_TEXTS = Path(__file__).parent / "texts"
_READ = (("clients", "sh", 1), ("clients", "python", 1), ("clients", "ts", 0))
_LAND = (("landing", "python", 0), ("landing", "ts", 0))
_PAST = (("the-past", "python", 0),)
_MADE_FOR_START = {"read": _READ, "land": _LAND, "past": _PAST}

_READS = Quota(rate=5, burst=300)

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
    return _page(request, "start", {"ways": start_snippets(base_of(request))})


@require_safe
def guide_page(request: HttpRequest, slug: str) -> HttpResponse:
    if slug == guides.DECISIONS:
        return _page(request, slug, {"decisions": guides.decisions()})
    return _guide(request, slug, guides.file_of(slug))


@require_safe
def decision_page(request: HttpRequest, slug: str) -> HttpResponse:
    if slug not in dict(guides.decisions()):
        raise Http404
    return _guide(request, guides.DECISIONS, f"docs/decisions/{slug}.md")


@require_safe
def changelog_page(request: HttpRequest) -> HttpResponse:
    return _guide(request, "changelog", "CHANGELOG.md")


@require_safe
def endpoint_page(request: HttpRequest, slug: str) -> HttpResponse:
    try:
        page = pages.page_of(slug)
    except KeyError:
        raise Http404 from None
    if slug == "http":
        operations, types = pages.plain_gets()
        return _page(
            request, slug, {"page": page, "operations": operations, "types": types}, "gets"
        )
    sections, types = pages.sections(slug)
    values = samples.samples()
    methods = {
        each.anchor: _example(section.path, each.name, values)
        for section in sections
        for each in section.operations
    }
    found = {
        "page": page,
        "sections": [
            (each, [(one, methods[one.anchor]) for one in each.operations]) for each in sections
        ],
        "types": types,
        "passed_on": rpc_documents.passed_on(rpc_paths()) if slug == "node" else [],
        "is_node": slug == "node",
    }
    return _page(request, slug, found, "endpoint")


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
    return _page(request, "errors", {"rows": rows})


@require_safe
def limits_page(request: HttpRequest) -> HttpResponse:
    tiers = access_store.tiers()
    found = {
        "tiers": [(tier, _hosts(tier.name, request)) for tier in tiers],
        "anonymous": ANONYMOUS,
        "scopes": SCOPES,
        "max_batch": settings.MAX_BATCH,
        "max_body": settings.MAX_BODY // 1024,
        "max_large_body": settings.MAX_LARGE_BODY // 1024,
    }
    return _page(request, "limits", found)


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
    return _page(request, "webhooks", found)


@require_safe
def console_page(request: HttpRequest) -> HttpResponse:
    values = samples.samples()
    choices = [
        (
            at.path,
            [
                (name, pages.request_text(at.path, name, values))
                for name in [method.name for method in at.table]
                + (rpc_documents.passed_on([at]) if at.path == "/" else [])
            ],
        )
        for at in rpc_paths()
        if at.path.count("/") == 1
    ]
    return _page(request, "console", {"choices": choices})


@require_safe
def openrpc_document(request: HttpRequest) -> HttpResponse:
    return _json(request, _openrpc_text)


@require_safe
def openapi_document(request: HttpRequest) -> HttpResponse:
    return _json(request, _openapi_text)


# Cached by base URL: each takes as long as a hundred calls.
@lru_cache(maxsize=16)
def _openrpc_text(base: str) -> str:
    return json.dumps(rpc_documents.whole_document(base), ensure_ascii=False)


@lru_cache(maxsize=16)
def _openapi_text(base: str) -> str:
    return json.dumps(openapi.document(base), ensure_ascii=False)


def base_of(request: HttpRequest) -> str:
    """The scheme and host of the request."""
    return f"{request.scheme}://{request.get_host()}"


def start_snippets(base: str) -> dict[str, list[dict[str, str]]]:
    """The snippets of the start page by step, with the reader's host."""
    return {
        step: [
            {"language": snippets.language_name(language), "id": f"{step}-{language}", "text": text}
            for guide, language, number in ways
            if (text := snippets.snippet(guide, language, number, base))
        ]
        for step, ways in _MADE_FOR_START.items()
    }


def _example(path: str, method: str, values: dict[str, Any]) -> dict[str, Any]:
    request = pages.request_text(path, method, values)
    answer = pages.answer_text(path, method)
    return {"request": request, "answer": answer, "has_words": '"{' in request}


def _guide(request: HttpRequest, current: str, file: str) -> HttpResponse:
    try:
        page = guides.page(file)
    except FileNotFoundError:
        raise Http404 from None
    html = snippets.with_address(page.html, escape(base_of(request)))
    found = {"title": page.title, "html": mark_safe(html), "headings": page.sections}
    return _page(request, current, found, "guide")


def _page(
    request: HttpRequest, current: str, found: dict[str, Any], template: str = ""
) -> HttpResponse:
    refused = _too_many(request)
    if refused is not None:
        return refused
    frame = {
        "section": "docs",
        "current": current,
        "base": base_of(request),
        "endpoint_pages": pages.PAGES,
        "guides": guides.navigation(),
        "portal": _url("portal:overview"),
    }
    return render(request, f"docs/{template or current}.html", {**frame, **found})


def _url(name: str) -> str:
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""


def _json(request: HttpRequest, text_for: Callable[[str], str]) -> HttpResponse:
    refused = _too_many(request)
    if refused is not None:
        return refused
    # Client generators read it from pages of other origins.
    headers = {"Access-Control-Allow-Origin": "*"}
    return HttpResponse(
        text_for(base_of(request)), content_type="application/json", headers=headers
    )


def _too_many(request: HttpRequest) -> HttpResponse | None:
    """Limits pages by client address: they need no key and cost more than a call."""
    taken = windows.take(request, "docs", client_address(request.META), _READS)
    if taken.allowed:
        return None
    text = f"Too many pages from this address: try again in {taken.retry_seconds} s.\n"
    headers = {"Retry-After": str(taken.retry_seconds)}
    return HttpResponse(text, status=429, content_type="text/plain", headers=headers)


def _hosts(tier: str, request: HttpRequest) -> list[str]:
    named = {"rpc": (*RPC_TIERS, "public"), "qos": QOS_TIERS}
    name = "public" if tier == ANONYMOUS else tier
    return [f"{name}.{kind}.{settings.DOMAIN}" for kind, tiers in named.items() if name in tiers]
