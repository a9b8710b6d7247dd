"""The admin's account history, as a browser's requests."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission

from chain.blocks import Granularity
from gaps.slot_gap import GapStatus
from historical.recording.services.recording import record_blocks
from rewind.accounts.services import account_history
from rewind.baselines.services.baseline import record_baseline
from rewind.coverage.services.gaps import archive_gaps as gaps
from rewind.models import AccountChange
from rewind.recording.services import filters
from rewind.recording.store.partitions import PARTITION_SLOTS
from rewind.sealed.services.segments import index_next
from tests.rewind.conftest import NOW
from tests.rewind.histories import signed, text
from tests.rewind.little_chain import LittleChain
from tests.rewind.samples import PROGRAM, block, key, signature, write
from tests.rewind.test_audit import chain, spoil, stored
from tests.rewind.test_audit_admin import text_of

__all__ = ["chain"]  # a fixture

HISTORY = "/admin/rewind/archivedslot/accounts/"
ALICE = text(key(1))
OTHER = bytes([8]) * 32

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_ledger")]


def rows_of(page: str) -> list[str]:
    """The table's rows of writes, newest first."""
    return page.partition("<tbody>")[2].partition("</tbody>")[0].split("<tr>")[1:]


def cells(row: str) -> list[str]:
    """A row's texts, without tags."""
    return [re.sub(r"<[^>]*>", "", each).strip() for each in row.split("</td>")[:-1]]


def test_writes_come_newest_first_with_what_each_changed(admin_client: Any, record: Any) -> None:
    slots = [
        block(10, writes=[write(1, signature(10, 1), lamports=5, data=b"old")]),
        block(11, writes=[write(1, signature(11, 2), lamports=1_500, data=b"older")]),
        block(12, writes=[write(1, signature(12, 0), lamports=1_500, data=b"older", owner=OTHER)]),
        block(13, writes=[write(1, lamports=1_500, data=b"older", owner=OTHER)]),
        block(14, writes=[write(1, signature(14, 3), lamports=0), write(2)]),
    ]
    record(*slots)
    record_blocks(slots[:2], now=NOW)
    page = text_of(admin_client, HISTORY, address=f" {ALICE} ")
    found = [cells(row) for row in rows_of(page)]
    assert [(row[0], row[1], row[6]) for row in found] == [
        ("14", "transaction 3", "closed"),
        ("13", "end of slot", "nothing"),
        ("12", "transaction 0", "owner"),
        ("11", "transaction 2", "lamports, data"),
        ("10", "transaction 1", "first record"),
    ]
    assert (found[3][3], found[3][5]) == ("1,500 0.0000015 SOL", "5")
    assert f'title="{signed(11, 2)}"' in rows_of(page)[3]
    # The ledger has the blocks of the first two alone.
    assert [row[2] for row in found[:3]] == ["-"] * 3
    assert f"{HISTORY}replay/?slot=11&amp;index=2" in rows_of(page)[3]
    assert "Replay" not in rows_of(page)[2]
    assert "Older writes" not in page and "Newest writes" not in page


def test_pages_follow_each_other_by_position(admin_client: Any, record: Any) -> None:
    record(
        *[
            block(slot, writes=[write(1, signature(slot, at), version=at) for at in range(3)])
            for slot in range(20, 40)
        ]
    )
    page = text_of(admin_client, HISTORY, address=ALICE)
    seen = [cells(row)[:2] for row in rows_of(page)]
    pages = 1
    while "Older writes" in page:
        before = page.rpartition("before=")[2].partition('"')[0]
        # What is written meanwhile moves no page.
        record(block(40 + pages, writes=[write(1, signature(40 + pages, 0))]))
        page = text_of(admin_client, HISTORY, address=ALICE, before=before)
        assert "Newest writes" in page
        seen += [cells(row)[:2] for row in rows_of(page)]
        pages += 1
    assert pages == 3
    assert seen == [
        [str(slot), f"transaction {at}"] for slot in range(39, 19, -1) for at in (2, 1, 0)
    ]
    clipped = text_of(admin_client, HISTORY, address=ALICE, **{"from": "22", "to": "2,3"})
    assert [cells(row)[0] for row in rows_of(clipped)] == ["23"] * 3 + ["22"] * 3
    assert "first record" not in clipped  # the row before the range is compared with


