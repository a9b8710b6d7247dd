"""The tables of docs/settings.md against the code that reads the settings."""

import re

from django.conf import settings

_PAGE = settings.ROOT / "docs" / "settings.md"
# By make, before there is a Python of ours; and beside TIP_SECRET_SEED, whose name it extends.
_READ_ELSEWHERE = {"PYTHON", "TIP_SECRET_SEED_FILE"}
READ = re.compile(
    r'(?:env\.\w+|= redis_url)\(\s*"([A-Z_]+)"|os\.environ\.get\("([A-Z_]+)"|\$\{([A-Z_]+):-'
)


def test_the_page_has_every_variable_that_is_read_and_no_other():
    files = [*settings.ROOT.glob("platform/config/**/*.py"), settings.ROOT / "Procfile"]
    read = {
        name
        for file in files
        for match in READ.findall(file.read_text(encoding="utf-8"))
        for name in match
        if name
    }
    table = [
        line for line in _PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    ]
    listed = {name for line in table for name in re.findall(r"`([A-Z_]+)`", line.split("|")[1])}
    assert {"PORT", "DATABASE_URL", "WEB_THREADS"} <= read
    missing, removed = sorted(read - listed), sorted(listed - read - _READ_ELSEWHERE)
    assert not missing, f"docs/settings.md has no row for {missing}: add one with its default"
    assert not removed, f"docs/settings.md lists {removed}, which the code does not read: remove it"
