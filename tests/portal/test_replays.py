"""Replays in the portal: a customer's own transactions with changes, kept under a link."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from solders.compute_budget import set_compute_unit_limit
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from access import usage
from access.models import ApiKey
from access.services.usage import roll_up_usage
from gaps.slot_gap import GapStatus
from rewind.coverage.services.gaps import archive_gaps
from rewind.models import ArchivedSlot
from rewind.replay.models import Replay, ReplayBuild
from staff.models import AuditEntry
from tests.localnet.wallets import pay
from tests.portal.conftest import Browser, People
from tests.portal.test_pages import text_of
from tests.rewind.conftest import NOW, no_node  # noqa: F401  (no_node is autouse)
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.simulating import call, code_of, stored, upgradeable
from tests.rewind.submitted import bundle, submission
from tests.simulator.elf import LOGS, fails_with

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_ledger")]

PROGRAM, TARGET = (Pubkey(bytes([number]) * 32) for number in (80, 77))
POOR = Keypair.from_seed(bytes([90]) * 32)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LittleChain]:
    """Slot 1: POOR gets 2 SOL. Slot 2: it pays 5 SOL and fails. Slot 3: PROGRAM fails with 7.
    Slot 4, a bundle: the first payer gives POOR 5 SOL more, POOR pays 6 SOL.
    """
    made = LittleChain(
        tmp_path_factory.mktemp("chain"), given=upgradeable(PROGRAM, fails_with(7), slot=0)
    )
    made.block(made.payment(POOR.pubkey(), 2 * SOL))
    made.block(made.signed([set_compute_unit_limit(90_000), pay(POOR, TARGET, 5 * SOL)], POOR))
    made.block(made.signed([call(PROGRAM)], made.payers[0]))
    gives = made.payment(POOR.pubkey(), 5 * SOL)
    made.block(gives, made.signed([pay(POOR, TARGET, 6 * SOL)], POOR))
    yield made
    made.close()


@pytest.fixture
def chain(played: LittleChain, db: None) -> LittleChain:
    """In the archive."""
    stored(played.records)
    return played


def failed(chain: LittleChain) -> str:
    return str(chain.sent[1].signatures[0])


def form_page(signature: str) -> str:
    return reverse("portal:replay_fate", args=[signature])


def row_of(client: Client, path: str, pubkey: object) -> str:
    """The number of the account's fields in the form."""
    html = client.get(path).content.decode()
    groups = re.findall(r'aria-label="Account (\w+)".*?name="lamports_(\d+)"', html, re.DOTALL)
    return dict(groups)[str(pubkey)]


def made(client: Client, path: str, **fields: Any) -> str:
    """The address of the replay that the form made."""
    answer = client.post(path, fields)
    assert answer.status_code == 302, re.sub(r"<[^>]+>", " ", answer.content.decode())
    return str(answer.headers["Location"])


def refused(client: Client, path: str, **fields: Any) -> str:
    answer = client.post(path, fields)
    assert answer.status_code == 200
    assert not Replay.objects.exists()
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


@pytest.fixture
def mine(chain: LittleChain, key: ApiKey) -> str:
    """The signature of the customer's failed transaction."""
    submission(
        chain, chain.sent[1], key, state="failed", err={"InstructionError": [1, {"Custom": 1}]}
    )
    return failed(chain)


@pytest.fixture
def client(owner: Any, browser: Browser) -> Client:
    return browser(owner)


