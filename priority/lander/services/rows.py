"""A submission as rows of the database: new rows, and updates of existing ones."""

from typing import Any

from chain.transaction_errors import (
    UnknownTransactionError,
    transaction_error_bytes,
    transaction_error_json,
)
from priority.lander.services.active_submissions import ActiveSubmission, ActiveTransaction
from priority.lander.store.submissions import AttemptRow, BundleRow, SubmissionChange, SubmissionRow

_MOST_LAMPORTS = 2**63 - 1


def err_json(packed: bytes | None) -> object:
    """The JSON of a packed error; an unknown error of a newer node is kept as bytes."""
    if packed is None:
        return None
    try:
        return transaction_error_json(packed)
    except UnknownTransactionError:
        return {"Unknown": packed.hex()}


def packed_err(err: object) -> bytes | None:
    """The packed error whose err_json this is."""
    match err:
        case None:
            return None
        case {"Unknown": str(packed)}:
            return bytes.fromhex(packed)
    return transaction_error_bytes(err)


def bundle_row(submission: ActiveSubmission) -> BundleRow:
    accepted = submission.accepted
    return BundleRow(
        bundle_id=_text(accepted.bundle_id, 64),
        key_id=accepted.key_id,
        state=submission.state.value,
        reason=_text(submission.bundle_reason, 200),
        engine_ids={
            _text(name, 40): _text(each, 200) for name, each in submission.engine_ids.items()
        },
        accepted_at=submission.accepted_at,
        slot=submission.transactions[0].slot,
    )


def submission_rows(submission: ActiveSubmission) -> list[SubmissionRow]:
    """Without the bundle's primary key, which is known only after it is stored."""
    accepted, tip = submission.accepted, submission.accepted.tip
    rows = []
    for place, transaction in enumerate(submission.transactions):
        tips = tip is not None and tip.transaction_index == place
        rows.append(
            SubmissionRow(
                signature=transaction.signature.hex(),
                kind=accepted.kind,
                key_id=accepted.key_id,
                tier=_text(accepted.tier, 30),
                edge=_text(accepted.edge, 60),
                request_id=_text(accepted.request_id, 100),
                bundle_id=None,
                bundle_index=place if submission.is_bundle else None,
                only=[_text(name, 40) for name in accepted.only],
                max_retries=accepted.max_retries,
                tip_address=tip.pubkey.hex() if tip and tips else None,
                tip_lamports=min(tip.lamports, _MOST_LAMPORTS) if tip and tips else None,
                tip_instruction_index=tip.instruction_index if tip and tips else None,
                blockhash=transaction.blockhash.hex(),
                is_nonced=transaction.is_nonced,
                nonce=transaction.nonce and transaction.nonce.account.hex(),
                nonce_signers=transaction.nonce and transaction.nonce.signers.hex(),
                is_watched=transaction.is_nonced,
                nonce_check_at=None,
                advance_index=transaction.advance_index,
                will_fail=_text(transaction.will_fail, 200),
                accepted_at=submission.accepted_at,
                **_standing(submission, transaction),
            )
        )
    return rows


def change_of(submission: ActiveSubmission, transaction: ActiveTransaction) -> SubmissionChange:
    """The change of a transaction that has a row."""
    signature = transaction.signature.hex()
    return SubmissionChange(
        signature=signature,
        key_id=submission.accepted.key_id,
        lost_slots=transaction.lost_slots,
        **_standing(submission, transaction),
    )


def _standing(submission: ActiveSubmission, transaction: ActiveTransaction) -> dict[str, Any]:
    """The fields of a Standing."""
    return {
        "accepted_slot": transaction.accepted_slot,
        "last_valid_block_height": transaction.last_valid,
        "state": transaction.state.value,
        "commitment": transaction.commitment,
        "reason": _text(transaction.reason, 200),
        "stopped": _text(transaction.stopped, 200),
        "slot": transaction.slot,
        "transaction_index": transaction.index,
        "err": err_json(transaction.error),
        "tries": submission.tries,
        "sent_at": transaction.sent_at,
        "seen_at": transaction.seen_at,
    }


def attempt_rows(submission: ActiveSubmission) -> list[tuple[bytes, AttemptRow]]:
    """The attempts since the last call, by each transaction's signature; `made_for` is the key."""
    return [
        (
            transaction.signature,
            AttemptRow(
                submission_id=0,
                made_for=submission.accepted.key_id,
                upstream=_text(attempt.upstream, 40),
                target=_text(attempt.target, 120),
                number=attempt.number,
                started_at=attempt.started_at,
                latency_us=min(attempt.latency_us, 2**31 - 1),
                outcome=attempt.outcome.value,
                answer=_text(attempt.answer, 300),
            ),
        )
        for attempt in submission.unwritten
        for transaction in submission.transactions
    ]


def _text(text: str, most: int) -> str:
    if text.isascii() and "\0" not in text:
        return text[:most]
    # PostgreSQL stores no NUL, and JSON no lone surrogates.
    plain = text.replace("\0", "").encode("utf-8", "replace").decode()
    return plain[:most]
