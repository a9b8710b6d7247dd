"""Single transactions, and the statuses of signatures."""

import msgspec
from solders.signature import Signature

from chain.block_json import is_supported, transaction_text, version_of, with_place
from chain.blocks import Form
from chain.commitment import BlockForm, TransactionEncoding
from eventloop.faces import complete, in_thread
from historical.blocks import bodies as block_bodies
from historical.blocks.services.bounds import why_no_block
from historical.blocks.services.text_caches import recent_answers, recent_opened
from historical.errors import TooManySignatures, UnsupportedTransactionVersion
from historical.remote.services import remote_transactions
from historical.remote.services.remote_history import RemoteReads
from historical.results import SignatureStatus
from historical.sealed.services import sealed_texts
from historical.sealed.services.sealed_texts import RecordingGone
from historical.sealed.store import frames
from historical.transactions.outcomes import UNKNOWN
from historical.transactions.store import transaction_lookup as store
from historical.transactions.store import transactions as transaction_store
from historical.transactions.store.transaction_lookup import Located
from historical.transactions.store.transactions import TransactionRow
from jsonrpc.wire import Encoded

MAX_SIGNATURES = 256


def transaction(
    signature: Signature,
    *,
    encoding: TransactionEncoding,
    max_version: int | None,
    wanted: BlockForm = BlockForm.CURRENT,
    reads: RemoteReads | None = None,
) -> Encoded | None:
    """A transaction as the standard node's getTransaction gives it; None when the ledger does not
    have it; raises UnsupportedTransactionVersion, SealedDataDamaged. With `reads` also one of the
    remote history; then also what RemoteReads.read raises.
    """
    return complete(
        atransaction(
            signature, encoding=encoding, max_version=max_version, wanted=wanted, reads=reads
        )
    )


async def atransaction(
    signature: Signature,
    *,
    encoding: TransactionEncoding,
    max_version: int | None,
    wanted: BlockForm = BlockForm.CURRENT,
    reads: RemoteReads | None = None,
) -> Encoded | None:
    """The same, awaited."""
    raw = bytes(signature)
    found = await store.atransaction(raw)
    while found is not None:
        try:
            return await _answer(found, encoding, max_version, wanted)
        except RecordingGone:
            found = await in_thread(store.transaction_now, raw)
    if reads is None:
        return None
    return await remote_transactions.atransaction(
        raw, reads, encoding=encoding, max_version=max_version, wanted=wanted
    )


async def _answer(
    found: Located,
    encoding: TransactionEncoding,
    max_version: int | None,
    wanted: BlockForm,
) -> Encoded:
    row = found.row
    # All that the text depends on. An error is raised again each time.
    key = (row.slot, row.recording, row.position, encoding, max_version, wanted)
    text = recent_answers.find(key)
    if text is None:
        stored = await _stored(row, found.frame)
        text = bytes(_entry(row, stored, encoding, max_version, wanted))
        recent_answers.keep(key, text)
    return Encoded(text)


def entry(
    row: TransactionRow,
    *,
    encoding: TransactionEncoding,
    max_version: int | None,
    wanted: BlockForm = BlockForm.CURRENT,
) -> Encoded:
    """`{blockTime, slot, transactionIndex, meta, transaction, version}`; `version` is there for
    callers that name the newest version they can read, where there is a meta.
    """
    try:
        return _entry(row, complete(_stored(row)), encoding, max_version, wanted)
    except RecordingGone:
        raise why_no_block(row.slot) from None


def _entry(
    row: TransactionRow,
    stored: bytes,
    encoding: TransactionEncoding,
    max_version: int | None,
    wanted: BlockForm,
) -> Encoded:
    text = block_bodies.completed(stored, row.signature)
    version = version_of(text)
    if not is_supported(version, max_version):
        raise UnsupportedTransactionVersion(version)
    text = transaction_text(
        text,
        Form(row.form),
        encoding=encoding,
        versions=max_version is not None,
        wanted=wanted,
    )
    return Encoded(*with_place(text, slot=row.slot, index=row.position, block_time=row.block_time))


async def _stored(row: TransactionRow, frame: bytes | None = None) -> bytes:
    """The row's stored text; `frame` is the compressed frame that holds it, if it was read already.
    Raises RecordingGone, SealedDataDamaged.
    """
    if row.sealed_range is not None:
        place = row.frame, row.sealed_range, row.start, row.start + 1
        return await sealed_texts.atexts(*place, frame)
    if frame is not None:
        return _text(row, block_bodies.open_frame(frame))
    key = (row.slot, row.recording, row.frame)
    texts = recent_opened.find(key)
    if not isinstance(texts, bytes):
        compressed = await frames.aframe(*key)
        if compressed is None:
            raise RecordingGone
        texts = block_bodies.open_frame(compressed)
        recent_opened.keep(key, texts)
    return _text(row, texts)


def _text(row: TransactionRow, texts: bytes) -> bytes:
    return texts[row.start : row.start + row.length]


def signature_statuses(signatures: list[Signature]) -> list[SignatureStatus | None]:
    """As asignature_statuses, in a thread."""
    return complete(asignature_statuses(signatures))


async def asignature_statuses(signatures: list[Signature]) -> list[SignatureStatus | None]:
    """One status per signature, in order; None where the ledger does not have it, or, as the
    standard node answers, has it without its meta.
    """
    if len(signatures) > MAX_SIGNATURES:
        raise TooManySignatures(len(signatures), MAX_SIGNATURES)
    known = await transaction_store.astatuses([bytes(signature) for signature in signatures])
    return [
        None
        if (found := known.get(bytes(signature))) is None or found[1] == UNKNOWN
        else _status(*found)
        for signature in signatures
    ]


def _status(slot: int, err: str | None) -> SignatureStatus:
    error = msgspec.Raw(b"null" if err is None else err.encode())
    word = "Ok" if err is None else "Err"
    return SignatureStatus(slot=slot, err=error, status={word: error})