def test_a_page_ends_where_its_data_would_be_too_much(
    admin_client: Any, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_history.store, "_MOST_BYTES", 100)
    record(*[block(n, writes=[write(1, signature(n, 0), data=bytes(range(60)))]) for n in (5, 6)])
    page = text_of(admin_client, HISTORY, address=ALICE)
    assert [cells(row)[0] for row in rows_of(page)] == ["6"]
    page = text_of(admin_client, HISTORY, address=ALICE, before="6.0")
    assert [cells(row)[0] for row in rows_of(page)] == ["5"]


def test_sealed_segments_are_read_by_their_index(admin_client: Any, record: Any) -> None:
    slots = (5, 432_005, 864_005)
    parents = (4, 432_004, 864_004)
    for slot, parent in zip(slots, parents, strict=True):
        record(block(slot, parent, [write(1, signature(slot, 0)), write(2, signature(slot, 1))]))
    record(block(864_005 + 2 * PARTITION_SLOTS, 864_004 + 2 * PARTITION_SLOTS))
    for number in range(2):
        while index_next() != number:
            pass
    page = text_of(admin_client, HISTORY, address=ALICE)
    assert [cells(row)[0] for row in rows_of(page)] == [str(slot) for slot in slots[::-1]]
    assert cells(rows_of(page)[0])[6].startswith("nothing")


def test_gaps_coverage_baselines_and_filters_are_shown(admin_client: Any, record: Any) -> None:
    record_baseline([write(1, lamports=7)], 9, source="snapshot-9", now=NOW)
    record(block(10, writes=[write(1, signature(10, 0))]))
    record(
        block(20, 19, [write(1, signature(20, 0), version=1)], granularity=Granularity.SLOT),
        block(21, writes=[write(1, signature(21, 0))]),
    )
    gaps.open_gap(30, 40, status=GapStatus.MISSING, cause="stream_lost", now=NOW)
    page = text_of(admin_client, HISTORY, address=ALICE)
    newest, coarse, written, base = rows_of(page)
    assert "after a gap" not in newest and "last write" not in newest
    assert "after a gap" in coarse and "last write" in coarse
    assert cells(written)[6] == "lamports" and cells(base)[6] == "baseline"
    assert "<dt>The archive holds slots</dt><dd>10 to 21</dd>" in page
    assert "<dt>Archived in the range</dt><dd>3</dd>" in page
    assert '<span class="tm-word tm-bad">9</span>' in page
    gap = gaps.open_gaps(19, 19)[0]
    assert f"/admin/rewind/gap/{gap.pk}/change/" in coarse
    assert "Newest gaps:" in page
    assert "A filter" not in page
    inside = text_of(admin_client, HISTORY, address=ALICE, **{"from": "20"})
    assert '<span class="tm-word tm-good">0</span>' in inside
    filters.filter_account(AccountChange.objects.all()[0].pubkey, filtered=True)
    record(block(22, writes=[write(1, signature(22, 0))]))
    page = text_of(admin_client, HISTORY, address=ALICE)
    assert "A filter drops writes to this account" in page
    assert "A filter dropped writes to this account within slots 22" in page
    for linking in ("filteredpubkey", "slottally"):
        assert f"{HISTORY}?address={ALICE}" in text_of(admin_client, f"/admin/rewind/{linking}/")


def test_without_rows_the_page_says_so(admin_client: Any, record: Any) -> None:
    page = text_of(admin_client, HISTORY)
    assert "Find an account" in page and "tm-bad" not in page
    assert "No slot is archived yet" in text_of(admin_client, HISTORY, address=ALICE)
    record(block(10))
    page = text_of(admin_client, HISTORY, address=ALICE)
    assert "No writes to this account are archived in the range." in page
    assert "No writes to this account" in text_of(
        admin_client, HISTORY, address=ALICE, **{"from": "99", "to": str(2**63 - 1)}
    )


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({"address": "0OIl"}, "Not an account address: 32 bytes in base58 are expected."),
        ({"address": ALICE[:-4]}, "Not an account address"),
        ({"address": "<b>"}, "Not an account address"),
        ({"address": ALICE, "from": "x"}, "Not a slot: x"),
        ({"address": ALICE, "to": "-1"}, "Not a slot: -1"),
        ({"address": ALICE, "to": "9" * 30}, "Not a slot: 999"),
        ({"address": ALICE, "from": "9", "to": "8"}, "The first slot is above the last one."),
        ({"address": ALICE, "before": "5"}, "Not a position of a page"),
        ({"address": ALICE, "before": "5.x"}, "Not a position of a page"),
        ({"address": ALICE, "before": "5.-3"}, "Not a position of a page"),
        ({"address": ALICE, "before": f"5.{2**31}"}, "Not a position of a page"),
    ],
)
def test_bad_input_is_named(
    admin_client: Any, record: Any, query: dict[str, str], error: str
) -> None:
    record(block(10, writes=[write(1, signature(10, 0))]))
    page = text_of(admin_client, HISTORY, **query)
    assert error in page and "<b>" not in page.partition("<form")[2].partition("</form>")[0]
    assert "Writes</h2>" not in page


