"""COPY into the ledger's tables."""

from collections.abc import Sequence

from columns.raw_queries import raw_connection


def copy_rows(
    table: str, columns: tuple[str, ...], types: list[str], rows: Sequence[tuple[object, ...]]
) -> None:
    if not rows:
        return
    command = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    with raw_connection().cursor() as cursor, cursor.copy(command) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)
