"""Path → page, and the documents."""

from django.contrib.sitemaps.views import sitemap
from django.urls import path
from django.views.generic import RedirectView

from reference import guides, machine_pages, views

app_name = "reference"

urlpatterns = [
    path("openrpc.json", views.openrpc_document, name="openrpc"),
    path("openapi.json", views.openapi_document, name="openapi"),
    path("postman.json", views.postman_document, name="postman"),
    path("llms.txt", machine_pages.llms, name="llms"),
    path("robots.txt", machine_pages.robots, name="robots"),
    path("sitemap.xml", sitemap, {"sitemaps": {"docs": machine_pages.DocsSitemap}}, name="sitemap"),
    path("docs", RedirectView.as_view(pattern_name="reference:start")),
    path("docs/", views.start, name="start"),
    path("docs/errors/", views.errors_page, name="errors"),
    path("docs/limits/", views.limits_page, name="limits"),
    path("docs/webhooks/", views.webhooks_page, name="webhooks"),
    path("docs/console/", views.console_page, name="console"),
    path("docs/search/", views.search_page, name="search"),
    path("docs/changelog/", views.changelog_page, name="changelog"),
    path("docs/decisions/<slug:slug>/", views.decision_page, name="decision"),
    *(
        path(f"docs/{slug}.md", machine_pages.guide_source, {"slug": slug})
        for slug in guides.slugs()
    ),
    *(path(f"docs/{slug}/", views.guide_page, {"slug": slug}) for slug in guides.slugs()),
    path("docs/<slug:slug>/", views.endpoint_page, name="endpoint"),
    path("docs/<slug:slug>/<str:anchor>/", views.operation_page, name="operation"),
]