def test_a_failed_transaction_succeeds_with_a_richer_payer(
    mine: str, client: Client, key: ApiKey, reader: Any, browser: Browser
) -> None:
    fate = text_of(client, f"/portal/fates/{mine}/")
    assert "Transfer of 5 SOL; the payer had 1.999995." in fate and "Replay it" in fate
    path = form_page(mine)
    text = text_of(client, path)
    assert "fee payer, had 2 SOL" in text and f"on the key {key}" in text
    number = row_of(client, path, POOR.pubkey())
    share = made(client, path, **{f"lamports_{number}": "10 SOL", "note": "payer with 10 SOL"})
    for seen in (text_of(client, share), text_of(browser(reader), share)):
        assert "It failed on chain, and succeeds with the changes." in seen
        assert "owner@ada.example" in seen and "payer with 10 SOL" in seen
        assert f"http://testserver{share}" in seen
        assert "balance 10,000,000,000 lamports (10 SOL)" in seen
        assert "Status ≠ failed succeeded" in seen
        assert "Error ≠ Transfer of 5 SOL; the payer had 1.999995. none" in seen
        assert "Fee 5,000 lamports (0.000005 SOL) 5,000 lamports (0.000005 SOL)" in seen
        assert "of 90,000 asked for" in seen
        assert "changed 2 1.999995 ≠ 10 ≠ 4.999995" in seen
        assert "only on chain: Transfer: insufficient lamports 1999995000, need 5000000000" in seen
        assert "gives what the chain recorded in every field" in seen
        assert "the archive is whole there" in seen
    assert "Change and replay again" not in text_of(browser(reader), share)
    assert text_of(client, f"/portal/fates/{mine}/").count("succeeds with the changes") == 1
    assert "payer with 10 SOL" in text_of(client, "/portal/replays/")
    again = text_of(client, f"{path}?from={share.split('/')[-2]}")
    assert "Replay a transaction" in again
    html = client.get(f"{path}?from={share.split('/')[-2]}").content.decode()
    assert f'name="lamports_{number}" value="10 SOL"' in html


@pytest.mark.parametrize(
    ("written", "shown", "again"),
    [
        ("1,000.5 SOL", "1,000,500,000,000 lamports (1,000.5 SOL)", "1000.5 SOL"),
        ("1000.00189588", "1,000,001,895,880 lamports (1,000.00189588 SOL)", "1000.00189588 SOL"),
        ("1000000001", "1,000,000,001 lamports (1.000000001 SOL)", "1.000000001 SOL"),
        ("1,001,000,000", "1,001,000,000 lamports (1.001 SOL)", "1.001 SOL"),
        ("7 sol", "7,000,000,000 lamports (7 SOL)", "7 SOL"),
        ("890881", "890,881 lamports (0.000890881 SOL)", "890881"),
    ],
)
def test_a_balance_is_lamports_or_sol_and_stays_so(
    mine: str, client: Client, written: str, shown: str, again: str
) -> None:
    path = form_page(mine)
    number = row_of(client, path, POOR.pubkey())
    share = made(client, path, **{f"lamports_{number}": written})
    assert f"balance {shown}" in text_of(client, share)
    html = client.get(f"{path}?from={share.split('/')[-2]}").content.decode()
    assert f'name="lamports_{number}" value="{again}"' in html


def test_the_balance_that_would_suffice_is_offered_and_does(mine: str, client: Client) -> None:
    path = form_page(mine)
    number = row_of(client, path, POOR.pubkey())
    html = client.get(path).content.decode()
    offered = re.findall(r'data-fill="id_lamports_(\d+)" data-value="([^"]+)"', html)
    # 5 SOL, the fee, and what a wallet must keep.
    assert offered == [(number, "5.00089588 SOL")]
    assert "Would suffice: 5.00089588 SOL" in text_of(client, path)
    share = made(client, path, **{f"lamports_{number}": offered[0][1]})
    assert "It failed on chain, and succeeds with the changes." in text_of(client, share)


def test_a_replay_that_leaves_too_little_for_rent_says_how_much_is_missing(
    mine: str, client: Client
) -> None:
    path = form_page(mine)
    number = row_of(client, path, POOR.pubkey())
    text = text_of(client, made(client, path, **{f"lamports_{number}": "5.0001 SOL"}))
    assert "would be left with 0.000095 SOL, 0.00079588 SOL below the rent-exempt minimum" in text
    assert "5.00089588 SOL would have sufficed" in text
    assert "no instruction: the transaction as a whole" in text
    assert "Failed first ≠ Instruction 2, System program: transfer none" not in text


