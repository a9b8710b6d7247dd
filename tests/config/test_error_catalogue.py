"""docs/errors.md against the code."""

from django.conf import settings

from config.pages.error_catalogue import page


def test_the_page_of_errors_is_what_the_code_says():
    stored = (settings.ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    missing = sorted(set(page().splitlines()) - set(stored.splitlines()))
    is_current = stored == page()
    assert is_current, (
        "docs/errors.md is not what the code says: run .venv/bin/python manage.py error_catalogue."
        f" Rows that it lacks: {missing}"
    )


def test_every_reason_has_one_row_with_a_text():
    rows = [line.split(" | ") for line in page().splitlines() if line.startswith("| `")]
    reasons = [row[0] for row in rows]
    twice = sorted({each.strip("| ") for each in reasons if reasons.count(each) > 1})
    assert not twice, (
        f"several rows of docs/errors.md have the reason {twice}: give the error classes that share"
        " it the same docstring, code and area, or another `reason` to one of them; then run"
        " .venv/bin/python manage.py error_catalogue"
    )
    silent = [row[0].strip("| ") for row in rows if not row[4].strip(" |")]
    assert not silent, (
        f"the error class with the reason {silent} has no docstring, which docs/errors.md shows:"
        " write it in the area's errors.py, then run .venv/bin/python manage.py error_catalogue"
    )
    assert "| `slot_skipped`" in reasons
    assert not {"| `key_refused`", "| `forbidden`"} & set(reasons), "never answered themselves"
