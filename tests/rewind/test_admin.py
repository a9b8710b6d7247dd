"""The admin's pages on the archive, as a browser's requests."""

import html
import re
from datetime import timedelta

import pytest
from solders.pubkey import Pubkey

from chain.addresses import VOTE
from chain.blocks import Granularity
from gaps import life_cycle
from gaps.life_cycle import GRACE, due_gaps
from gaps.slot_gap import GapStatus
from historical.coverage.services.gaps import ledger_gaps
from historical.models import Gap as LedgerGap
from rewind.baselines.services.baseline import record_baseline
from rewind.coverage.services.gaps import archive_gaps as gaps
from rewind.models import FilteredPubkey, Gap, Owner
from rewind.recording.services import filters
from staff.models import AuditEntry
from tests.rewind.conftest import NOW
from tests.rewind.samples import block, signature, write

# The session's real blocks lie in epochs of their own.
pytestmark = pytest.mark.usefixtures("empty_ledger")

ADMIN = "/admin/rewind"
COVERAGE = f"{ADMIN}/slottally/"


def text_of(client, path, **data):
    page = client.get(path, data)
    assert page.status_code == 200
    return page.content.decode()


def test_an_empty_archive_says_what_fills_it(admin_client, empty_ledger):
    text = text_of(admin_client, COVERAGE)
    assert "No slot is archived yet" in text
    assert "manage.py follow" in text


def test_coverage_tells_slots_gaps_causes_and_filters(admin_client, record):
    filters.filter_owner(VOTE, filtered=True)
    record(block(1_000), block(1_003, parent=1_000, granularity=Granularity.SLOT))
    record(block(1_500, parent=1_499))
    gaps.open_gap(1_100, 1_199, status=GapStatus.UNKNOWN, cause="stream_lost", now=NOW)
    record_baseline([write(1)], 1_000, source="snapshot-1000.tar.zst", now=NOW)
    gap = gaps.open_gaps(1_150, 1_150)[0]
    life_cycle.record_attempt(
        Gap, gap.pk, source="replay", result="too old", now=NOW, next_try_at=None
    )
    text = text_of(admin_client, COVERAGE)
    assert "Slots 1000 to 1500;" in text
    for told in ("stream lost", "not yet known", "tried by replay: too old", "snapshot-1000"):
        assert told in text
    assert str(VOTE) in text
    assert "99.399% in gaps" in text  # 496 of the 499 slots that may have had a block
    assert "Epoch 0, archive: 3 archived, 2 skipped, 0 missing" not in text
    assert "Epoch 0, archive: 3 archived, 2 skipped, 1 missing, 495 unknown" in text


def lines_of(text):
    """The page's text without its tags."""
    words = re.sub(r"<[^>]*>", " ", text.partition("<body")[2]).split()
    return " ".join(words).replace(" ,", ",")


def listed(client, address):
    """The gaps of a list, as [(from_slot, to_slot)]."""
    rows = client.get(address).context["cl"].result_list
    return sorted((gap.from_slot, gap.to_slot) for gap in rows)


@pytest.mark.parametrize("page", [COVERAGE, f"{COVERAGE}epoch/?epoch=0"])
def test_coverage_counts_what_is_open_and_what_is_given_up_each_with_its_list(
    admin_client, record, page
):
    record(block(1_000), block(1_005, parent=1_004))
    still_open, given_up = gaps.open_gaps()
    gaps.give_up([given_up.pk], by="ada", now=NOW)
    found = admin_client.get(page).content.decode()
    assert "3 slots open in 1 gap, 1 slot given up in 1 gap" in lines_of(found)
    links = re.findall(r'href="(/admin/rewind/gap/\?state=(?:open|given_up)[^"]*)"', found)
    for address in (html.unescape(link) for link in links):
        wanted = still_open if "state=open" in address else given_up
        assert listed(admin_client, address) == [tuple(wanted.slots)]
    assert {"state=open" in link for link in links} == {True, False}