def test_without_changes_it_ends_as_recorded_and_the_link_lasts(
    mine: str, client: Client, chain: LittleChain
) -> None:
    share = made(client, form_page(mine))
    first = text_of(client, share)
    assert "It ends in the replay as the chain recorded." in first and "verified" in first
    assert "≠" not in first and "Changed nothing" in first
    empty = "TRUNCATE rewind_archivedslot, rewind_accountchange"
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(empty)
    # Before it stands how long ago it was made.
    assert text_of(client, share).partition("Ran at")[2] == first.partition("Ran at")[2]


def test_data_of_an_account_another_owner_and_another_build(
    chain: LittleChain, client: Client, key: ApiKey
) -> None:
    submission(chain, chain.sent[2], key)
    path = form_page(str(chain.sent[2].signatures[0]))
    answer = client.post(
        reverse("portal:replay_build"),
        LOGS,
        content_type="application/octet-stream",
        headers={"X-File-Name": "mine%20v2.so"},
    )
    assert answer.status_code == 200, answer.content
    choice = answer.json()["value"]
    assert "mine v2.so" in text_of(client, path)
    share = made(client, path, program=str(PROGRAM), build=choice)
    text = text_of(client, share)
    assert "It failed on chain, and succeeds with the changes." in text
    assert "mine v2.so, uploaded" in text and "only in the replay" in text
    assert "returned its own error 7 (0x7)" in text
    # A part of the account with the code, by hand: the file has no beginning any more.
    share = made(
        client,
        path,
        **{"pubkey_other": str(code_of(PROGRAM)), "data_other": "0x00000000", "offset_other": "45"},
    )
    text = text_of(client, share)
    assert "data from byte 45 on: 4 bytes" in text and "It fails with the changes" in text
    number = row_of(client, path, PROGRAM)
    share = made(client, path, **{f"owner_{number}": "1" * 32})
    assert "with another error" in text_of(client, share)
    build = ReplayBuild.objects.get()
    assert (build.name, build.size, build.uploaded_by) == (
        "mine v2.so",
        len(LOGS),
        "owner@ada.example",
    )


def test_at_another_slot_there_is_other_state(mine: str, client: Client) -> None:
    share = made(client, form_page(mine), slot="4")
    text = text_of(client, share)
    assert "the end of slot 4" in text and "had 0.999985" in text
    share = made(client, form_page(mine), slot="4", index="0")
    assert "It failed on chain, and succeeds in the replay." in text_of(client, share)


def test_a_bundle_runs_in_order_and_what_a_change_touches_is_marked(
    chain: LittleChain, client: Client, key: ApiKey
) -> None:
    found = bundle(chain, chain.sent[3:5], key)
    assert "Replay it" in text_of(client, f"/portal/bundles/{found.bundle_id}/")
    path = reverse("portal:replay_bundle", args=[found.bundle_id])
    text = text_of(client, made(client, path))
    assert "All 2 transactions end in the replay as the chain recorded." in text
    assert "Transaction 2 of 2 as recorded" in text
    number = row_of(client, path, chain.payers[0].pubkey())
    share = made(client, path, **{f"lamports_{number}": "3 SOL"})
    text = text_of(client, share)
    assert "Transaction 1 of 2 fails with the changes: the bundle does not land." in text
    assert "Transaction 1 of 2 loads a changed account differs" in text
    assert "Transaction 2 of 2 not run: one before it failed" in text
    number = row_of(client, path, POOR.pubkey())
    share = made(client, path, **{f"lamports_{number}": "1 SOL"})
    text = text_of(client, share)
    assert "Transaction 2 of 2 fails with the changes" in text
    assert "only in the replay: Transfer: insufficient lamports 5999995000, need" in text
    share = made(client, path, **{f"lamports_{number}": "2.5 SOL"})
    text = text_of(client, share)
    assert "All 2 transactions succeed with the changes; transactions 1, 2 differ" in text
    assert found.bundle_id in text
    assert "the bundle does not land" in text_of(client, f"/portal/bundles/{found.bundle_id}/")


