"""What programs read of the docs: an index for language models, guides as Markdown, a sitemap."""

from collections.abc import Iterator

from django.conf import settings
from django.contrib.sitemaps import Sitemap
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from reference import guides, navigation, pages
from reference.framing import base_of

_SUMMARY = (
    "A self-hosted Solana service. It lands signed transactions and bundles that pay a tip, stores"
    " every account write, and answers for any account at any past position. It also serves the"
    " ledger with the standard node's methods."
)
_PLAIN = "text/plain; charset=utf-8"
_ROBOTS = "User-agent: *\nDisallow: /admin/\nDisallow: /portal/\nSitemap: {base}/sitemap.xml\n"


class DocsSitemap(Sitemap):  # type: ignore[type-arg]
    """Every page of the sidebar, the decisions, and the start page of the site."""

    def items(self) -> list[str]:
        decisions = (f"/docs/decisions/{slug}/" for slug in guides.decisions())
        listed = (link.address for _, _, link in navigation.flat())
        return ["/", *listed, *decisions]

    def location(self, item: str) -> str:
        return item


@require_safe
def llms(request: HttpRequest) -> HttpResponse:
    """`/llms.txt`: the pages of the docs with what each is about (llmstxt.org)."""
    return HttpResponse(_llms_text(base_of(request)), _PLAIN)


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    """`/robots.txt`: the docs and the front page may be indexed."""
    return HttpResponse(_ROBOTS.format(base=base_of(request)), _PLAIN)


@require_safe
def guide_source(request: HttpRequest, slug: str) -> HttpResponse:
    """A guide as Markdown, as it lies in the repository."""
    text = (settings.ROOT / guides.file_of(slug)).read_text(encoding="utf-8")
    return HttpResponse(text, "text/markdown; charset=utf-8")


def _llms_text(base: str) -> str:
    parts = [f"# Tidemark\n\n> {_SUMMARY}\n"]
    for title, links in (
        ("Reference", _reference(base)),
        *((group, _guides(base, listed)) for group, listed in guides.navigation()),
    ):
        parts.append(f"## {title}\n\n" + "\n".join(links) + "\n")
    return "\n".join(parts)


def _reference(base: str) -> Iterator[str]:
    yield f"- [OpenRPC]({base}/openrpc.json): every JSON-RPC method, its params, result and errors"
    yield f"- [OpenAPI]({base}/openapi.json): every plain GET, and the management API"
    yield f"- [Postman]({base}/postman.json): a collection of all of them"
    for page in pages.PAGES:
        yield f"- [{page.title}]({base}/docs/{page.slug}/): {page.lead}"
    yield f"- [Errors]({base}/docs/errors/): every error's reason, and what to do about it"


def _guides(base: str, listed: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for slug, title in listed:
        yield f"- [{title}]({base}/docs/{slug}.md)"
