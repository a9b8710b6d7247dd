"""What a Citus cluster does not take, told on a single PostgreSQL: each statement of a block of
code is looked at as it is sent.

A statement may have one spread table (with partitions and all, several of them when they lie beside
each other and are asked for by the column that they are spread by), or any tables of the
coordinator. Only what it writes to or reads from besides may be a temporary table.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from columns import clusters, raw_queries
from config.running.cluster import SPREAD

COLUMNS = {each.table: each.column for each in SPREAD}
_BESIDE = {"rewind_accountsegments": "rewind_accountchange"}
_NAMES = re.compile(r"\b(?:from|join|into|update|using|copy|table)\s+(?:only\s+)?\"?(\w+)\"?", re.I)
_LISTED = re.compile(r",\s*\"?((?:rewind|historical)_\w+)\"?(?=\s|,|\)|$)", re.I)
_PARTITION = re.compile(r"rewind_changes_\d")
_TEMPORARY = re.compile(r"rewind_(staged|staged_bases|unsealed|late_kept|snapshot_\d+)$")
_MOST_TABLES = 20
_OF_AREAS = re.compile(r"(rewind|historical)_\w+$")
# Of a statement with a spread table.
_REFUSED = (
    (re.compile(r"\blateral\b", re.I), "LATERAL"),
    (re.compile(r"\bfor (update|share|no key update)\b", re.I), "a lock of rows"),
    (
        re.compile(r"\bpg_(total_)?relation_size\b", re.I),
        "a size that the coordinator does not know",
    ),
    (re.compile(r"exists\s*\(\s*select\s+from\b", re.I), "a subquery without columns"),
    (re.compile(r"from\s*\(\s*select\s*\)", re.I), "a subquery without columns"),
    (re.compile(r"\bcreate\s+(or\s+replace\s+)?trigger\b", re.I), "a trigger"),
)
_VOLATILE = re.compile(r"\b(clock_timestamp|random|nextval|gen_random_uuid)\s*\(", re.I)
# The elements of a row's own array lie with it: they are no other table.
_UNNEST = re.compile(r"\b(?:from|join)\s+unnest\b|,\s*unnest\b(?!\(\w+\.\w+\))", re.I)


def faults(sql: str) -> list[str]:
    """Why a cluster does not take the statement."""
    text = " ".join(sql.split())
    if re.match(
        r"(alter|create|drop|truncate|vacuum|analyze|savepoint|release|rollback)\b", text, re.I
    ):
        if re.match(r"create\s+(or\s+replace\s+)?trigger", text, re.I):
            return ["a trigger"] if _PARTITION.search(text) else []
        return []
    bare = re.sub(r"'(?:[^']|'')*'", "''", text)
    named = {name for found in (_NAMES, _LISTED) for name in found.findall(bare)}
    spread = {"rewind_accountchange" if _PARTITION.match(each) else each for each in named}
    own = {each for each in spread if _OF_AREAS.match(each)} - COLUMNS.keys()
    spread &= COLUMNS.keys()
    # The tests' own way to empty the tables names nearly all of them.
    if not spread or len(named) > _MOST_TABLES:
        return []
    found = [why for pattern, why in _REFUSED if pattern.search(bare)]
    if _VOLATILE.search(bare) and re.match(r"(with|update|delete)\b", bare, re.I):
        found.append("a volatile function")
    if len({_BESIDE.get(each, each) for each in spread}) > 1:
        found.append(f"tables that are spread by other columns: {sorted(spread)}")
    beside = {each for each in own if not _TEMPORARY.match(each)}
    if beside and not _is_insert_from_own(bare, beside):
        found.append(f"tables of the coordinator: {sorted(beside)}")
    if _UNNEST.search(bare) and not re.match(r"insert into", bare, re.I):
        found.append("a join with unnest")
    return found


def _is_insert_from_own(bare: str, own: set[str]) -> bool:
    """Rows that are read on the coordinator and written to a spread table, or the other way: what
    stands in a MATERIALIZED part is read first.
    """
    if re.match(r"with \w+ as materialized", bare, re.I):
        return True
    # An owner's number for each staged account.
    return own == {"rewind_owner"} and "insert into" in bare.lower() and "newest" in bare


@contextmanager
def looked_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """In the form of a cluster; the list has what it would not take, once the block is over."""
    sent: dict[str, None] = {}

    def wrapped(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        sent[str(sql)] = None
        return execute(sql, params, many, context)

    execute, send = raw_queries.execute, raw_queries._send

    def executed(sql: str, parameters: Sequence[Any]) -> Any:
        sent[sql] = None
        return execute(sql, parameters)

    def sent_together(raw: Any, names: Any, queries: Sequence[Any]) -> Any:
        sent.update((sql, None) for sql, *_ in queries)
        return send(raw, names, queries)

    found: list[str] = []
    with monkeypatch.context() as patch, connection.execute_wrapper(wrapped):
        patch.setattr(clusters, "is_always_apart", True)
        patch.setattr(raw_queries, "execute", executed)
        patch.setattr(raw_queries, "_send", sent_together)
        yield found
    found += [f"{', '.join(why)}: {' '.join(sql.split())}" for sql in sent if (why := faults(sql))]
    assert sent, "no statement was seen"
