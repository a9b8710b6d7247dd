"""Replays in the admin: any transaction of the ledger, a bundle, and the kept replays."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from access.models import Customer
from chain.blocks import Granularity
from gaps.slot_gap import GapStatus
from rewind.coverage.services.gaps import archive_gaps
from rewind.models import ArchivedSlot
from rewind.replay.models import Replay, ReplayBuild
from rewind.replay.services.builds import add_build
from rewind.tasks import forget_replays
from staff.models import AuditEntry
from staff.roles import Role, give_role
from tests.browser.kept_replays import kept_replay
from tests.localnet.wallets import pay
from tests.rewind.conftest import NOW
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.simulating import call, stored, upgradeable
from tests.rewind.submitted import bundle, submission
from tests.simulator.elf import LOGS, fails_with

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("empty_ledger", "nothing_remembered"),
]

RUN = "/admin/rewind/replay/run/"
PROGRAM, TARGET = (Pubkey(bytes([number]) * 32) for number in (80, 77))
POOR = Keypair.from_seed(bytes([90]) * 32)


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[LittleChain]:
    """Slot 1: POOR gets 2 SOL. Slot 2: it pays 5 SOL and fails; PROGRAM fails with 7."""
    made = LittleChain(tmp_path, given=upgradeable(PROGRAM, fails_with(7), slot=0))
    made.block(made.payment(POOR.pubkey(), 2 * SOL))
    made.block(
        made.signed([pay(POOR, TARGET, 5 * SOL)], POOR),
        made.signed([call(PROGRAM)], made.payers[0]),
    )
    made.block(made.payment(TARGET, SOL))
    stored(made.records)
    yield made
    made.close()


def words(answer: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def opened(client: Client, path: str, **data: str) -> str:
    answer = client.get(path, data)
    assert answer.status_code == 200, answer.status_code
    return words(answer)


def address(*transactions: Any) -> str:
    return f"{RUN}?signatures={','.join(str(each.signatures[0]) for each in transactions)}"


def number_of(client: Client, path: str, pubkey: object) -> str:
    html = client.get(path).content.decode()
    groups = re.findall(r'aria-label="Account (\w+)".*?name="lamports_(\d+)"', html, re.DOTALL)
    return dict(groups)[str(pubkey)]


def test_any_transaction_of_the_ledger_is_explained_and_replayed(
    chain: LittleChain, admin_client: Client
) -> None:
    assert "Any transaction of the ledger" in opened(admin_client, RUN)
    by_place = opened(admin_client, RUN, slot="2", index="0")
    path = address(chain.sent[1])
    for text in (by_place, opened(admin_client, path)):
        assert "Transfer of 5 SOL; the payer had 1.999995." in text and "Accounts" in text
    number = number_of(admin_client, path, POOR.pubkey())
    answer = admin_client.post(path, {f"lamports_{number}": "9 SOL", "note": "richer"})
    assert answer.status_code == 302, words(answer)
    kept = Replay.objects.get()
    assert (kept.customer, kept.key, kept.made_by, kept.note) == (None, None, "admin", "richer")
    text = opened(admin_client, answer.headers["Location"])
    assert "It failed on chain, and succeeds with the changes." in text
    assert f"http://testserver{answer.headers['Location']}" in text
    assert AuditEntry.objects.filter(verb="replayed", subject_id=str(kept.pk)).count() == 1
    listed = opened(admin_client, "/admin/rewind/replay/", q=str(chain.sent[1].signatures[0]))
    assert "richer" in listed
    assert "richer" not in opened(
        admin_client, "/admin/rewind/replay/", q=str(chain.sent[2].signatures[0])
    )
    again = admin_client.get(f"{path}&from={kept.pk}").content.decode()
    assert f'name="lamports_{number}" value="9 SOL"' in again
    page = f"/admin/rewind/replay/{kept.pk}/delete/"
    assert admin_client.post(page, {"post": "yes"}).status_code == 302
    assert not Replay.objects.exists()
    found = opened(admin_client, "/admin/find/", q=str(chain.sent[1].signatures[0]))
    assert "slot 2, index 0: why, and replay" in found


def test_a_build_of_the_shelf_runs_in_place_of_the_one_of_the_time(
    chain: LittleChain, admin_client: Client
) -> None:
    build = add_build(
        PROGRAM, LOGS, loader=3, from_slot=900, to_slot=None, source="fixed.so", now=NOW
    )
    path = address(chain.sent[2])
    fields = {"program": str(PROGRAM), "build": f"shelf-{build.pk}"}
    answer = admin_client.post(path, fields)
    assert answer.status_code == 302, words(answer)
    text = opened(admin_client, answer.headers["Location"])
    assert "succeeds with the changes" in text and "fixed.so, of the operator" in text
    html = admin_client.get(f"{path}&from={Replay.objects.get().pk}").content.decode()
    assert f'<option value="shelf-{build.pk}" selected>' in html
    build.delete()
    assert "Select a valid choice" in words(admin_client.post(path, fields))
    wrong = address(chain.sent[1])
    assert "Select a valid choice" in words(admin_client.post(wrong, fields))


def test_a_bundles_page_leads_to_its_replay_and_explains_each_transaction(
    chain: LittleChain, admin_client: Client
) -> None:
    made = bundle(chain, chain.sent[1:3], None)
    page = f"/admin/priority/bundle/{made.pk}/change/"
    html = admin_client.get(page).content.decode()
    assert html.count("Why it failed") == 2 and "Transfer of 5 SOL" in html
    path = re.findall(r'href="(/admin/rewind/replay/run/[^"]+)"', html)[0].replace("&amp;", "&")
    answer = admin_client.post(path)
    assert answer.status_code == 302, words(answer)
    kept = Replay.objects.get()
    assert kept.bundle_id == made.bundle_id and len(kept.signatures) == 2
    assert "Transaction 1 of 2 fails in the replay" in opened(admin_client, page)
    row = submission(chain, chain.sent[0], None)
    page = f"/admin/priority/submission/{row.pk}/change/"
    assert "Run it again at its place" in opened(admin_client, page)


def test_each_role_does_what_it_may(chain: LittleChain) -> None:
    path = address(chain.sent[1])
    kept = kept_replay(Customer.objects.create(name="Ada"), chain.sent[1].signatures[0])
    for role, runs in ((Role.VIEWER, 403), (Role.OPERATOR, 302), (Role.ADMINISTRATOR, 302)):
        user = User.objects.create_user(role, is_staff=True)
        give_role(user, role, by=None)
        client = Client()
        client.force_login(user)
        assert "a thousand SOL" in opened(client, f"/admin/rewind/replay/{kept.pk}/change/")
        assert ("sees replays and runs none" in opened(client, path)) == (runs == 403)
        assert client.post(path).status_code == runs
        upload = client.post(
            "/admin/rewind/replay/builds/", LOGS, content_type="application/octet-stream"
        )
        assert upload.status_code == (403 if runs == 403 else 200)
    assert Client().post(path).status_code == 302 and Replay.objects.count() == 3


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"signatures": "x"}, "Expected one to 5 signatures"),
        ({"slot": "2"}, "A slot and the transaction's index in its block are expected"),
        ({"slot": "2", "index": "9"}, "The ledger has no transaction 9 in slot 2."),
        ({"signatures": "1" * 64}, "The ledger of this service does not have the transaction."),
    ],
)
def test_what_names_no_transaction_is_said(
    chain: LittleChain, admin_client: Client, query: dict[str, str], why: str
) -> None:
    assert why in opened(admin_client, RUN, **query).replace("&#x27;", "'")


def test_a_gap_is_said_in_words_and_may_be_tolerated(
    chain: LittleChain, admin_client: Client
) -> None:
    ArchivedSlot.objects.filter(slot=2).delete()
    archive_gaps.open_gap(2, 2, status=GapStatus.MISSING, cause="stream_lost", now=NOW)
    path = address(chain.sent[1])
    text = words(admin_client.post(path))
    assert "These slots are missing in the archive." in text and not Replay.objects.exists()
    answer = admin_client.post(path, {"tolerate_gaps": "on"})
    assert answer.status_code == 302, words(answer)
    text = opened(admin_client, answer.headers["Location"])
    assert "The state that it ran on may have been another." in text
    assert "in slots 2, which are missing" in text
    assert "could not be held against the chain. These slots are missing" in text


def test_a_slot_with_last_writes_alone_says_what_to_do(
    tmp_path: Path, admin_client: Client
) -> None:
    from dataclasses import replace

    made = LittleChain(tmp_path)
    made.block(made.payment(TARGET, SOL), made.payment(TARGET, SOL + 1))
    coarse = replace(made.records[1], granularity=Granularity.SLOT)
    stored([made.records[0], coarse])
    text = words(admin_client.post(address(made.sent[0])))
    assert "Of the slot the archive knows the last write of each account alone" in text
    made.close()


def test_old_replays_and_unused_builds_are_deleted(
    chain: LittleChain, admin_client: Client, settings: Any
) -> None:
    now = timezone.now()
    signature = chain.sent[1].signatures[0]
    settings.REPLAY_DAYS = 30
    old, new = (kept_replay(None, signature) for _ in range(2))
    builds = [
        ReplayBuild.objects.create(
            digest=bytes([number]) * 32,
            size=1,
            name="a.so",
            code=b"x",
            uploaded_by="admin",
            uploaded_at=now - timedelta(days=2),
        )
        for number in (1, 2)
    ]
    Replay.objects.filter(pk=old.pk).update(made_at=now - timedelta(days=31))
    Replay.objects.filter(pk=new.pk).update(build=builds[0])
    forget_replays()
    assert list(Replay.objects.all()) == [new]
    assert list(ReplayBuild.objects.all()) == [builds[0]]
    Replay.objects.update(made_at=now - timedelta(days=9_999))
    settings.REPLAY_DAYS = 0
    forget_replays()
    assert list(Replay.objects.all()) == [new]
