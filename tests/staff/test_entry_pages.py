"""The audit log read a page at a time, however long it is."""

from datetime import UTC, datetime

import pytest

from staff.entry_pages import ascending, descending
from staff.models import AuditEntry

ENTRIES = 4_100


@pytest.mark.django_db
def test_each_entry_comes_once_in_order() -> None:
    at = datetime(2030, 1, 1, tzinfo=UTC)
    AuditEntry.objects.bulk_create(
        AuditEntry(at=at, verb="tried", digest=number.to_bytes(32)) for number in range(ENTRIES)
    )
    keys = sorted(AuditEntry.objects.values_list("pk", flat=True))
    assert len(keys) == ENTRIES
    assert [entry.pk for entry in ascending(AuditEntry.objects.all())] == keys
    assert [entry.pk for entry in descending(AuditEntry.objects.all())] == keys[::-1]
    for most in (0, 1, 2_000, 2_001, 4_000, 9_000):
        found = [entry.pk for entry in ascending(AuditEntry.objects.all(), most=most)]
        assert found == keys[:most]
    some = AuditEntry.objects.filter(pk__gt=keys[4_000])
    assert [entry.pk for entry in descending(some)] == keys[:4_000:-1]