def test_two_writes_are_compared(admin_client: Any, record: Any) -> None:
    old, new = bytes(40), bytes(20) + b"\1" + bytes(30)
    record(
        block(10, writes=[write(1, signature(10, 1), lamports=9, data=old)]),
        block(11, writes=[write(1, signature(11, 2), lamports=4, data=new, owner=OTHER)]),
    )
    page = text_of(admin_client, HISTORY, address=ALICE)
    link = f"{HISTORY}diff/?a=10.1&amp;address={ALICE}&amp;b=11.2"
    assert link in page
    page = text_of(admin_client, link.replace("&amp;", "&"))
    fields, lines = (part.partition("</tbody>")[0] for part in page.split("<tbody>")[1:3])
    assert [cells(row)[3] for row in fields.split("<tr>")[1:]] == [
        "-5 -0.000000005 SOL", "changed", "changed", "no", "no",
    ]  # fmt: skip
    assert "Slot 10, transaction 1" in page
    assert text(PROGRAM) in fields and text(OTHER) in fields and "51 bytes" in fields
    found = [cells(row) for row in lines.split("<tr>")[1:]]
    assert [row[0] for row in found] == ["16", "32", "48"]
    assert found[0][2] == " ".join(["00"] * 4 + ["01"] + ["00"] * 11)
    assert found[2][1:] == ["-", "00 00 00"]
    for query in ("", "?address=x&a=10.1&b=11.2", f"?address={ALICE}&a=10.1&b=12.0"):
        answer = admin_client.get(f"{HISTORY}diff/{query}", follow=True)
        assert answer.redirect_chain == [(HISTORY, 302)]
        assert "These two writes are not in the archive" in answer.content.decode()


def test_a_transaction_is_replayed(admin_client: Any, chain: LittleChain) -> None:
    signatures = stored(chain, blocks=2, each=2)
    sent = next(each for each in chain.sent if each.signatures[0] == signatures[2])
    payer, receiver = (str(each) for each in sent.message.account_keys[:2])
    rows = rows_of(text_of(admin_client, HISTORY, address=receiver))
    replays = [row.partition("replay/?")[2].partition('"')[0] for row in rows if "Replay" in row]
    page = text_of(admin_client, f"{HISTORY}replay/?{replays[0].replace('&amp;', '&')}")
    assert ">verified</span>" in page and "<dt>Error</dt><dd>none</dd>" in page
    assert f"{HISTORY}?address={payer}" in page
    spoil(signatures[2], chain)
    verdicts = [
        text_of(admin_client, f"{HISTORY}replay/?{each.replace('&amp;', '&')}") for each in replays
    ]
    assert any(">diverged</span>" in each and "What differs" in each for each in verdicts)
    for query in ("", "?slot=4&index=99", "?slot=999&index=0", "?slot=4&index=-1"):
        answer = admin_client.get(f"{HISTORY}replay/{query}", follow=True)
        assert "This transaction is not in the ledger" in answer.content.decode()


def test_who_may_not_see_changes_sees_none(
    client: Any, django_user_model: Any, record: Any
) -> None:
    record(block(10, writes=[write(1, signature(10, 0))]))
    user = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    client.force_login(user)
    for path in ("", "diff/", "replay/"):
        assert client.get(HISTORY + path).status_code == 403
    user.user_permissions.add(Permission.objects.get(codename="view_accountchange"))
    page = text_of(client, HISTORY, address=ALICE)
    assert "first record" in page
    assert f'href="{HISTORY}"' in page  # the sidebar's
    client.logout()
    assert client.get(HISTORY)["Location"].startswith("/admin/login/")


def test_the_page_asks_little(
    admin_client: Any, record: Any, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    record(*[block(n, writes=[write(1, signature(n, 0))]) for n in range(10, 50)])
    with django_assert_max_num_queries(26):
        text_of(admin_client, HISTORY, address=ALICE)
