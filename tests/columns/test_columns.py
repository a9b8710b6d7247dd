"""Solana's types in PostgreSQL columns: values round-trip, and values out of range are refused."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import DataError, connection, models
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.units import I64_MAX
from columns.keys import HashColumn, PubkeyColumn, SignatureColumn
from columns.numbers import SlotColumn
from tests.examples import examples

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def model() -> Any:
    class Noted(models.Model):
        key = PubkeyColumn(null=True)
        blockhash = HashColumn(null=True)
        signature = SignatureColumn(null=True)
        slot = SlotColumn(null=True)

        class Meta:
            app_label = "columns_tests"

        def __str__(self) -> str:
            return str(self.key)

    return Noted


@pytest.fixture
def table(model: Any, db: None) -> Iterator[Any]:
    """The model, and a table of it that goes away with the test's transaction."""
    with connection.schema_editor() as editor:
        editor.create_model(model)
    yield model


@given(key=st.binary(min_size=32, max_size=32), signature=st.binary(min_size=64, max_size=64))
@settings(max_examples=examples(30))
def test_keys_round_trip_and_are_found_by_value(table: Any, key: bytes, signature: bytes) -> None:
    pubkey, blockhash, signed = Pubkey(key), Hash(key), Signature(signature)
    table.objects.all().delete()
    table.objects.create(key=pubkey, blockhash=blockhash, signature=signed)
    row = table.objects.get(key=pubkey, blockhash=blockhash, signature=signed)
    assert (row.key, row.blockhash, row.signature) == (pubkey, blockhash, signed)
    assert table.objects.get(key=key).key == pubkey  # plain bytes find it too


def test_the_table_holds_the_bytes_and_no_text(table: Any) -> None:
    table.objects.create(key=Pubkey(bytes(range(32))))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT key, octet_length(key) FROM {table._meta.db_table}")
        raw, size = cursor.fetchone()
    assert (bytes(raw), size) == (bytes(range(32)), 32)


def test_nothing_stays_nothing(table: Any) -> None:
    table.objects.create()
    row = table.objects.get(key__isnull=True, signature__isnull=True)
    assert (row.key, row.blockhash, row.signature, row.slot) == (None,) * 4


def test_base58_text_is_read_as_forms_give_it(model: Any) -> None:
    column = model._meta.get_field("key")
    assert column.to_python("1" * 32) == Pubkey.default()
    assert column.to_python(memoryview(bytes(32))) == Pubkey.default()
    with pytest.raises(ValueError):
        column.to_python("not base58!")


@pytest.mark.parametrize("number", [0, 1, I64_MAX])
def test_slots_are_exact_up_to_the_columns_end(table: Any, number: int) -> None:
    table.objects.create(slot=number)
    assert table.objects.get(slot=number).slot == number


def test_a_slot_above_the_columns_end_is_refused_and_not_cut(table: Any) -> None:
    with pytest.raises(DataError):
        table.objects.create(slot=I64_MAX + 1)
