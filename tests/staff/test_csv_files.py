"""CSV files: no text runs as a formula, and every text can be had back."""

import csv
import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from staff.files import csv_lines
from tests.examples import examples

WIDE = "\uff1d\uff0b\uff0d\uff20"  # full-width = + - @
SIGNS = tuple("=+-@" + WIDE)
# As docs/clients.md has it.
ADDED = re.compile(r"\A'(?=[\t\r\n])|(?:\A|(?<=[;\t\r\n]))'(?=[=+\-@" + WIDE + "'])")
CELLS = st.one_of(st.text(), st.text("=+-@;'\"\t\r\n, aA1" + WIDE))


def read(rows: list[list[Any]]) -> list[list[str]]:
    return list(csv.reader(io.StringIO("".join(csv_lines(rows)), newline="")))


@given(st.lists(CELLS, min_size=1, max_size=4))
@example(["=1+1", "+1", "-1", "@SUM(A1)"])
@example(["\t=1", "\r=1", "\n=1", "\uff1d1"])
@example(["x;=1+1", "x\n=1+1", '"=1', "'=1"])
@settings(max_examples=examples(300))
def test_no_text_begins_a_formula_and_each_can_be_had_back(texts: list[str]) -> None:
    (cells,) = read([texts])
    for cell in cells:
        for part in re.split(r"[;\t\r\n]", cell):
            assert not part.startswith(SIGNS), cell
        assert not cell.startswith((*SIGNS, "\t", "\r", "\n")), cell
    assert [ADDED.sub("", cell) for cell in cells] == texts


@given(st.integers(), st.floats(allow_nan=False))
@settings(max_examples=examples(100))
def test_numbers_stay_numbers(whole: int, part: float) -> None:
    ((first, second, nothing),) = read([[whole, part, None]])
    assert (int(first), float(second), nothing) == (whole, part, "")


@pytest.mark.django_db
def test_every_csv_file_of_the_admin_neutralises_names(
    admin_client: Any, issue: Callable[..., Any]
) -> None:
    from django.utils import timezone

    from access.usage_sums import add_usage
    from staff import audit

    key = issue().key
    key.customer.name, key.name = "@SUM(1;=2)", "=1+1"
    key.customer.save()
    key.save()
    audit.record(None, "changed", key)
    add_usage([(key.pk, "getSlot", "ok", timezone.now().replace(second=0, microsecond=0), 3, 30)])
    found = {}
    for page in ("/admin/access/usageminute/csv/?of=rows", "/admin/staff/auditentry/file/csv/"):
        answer = admin_client.get(page)
        text = b"".join(answer.streaming_content).decode()
        found[page] = list(csv.DictReader(io.StringIO(text, newline="")))
    usage, log = found.values()
    assert usage[0]["customer"] == "'@SUM(1;'=2)"
    assert usage[0]["key"].startswith("'=1+1 (")
    assert (usage[0]["key_id"], usage[0]["calls"]) == (str(key.pk), "3")
    (changed,) = (each for each in log if each["subject_type"] == "access.apikey")
    assert changed["subject"].startswith("'=1+1 (")