BAD: dict[str, tuple[dict[str, str], str]] = {
    "lamports": ({"lamports_0": "many"}, "Write lamports as 1000000, or SOL as 1.5 or 2 SOL"),
    "too many": ({"lamports_0": str(2**64)}, "Write lamports as 1000000"),
    "owner": ({"owner_0": "me"}, "Not an address: 32 bytes in base58."),
    "data": ({"data_0": "###"}, "Write the data in base64, or in hex after 0x"),
    "odd hex": ({"data_0": "0xabc"}, "Write the data in base64, or in hex after 0x"),
    "offset alone": ({"offset_0": "4"}, "An offset needs the data to write there."),
    "index alone": ({"index": "4"}, "An index needs its slot."),
    "slot": ({"slot": "x"}, "Enter a whole number."),
    "nobody's": ({"lamports_other": "5"}, "Name the account that these changes are for."),
    "listed": ({"pubkey_other": str(POOR.pubkey())}, "The account is in the list"),
    "program alone": ({"program": ""}, "A build its program"),
    "no such build": ({"build": "own-99"}, "Select a valid choice"),
    "past the end": (
        {"data_0": "0x00", "offset_0": "7"},
        "the account has 0 bytes of data there: none begin at 7",
    ),
    "no effect": (
        {"pubkey_other": str(TARGET)[:-1] + "x", "lamports_other": "5"},
        "has no effect",
    ),
    "too new": ({"slot": "99"}, "The slot is not archived yet. What to do: Try again in a moment."),
    "index": ({"slot": "2", "index": "9"}, "Choose a smaller index, or none."),
}
del BAD["program alone"]


@pytest.mark.parametrize(("fields", "why"), BAD.values(), ids=BAD)
def test_what_cannot_be_replayed_is_said_at_its_field_or_in_words(
    mine: str, client: Client, fields: dict[str, str], why: str
) -> None:
    if "pubkey_other" in fields and fields["pubkey_other"] not in (str(POOR.pubkey()),):
        fields = {**fields, "pubkey_other": str(Pubkey(bytes([5]) * 32))}
    assert why in refused(client, form_page(mine), **fields)


def test_missing_slots_are_named_and_may_be_tolerated(
    mine: str, client: Client, chain: LittleChain
) -> None:
    ArchivedSlot.objects.filter(slot=2).delete()
    archive_gaps.open_gap(2, 2, status=GapStatus.MISSING, cause="stream_lost", now=NOW)
    text = refused(client, form_page(mine))
    assert "These slots are missing in the archive." in text
    assert "or let the replay use what was known before them" in text


def test_another_customer_finds_nothing(
    mine: str,
    client: Client,
    chain: LittleChain,
    key: ApiKey,
    eve: Any,
    person: People,
    browser: Browser,
) -> None:
    found = bundle(chain, chain.sent[3:5], key)
    share = made(client, form_page(mine))
    other = browser(person(eve, "owner"))
    pages = (
        share,
        f"{share}delete/",
        form_page(mine),
        f"/portal/bundles/{found.bundle_id}/replay/",
    )
    for path in pages:
        assert other.post(path).status_code in (404, 405), path
        if not path.endswith("delete/"):
            assert other.get(path).status_code == 404, path
    assert str(mine) not in text_of(other, "/portal/replays/")
    assert Replay.objects.count() == 1


def test_builds_are_the_customers_own(
    mine: str, client: Client, eve: Any, person: People, browser: Browser, settings: Any
) -> None:
    upload = reverse("portal:replay_build")
    kind = "application/octet-stream"
    other = browser(person(eve, "owner"))
    theirs = other.post(upload, LOGS, content_type=kind).json()["value"]
    assert "Select a valid choice" in refused(client, form_page(mine), program="", build=theirs)
    for body, why in ((b"text", "No ELF file"), (LOGS[:200], "The engine cannot load it")):
        answer = client.post(upload, body, content_type=kind)
        assert answer.status_code == 400 and answer.json()["error"].startswith(why)
    assert client.post(upload, LOGS, content_type="text/plain").status_code == 400
    settings.REPLAY_BUILD_BYTES = 100
    answer = client.post(upload, LOGS, content_type=kind)
    assert answer.status_code == 400 and "no room for another build" in answer.json()["error"]
    assert client.get(upload).status_code == 405


def test_a_reader_opens_replays_and_makes_none(mine: str, reader: Any, browser: Browser) -> None:
    client = browser(reader)
    assert client.post(form_page(mine)).status_code == 403
    assert "Owners of Ada &amp; Sons make replays" in client.get(form_page(mine)).content.decode()


