"""Single transactions, and the statuses of signatures."""

import msgspec
from solders.signature import Signature

from chain.blocks import CURRENT_FORM, Form
from chain.commitment import BlockForm, TransactionEncoding
from historical import bodies, rendering
from historical.errors import TooManySignatures
from historical.results import SignatureStatus
from historical.services.blocks import RecordingGone, require_version
from historical.services.bounds import why_no_block
from historical.services.recent_texts import recent_answers, recent_texts
from historical.store import transactions as store
from historical.store.transactions import TransactionRow
from jsonrpc.wire import Encoded

MAX_SIGNATURES = 256

_LEGACY = b'"legacy"'


def transaction(
    signature: Signature,
    *,
    encoding: TransactionEncoding,
    max_version: int | None,
    wanted: BlockForm = BlockForm.CURRENT,
) -> Encoded | None:
    """A transaction as the standard node's getTransaction gives it; None when the ledger does not
    have it; raises UnsupportedTransactionVersion.
    """
    row = store.transaction(bytes(signature))
    while row is not None:
        try:
            return _answer(row, encoding, max_version, wanted)
        except RecordingGone:
            row = store.transaction_now(bytes(signature))
    return None


def _answer(
    row: TransactionRow,
    encoding: TransactionEncoding,
    max_version: int | None,
    wanted: BlockForm,
) -> Encoded:
    # All that the text depends on. A refusal is raised each time anew.
    text = recent_answers.get(
        (row.slot, row.recording, row.position, encoding, max_version, wanted),
        lambda: bytes(_entry(row, _stored(row), encoding, max_version, wanted)),
    )
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
        return _entry(row, _stored(row), encoding, max_version, wanted)
    except RecordingGone:
        raise why_no_block(row.slot) from None


def _entry(
    row: TransactionRow,
    stored: bytes,
    encoding: TransactionEncoding,
    max_version: int | None,
    wanted: BlockForm,
) -> Encoded:
    text = bodies.text_in(stored, row.start, row.length, row.signature)
    version = text[text.rindex(b":") + 1 : -1]
    require_version(-1 if version == _LEGACY else int(version), max_version)
    form = Form(row.form)
    if wanted is BlockForm.CURRENT:
        text, form = rendering.current(text, form), CURRENT_FORM
    text = rendering.without_version_where_no_meta(rendering.render(text, encoding, form))
    if max_version is None:
        text = rendering.without_version(text)
    time = b"null" if row.block_time is None else b"%d" % row.block_time
    place = b'{"blockTime":%b,"slot":%d,"transactionIndex":%d,' % (time, row.slot, row.position)
    return Encoded(place, text[1:])


def _stored(row: TransactionRow) -> bytes:
    """The opened frame that holds the row's text. Raises RecordingGone."""
    return recent_texts.get((row.slot, row.recording, row.frame), lambda: _frame(row))


def _frame(row: TransactionRow) -> bytes:
    frame = store.frame(row.slot, row.frame, row.recording)
    if frame is None:
        raise RecordingGone
    return bodies.open_frame(frame)


def signature_statuses(signatures: list[Signature]) -> list[SignatureStatus | None]:
    """One status per signature, in order; None where the ledger does not have it."""
    if len(signatures) > MAX_SIGNATURES:
        raise TooManySignatures(len(signatures), MAX_SIGNATURES)
    known = store.statuses([bytes(signature) for signature in signatures])
    return [
        None if (found := known.get(bytes(signature))) is None else _status(*found)
        for signature in signatures
    ]


def _status(slot: int, err: str | None) -> SignatureStatus:
    error = msgspec.Raw(b"null" if err is None else err.encode())
    word = "Ok" if err is None else "Err"
    return SignatureStatus(slot=slot, err=error, status={word: error})
