"""What strangers wrote, on every page of the admin and of the portal: it is shown as it is, changes
nothing around it, and no page is long for it.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from solders.hash import Hash

from tests.pages import admin_pages, portal_pages
from tests.staff import foreign_texts, lived_in

LONGEST_PAGE = 500_000
# Unescaped, or unseen. Fields of forms send back what they were given.
_FIELDS = re.compile(r'<textarea\b[^>]*>.*?</textarea>|\bvalue="[^"]*"', re.DOTALL)
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)
_MARKUP = ("<script>alert", "<img src=x", '" onmouseover="', 'href="javascript:')


def faults_of(browser: Client, path: str) -> list[str]:
    """What is wrong with the page."""
    answer = browser.get(path)
    if answer.status_code >= 500:
        return [f"{path}: {answer.status_code}"]
    if answer.headers.get("Location", "").startswith(("/admin/login/", "/portal/sign-in/")):
        return [f"{path}: signed out"]
    if answer.status_code != 200 or not answer["Content-Type"].startswith("text/html"):
        return []
    text = answer.content.decode()
    found = [f"{path}: {each}" for each in _MARKUP if each in text]
    unseen = _UNSEEN.search(_FIELDS.sub("", text))
    if unseen is not None:
        around = text[max(0, text.find(unseen[0]) - 80) :][:100]
        found.append(f"{path}: {unseen[0]!r} behind {around!r}")
    if len(text) > LONGEST_PAGE:
        found.append(f"{path}: {len(text):,} characters")
    return found


@pytest.mark.django_db
def test_no_page_is_changed_by_what_strangers_wrote(
    issue: Callable[..., Any],
    tier: Callable[..., Any],
    person: Callable[..., Any],
    admin_client: Client,
    nothing_remembered: None,
    empty_ledger: None,
) -> None:
    from historical.recording.services.recording import record_blocks
    from portal.models import Member
    from priority.models import Submission
    from rewind.replay.models import Replay
    from tests.browser.kept_replays import kept_replay

    now = timezone.now()
    lived_in.fill(issue, tier, person)
    block, signature = foreign_texts.failed_memo(5_000)
    record_blocks([block], now=now)
    member = Member.objects.get(user__username="owner@ada.example")
    key = member.customer.keys.order_by("pk")[0]
    Replay.objects.all().delete()
    replay = kept_replay(member.customer, signature)
    foreign_texts.into_replay(replay)
    Submission.objects.all().delete()
    err = {"InstructionError": [0, {"BorshIoError": foreign_texts.TEXT}]}
    Submission.objects.create(
        **{
            "signature": signature,
            "kind": "transaction",
            "blockhash": Hash.from_string(block.blockhash),
        },
        **{"key": key, "tier": "basic", "state": "failed", "commitment": "finalized"},
        **{"slot": block.slot, "transaction_index": 0, "err": err},
        **dict.fromkeys(("accepted_at", "sent_at", "seen_at", "settled_at"), now),
    )
    written = foreign_texts.into_every_row()
    assert {"access.customer.name", "access.apikey.name", "alerts.event.text"} <= {*written}
    assert {"historical.import.failure", "priority.upstream.broken_reason"} <= {*written}

    admin_client.raise_request_exception = False
    owner = Client(raise_request_exception=False)
    owner.force_login(member.user)
    hook = member.customer.webhooks.order_by("pk")[0]
    mine = portal_pages({"pk": key.pk, "signature": str(signature), "replay_pk": replay.pk})
    found = []
    for path in admin_pages().values():
        found += faults_of(admin_client, path)
    del mine["code"]  # leads whoever is signed in nowhere
    for path in {**mine, "webhook": f"/portal/webhooks/{hook.pk}/"}.values():
        found += faults_of(owner, path)
    assert not found, "\n".join(found)
    page = owner.get(mine["fate"]).content.decode()
    for shown in (r"\u202egnp.exe\u2066\u200b\u200f\x1b[2J", "more lines)", "more characters)"):
        assert shown in page
    assert "&lt;script&gt;alert(1)" in page
