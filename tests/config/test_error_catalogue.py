"""docs/errors.md against the code."""

from django.conf import settings

from config.error_catalogue import page


def test_the_page_of_errors_is_what_the_code_says():
    stored = (settings.ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert stored == page(), "run manage.py error_catalogue"


def test_every_reason_has_one_row_with_a_text():
    rows = [line.split(" | ") for line in page().splitlines() if line.startswith("| `")]
    reasons = [row[0] for row in rows]
    assert len(reasons) == len(set(reasons))
    assert all(row[4].strip(" |") for row in rows)
    assert "| `slot_skipped`" in reasons
    assert not {"| `key_refused`", "| `forbidden`"} & set(reasons), "never answered themselves"
