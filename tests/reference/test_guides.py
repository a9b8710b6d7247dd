"""The pages of docs/ are true: what they name is there, and `/docs/` serves them whole."""

import posixpath
import re
import subprocess
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from reference import guides
from reference.markdown import anchor_of, render
from tests import test_layout
from tests.reference.test_completeness import Words

ROOT: Path = settings.ROOT
PAGES = sorted(
    str(file.relative_to(ROOT))
    for file in [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs/guides").glob("*.md"),
    ]
)
INDEX = "docs/decisions/README.md"
DECISIONS = sorted(
    str(file.relative_to(ROOT))
    for file in (ROOT / "docs/decisions").glob("*.md")
    if file != ROOT / INDEX
)
_DAY = r"2\d{3}-\d\d-\d\d"
_STATUS = re.compile(
    rf"# .+\n\nStatus: (accepted|superseded by \[.+\]\(\S+\)) on ({_DAY})"
    rf"(?:, changed on ({_DAY}))?\.\n"
)
_CODE = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
# What a path of the repository begins with; those of the service begin with a slash.
_TOP = {each.name for each in ROOT.iterdir() if not each.name.startswith((".venv", ".run", ".git"))}


def paths(file: str) -> Iterator[tuple[int, str]]:
    """Paths of the repository that the page has as code, with their lines."""
    text = (ROOT / file).read_text(encoding="utf-8")
    text = _FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
    for number, line in enumerate(text.splitlines(), 1):
        for code in _CODE.findall(line):
            is_path = re.fullmatch(r"[\w.*-]+(/[\w.*-]*)+", code)
            if (is_path and code.partition("/")[0] in _TOP) or re.fullmatch(r"[\w/*]+\.py", code):
                yield number, code


def is_there(path: str, names: frozenset[str]) -> bool:
    """A bare name of a module is that of any file of ours."""
    return path in names if "/" not in path else any(ROOT.glob(path.rstrip("/")))


@pytest.mark.parametrize("file", PAGES)
def test_every_path_that_a_page_names_exists(file: str) -> None:
    sources = (ROOT / top for top in ("platform", "priority", "rewind", "historical", "tipping"))
    # `services.py` stands for a folder `services` as well.
    found = [each for source in sources for each in source.rglob("*") if "__" not in each.name]
    names = frozenset(each.with_suffix(".py").name for each in found)
    for number, path in paths(file):
        assert is_there(path, names), (
            f"{file}:{number} names `{path}`, which is not there. If it was renamed or removed,"
            " write its new name on the page."
        )


@pytest.mark.parametrize("file", [*PAGES, INDEX, *DECISIONS])
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(file: str) -> None:
    text = _FENCE.sub("", (ROOT / file).read_text(encoding="utf-8"))
    for target in _LINK.findall(text):
        path, _, anchor = target.partition("#")
        assert "://" not in path, f"{file} links to {target}: pages link within the repository only"
        found = ROOT / posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
        found = found if path else ROOT / file
        assert found.exists(), f"{file} links to {target}, which is not there"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", found.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(anchor_of, headings), f"{file} links to {target}: no such heading"


def test_every_page_is_in_the_navigation() -> None:
    served = {guides.file_of(slug) for slug in guides.slugs()} | {"README.md", "docs/errors.md"}
    missing = set(PAGES) - served
    assert not missing, f"add {sorted(missing)} to GROUPS of platform/reference/guides.py"


@pytest.mark.parametrize("file", DECISIONS)
def test_every_decision_has_a_status_and_a_date(file: str) -> None:
    found = _STATUS.match((ROOT / file).read_text(encoding="utf-8"))
    assert found, (
        f"{file}: begin with its title, an empty line, and `Status: accepted on YYYY-MM-DD.` or"
        " `Status: superseded by [Title](page.md) on YYYY-MM-DD.`; with `, changed on YYYY-MM-DD`"
        " if it was changed"
    )
    days = [date.fromisoformat(day) for day in found.groups()[1:] if day]
    assert days == sorted(set(days)), f"{file}: it was changed after it was decided"


def test_every_decision_is_in_the_index_once() -> None:
    lines = re.findall(
        r"^- \[.+\]\((.+)\): .*[\w`]$", (ROOT / INDEX).read_text(encoding="utf-8"), re.MULTILINE
    )
    expected = sorted(Path(file).name for file in DECISIONS)
    assert sorted(lines) == expected, f"{INDEX}: write a line `- [Title](page.md): what` for each"


