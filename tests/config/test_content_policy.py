"""Which policy a page has, and that no template of ours needs a weaker one."""

import re
from typing import Any

import pytest
from django.conf import settings

# A script between its tags, a handler in an attribute, and an address that is one.
INLINE = re.compile(
    r"<script(?![^>]*\bsrc=)(?![^>]*application/json)[^>]*>|\son[a-z]+\s*=\s*[\"']|javascript:",
    re.I,
)
STYLED = re.compile(r"\sstyle\s*=|<style", re.I)


@pytest.mark.parametrize(
    "path", ["/", "/docs/", "/docs/none/", "/portal/sign-in/", "/admin/login/", "/static/none"]
)
def test_no_page_lets_inline_scripts_or_eval_run(client: Any, db: None, path: str) -> None:
    policy = client.get(path)["Content-Security-Policy"]
    directives = dict(each.split(" ", 1) for each in policy.split("; "))
    assert directives["script-src"] == "'self'"
    assert directives["default-src"] == "'self'"
    assert directives["object-src"] == "'none'"
    assert ("'unsafe-inline'" in directives["style-src"]) is path.startswith("/admin/")


def test_no_template_has_a_script_in_it() -> None:
    found = [
        f"{file}: {match.group()}"
        for file in settings.ROOT.glob("templates/**/*.html")
        for match in INLINE.finditer(file.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_no_template_outside_the_admin_has_a_style_in_it() -> None:
    files = [
        *settings.ROOT.glob("templates/portal/**/*.html"),
        *settings.ROOT.glob("templates/docs/**/*.html"),
        *settings.ROOT.glob("templates/*.html"),
    ]
    assert len(files) > 20
    assert [file for file in files if STYLED.search(file.read_text(encoding="utf-8"))] == []


def test_the_theme_is_served_with_the_build_that_needs_no_eval(client: Any, db: None) -> None:
    page = client.get("/admin/login/").content.decode()
    assert "/static/unfold/js/alpine/alpine.js" in page
    assert "/static/tidemark/strict.js" in page
    served = b"".join(client.get("/static/unfold/js/alpine/alpine.js").streaming_content)
    assert b"CSP Parser Error" in served and b"AsyncFunction" not in served
