"""Sends bundles to a block engine, with a tip of ours added where they have none."""

import asyncio
import time
from functools import partial

from solders.pubkey import Pubkey

from chain.transactions import decode_wire
from priority.lander.chain_view import Chain
from priority.lander.services.active_submissions import ActiveSubmission
from priority.lander.services.engine_tips import FeePayer, OwnTip, is_good
from priority.lander.services.senders import Delivery, Done, NotNow
from upstream.block_engine import MOST_TRANSACTIONS, Engine
from upstream.submitting import SubmitError

_ACCOUNTS_SECONDS = 600.0
# Engines limit requests: status checks are rare, to leave them for bundles.
_ASK_SECONDS = 2.0


class EngineSender:
    """Adds a tip of `tip_lamports`, if any."""

    def __init__(
        self,
        name: str,
        engine: Engine,
        *,
        tip_lamports: int,
        fee_payer: FeePayer,
        chain: Chain,
    ) -> None:
        self._name = name
        self._engine = engine
        self._tip_lamports = tip_lamports
        self._fee_payer = fee_payer
        self._chain = chain
        self._accounts: list[Pubkey] = []
        self._accounts_until = 0.0
        self._asking: set[asyncio.Task[None]] = set()

    def deliveries(self, submission: ActiveSubmission) -> list[Delivery]:
        wires = [each.wire for each in submission.transactions]
        if self._tip_lamports and len(wires) < MOST_TRANSACTIONS:
            wires.append(self._own_tip(submission).wire)
        elif not self._tips_itself(submission):
            raise NotNow("engine_untipped: no transaction pays a tip account of the engine")
        return [Delivery(self._engine.name, partial(self._start, submission, wires))]

    async def warm(self) -> None:
        await self._engine.warm()
        now = time.monotonic()
        if now < self._accounts_until:
            return
        try:
            self._accounts = await self._engine.tip_accounts()
            self._accounts_until = now + _ACCOUNTS_SECONDS
        except SubmitError:
            return  # the previous ones are still used

    async def close(self) -> None:
        await self._engine.close()

    def _own_tip(self, submission: ActiveSubmission) -> OwnTip:
        known = submission.own_tips.get(self._name)
        if known is not None and is_good(known, self._chain):
            return known
        if not self._accounts:
            raise NotNow("engine_unknown: the engine has not returned its tip accounts yet")
        if not self._fee_payer.can_pay(self._tip_lamports):
            raise NotNow("own_tip_unfunded: the account that pays our tips is empty")
        tip = self._fee_payer.tip(self._accounts, self._tip_lamports, self._chain)
        if tip is None:
            raise NotNow("no_blockhash: the chain is not followed")
        submission.own_tips[self._name] = tip
        return tip

    def _tips_itself(self, submission: ActiveSubmission) -> bool:
        accounts = {bytes(each) for each in self._accounts}
        if not accounts:
            return submission.is_bundle  # the engine will check
        for transaction in submission.transactions:
            wire = decode_wire(transaction.wire)
            signers, readonly = wire.header.required_signatures, wire.header.readonly_unsigned
            if accounts.intersection(
                wire.account_keys[signers : len(wire.account_keys) - readonly]
            ):
                return True
        return False

    def _start(self, submission: ActiveSubmission, wires: list[bytes], done: Done) -> None:
        asked = submission.engine_ids.get(self._name) if submission.is_bundle else None
        now = time.monotonic()
        if asked is not None and now - submission.asked_at >= _ASK_SECONDS:
            submission.asked_at = now
            # The answer is about the earlier attempt: it explains why this one is needed.
            task = asyncio.get_running_loop().create_task(self._ask(submission, asked))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)

        def answered(found: str | SubmitError) -> None:
            if submission.is_bundle and isinstance(found, str):
                submission.engine_ids[self._name] = found
            done(found)

        self._engine.start_bundle(wires, answered)

    async def _ask(self, submission: ActiveSubmission, bundle_id: str) -> None:
        try:
            word = (await self._engine.inflight([bundle_id])).get(bundle_id)
        except SubmitError:
            return
        if word is not None and word.is_dropped and not submission.is_on_chain:
            submission.explain_bundle(f"engine_dropped: {self._name} says {word.text}")
