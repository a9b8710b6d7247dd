"""Transactions of remote history, by their signatures."""

from django.conf import settings

from chain.commitment import BlockForm, TransactionEncoding
from chain.record_json import UnsupportedVersion, transaction_text
from chain.signed import is_signed
from eventloop.faces import in_thread
from historical.blocks.services.text_caches import recent_answers
from historical.errors import UnsupportedTransactionVersion
from historical.remote.services.remote_history import RemoteReads, is_configured
from jsonrpc.wire import Encoded
from upstream.old_faithful.errors import Damaged
from upstream.old_faithful.history import FoundTransaction, History


async def atransaction(
    signature: bytes,
    reads: RemoteReads,
    *,
    encoding: TransactionEncoding,
    max_version: int | None,
    wanted: BlockForm,
) -> Encoded | None:
    """As services.transactions.atransaction, of the epochs whose index of signatures is configured;
    None where it is in none of them. Raises what RemoteReads.read does.
    """
    epochs: tuple[int, ...] = settings.OLD_FAITHFUL_SIGNATURE_EPOCHS
    if not settings.OLD_FAITHFUL_URL or not epochs or not await in_thread(is_configured):
        return None
    key = (settings.OLD_FAITHFUL_URL, signature, encoding, max_version, wanted)
    text = recent_answers.find(key)
    if text is None:

        def read(history: History) -> bytes | None:
            found = history.transaction(signature, epochs)
            return None if found is None else _written(found, encoding, max_version, wanted)

        text = await reads.later(lambda: reads.read(read))
        if text is None:
            return None
        recent_answers.keep(key, text)
    reads.mark()
    return Encoded(text)


def _written(
    found: FoundTransaction,
    encoding: TransactionEncoding,
    max_version: int | None,
    wanted: BlockForm,
) -> bytes:
    if not is_signed(found.record.decoded):
        raise Damaged(f"slot {found.slot}", f"transaction {found.index} is not what was signed")
    try:
        return transaction_text(
            found.record,
            slot=found.slot,
            index=found.index,
            block_time=found.block_time,
            encoding=encoding,
            max_version=max_version,
            wanted=wanted,
        )
    except UnsupportedVersion as error:
        raise UnsupportedTransactionVersion(error.version) from None
