"""What a filter would save, and that it is said before it is set."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from solders.pubkey import Pubkey

from rewind.recording.services import filters, forecasts
from staff.models import AuditEntry
from tests.rewind.samples import PROGRAM, block, key, signature, write

ADMIN = "/admin/rewind"
OTHER = bytes([8]) * 32

pytestmark = pytest.mark.usefixtures("empty_ledger")


def text_of(answer: Any) -> str:
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


@pytest.fixture
def written(record: Any) -> None:
    """A thousand slots; each with three writes of one program's accounts, and one of another's."""
    for first in range(10_000, 11_000, 250):
        record(
            *[
                block(
                    slot,
                    writes=[
                        *(write(n, signature(slot, 0), data=b"x" * 50) for n in (1, 2, 3)),
                        write(4, signature(slot, 1), owner=OTHER),
                    ],
                    transactions=2,
                )
                for slot in range(first, first + 250)
            ]
        )


def test_a_program_makes_the_share_that_it_was_seen_to_make(written: None) -> None:
    found = forecasts.of_owner(Pubkey(PROGRAM))
    assert found.share == pytest.approx(0.75, abs=0.02)
    # Without blocks that tell their time a day has 216,000 slots.
    assert found.all_writes == pytest.approx(4 * 216_000)
    assert found.writes == pytest.approx(3 * 216_000, rel=0.05)
    assert 0.75 * found.all_size < found.size < found.all_size
    assert found.accounts == 3
    assert found.epochs_per_day == 0.5


def test_an_account_makes_what_was_counted(written: None) -> None:
    found = forecasts.of_account(Pubkey(key(2)))
    assert (found.seen, found.accounts) == (1_000, None)
    assert found.writes == pytest.approx(216_000)
    assert found.share == pytest.approx(0.25)
    nothing = forecasts.of_account(Pubkey(key(77)))
    assert (nothing.seen, nothing.writes) == (0, 0)


def test_an_empty_archive_forecasts_nothing(db: None) -> None:
    for found in (forecasts.of_owner(Pubkey(PROGRAM)), forecasts.of_account(Pubkey(PROGRAM))):
        assert (found.writes, found.size, found.all_writes, found.share) == (0, 0, 0, None)
        assert found.named is None


def test_a_filter_is_set_after_its_forecast_and_lifted_after_another(
    admin_client: Any, written: None, record: Any
) -> None:
    told = {"key": str(Pubkey(PROGRAM))}
    page = text_of(admin_client.post(f"{ADMIN}/owner/add/", told))
    for expected in ("What would be saved", "75%", "650,000", "FilteredAccountStale"):
        assert expected in page
    assert filters.filtered_owners() == []
    answer = admin_client.post(f"{ADMIN}/owner/add/", {**told, "confirmed": "1"}, follow=True)
    text_of(answer)
    assert filters.filtered_owners() == [Pubkey(PROGRAM)]
    entry = AuditEntry.objects.latest("pk")
    assert (entry.verb, entry.subject) == ("set a filter", str(Pubkey(PROGRAM)))
    pk = int(entry.subject_id)
    page = text_of(admin_client.get(f"{ADMIN}/owner/{pk}/delete/"))
    assert "What would be added" in page and "are lost." in page
    admin_client.post(f"{ADMIN}/owner/{pk}/delete/", {"post": "yes"})
    assert filters.filtered_owners() == []
    assert AuditEntry.objects.latest("pk").verb == "lifted a filter"


def test_of_an_account_that_was_filtered_the_page_says_from_where_to_where(
    admin_client: Any, written: None, record: Any
) -> None:
    account = Pubkey(key(2))
    filters.filter_account(account, filtered=True)
    record(block(11_000, writes=[write(2, signature(11_000, 0))]))
    page = text_of(admin_client.get(f"{ADMIN}/filteredpubkey/{account}/delete/"))
    assert "were dropped from slot 11000 to about slot" in page


def test_who_may_only_look_sets_and_lifts_nothing(client: Any, django_user_model: Any) -> None:
    account = Pubkey(key(2))
    filters.filter_account(account, filtered=True)
    user = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    looking = Permission.objects.filter(codename__in=["view_filteredpubkey", "view_owner"])
    user.user_permissions.add(*looking)
    client.force_login(user)
    path = f"{ADMIN}/filteredpubkey"
    told = {"key": str(Pubkey(key(3))), "confirmed": "1"}
    assert client.post(f"{path}/add/", {"key": str(account)}).status_code == 403
    assert client.post(f"{path}/add/", told).status_code == 403
    assert client.post(f"{path}/{account}/delete/", {"post": "yes"}).status_code == 403
    assert client.get(f"{path}/{account}/delete/").status_code == 403
    assert filters.filtered_pubkeys() == [account]
    operator = Permission.objects.get(codename="change_filteredpubkey")
    user.user_permissions.add(operator)
    user = django_user_model.objects.get(pk=user.pk)
    client.force_login(user)
    client.post(f"{path}/{account}/delete/", {"post": "yes"})
    client.post(f"{path}/add/", told)
    assert filters.filtered_pubkeys() == [Pubkey(key(3))]
