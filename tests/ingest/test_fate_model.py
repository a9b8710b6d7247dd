"""A model of fates: whatever happens to submissions on nonces and on blockhashes, alone and in
bundles, `final` is never followed by a change, is never reported of what can still land, and comes
with the block that decides it.
"""

import os
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import transaction
from django.test import TestCase
from hypothesis import HealthCheck, Phase
from hypothesis import settings as rules
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from solders.hash import Hash
from solders.pubkey import Pubkey

from ingest.services import fates
from priority.fates.services import retention
from priority.fates.services.announcing import FIELD, LIVE_STREAM, unpack
from priority.lander.chain_view import Sighting
from priority.lander.services.rows import change_of
from priority.lander.store import submissions as store
from priority.submissions import pending_key
from priority.upstreams.models import Upstream
from rewind.recording.services import filters
from shared_state.redis_client import client
from tests.ingest.fate_chain import NONCES, Chain, Sent
from tests.ingest.fate_service import Rpc, Service
from tests.ingest.made_chain import FAILURE
from tests.priority.odd_nodes import odd_node
from tests.priority.sending import SENT, queued, signed, text, tip
from upstream.node import Node

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]

LOST = ("expired", "refused")
ENDS = ("nonce_moved", "nonce_closed", "nonce_authority", "blockhash_expired")
NONCE = st.sampled_from([*NONCES, NONCES[0]])
TWO_NONCES = st.permutations(NONCES).map(lambda found: (found[0], found[1]))
SOME, BOTH = st.integers(0, 1_000), st.booleans()
CHANGES = st.sampled_from(["advance", "advance", "close", "close", "away", "away and back", "back"])
LAGS = st.sampled_from([None, 0, 3, 30])
# What a submission stands on: a nonce, a hash, both, or a hash of a fork that dies.
WHAT = st.sampled_from(["nonce", "nonce", "nonce", "hash", "mixed", "fork"])
# The more often, the more important; and what each draws.
RULES: dict[str, tuple[int, dict[str, Any]]] = {
    "submit": (6, {"nonces": st.lists(NONCE, min_size=1, max_size=3), "what": WHAT, "many": SOME}),
    "submit_bundle": (2, {"nonces": TWO_NONCES, "whats": st.tuples(WHAT, WHAT)}),
    "again": (4, {"which": SOME, "is_sent": BOTH}),
    "land": (4, {"which": SOME, "fails": BOTH, "with_writes": BOTH}),
    "other_lands": (3, {"nonce": NONCE, "with_writes": BOTH}),
    "program": (4, {"nonce": NONCE, "how": CHANGES}),
    "blocks": (4, {"count": st.integers(1, 5), "rises": st.sampled_from([1, 1, 1, 75])}),
    "store_in_order": (7, {"count": SOME, "crashes": st.sampled_from([False, False, True])}),
    "store_but_one": (2, {"which": SOME, "crashes": BOTH}),
    "settle": (4, {"seconds": st.sampled_from([6, 400, 700]), "lags": LAGS}),
    "lander": (2, {"which": SOME, "how": st.sampled_from(["seen", "lost", "stopped"])}),
    "forget": (1, {"days": st.sampled_from([1, 1, 8])}),
}
EVENTS = [name for name, (times, _) in RULES.items() for _ in range(times)]