def test_all_gaps_leads_to_those_given_up_as_well(admin_client, record):
    record(block(1_000), block(1_003, parent=1_002))
    gaps.give_up([gap.pk for gap in gaps.open_gaps()], by="ada", now=NOW)
    page = admin_client.get(COVERAGE).content.decode()
    address = re.search(r'href="([^"]*)">All gaps<', page)[1]
    assert listed(admin_client, address) == [(1_001, 1_001), (1_002, 1_002)]
    assert "0 slots open, 2 slots given up in 2 gaps" in lines_of(page)
    assert ">given up<" in page and "Open gaps" not in page
    assert "0 slots open, 2 slots given up in 2 gaps" in lines_of(text_of(admin_client, address))


def test_gaps_are_listed_by_a_range_of_slots(admin_client, empty_ledger):
    gaps.open_gap(10, 20, status=GapStatus.MISSING, cause="writes_missing", now=NOW)
    gaps.open_gap(30, 30, status=GapStatus.UNKNOWN, cause="stream_lost", now=NOW)
    path = f"{ADMIN}/gap/"
    assert listed(admin_client, f"{path}?slots=20-29") == [(10, 20)]
    assert listed(admin_client, f"{path}?slots=20-30") == [(10, 20), (30, 30)]
    assert listed(admin_client, f"{path}?slots=none") == []


def test_coverage_without_gaps_says_so(admin_client, record):
    record(block(5), block(6))
    text = text_of(admin_client, COVERAGE)
    assert (
        "No gaps are open or given up: every slot of the range is archived, or proved skipped."
        in text
    )
    assert "0% in gaps" in text


def test_the_page_asks_little(admin_client, record, django_assert_max_num_queries):
    record(*[block(slot, parent=slot - 1) for slot in range(0, 90, 3)][1:])
    with django_assert_max_num_queries(28):
        text_of(admin_client, COVERAGE)


@pytest.mark.parametrize(
    ("path", "services", "model"),
    [(f"{ADMIN}/gap/", gaps, Gap), ("/admin/historical/gap/", ledger_gaps, LedgerGap)],
)
def test_a_gap_is_looked_for_by_slot_and_tried_again_now(
    admin_client, empty_ledger, path, services, model
):
    services.open_gap(10, 20, status=GapStatus.MISSING, cause="writes_missing", now=NOW)
    services.open_gap(30, 30, status=GapStatus.UNKNOWN, cause="stream_lost", now=NOW)
    services.close_range(30, 30, closed_by="getBlocks", now=NOW)
    gap = services.open_gaps()[0]
    later = NOW + timedelta(days=36_500)
    life_cycle.record_attempt(
        model, gap.pk, source="node", result="HTTP 503", now=NOW, next_try_at=later
    )
    text = text_of(admin_client, path, q="15")
    assert "10 to 20" in text
    assert "stream lost" not in text.partition("result_list")[2].partition("</table>")[0]
    assert "10 to 20" not in text_of(admin_client, path, q="25").partition("<body")[2]
    assert "10 to 20" not in text_of(admin_client, path, state="closed").partition("<body")[2]
    assert "10 to 20" in text_of(admin_client, path, cause="writes_missing")
    assert "10 to 20" not in text_of(admin_client, path, cause="refused").partition("<body")[2]
    page = text_of(admin_client, f"{path}{gap.pk}/change/")
    assert "2026-01-31 14:05:00 UTC" in page
    assert "HTTP 503" in page
    assert "some of its account writes did not" in page  # what the cause means
    assert "Try again now" in page
    ids = list(model.objects.values_list("pk", flat=True))
    order = {"action": "try_again_now", "_selected_action": ids}
    answer = admin_client.post(path, order, follow=True)
    assert "1 gap is due" in answer.content.decode()
    gap.refresh_from_db()
    assert gap.next_try_at < later
    life_cycle.record_attempt(
        model, gap.pk, source="node", result="HTTP 503", now=NOW, next_try_at=later
    )
    assert admin_client.get(f"{path}{gap.pk}/retry/").status_code == 405
    answer = admin_client.post(f"{path}{gap.pk}/retry/", follow=True)
    assert "1 gap is due" in answer.content.decode()
    entry = AuditEntry.objects.latest("pk")
    assert (entry.verb, entry.subject_id) == ("ordered a try", str(gap.pk))
    history = text_of(admin_client, f"{path}{gap.pk}/change/").partition(">History<")[2]
    assert history.count(">Asked to try again</span> by admin ") == 2
    closed = model.objects.get(closed_at__isnull=False)
    page = text_of(admin_client, f"{path}{closed.pk}/change/")
    assert "by getBlocks" in page
    assert "Try again now" not in page


