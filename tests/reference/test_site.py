"""/docs/ as a site: its sidebar, search, neighbours, anchors, sizes and links."""

import re
from typing import Any
from urllib.parse import urldefrag

import pytest

from reference import guides, navigation, search, search_entries
from reference.catalogue import errors
from reference.paths import rpc_paths
from tests.reference.test_completeness import Words

HOST = "localhost"
MOST_BYTES = 300_000


@pytest.fixture
def raw(client: Any, db: None, empty_redis: None) -> Any:
    def read(path: str) -> str:
        answer = client.get(path, HTTP_HOST=HOST)
        assert answer.status_code == 200, path
        found: str = answer.content.decode()
        return found

    return read


def every_page() -> list[str]:
    """All that the sidebar leads to, the decisions, and the search."""
    listed = [link.address for _, _, link in navigation.flat()]
    decisions = [f"/docs/decisions/{slug}/" for slug in guides.decisions()]
    return [*listed, *decisions, "/docs/search/?q=transaction"]


def test_no_link_of_any_page_is_dead_and_no_page_is_large(raw: Any, client: Any) -> None:
    """Followed from the start page, pages and their parts; each page stands in the sidebar."""
    seen: dict[str, Words] = {}
    elsewhere: set[str] = set()
    waiting = ["/docs/", "/docs/search/?q=transaction"]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        text = raw(path)
        assert len(text.encode()) < MOST_BYTES, f"{path}: {len(text.encode()):,} bytes"
        seen[path] = Words(text)
        for href in seen[path].hrefs:
            target, _ = urldefrag(href)
            if target.startswith("/docs/"):
                waiting.append(target)
            elif target:
                elsewhere.add(target)
    assert set(every_page()) <= seen.keys()
    for path, words in seen.items():
        for href in words.hrefs:
            target, anchor = urldefrag(href)
            target = target or path
            is_choice = target == "/docs/console/"  # `#/historical.getBlock` chooses a method
            if anchor and target in seen and not is_choice:
                assert anchor in seen[target].ids, f"{path} links to {href}"
    for target in elsewhere:
        assert target.startswith("/"), f"a page links to {target}"
        assert client.get(target, HTTP_HOST=HOST).status_code in (200, 302), target
    assert len(seen) > 150


def test_every_guide_is_reached_from_the_sidebar_of_every_page(raw: Any) -> None:
    links = [f'href="/docs/{slug}/"' for slug in guides.slugs() if slug.startswith("guides/")]
    assert len(links) == 7
    for path in (
        "/docs/",
        "/docs/rewind/getAccountInfo/",
        "/docs/decisions/find/",
        "/docs/errors/",
    ):
        sidebar = raw(path).partition('<nav class="pages"')[2].partition("</nav>")[0]
        assert all(link in sidebar for link in links), path


def test_a_page_is_marked_and_opened_in_the_sidebar(raw: Any) -> None:
    sidebar = raw("/docs/rewind/getAccountInfo/").partition("</nav>")[2].partition("</nav>")[0]
    (current,) = re.findall(r'href="([^"]+)" aria-current="page"', sidebar)
    assert current == "/docs/rewind/getAccountInfo/"
    assert 'href="/docs/rewind/getAccountDiff/"' in sidebar
    assert 'href="/docs/historical/getBlock/"' not in sidebar


def test_previous_and_next_lead_through_all_pages(raw: Any) -> None:
    path, order = "/docs/", ["/docs/"]
    while True:
        text = raw(path)
        before = re.findall(r'<a rel="prev" href="([^"]+)"', text)
        assert before == order[-2:-1]
        following = re.findall(r'<a rel="next" href="([^"]+)"', text)
        if not following:
            break
        (path,) = following
        order.append(path)
    assert len(order) == len(set(order))
    assert set(order) == set(every_page()) - {
        "/docs/search/?q=transaction",
        *(f"/docs/decisions/{slug}/" for slug in guides.decisions()),
    }


