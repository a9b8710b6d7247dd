"""The README's table of settings against the code that reads them."""

import re

from django.conf import settings

READ = re.compile(r'env\.\w+\(\s*"([A-Z_]+)"|os\.environ\.get\("([A-Z_]+)"|\$\{([A-Z_]+):-')


def test_every_variable_that_is_read_is_in_the_table():
    files = [*settings.ROOT.glob("platform/config/*.py"), settings.ROOT / "Procfile"]
    read = {
        name
        for file in files
        for match in READ.findall(file.read_text(encoding="utf-8"))
        for name in match
        if name
    }
    table = [
        line
        for line in (settings.ROOT / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    ]
    told = {name for line in table for name in re.findall(r"`([A-Z_]+)`", line.split("|")[1])}
    assert {"PORT", "DATABASE_URL", "WEB_THREADS"} <= read
    assert read - told == set()