def test_every_page_that_the_code_names_exists() -> None:
    """In comments, texts and files of configuration: a page that was renamed or merged."""
    listed = subprocess.run(
        ["git", "grep", "-nIoE", r"\bdocs/[a-z/-]+\.md", "--", ".", ":!CHANGELOG.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    named = [line.rpartition(":") for line in listed]
    assert len(named) > 100
    assert not [f"{at}: {page}" for at, _, page in named if not (ROOT / page).exists()]


def test_the_readme_is_short() -> None:
    size = len((ROOT / "README.md").read_bytes())
    assert size <= 10_000, f"README.md has {size:,} bytes: move the details to a page of docs/"


def test_the_table_of_floors_is_that_of_the_layout() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \|", text, re.MULTILINE)
    floors = {int(number): set(_CODE.findall(packages)) for number, packages in rows}
    expected = dict(enumerate(test_layout.FLOORS, 1))
    assert floors == expected, "docs/architecture.md, section Floors: write what test_layout.py has"
    steps = set(re.findall(r"`(\w+)` → `(\w+)`", text))
    assert steps == test_layout.STEPS


@pytest.mark.parametrize("file", ["docs/architecture.md", "docs/operators.md"])
def test_the_table_of_processes_is_that_of_the_procfile(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    section = re.split(r"^\| process \|.*\n\|[-|]+\|\n", text, flags=re.MULTILINE)[1]
    rows = re.findall(r"^\| (\w+) \|", section.partition("\n\n")[0], re.MULTILINE)
    procfile = re.findall(r"^(\w+):", (ROOT / "Procfile").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(procfile), f"{file}: list the processes of the Procfile"


@pytest.fixture
def page(client: Any, db: None) -> Any:
    def read(path: str) -> Words:
        answer = client.get(path, HTTP_HOST="localhost")
        assert answer.status_code == 200, path
        return Words(answer.content.decode())

    return read


def test_links_of_served_pages_lead_to_pages_and_their_parts(page: Any) -> None:
    guides_here = [f"/docs/{slug}/" for slug in guides.slugs()]
    seen = {path: page(path) for path in ["/docs/changelog/", *guides_here]}
    for here in list(seen):
        for href in sorted(seen[here].hrefs):
            path, _, anchor = href.partition("#")
            path = path or here
            if path.startswith("/docs/"):
                if path not in seen:
                    seen[path] = page(path)
                assert not anchor or anchor in seen[path].ids, f"{here} links to {href}"
            else:
                assert path.startswith(("/", "#")), f"{here} links to {href}"
    assert len(seen) > len(guides_here) + 40


def test_every_decision_is_served_and_listed(page: Any) -> None:
    listed = page("/docs/decisions/").hrefs
    for file in DECISIONS:
        path = f"/{file.removesuffix('.md')}/"
        assert path in listed
    words = page("/docs/decisions/one-chain/")
    assert "One chain in one database" in words.text


def test_a_page_that_is_none_is_not_found(client: Any, db: None) -> None:
    for path in ("decisions/nowhere/", "decisions/..%2f..%2fREADME/", "README/", "nowhere/"):
        assert client.get(f"/docs/{path}", HTTP_HOST="localhost").status_code == 404


def test_the_picture_is_served(client: Any, page: Any) -> None:
    text = client.get("/docs/architecture/", HTTP_HOST="localhost").content.decode()
    (source,) = re.findall(r'<main.*?<img src="([^"]+)" alt="[^"]{20,}"', text, re.DOTALL)
    answer = client.get(source, HTTP_HOST="localhost")
    assert answer.status_code == 200 and answer["Content-Type"] == "image/svg+xml"


def test_addresses_in_a_guide_are_the_readers(client: Any, db: None) -> None:
    def page(slug: str) -> str:
        return str(client.get(f"/docs/{slug}/", HTTP_HOST="localhost:9123").content.decode())

    assert "http://localhost:9123/historical" in page("clients")
    assert "ws://localhost:9123/?api_key" in page("subscriptions")
    operators = page("operators")
    assert "http://localhost:9123/priority/fetchtipaddress" in operators
    assert re.search(r"targets.*localhost:9123", operators), "a host without a scheme"
    for slug in guides.slugs():
        assert "127.0.0.1:8000" not in page(slug), slug


def test_html_and_scripts_of_a_text_are_shown_and_not_run() -> None:
    text = (
        "# A <b>title</b>\n\n<script>alert(1)</script>\n\nA <img src=x onerror=alert(1)>,"
        ' [a link](javascript:alert(1)), `<i>`, `/docs/"><script>`.\n\n'
        "```sh\n</code><script>\n```\n\n| a |\n|---|\n| <u> |\n"
    )
    html = str(render(text, lambda target: target).html)
    assert re.findall(r"<(script|img|b|i|u)\b", html) == []
    assert 'href="javascript' not in html and html.count("&lt;script&gt;") == 3


@pytest.mark.parametrize("file", [*PAGES, INDEX, *DECISIONS, "CHANGELOG.md"])
def test_no_page_has_a_style_that_the_content_policy_blocks(file: str) -> None:
    html = str(render((ROOT / file).read_text(encoding="utf-8"), lambda target: target).html)
    assert re.findall(r"<[^>]* style=[^>]*>", html) == []


def test_headings_have_the_ids_that_github_gives_them() -> None:
    rendered = render("# A\n\n## What's `this`, then?\n\n## B\n\n## B\n", str)
    assert rendered.title == "A"
    assert [each.anchor for each in rendered.headings] == ["whats-this-then", "b", "b-1"]
