"""A flight as rows of the database: new ones, and what changes of those that are there."""

from typing import Any

from chain.transaction_errors import UnknownTransactionError, transaction_error_json
from priority.lander.in_flight import Flight, Part
from priority.store.submissions import AttemptRow, BundleRow, SubmissionChange, SubmissionRow

_MOST_LAMPORTS = 2**63 - 1


def err_json(packed: bytes | None) -> object:
    """The JSON of a packed error; one of a newer node than ours is told as it came."""
    if packed is None:
        return None
    try:
        return transaction_error_json(packed)
    except UnknownTransactionError:
        return {"Unknown": packed.hex()}


def bundle_row(flight: Flight) -> BundleRow:
    accepted = flight.accepted
    return BundleRow(
        bundle_id=_text(accepted.bundle_id, 64),
        key_id=accepted.key_id,
        state=flight.state.value,
        reason=_text(flight.bundle_reason, 200),
        engine_ids={_text(name, 40): _text(each, 200) for name, each in flight.engine_ids.items()},
        accepted_at=flight.accepted_at,
        slot=flight.parts[0].slot,
    )


def submission_rows(flight: Flight) -> list[SubmissionRow]:
    """Without the bundle's primary key, which is known only when it is stored."""
    accepted, tip = flight.accepted, flight.accepted.tip
    rows = []
    for place, part in enumerate(flight.parts):
        tips = tip is not None and tip.transaction_index == place
        rows.append(
            SubmissionRow(
                signature=part.signature.hex(),
                kind=accepted.kind,
                key_id=accepted.key_id,
                tier=_text(accepted.tier, 30),
                edge=_text(accepted.edge, 60),
                request_id=_text(accepted.request_id, 100),
                bundle_id=None,
                bundle_index=place if flight.is_bundle else None,
                only=[_text(name, 40) for name in accepted.only],
                max_retries=accepted.max_retries,
                tip_address=tip.pubkey.hex() if tip and tips else None,
                tip_lamports=min(tip.lamports, _MOST_LAMPORTS) if tip and tips else None,
                tip_instruction_index=tip.instruction_index if tip and tips else None,
                blockhash=part.blockhash.hex(),
                is_nonced=part.is_nonced,
                accepted_at=flight.accepted_at,
                **_standing(flight, part),
            )
        )
    return rows


def change_of(flight: Flight, part: Part) -> SubmissionChange:
    """Of a part that has a row."""
    assert part.row_id is not None
    return SubmissionChange(id=part.row_id, **_standing(flight, part))


def _standing(flight: Flight, part: Part) -> dict[str, Any]:
    """The fields of a Standing."""
    return {
        "accepted_slot": part.accepted_slot,
        "last_valid_block_height": part.last_valid,
        "state": part.state.value,
        "commitment": part.commitment,
        "reason": _text(part.reason, 200),
        "slot": part.slot,
        "transaction_index": part.index,
        "err": err_json(part.error),
        "tries": flight.tries,
        "sent_at": part.sent_at,
        "seen_at": part.seen_at,
    }


def attempt_rows(flight: Flight) -> list[tuple[bytes, AttemptRow]]:
    """What was tried since the last time, for each part's signature."""
    return [
        (
            part.signature,
            AttemptRow(
                submission_id=0,
                upstream=_text(tried.upstream, 40),
                target=_text(tried.target, 120),
                number=tried.number,
                started_at=tried.started_at,
                latency_us=min(tried.latency_us, 2**31 - 1),
                outcome=tried.outcome.value,
                answer=_text(tried.answer, 300),
            ),
        )
        for tried in flight.unwritten
        for part in flight.parts
    ]


def _text(text: str, most: int) -> str:
    if text.isascii() and "\0" not in text:
        return text[:most]
    # PostgreSQL keeps no NUL, and JSON no lone surrogate.
    plain = text.replace("\0", "").encode("utf-8", "replace").decode()
    return plain[:most]