@pytest.mark.parametrize(
    ("path", "services", "model"),
    [(f"{ADMIN}/gap/", gaps, Gap), ("/admin/historical/gap/", ledger_gaps, LedgerGap)],
)
def test_staff_gives_a_gap_up(admin_client, empty_ledger, path, services, model):
    services.open_gap(10, 20, status=GapStatus.MISSING, cause="writes_missing", now=NOW)
    services.open_gap(30, 30, status=GapStatus.UNKNOWN, cause="stream_lost", now=NOW)
    low, high = services.open_gaps()
    assert admin_client.get(f"{path}{low.pk}/give-up/").status_code == 405
    answer = admin_client.post(f"{path}{low.pk}/give-up/", follow=True)
    assert "1 gap is given up: no longer retried" in answer.content.decode()
    entry = AuditEntry.objects.latest("pk")
    assert (entry.verb, entry.subject_id) == ("gave up", str(low.pk))
    page = text_of(admin_client, f"{path}{low.pk}/change/")
    assert "give-up/" not in page and "Try again now" in page
    listed = text_of(admin_client, path, state="given_up").partition("<body")[2]
    assert "10 to 20" in listed
    assert "10 to 20" not in text_of(admin_client, path, state="open").partition("<body")[2]
    assert list(due_gaps(model, now=NOW + GRACE)) == [high]
    order = {"action": "give_up", "_selected_action": [low.pk, high.pk]}
    assert (
        "1 gap is given up: no longer retried"
        in admin_client.post(path, order, follow=True).content.decode()
    )
    assert not due_gaps(model, now=NOW + GRACE)
    admin_client.post(f"{path}{high.pk}/retry/")
    assert [gap.state for gap in services.open_gaps()] == ["given_up", "open"]
    assert services.close_range(10, 20, closed_by="a stream", now=NOW) == 11
    assert model.objects.get(pk=low.pk).state == "closed"


@pytest.mark.parametrize("state", ["open", "given_up"])
def test_the_page_of_a_gap_says_what_fills_it_and_what_callers_get(
    admin_client, empty_ledger, state
):
    pages = {}
    for area, path, services in (
        ("archive", f"{ADMIN}/gap/", gaps),
        ("ledger", "/admin/historical/gap/", ledger_gaps),
    ):
        services.open_gap(10, 20, status=GapStatus.MISSING, cause="stream_lost", now=NOW)
        (gap,) = services.open_gaps()
        if state == "given_up":
            life_cycle.give_up(
                type(gap), gap.slots, by=life_cycle.PROOF, why="begins at 25", now=NOW
            )
        shown = text_of(admin_client, f"{path}{gap.pk}/change/")
        page = lines_of(shown)
        pages[area] = page.partition("What to do")[2]
        assert ("Nothing needs doing" in pages[area]) == (state == "given_up")
        steps = shown.partition('<ol class="tm-steps">')
        assert ("If you still want them back:" in steps[0]) == (state == "given_up")
        assert "Nothing needs doing" not in steps[2]
        button = shown.partition(">Try again now</button>")[0].rpartition("<button")[2]
        assert ("tm-plain" in button) == (state == "given_up"), "no main thing to do"
        assert "<dt>Against the next one</dt><dd>Name a second stream" in shown
        if state == "given_up":
            assert "Given up automatically, since no source has these slots any more" in page
    assert "slot_in_archive_gap (-32018)" in pages["archive"]
    assert "neither a node nor a file of blocks has them" in pages["archive"]
    assert "FILL_RPC_URLS" not in pages["archive"] and "import_blocks" not in pages["archive"]
    assert ("import_snapshot FILE" in pages["archive"]) == (state == "given_up")
    assert "slot_missing (-32009)" in pages["ledger"]
    assert "FILL_RPC_URLS" in pages["ledger"] and "import_blocks FILE" in pages["ledger"]


@pytest.mark.parametrize(
    ("path", "services"), [(f"{ADMIN}/gap/", gaps), ("/admin/historical/gap/", ledger_gaps)]
)
def test_a_closed_gap_needs_nothing(admin_client, empty_ledger, path, services):
    services.open_gap(10, 20, status=GapStatus.MISSING, cause="stream_lost", now=NOW)
    (gap,) = services.open_gaps()
    services.close_range(10, 20, closed_by="a stream", now=NOW)
    assert "What to do" not in text_of(admin_client, f"{path}{gap.pk}/change/")