class Fates(Service):
    def teardown(self) -> None:
        try:
            self.quiet()
            self.check()
        finally:
            transaction.set_rollback(True)
            self._block.__exit__(None, None, None)

    @initialize(with_times=st.booleans())
    def begin(self, with_times: bool) -> None:
        began = int(datetime.now(UTC).timestamp()) - 7_200
        self.chain = Chain(began, with_times)
        self.now_answering[:] = [self.chain]
        # One nonce is not followed by the archive.
        filters.filter_account(NONCES[1], filtered=True)
        self.stored(self.chain.waiting)

    @rule(event=st.sampled_from(EVENTS), data=st.data())
    def step(self, event: str, data: st.DataObject) -> None:
        drawn = {name: data.draw(each, label=name) for name, each in RULES[event][1].items()}
        getattr(self, event)(**drawn)

    # What senders do.

    def submit(self, nonces: list[Pubkey], what: str, many: int) -> None:
        for at, nonce in enumerate(nonces):
            made = self.made(nonce, "nonce" if at else what)
            if made is not None:
                self.accept([made], many + at)

    def submit_bundle(self, nonces: tuple[Pubkey, Pubkey], whats: tuple[str, str]) -> None:
        made = [
            self.made(*each, more=at) for at, each in enumerate(zip(nonces, whats, strict=True))
        ]
        if None not in made:
            self.accept([each for each in made if each is not None], 3)

    def made(self, nonce: Pubkey, what: str, more: int = 0) -> Sent | None:
        chain, amount = self.chain, 10 * len(self.sent) + more
        if what in ("hash", "mixed"):
            first = None if what == "hash" else nonce
            wire = chain.ordinary(first, chain.slot, amount)
            is_nonced = what == "mixed"
            return Sent(wire, None, chain.height + 150, chain.slot, is_nonced=is_nonced)
        number = chain.new_number() if what == "fork" else chain.nonces[nonce].number
        if number is None:
            return None
        return Sent(chain.on(nonce, number, amount), nonce, number, chain.slot)

    def again(self, which: int, is_sent: bool) -> None:
        """Redis has forgotten the submission meanwhile."""
        if not self.sent:
            return
        one = self.sent[which % len(self.sent)]
        made = [each for each in self.sent if one.bundle_id and each.bundle_id == one.bundle_id]
        if one.nonce is None or any(each.nonce is None for each in made):
            return  # an ordinary one begins anew
        made = made or [one]
        client().delete(*[pending_key(bytes(each.transaction.signatures[0])) for each in made])
        if one.bundle_id:
            client().delete(pending_key(bytes.fromhex(one.bundle_id)))
        wires = [text(each.transaction) for each in made]
        if one.bundle_id:
            answer = self.rpc("/bundle", "sendBundle", wires, {"encoding": "base64"})
        else:
            answer = self.rpc("/priority", "sendTransaction", wires[0], SENT)
        if self.is_accepted(answer, made):
            (accepted,) = queued()
            self.take(accepted, made, is_sent=is_sent)

    # What the chain does.

    def land(self, which: int, fails: bool, with_writes: bool) -> None:
        able = [each for each in self.sent if self.chain.can_land(each)]
        if not able:
            return
        one, err = able[which % len(able)], FAILURE if fails else None
        writes = []
        if one.nonce is not None:
            number = self.chain.new_number()
            writes = [self.chain.change(one.nonce, one.transaction, number=number)]
        self.chain.add([one.transaction], writes, err=err, with_writes=with_writes)
        one.landed = (self.chain.slot, err)

    def other_lands(self, nonce: Pubkey, with_writes: bool) -> None:
        """Another transaction on the same hash, or with an advance on an ordinary blockhash."""
        state = self.chain.nonces[nonce]
        if state.number is not None and state.is_payers:
            other = self.chain.on(nonce, state.number, 500_000 + self.chain.slot)
            writes = [self.chain.change(nonce, other, number=self.chain.new_number())]
            self.chain.add([other], writes, with_writes=with_writes)

    def program(self, nonce: Pubkey, how: str) -> None:
        """By an instruction that is not the first, or a program's call."""
        chain, state = self.chain, self.chain.nonces[nonce]
        by = signed(tip(9_000), blockhash=Hash((10_000 + chain.slot).to_bytes(32)))
        if state.number is None:
            number: int | None = chain.new_number()
            chain.add([by], [chain.change(nonce, by, number=number)])
            return
        if how == "back" and self.was_final_by_authority(nonce, state.number):
            return  # docs/decisions/fates.md says what then follows
        if how == "away and back" and state.is_payers:
            away = chain.change(nonce, by, number=state.number, is_payers=False)
            chain.add([by], [away, chain.change(nonce, by, number=state.number)])
            chain.nonces[nonce] = state
            return
        number = {"advance": chain.new_number(), "close": None}.get(how, state.number)
        is_payers = state.is_payers if how == "advance" else how != "away"
        chain.add([by], [chain.change(nonce, by, number=number, is_payers=is_payers)])

    def was_final_by_authority(self, nonce: Pubkey, number: int) -> bool:
        return any(
            each.told is not None and (each.nonce, each.number) == (nonce, number)
            for each in self.sent
        )

    def blocks(self, count: int, rises: int) -> None:
        for _ in range(count):
            self.chain.add(rises=rises)

    # What the service does.

    def store_in_order(self, count: int, crashes: bool) -> None:
        waiting = self.chain.waiting
        some = waiting[: 1 + count % max(len(waiting), 1)]
        before = self.chain.slot if not some else some[0].slot
        is_whole = self.chain.stored >= set(range(before))
        self.stored(some, crashes=crashes)
        if is_whole and not crashes:
            self.check_settled_with_the_block({record.slot for record in some})

    def store_but_one(self, which: int, crashes: bool) -> None:
        if len(self.chain.waiting) < 2:
            return
        left = self.chain.waiting[which % (len(self.chain.waiting) - 1)]
        self.stored([each for each in self.chain.waiting if each is not left], crashes=crashes)

    def settle(self, seconds: int, lags: int | None) -> None:
        self.chain.node_lags = lags or 0
        node = None if lags is None else Node(self.node.url)
        with TestCase.captureOnCommitCallbacks(execute=True):
            fates.settle_due(node=node, now=self.now() + timedelta(seconds=seconds))

    def lander(self, which: int, how: str) -> None:
        """It sees a transaction in a block of any fork, the fork dies, or it stops by the clock."""
        if not self.sent:
            return
        one = self.sent[which % len(self.sent)]
        active = self.active[one.signature]
        name = bytes(one.transaction.signatures[0])
        (held,) = (each for each in active.transactions if each.signature == name)
        if how == "seen":
            held.sight(Sighting(self.chain.slot + 1, 0, None), self.now())
            self.chain.seen.add(one.signature)
        elif held.slot is not None:
            held.lose(held.slot)
            self.chain.seen.discard(one.signature)
        elif how == "stopped" and held.is_nonced:
            held.stopped = "patience_over: it was sent for NONCE_PATIENCE_SECONDS"
        store.change_submissions([change_of(active, held)])

    def forget(self, days: int) -> None:
        """Only the watch ends: settled ones are kept for longer in this model."""
        now = self.now() + timedelta(days=days)
        open_ones = {each.signature for each in self.sent if each.told is None}
        if len(open_ones) == len(self.sent):
            with TestCase.captureOnCommitCallbacks(execute=True):
                retention.forget(timedelta(days=7), now=now)
            for each in self.sent:
                each.is_watched &= days < 7 or not each.is_nonced

    def quiet(self) -> None:
        """Everything is stored, and the node answers: every fate is decided that can be."""
        for _ in range(8):
            self.chain.add(rises=20)  # no blockhash is left
        self.chain.seen.clear()
        self.stored(self.chain.waiting)
        for seconds in (3_000, 6_000):  # behind all that was looked at before
            self.settle(seconds, 0)
        for each, told in zip(self.sent, self.fates(), strict=True):
            if each.is_watched:
                is_over = each.landed is not None or not self.chain.can_land(each)
                assert told["final"] or not is_over, (each, told["state"], told["reason"])
        self.counts.update(
            f"{each.told['state']}: {(each.told['reason'] or '').partition(':')[0]}"
            for each in self.sent
            if each.told
        )

    # What must hold.

    @invariant()
    def check(self) -> None:
        self.counts["steps"] += 1
        for each, told in zip(self.sent, self.fates(), strict=True):
            shown = {name: told[name] for name in told if name not in ("attempts", "acceptedAt")}
            if each.told is not None:
                assert shown == each.told, "final is never followed by a change"
            elif told["final"]:
                each.told = shown
                self.check_final(each, told)
        self.check_events()
        self.check_bundles()

    def check_final(self, each: Sent, told: dict[str, Any]) -> None:
        if told["state"] in LOST:
            assert each.landed is None, "it landed"
            if (told["reason"] or "").startswith("nonce_authority"):
                self.check_authority(each, told["reason"])
            else:
                assert not self.chain.can_land(each), "it can land now"
                assert self.chain.is_gone(each), "it can still land"
            word, _, since = (told["reason"] or "").partition(" since slot ")
            if since and word.startswith(("nonce_moved", "nonce_closed")):
                self.check_since(each, word.startswith("nonce_closed"), since)
        else:
            assert each.landed is not None
            assert (told["slot"], told["err"]) == each.landed
            assert told["state"] == ("landed" if each.landed[1] is None else "failed")

    def check_authority(self, each: Sent, reason: str) -> None:
        """It was another's in the newest state that is known: a block that is not stored yet may
        have given it back.
        """
        assert each.nonce is not None
        found = re.search(" (?:at|since) slot ([0-9]+)", reason)
        assert found is not None, reason
        since = int(found[1])
        # What the archive does not follow is known as of the slot that the node names.
        slots = {slot for slot in self.chain.stored if slot > since and each.nonce == NONCES[0]}
        known = [self.chain.states[slot][each.nonce] for slot in (since, *slots)]
        assert not any(state.is_payers for state in known), "the authority was given back before"

    def check_since(self, each: Sent, is_closed: bool, since: str) -> None:
        """The reason names the change with which the nonce came into the state that it has."""
        assert each.nonce is not None
        changes = [state[each.nonce] for state in self.chain.states.values() if each.nonce in state]
        began = [
            after.by
            for before, after in pairwise(changes)
            if (after.number is None if is_closed else before.number in (None, each.number))
            and before.number != after.number
        ]
        assert since in ["{}, by {}".format(*by) for by in began if by is not None]

    def check_settled_with_the_block(self, slots: set[int]) -> None:
        for each, told in zip(self.sent, self.fates(), strict=True):
            if each.nonce is None or not each.is_watched:
                continue
            if each.landed is not None and each.landed[0] in slots:
                assert told["final"], "it landed in this block"
            moved = self.chain.left.get((each.nonce, each.number))
            if each.landed is None and moved is not None and moved[0] in slots:
                # One that was forgotten and came again may have been accepted behind the block.
                is_later = not self.chain.with_times or (
                    self.chain.time(moved[0]) > told["acceptedAt"]
                )
                if moved[0] >= each.accepted_slot + 4 and is_later:
                    assert told["final"], "its nonce moved in this block"

    def check_events(self) -> None:
        entries: Any = client().xrange(
            LIVE_STREAM, min=f"({self.place}" if self.place > "-" else "-"
        )
        for name, fields in entries:
            self.place = name.decode() if isinstance(name, bytes) else name
            for _, change in unpack(fields[FIELD] if FIELD in fields else fields[FIELD.decode()]):
                before = self.announced.get(change.signature)
                assert before is None or not before.settled, "an event after the final one"
                self.announced[change.signature] = change

    def check_bundles(self) -> None:
        for bundle_id in {each.bundle_id for each in self.sent if each.bundle_id}:
            told = self.rpc("/bundle", "getBundleFate", bundle_id)["result"]
            parts = [each for each in self.sent if each.bundle_id == bundle_id]
            if bundle_id in self.bundles:
                assert told == self.bundles[bundle_id], "a bundle's final is followed by a change"
            elif told["final"]:
                self.bundles[bundle_id] = told
                assert all(each.told for each in parts)


