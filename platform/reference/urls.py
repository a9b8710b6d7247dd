"""Path → page, and the documents. All of them share one limit by client address."""

from collections.abc import Callable
from typing import Any

from django.contrib.sitemaps.views import sitemap
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from django.views.generic import RedirectView

from reference import guides, machine_pages, views
from reference.framing import limited

app_name = "reference"


def _page(
    route: str, view: Callable[..., HttpResponseBase], name: str | None = None, **given: Any
) -> URLPattern:
    return path(route, limited(view), given, name=name)


urlpatterns = [
    _page("openrpc.json", views.openrpc_document, "openrpc"),
    _page("openapi.json", views.openapi_document, "openapi"),
    _page("postman.json", views.postman_document, "postman"),
    _page("llms.txt", machine_pages.llms, "llms"),
    _page("robots.txt", machine_pages.robots, "robots"),
    _page("sitemap.xml", sitemap, "sitemap", sitemaps={"docs": machine_pages.DocsSitemap}),
    path("docs", RedirectView.as_view(pattern_name="reference:start")),
    _page("docs/", views.start, "start"),
    _page("docs/errors/", views.errors_page, "errors"),
    _page("docs/limits/", views.limits_page, "limits"),
    _page("docs/webhooks/", views.webhooks_page, "webhooks"),
    _page("docs/console/", views.console_page, "console"),
    _page("docs/search/", views.search_page, "search"),
    _page("docs/changelog/", views.changelog_page, "changelog"),
    _page("docs/decisions/<slug:slug>/", views.decision_page, "decision"),
    *(_page(f"docs/{slug}.md", machine_pages.guide_source, slug=slug) for slug in guides.slugs()),
    *(_page(f"docs/{slug}/", views.guide_page, slug=slug) for slug in guides.slugs()),
    _page("docs/<slug:slug>/", views.endpoint_page, "endpoint"),
    _page("docs/<slug:slug>/<str:anchor>/", views.operation_page, "operation"),
]