def test_a_replay_counts_on_the_key_and_its_rate(
    mine: str, client: Client, key: ApiKey, tiers: dict[str, Any]
) -> None:
    from access.models import UsageMinute

    tiers["elite"].requests_per_second, tiers["elite"].requests_burst = 0.001, 2
    tiers["elite"].save()
    for _ in range(2):
        made(client, form_page(mine))
    answer = client.post(form_page(mine))
    assert answer.status_code == 200 and "is used up: try again in" in answer.content.decode()
    assert Replay.objects.count() == 2
    usage.flush()
    roll_up_usage(now=timezone.now())
    rows = UsageMinute.objects.filter(key=key).values_list("method", "status", "calls")
    assert sorted(rows) == [
        ("simulateHistoricalTransaction", "ok", 2),
        ("simulateHistoricalTransaction", "rate_limited", 1),
    ]


def test_without_a_key_that_may_simulate_there_is_no_replay(
    mine: str, client: Client, key: ApiKey
) -> None:
    ApiKey.objects.update(scopes=["priority", "historical"])
    assert "No key of yours may replay" in text_of(client, form_page(mine))
    assert client.post(form_page(mine)).status_code == 403
    ApiKey.objects.update(suspended_at="2026-01-01T00:00:00Z")
    assert "No key of yours works at the moment" in text_of(client, form_page(mine))
    assert not Replay.objects.exists()


def test_so_many_replays_are_kept_and_owners_delete_them(
    mine: str, client: Client, settings: Any
) -> None:
    settings.REPLAYS_KEPT = 2
    first, second, third = (made(client, form_page(mine)) for _ in range(3))
    assert client.get(first).status_code == 404
    assert client.get(second).status_code == client.get(third).status_code == 200
    assert client.post(f"{second}delete/").status_code == 302
    verbs = AuditEntry.objects.filter(subject_type="rewind.replay").order_by("pk")
    assert list(verbs.values_list("verb", flat=True)) == [*["replayed"] * 3, "deleted"]
    assert client.get(second).status_code == 404 and Replay.objects.count() == 1


def test_the_page_offers_the_bytes_and_code_that_sends_again(
    mine: str, client: Client, chain: LittleChain
) -> None:
    from chain.encodings import b64encode

    for page in (f"/portal/fates/{mine}/", made(client, form_page(mine))):
        html = client.get(page).content.decode()
        assert b64encode(bytes(chain.sent[1])) in html
        assert "VersionedTransaction.deserialize" in html and "getLatestBlockhash" in html
        assert "http://testserver" in html


def test_what_is_in_no_block_has_no_place(
    key: ApiKey, client: Client, rows_of: Any, ada: Any
) -> None:
    from priority.models import Submission

    rows_of(ada)
    expired = Submission.objects.filter(key__customer=ada, state="expired", slot=None)[0]
    text = text_of(client, form_page(str(expired.signature)))
    assert "It is in no block: there is no place at which it ran." in text
    landed = Submission.objects.filter(key__customer=ada, state="landed")[0]
    text = text_of(client, form_page(str(landed.signature)))
    assert "The ledger of this service does not have the transaction." in text


def test_json_of_the_result_takes_any_log(mine: str, client: Client) -> None:
    from rewind.replay.services.replays.keeping import result_of

    share = made(client, form_page(mine))
    row = Replay.objects.get()
    found = json.loads(bytes(row.result))
    found["transactions"][0]["replayed"]["logMessages"] = ["Program log: \0\ud800 end"]
    row.result = json.dumps(found, ensure_ascii=True).replace("\\ud800", "?").encode()
    row.save()
    kept = result_of(Replay.objects.get())
    assert kept is not None and kept.transactions[0].replayed is not None
    assert "end" in text_of(client, share)
    Replay.objects.update(result=b"{}", request={"slots": 1})
    assert "Another version of the service kept this replay" in text_of(client, share)
    assert "Replay a transaction" in text_of(client, f"{form_page(mine)}?from={row.pk}")
