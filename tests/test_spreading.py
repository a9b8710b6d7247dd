"""How the tests are spread: nothing is lost, nothing torn apart, nothing out of its turn."""

import re
from itertools import groupby
from pathlib import Path

import pytest

from tests import spreading

ROOT = Path(__file__).resolve().parent.parent


def test_what_is_named_is_there() -> None:
    starts = [each for group in spreading._TOGETHER.values() for each in group]
    for name in (*starts, *spreading._LONGEST):
        assert (ROOT / name).exists(), name


def test_the_longest_of_each_phase_come_first_and_no_phase_is_met_twice(
    request: pytest.FixtureRequest,
) -> None:
    # The order in which this very run has them.
    items = request.session.items
    phases = [spreading._phase(item) for item in items]
    assert phases == sorted(phases)
    for _, of_phase in groupby(items, key=spreading._phase):
        ranks = [spreading._rank(item.nodeid) for item in of_phase]
        assert ranks == sorted(ranks)


@pytest.mark.parametrize("mark", ["soak", "real"])
def test_what_make_test_does_not_even_collect_is_marked(mark: str) -> None:
    marked = re.compile(rf"^pytestmark = \[?pytest\.mark\.{mark}\b", re.MULTILINE)
    files = list((ROOT / "tests" / mark).glob("test_*.py"))
    assert files
    for file in files:
        text = file.read_text()
        tests = len(re.findall(r"^(?:async )?def test_", text, re.MULTILINE))
        assert marked.search(text) or text.count(f"@pytest.mark.{mark}\n") >= tests > 0, file


def test_a_files_tests_of_a_phase_are_one_piece() -> None:
    nodeids = [
        "tests/historical/test_blocks.py::test_a",
        "tests/historical/test_bounds.py::test_b",
        "tests/access/test_keys.py::test_c",
        "tests/access/test_keys.py::test_d[x::y]",
        "tests/historical/test_blocks.py::test_e",
    ]
    pieces = dict(spreading._pieces(nodeids))
    assert list(pieces) == nodeids
    first, second, third, fourth, fifth = pieces.values()
    assert first == second and third == fourth
    assert len({first, third, fifth}) == 3


def test_some_workers_begin_with_what_waits(request: pytest.FixtureRequest) -> None:
    # The pieces of this very run.
    items = request.session.items
    pieces = dict(spreading._pieces([item.nodeid for item in items]))
    for item in items:
        assert spreading._phase(item) == 2 or not pieces[item.nodeid].startswith("3 ")

    left = ["1 4 tests/a", "2 5 tests/b", "2 6 tests/c", "3 7 tests/a", "3 8 tests/d"]
    assert spreading.next_piece(left, "123") == "1 4 tests/a"
    assert spreading.next_piece(left, "312") == "3 7 tests/a"
    assert spreading.next_piece(left, "23") == "2 5 tests/b"
    assert spreading.next_piece(left[:3], "312") == "1 4 tests/a"
    assert spreading.next_piece(left[:1], "23") is None


@pytest.mark.parametrize("workers", range(1, 7))
def test_every_phase_has_a_worker_and_what_rolls_back_finds_nothing_emptied(workers: int) -> None:
    orders = [spreading.order_of(each, workers) for each in range(workers)]
    assert orders[0] == "123"
    for order in (*orders, spreading.order_of(workers, workers)):
        assert "1" not in order.partition("2")[2]


def test_what_is_shared_stays_while_a_later_file_of_its_group_uses_it(
    request: pytest.FixtureRequest,
) -> None:
    items = request.session.items
    assert spreading.rest_of_group(items, None) == []
    rest = spreading.rest_of_group(items, request.node)
    assert rest[0] is request.node
    assert {item.path for item in rest} == {request.path}
