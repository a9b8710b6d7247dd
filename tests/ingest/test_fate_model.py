"""A model of fates: whatever happens to submissions on nonces and on blockhashes, alone and in
bundles, `final` is never followed by a change, and is never said of what can still land.
"""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as rules
from hypothesis import strategies as st
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.accounts import AccountWrite
from chain.blocks import SlotRecord
from chain.slot_ranges import SlotRange
from historical.services.bounds import newest_slot_or_none
from historical.services.recording import record_blocks
from ingest.services import fates
from priority.models import Bundle, Submission
from priority.store.submissions import SubmissionRow, insert_submissions
from tests.examples import examples
from tests.ingest.made_chain import FAILURE
from tests.ingest.made_nonces import block, nonce_write, on_nonce, submitted_on
from tests.priority.sending import signed, tip
from tests.rewind.samples import blockhash

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]

NONCES = [Pubkey(bytes([3]) * 32), Pubkey(bytes([4]) * 32)]
# What a submission's owner is told.
Told = tuple[str, str, int | None, int | None, Any, str]


@dataclass
class Sent:
    """A submission: its transaction, its row, and what it stands on: a nonce's hash by its number,
    or a last valid height.
    """

    transaction: VersionedTransaction
    row: Submission
    nonce: Pubkey | None
    number: int
    landed: bool = False
    final: Told | None = None


@dataclass
class Chain:
    """The finalized chain, and which of its blocks are stored."""

    hashes: dict[Pubkey, int | None] = field(default_factory=lambda: dict.fromkeys(NONCES, 1))
    height: int = 1
    slot: int = 1
    numbers: int = 1
    waiting: list[SlotRecord] = field(default_factory=list)

    def make(
        self,
        transactions: list[VersionedTransaction],
        writes: list[AccountWrite],
        *,
        err: Any = None,
        rises: int = 1,
        with_writes: bool = True,
    ) -> None:
        self.slot += 1
        self.height += rises
        made = block(self.slot, transactions, writes if with_writes else None, err=err)
        self.waiting.append(replace(made, block_height=self.height))

    def move(
        self, nonce: Pubkey, by: VersionedTransaction, *, closes: bool = False
    ) -> AccountWrite:
        """The nonce gets a hash that it never had, or is closed."""
        self.numbers += 1
        self.hashes[nonce] = None if closes else self.numbers
        return nonce_write(self.hashes[nonce], bytes(by.signatures[0]), nonce=nonce)

    def can_land(self, each: Sent) -> bool:
        if each.nonce is None:
            return self.height < each.number
        return self.hashes[each.nonce] == each.number


def stored(records: list[SlotRecord]) -> None:
    reached = newest_slot_or_none()
    late = None if reached is None else SlotRange(0, reached)
    record_blocks(records, now=timezone.now())
    fates.settle_stored(records, late=late, now=timezone.now())


def settle(later: timedelta = timedelta()) -> None:
    fates.settle_due(node=None, now=timezone.now() + later)


def submitted(data: st.DataObject, chain: Chain, count: int) -> Sent | None:
    nonce = data.draw(st.sampled_from([*NONCES, NONCES[0], None]), label="stands on")
    sent = data.draw(st.booleans(), label="an upstream took it")
    columns: dict[str, Any] = {} if sent else {"state": "received", "sent_at": None}
    if nonce is None:
        made = signed(tip(1_000_000 + count), blockhash=Hash.from_string(blockhash(chain.slot)))
        at = timezone.now() - timedelta(minutes=1)
        row = Submission.objects.create(
            signature=bytes(made.signatures[0]),
            kind="transaction",
            blockhash=bytes(made.message.recent_blockhash),
            accepted_at=at,
            accepted_slot=chain.slot,
            last_valid_block_height=chain.height + 150,
            **{"state": "sent", "sent_at": at, **columns},
        )
        return Sent(made, row, None, chain.height + 150)
    number = chain.hashes[nonce]
    if number is None:
        return None
    made = on_nonce(number, lamports=count, nonce=nonce)
    row = submitted_on(made, accepted_slot=chain.slot, **columns)
    return Sent(made, row, nonce, number)


