"""What others hear of a key's life, within the transaction of the change."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from access.key_changes import key_changed
from access.models import ApiKey
from access.services import keys
from access.services.key_edits import edit_key

pytestmark = pytest.mark.django_db


@pytest.fixture
def heard() -> Iterator[list[tuple[str, int, int | None]]]:
    """(change, key, successor) of every change, as it comes."""
    found: list[tuple[str, int, int | None]] = []

    def hear(key: ApiKey, change: str, successor: ApiKey | None, **_others: Any) -> None:
        found.append((str(change), key.pk, None if successor is None else successor.pk))

    key_changed.connect(hear)
    yield found
    key_changed.disconnect(hear)


def test_every_change_is_told_once_and_what_changes_nothing_is_not(issue: Any, heard: Any) -> None:
    now = timezone.now()
    key = issue().key.pk
    keys.suspend_key(key, now=now)
    keys.suspend_key(key, now=now)
    keys.resume_key(key, now=now)
    keys.resume_key(key, now=now)
    edit_key(key, now=now, name="renamed")
    edit_key(key, now=now)
    new = keys.rotate_key(key, overlap=timedelta(hours=1), now=now).key.pk
    keys.revoke_key(key, now=now)
    keys.revoke_key(key, now=now)
    assert heard == [
        ("issued", key, None),
        ("suspended", key, None),
        ("resumed", key, None),
        ("edited", key, None),
        ("issued", new, None),
        ("rotated", key, new),
        ("revoked", key, None),
    ]


def test_who_cannot_hear_of_it_undoes_it(issue: Any) -> None:
    key = issue().key

    def fall(**_signal: Any) -> None:
        raise RuntimeError("nobody can be told")

    key_changed.connect(fall)
    try:
        with pytest.raises(RuntimeError):
            keys.suspend_key(key.pk, now=timezone.now())
    finally:
        key_changed.disconnect(fall)
    key.refresh_from_db()
    assert key.suspended_at is None


def test_a_successor_may_no_more_than_the_key_before(issue: Any) -> None:
    key = issue(methods=["getSlot"], calls_per_month=10).key
    new = keys.rotate_key(key.pk, overlap=timedelta(0), now=timezone.now()).key
    assert (new.methods, new.calls_per_month) == (["getSlot"], 10)