def test_who_may_only_look_cannot_order_a_try(client, django_user_model):
    from django.contrib.auth.models import Permission

    user = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    user.user_permissions.add(
        *Permission.objects.filter(codename__in=["view_gap", "view_slottally"])
    )
    client.force_login(user)
    gaps.open_gap(10, 20, status=GapStatus.MISSING, cause="writes_missing", now=NOW)
    assert "try_again_now" not in text_of(client, f"{ADMIN}/gap/")
    assert "No slot is archived yet" in text_of(client, COVERAGE)
    gap = gaps.open_gaps()[0]
    page = text_of(client, f"{ADMIN}/gap/{gap.pk}/change/")
    assert "/retry/" not in page and "/give-up/" not in page
    assert client.post(f"{ADMIN}/gap/{gap.pk}/retry/").status_code == 403
    assert client.post(f"{ADMIN}/gap/{gap.pk}/give-up/").status_code == 403
    client.post(f"{ADMIN}/gap/", {"action": "try_again_now", "_selected_action": [gap.pk]})
    assert gaps.open_gaps()[0].next_try_at is None
    assert client.get(f"{ADMIN}/owner/").status_code == 403


def test_archived_slots_are_listed_and_found(admin_client, record):
    record(block(5, writes=[write(1, signature(5, 0))]), block(6, granularity=Granularity.SLOT))
    text = text_of(admin_client, f"{ADMIN}/archivedslot/")
    assert "every write" in text
    assert "last writes" in text
    assert "last writes" not in text_of(admin_client, f"{ADMIN}/archivedslot/", q="5")
    assert text_of(admin_client, f"{ADMIN}/archivedslot/", q="9" * 30)
    assert "stream" in text_of(admin_client, f"{ADMIN}/archivedslot/5/change/")
    assert "Nothing here yet" in text_of(admin_client, f"{ADMIN}/baseline/")


def test_an_owner_is_filtered_and_released(admin_client, record):
    record(block(5, writes=[write(1)]))
    program = Owner.objects.get().pubkey
    assert str(program) not in text_of(admin_client, f"{ADMIN}/owner/")
    for text in (f" {program} ", str(VOTE)):
        told = {"key": text, "confirmed": "1"}
        answer = admin_client.post(f"{ADMIN}/owner/add/", told, follow=True)
        assert text.strip() in answer.content.decode()
    assert set(filters.filtered_owners()) == {program, VOTE}
    pk = Owner.objects.get(pubkey=program).pk
    assert str(program) in text_of(admin_client, f"{ADMIN}/owner/{pk}/change/")
    admin_client.post(f"{ADMIN}/owner/{pk}/delete/", {"post": "yes"})
    assert filters.filtered_owners() == [VOTE]
    assert Owner.objects.filter(pk=pk).exists()


def test_an_account_is_filtered_and_released(admin_client):
    account = Pubkey.new_unique()
    for _ in range(2):
        told = {"key": str(account), "confirmed": "1"}
        admin_client.post(f"{ADMIN}/filteredpubkey/add/", told)
    assert FilteredPubkey.objects.get().pubkey == account
    assert str(account) in text_of(admin_client, f"{ADMIN}/filteredpubkey/{account}/change/")
    admin_client.post(f"{ADMIN}/filteredpubkey/{account}/delete/", {"post": "yes"})
    assert not FilteredPubkey.objects.exists()
    answer = admin_client.post(f"{ADMIN}/filteredpubkey/add/", {"key": "0xabc"})
    assert "Not a pubkey" in answer.content.decode()


# On a cluster sizes are not told inside of a transaction that writes.
@pytest.mark.django_db(transaction=True)
def test_the_sidebar_leads_to_every_page_of_the_archive(admin_client):
    text = text_of(admin_client, "/admin/")
    for model in ("slottally", "archivedslot", "gap", "owner", "filteredpubkey", "baseline"):
        assert f"{ADMIN}/{model}/" in text
        text_of(admin_client, f"{ADMIN}/{model}/")
    assert "/admin/historical/gap/" in text