def run(rpc: Rpc, *, runs: int, steps: int) -> Counter[str]:
    Upstream.objects.get_or_create(name="engine", defaults={"kind": "block_engine"})
    answering: list[Chain] = []
    counts: Counter[str] = Counter()
    with odd_node(lambda body: answering[0].answer(body)) as node:
        members = {"rpc": staticmethod(rpc), "node": node, "counts": counts}
        run_state_machine_as_test(
            type("Run", (Fates,), {**members, "now_answering": answering}),
            settings=rules(
                max_examples=runs,
                stateful_step_count=steps,
                suppress_health_check=list(HealthCheck),
                deadline=None,
                phases=[Phase.generate],
                report_multiple_bugs=False,
            ),
        )
    return counts


def test_final_is_never_followed_by_a_change(rpc: Rpc) -> None:
    counts = run(rpc, runs=6, steps=20)
    assert counts["runs"] >= 6 and counts["steps"] > 60, counts


@pytest.mark.soak
def test_final_is_never_followed_by_a_change_in_many_runs(rpc: Rpc) -> None:
    """Every way of ending comes; `FATE_MODEL_RUNS` sets how many runs."""
    runs = int(os.environ.get("FATE_MODEL_RUNS", 300))
    counts = run(rpc, runs=runs, steps=40)
    print("\n", dict(sorted(counts.items())))
    assert counts["runs"] >= runs and counts["steps"] > 20 * runs, counts
    if runs < 200:
        return
    assert {f"expired: {why}" for why in ENDS} <= counts.keys(), counts
    assert {f"refused at once: {why}" for why in ENDS[:3]} | {
        "landed: ",
        "failed: ",
    } <= counts.keys()