def again(each: Sent) -> None:
    """Its sender submits it once more, and a lander stores that."""
    row = each.row
    named = {name: getattr(row, name) for name in SubmissionRow.__struct_fields__}
    named |= {
        "signature": bytes(row.signature).hex(),
        "blockhash": bytes(row.blockhash).hex(),
        "nonce": row.nonce and bytes(row.nonce).hex(),
        "nonce_signers": row.nonce_signers and bytes(row.nonce_signers).hex(),
        "tip_address": None,
        "accepted_at": timezone.now(),
        "state": "received",
        "sent_at": None,
    }
    insert_submissions([SubmissionRow(**named)])


def told(each: Sent) -> tuple[Told, bool]:
    row = Submission.objects.get(pk=each.row.pk)
    shown = (str(row.state), row.commitment, row.slot, row.transaction_index, row.err, row.reason)
    return shown, row.settled_at is not None


def check(chain: Chain, sent: list[Sent]) -> None:
    for each in sent:
        shown, is_final = told(each)
        if each.final is not None:
            assert is_final and shown == each.final, "final is never followed by a change"
        if is_final:
            each.final = shown
            if shown[0] in ("expired", "refused"):
                assert not each.landed and not chain.can_land(each), "it can still land"
            else:
                assert each.landed
    for bundle in Bundle.objects.exclude(settled_at=None):
        assert all(row.settled_at for row in bundle.submissions.all())


# The more important, the more often.
EVENTS = (
    *("submit", "submit", "land", "other", "other", "program", "program", "close"),
    *("blocks", "store", "late", "settle"),
)


@rules(max_examples=examples(60), suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_final_is_never_followed_by_a_change(data: st.DataObject) -> None:
    with transaction.atomic():
        chain, sent = Chain(), list[Sent]()
        stored([block(0), block(1)])
        for step in range(data.draw(st.integers(6, 22), label="steps")):
            event = data.draw(st.sampled_from([*EVENTS, "again", "stop", "bundle"]), label="event")
            nonce = data.draw(st.sampled_from([*NONCES, NONCES[0]]), label="nonce")
            number = chain.hashes[nonce]
            plain = signed(tip(9_000 + step), blockhash=Hash(bytes([step]) * 32))
            with_writes = data.draw(st.booleans(), label="with writes")
            one = data.draw(st.sampled_from(sent), label="which") if sent else None
            if event == "submit":
                made = submitted(data, chain, len(sent))
                sent += [] if made is None else [made]
            elif event == "land" and one and not one.landed and chain.can_land(one):
                err = data.draw(st.sampled_from([None, FAILURE]), label="err")
                writes = [] if one.nonce is None else [chain.move(one.nonce, one.transaction)]
                chain.make([one.transaction], writes, err=err, with_writes=with_writes)
                one.landed = True
            elif event == "other" and number is not None:
                other = on_nonce(number, lamports=50_000 + step, nonce=nonce)
                writes = [chain.move(nonce, other)]
                chain.make([other], writes, with_writes=with_writes)
            elif event in ("program", "close") and number is not None:
                writes = [chain.move(nonce, plain, closes=event == "close")]
                chain.make([plain], writes)
            elif event == "blocks":
                for _ in range(data.draw(st.integers(1, 6), label="blocks")):
                    chain.make([], [], rises=data.draw(st.sampled_from([1, 1, 75]), label="rises"))
            elif event == "store":
                stored(chain.waiting)
                chain.waiting = []
            elif event == "late" and len(chain.waiting) > 1:
                # All but one, which comes later.
                at = data.draw(st.integers(0, len(chain.waiting) - 2), label="late")
                rest = chain.waiting[at]
                stored([each for each in chain.waiting if each is not rest])
                chain.waiting = [rest]
            elif event == "again" and one and one.nonce is not None:
                again(one)
            elif event == "stop" and one and one.nonce is not None:
                rows = Submission.objects.filter(pk=one.row.pk, settled_at=None)
                rows.update(stopped="patience_over: it was sent for long")
            elif event == "bundle" and one and one.final is None and one.row.bundle_id is None:
                bundle = Bundle.objects.create(bundle_id=f"{step:064}", accepted_at=timezone.now())
                Submission.objects.filter(pk=one.row.pk).update(bundle=bundle, kind="bundle")
                one.row.bundle = bundle
            elif event == "settle":
                days = data.draw(st.sampled_from([0, 0, 1, 20]), label="days")
                settle(timedelta(days=days))
            check(chain, sent)
        stored(chain.waiting)
        check(chain, sent)
        for each in sent:
            assert told(each)[1] or not each.landed, "what landed is final once it is stored"
        transaction.set_rollback(True)
