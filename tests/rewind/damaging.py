"""Damage in stored blocks, by SQL, and a second database with what is sealed."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection
from psycopg.conninfo import make_conninfo

from rewind.sealed_models import SealedBlock
from rewind.store import damage_reports, open_blocks

_TABLES = ("rewind_sealedsegment", "rewind_sealedblock")


def flip(block: SealedBlock, *, bits: int = 1, at: int | None = None) -> None:
    """So many neighbouring bits of the block's bytes flip, in its middle."""
    packed = bytearray(block.block)
    at = len(packed) // 2 if at is None else at
    for number in range(bits):
        packed[at + number // 8] ^= 1 << number % 8
    SealedBlock.objects.filter(pk=block.pk).update(block=bytes(packed))
    forget()


def forget() -> None:
    """Nothing is known of blocks, and damage is reported again."""
    open_blocks.forget()
    damage_reports.forget()


def _address(name: str) -> str:
    found = connection.get_connection_params()
    keys = ("host", "port", "user", "password")
    return make_conninfo(dbname=name, **{key: found[key] for key in keys if found.get(key)})


@contextmanager
def second_database() -> Iterator[str]:
    """Its URL: what is sealed now is there too, as in a restored backup."""
    name = f"copy_{secrets.token_hex(4)}"
    with psycopg.connect(_address("postgres"), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            _fill(name)
            yield _address(name)
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _fill(name: str) -> None:
    with psycopg.connect(_address(name)) as copy, connection.cursor() as cursor:
        for table in _TABLES:
            cursor.execute(
                "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', '"
                " ORDER BY attnum), string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute"
                " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
                [table],
            )
            columns, names = cursor.fetchone()
            copy.execute(f"CREATE TABLE {table} ({columns})")
            cursor.execute(f"SELECT {names} FROM {table}")
            marks = ", ".join(["%s"] * len(names.split(", ")))
            with copy.cursor() as into:
                into.executemany(
                    f"INSERT INTO {table} ({names}) VALUES ({marks})", cursor.fetchall()
                )