def test_headings_have_links_to_themselves_and_are_listed(raw: Any) -> None:
    for path in ("/docs/landing/", "/docs/limits/", "/docs/guides/read-the-past/", "/docs/"):
        text = raw(path)
        ids = re.findall(r'<h2 id="([^"]+)"><a class="anchor" href="#([^"]+)"', text)
        assert ids and all(one == other for one, other in ids), path
        toc = text.partition('<nav class="toc"')[2].partition("</nav>")[0]
        assert re.findall(r'class="level-2"><a href="#([^"]+)"', toc) == [one for one, _ in ids]


def found(text: str) -> dict[str, list[str]]:
    return {
        group.title: [hit.entry.title for hit in group.hits] for group in search.index().find(text)
    }


@pytest.mark.parametrize(
    ("text", "kind", "title"),
    [
        ("getBlock", "Methods", "getBlock"),
        ("getacc", "Methods", "getAccountInfo"),
        ("account at slot", "Methods", "getAccountInfo"),
        ("getBalance", "Methods", "getBalance"),
        ("tipfloor", "Methods", "GET /priority/tipfloor"),
        ("maxSupportedTransactionVersion", "Fields", "maxSupportedTransactionVersion"),
        ("slot_skipped", "Errors", "slot_skipped"),
        ("-32016", "Errors", "unknown_signature"),
        ("UPSTREAM_GEYSER_URL", "Settings", "UPSTREAM_GEYSER_URL"),
        ("tidemark_alarms_open", "Metrics", "tidemark_alarms_open"),
        ("key.rotated", "Events", "key.rotated"),
        ("verify webhook", "Guides", "Verify a webhook"),
        ("pgbouncer", "Settings", "DATABASE_URL"),
    ],
)
def test_the_search_finds(text: str, kind: str, title: str) -> None:
    groups = found(text)
    assert title in groups.get(kind, []), groups


def test_what_is_named_whole_comes_first() -> None:
    for name in ("getBlock", "slot_skipped", "LANDING_BEHIND_SLOTS"):
        group = search.index().find(name)[0]
        assert group.hits[0].entry.title == name


def test_every_method_error_and_setting_is_found_by_its_name() -> None:
    names = {method.name for at in rpc_paths() for method in at.methods}
    names |= {kind.reason for kind in errors()}
    names |= {each.title for each in search_entries.entries() if each.kind == "Settings"}
    assert len(names) > 200
    for name in names:
        assert search.index().find(name)[0].hits[0].entry.title == name


def test_every_place_that_is_found_exists(raw: Any) -> None:
    pages: dict[str, Words] = {}
    for entry in search_entries.entries():
        path, anchor = urldefrag(entry.address)
        if path not in pages:
            pages[path] = Words(raw(path))
        assert not anchor or anchor in pages[path].ids, entry


@pytest.mark.parametrize("text", ["", " ", '"', "*", "a OR", "NEAR(a b)", "title:x", "é\x01", "-"])
def test_any_text_is_answered(raw: Any, client: Any, text: str) -> None:
    answer = client.get("/docs/search/", {"q": text}, HTTP_HOST=HOST)
    assert answer.status_code == 200


def test_the_search_works_as_a_form_and_as_a_part(raw: Any, client: Any) -> None:
    page = raw("/docs/search/?q=getSlotProof")
    assert '<form class="search" method="get">' in page and "<html" in page
    part = raw("/docs/search/?q=getSlotProof&part=1")
    assert 'href="/docs/rewind/getSlotProof/"' in part and "<html" not in part
    assert "Nothing found" in raw("/docs/search/?q=zzzyyyxxx")
    odd = client.get("/docs/search/", {"q": "<script>alert(1)</script>"}, HTTP_HOST=HOST)
    assert "<script>alert" not in odd.content.decode()


def test_excerpts_are_escaped_and_marked() -> None:
    hits = [hit for group in search.index().find("bytes") for hit in group.hits]
    assert any("<mark>" in hit.excerpt for hit in hits)
    assert not any(re.search(r"<(?!/?mark>)", hit.excerpt) for hit in hits)
