"""The admin's pages on blocks and imports, and its home, as a browser's requests."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from solders.hash import Hash

from historical.models import Block, Import
from shared_state.database_writes import CLAIMED
from shared_state.redis_client import client
from tests.cluster import one_machine

BLOCKS = "/admin/historical/block/"


def add_block(slot: int, **changes: Any) -> Block:
    """A block with a body of 50,000 bytes that no page may load."""
    values: dict[str, Any] = {
        "parent_slot": max(0, slot - 1),
        "blockhash": Hash(slot.to_bytes(32)),
        "previous_blockhash": Hash((slot - 1).to_bytes(32)),
        "block_time": 1_700_000_000,
        "block_height": slot // 2,
        "transaction_count": 1_471,
        "failed_count": 150,
        "newest_version": 0,
        "form": 0,
        "frames": [50_000],
        "body": bytes(50_000),
        "recorded_at": timezone.now(),
        **changes,
    }
    return Block.objects.create(slot=slot, **values)


@pytest.fixture
def no_blocks(db: None) -> None:
    """Whatever other tests left in the ledger is not there."""
    Block.objects.all().delete()
    Import.objects.all().delete()


def test_the_list_never_reads_a_body(
    admin_client: Any, no_blocks: None, django_assert_max_num_queries: Any
) -> None:
    for slot in range(100, 130):
        add_block(slot)
    with django_assert_max_num_queries(8) as asked:
        page = admin_client.get(BLOCKS)
    text = page.content.decode()
    assert "50.0 kB" in text
    assert "1,471" in text
    for query in asked.captured_queries:
        assert '"body",' not in query["sql"].replace('octet_length("historical_block"."body")', "")
        assert "count(*)" not in query["sql"].lower()
    assert all("body" in block.get_deferred_fields() for block in page.context["cl"].result_list)


def test_a_blocks_page_tells_it_in_solanas_words_and_leads_to_its_neighbours(
    admin_client: Any, no_blocks: None, django_assert_max_num_queries: Any
) -> None:
    for slot, parent in ((100, 99), (104, 100), (105, 104)):
        add_block(slot, parent_slot=parent)
    with django_assert_max_num_queries(8):
        text = admin_client.get(f"{BLOCKS}104/change/").content.decode()
    assert str(Hash((104).to_bytes(32))) in text
    assert "2023-11-14 22:13:20 UTC" in text
    assert "100 (3 slots between skipped)" in text
    assert f'href="{BLOCKS}100/change/">previous 100<' in text
    assert f'href="{BLOCKS}105/change/">next 105<' in text
    assert "150 (10%)" in text


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("104", [104]),
        ("1,04", [104]),
        ("103", []),
        ("99999999999999999999999", []),
        ("9223372036854775808", []),
        ("not a signature", []),
        ("1" * 64, []),
        ("٣", []),
    ],
)
def test_a_block_is_found_by_its_slot(
    admin_client: Any, no_blocks: None, asked: str, found: list[int]
) -> None:
    add_block(104)
    page = admin_client.get(BLOCKS, {"q": asked})
    assert [block.slot for block in page.context["cl"].result_list] == found


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("103", "Slot 103 was skipped"),
        ("107", "Slot 107 is not stored: whether it was skipped is not known here"),
        ("99", "lies below the first stored block: the ledger holds 100 to 110"),
        ("1,111", "Slot 1111 lies above the newest stored block: the ledger holds 100 to 110"),
        ("1" * 64, "No stored transaction has this signature"),
        ("a block", "Neither a slot nor a signature"),
    ],
)
def test_a_search_without_a_block_says_what_the_ledger_knows(
    admin_client: Any, no_blocks: None, asked: str, said: str
) -> None:
    for slot, parent in ((100, 99), (104, 100), (110, 108)):
        add_block(slot, parent_slot=parent)
    text = admin_client.get(BLOCKS, {"q": asked}).content.decode()
    assert said in text
    assert "Create a new item" not in text


def test_a_search_in_an_empty_ledger_says_so(admin_client: Any, no_blocks: None) -> None:
    text = admin_client.get(BLOCKS, {"q": "103"}).content.decode()
    assert "no block is stored yet" in text


def test_a_block_is_found_by_a_transactions_signature(admin_client: Any, real_ledger: Any) -> None:
    from historical.models import Transaction

    one = Transaction.objects.filter(slot=254_170_887)[0]
    page = admin_client.get(BLOCKS, {"q": str(one.signature)})
    assert [block.slot for block in page.context["cl"].result_list] == [254_170_887]


@pytest.mark.parametrize("slot", ["x", "9" * 30, "-1", "105"])
def test_a_slot_without_a_block_leads_back(admin_client: Any, no_blocks: None, slot: str) -> None:
    add_block(104)
    assert admin_client.get(f"{BLOCKS}{slot}/change/").url == "/admin/"


def test_nothing_of_the_ledger_can_be_written(admin_client: Any, no_blocks: None) -> None:
    add_block(104)
    entry = Import.objects.create(file="a.json", started_at=timezone.now())
    for path in (f"{BLOCKS}104/", f"/admin/historical/import/{entry.pk}/"):
        assert admin_client.post(f"{path}change/", {"slot": 1}).status_code == 403
        assert admin_client.post(f"{path}delete/", {"post": "yes"}).status_code == 403
    assert admin_client.post(f"{BLOCKS}add/").status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": ["104"], "post": "yes"}
    admin_client.post(BLOCKS, chosen)
    assert Block.objects.filter(pk=104).exists()


def test_an_imports_page_says_what_went_wrong(admin_client: Any, no_blocks: None) -> None:
    now = timezone.now()
    entry = Import.objects.create(
        file="<b>.json",
        state="failed",
        started_at=now - timedelta(seconds=90),
        finished_at=now,
        failure="byte 7: <script>",
        warnings="one\ntwo",
    )
    text = admin_client.get(f"/admin/historical/import/{entry.pk}/change/").content.decode()
    assert "byte 7: &lt;script&gt;" in text
    assert "2 warnings" in text
    assert "1 min" in text
    listed = admin_client.get("/admin/historical/import/?state__exact=failed").content.decode()
    assert "&lt;b&gt;.json" in listed


def test_the_list_of_imports_tells_a_failures_first_line_and_the_page_its_moment(
    admin_client: Any, no_blocks: None
) -> None:
    at = datetime(2026, 11, 21, 0, 39, 5, tzinfo=UTC)
    broken = Import.objects.create(
        file="data/a.json",
        state="failed",
        started_at=at,
        finished_at=at,
        failure="slot 7: no blockhash " + "x" * 200 + "\nTraceback",
    )
    Import.objects.create(file="b.json", state="done", started_at=at, finished_at=at)
    listed = admin_client.get("/admin/historical/import/").content.decode()
    assert f">slot 7: no blockhash {'x' * 98}…<" in listed
    assert ">Traceback" not in listed
    page = admin_client.get(f"/admin/historical/import/{broken.pk}/change/").content.decode()
    assert "2026-11-21 00:39:05 UTC" in page


@one_machine
def test_the_home_tells_the_ledger_the_imports_and_the_servers(
    admin_client: Any, no_blocks: None, django_assert_max_num_queries: Any
) -> None:
    assert "import_blocks FILE" in admin_client.get("/admin/").content.decode()
    for slot in (100, 104):
        add_block(slot, block_time=int(timezone.now().timestamp()) - 7_200)
    Import.objects.create(file="epoch.dbin", started_at=timezone.now(), state="done")
    client().set(CLAIMED, "", ex=60)  # another process tries whether the database takes writes
    with django_assert_max_num_queries(38):
        text = admin_client.get("/admin/").content.decode()
    assert "2 blocks" in text
    assert "100 to 104" in text
    assert "2 h ago" in text
    assert "epoch.dbin" in text
    assert text.count(">up</span>") == 2


def test_the_home_says_that_valkey_is_down_and_still_comes(
    admin_client: Any, no_blocks: None, settings: Any
) -> None:

    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    page = admin_client.get("/admin/")
    assert page.status_code == 200
    assert ">down</span>" in page.content.decode()


def test_the_home_shows_only_what_one_may_see(
    client: Any, django_user_model: Any, no_blocks: None
) -> None:
    from django.contrib.auth.models import Permission

    add_block(104)
    viewer = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_import"))
    client.force_login(viewer)
    text = client.get("/admin/").content.decode()
    assert "Last imports" in text
    for word in ("Ledger</h2>", "Calls in the last hour", "Keys expiring", BLOCKS, "apikey"):
        assert word not in text
    assert client.get(BLOCKS).status_code == 403


def test_large_ledgers_are_not_counted_row_by_row(db: None, monkeypatch: Any) -> None:
    from historical.coverage.store import overview

    Block.objects.all().delete()
    for slot in range(1, 8):
        add_block(slot)
    assert overview.block_count() == (7, True)
    monkeypatch.setattr(overview, "COUNTED_EXACTLY", 3)
    count, exact = overview.block_count()
    assert not exact
    assert count >= 6
