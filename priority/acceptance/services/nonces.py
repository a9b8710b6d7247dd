"""Refuses transactions on durable nonces whose accounts cannot take them any more.

One read of the archive for a transaction on a nonce, none for others. What the archive does not
know for sure is accepted: ingest settles it.
"""

import logging

from solders.pubkey import Pubkey

from chain.nonces import NONCE_AUTHORITY, NonceUse, why_unusable
from chain.transactions import Wire
from jsonrpc.errors import RpcError
from priority.acceptance.errors import NonceUnusable
from rewind.accounts.services import nonces as archive
from shared_state.outages import AWAY

log = logging.getLogger(__name__)


def require_usable(wire: Wire, use: NonceUse, *, at: str) -> None:
    """Raises NonceUnusable where the finalized state of the nonce account cannot take the
    transaction, and no newer state can.
    """
    try:
        slot, known = archive.newest_known([use.account])
        account = known.get(use.account)
        if account is None:
            return
        blockhash = wire.recent_blockhash
        word, why = why_unusable(
            blockhash,
            use.signers,
            lamports=account.lamports,
            owner=account.owner,
            data=account.data,
        )
        if not word:
            return
        signers = use.signers if word == NONCE_AUTHORITY else None
        left = archive.left_at(use.account, blockhash, up_to_slot=slot, signers=signers)
        # Another hash may be newer than what is final, as may be a nonce that does not exist yet.
        if left is None and word != NONCE_AUTHORITY:
            return
        moved = account.written if left is None else left.place
        by = None if moved is None else archive.writers([moved]).get(moved)
    except AWAY as error:
        log.info("a nonce is not looked up: %s", error)
        return
    except RpcError as error:
        log.info("the archive cannot be read for a nonce: %s", error)
        return
    raise NonceUnusable(
        at,
        word,
        why,
        nonce=str(Pubkey(use.account)),
        slot=slot,
        moved=None if moved is None else moved.slot,
        by=None if by is None else str(by),
    )
