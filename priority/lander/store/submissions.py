"""Writes submissions, bundles and attempts in batches: one statement for any number."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from django.db import connection

from columns.queries import all_rows, execute
from columns.raw_queries import copy_rows
from priority.reports.store.counts import note_steps


class Standing(msgspec.Struct, kw_only=True):
    """How far a submission has come; `err` as JSON."""

    accepted_slot: int | None
    last_valid_block_height: int | None
    state: str
    commitment: str
    reason: str
    stopped: str
    slot: int | None
    transaction_index: int | None
    err: Any
    tries: int
    sent_at: datetime | None
    seen_at: datetime | None


class SubmissionRow(Standing, kw_only=True):
    """A row of priority_submission; keys of 32 and 64 bytes in hex."""

    signature: str
    kind: str
    key_id: int | None
    tier: str
    edge: str
    request_id: str
    bundle_id: int | None
    bundle_index: int | None
    only: list[str]
    max_retries: int | None
    tip_address: str | None
    tip_lamports: int | None
    tip_instruction_index: int | None
    blockhash: str
    is_nonced: bool
    nonce: str | None
    nonce_signers: str | None
    is_watched: bool
    nonce_check_at: datetime | None
    advance_index: int | None
    will_fail: str
    accepted_at: datetime


class SubmissionChange(Standing, kw_only=True):
    """The changing columns of a pending submission; `signature` in hex. `key_id` is the submitter,
    who need not be that of the row. In `lost_slots` it was until these died.
    """

    signature: str
    key_id: int | None
    lost_slots: list[int]


class BundleRow(msgspec.Struct, kw_only=True):
    """A row of priority_bundle. `engine_ids` are put to those that are there."""

    bundle_id: str
    key_id: int | None
    state: str
    reason: str
    engine_ids: dict[str, str]
    accepted_at: datetime
    slot: int | None


class StoredSubmission(NamedTuple):
    """A submission that was there before: another lander's, or one of an earlier day."""

    id: int
    signature: bytes
    key_id: int | None
    state: str
    commitment: str
    reason: str
    tries: int
    sent_at: datetime | None
    seen_at: datetime | None
    slot: int | None
    transaction_index: int | None
    err: Any
    settled_at: datetime | None


class Place(NamedTuple):
    """The primary key of a submission's row, the row's key, and how far it is if it was changed."""

    id: int
    key_id: int | None
    state: str = ""
    commitment: str = ""
    slot: int | None = None


class AttemptRow(NamedTuple):
    """A row of priority_attempt; `made_for` as in the model."""

    submission_id: int
    made_for: int | None
    upstream: str
    target: str
    number: int
    started_at: datetime
    latency_us: int
    outcome: str
    answer: str


# Of what the landing makes columns: the type that JSON is read as, and how it becomes the column's.
_TYPES = {
    **dict.fromkeys(["id", "key_id", "bundle_id", "slot", "accepted_slot"], "bigint"),
    **dict.fromkeys(["tip_lamports", "last_valid_block_height"], "bigint"),
    **dict.fromkeys(["bundle_index", "max_retries", "tip_instruction_index"], "integer"),
    **dict.fromkeys(["transaction_index", "tries", "advance_index"], "integer"),
    **dict.fromkeys(["accepted_at", "sent_at", "seen_at", "nonce_check_at"], "timestamptz"),
    **dict.fromkeys(["is_nonced", "is_watched"], "boolean"),
    "only": "text[]",
    "lost_slots": "bigint[]",
    "err": "jsonb",
    "engine_ids": "jsonb",
}
_IN_HEX = {"signature", "tip_address", "blockhash", "nonce", "nonce_signers"}


def _recordset(row: type[msgspec.Struct], *, text: Collection[str] = ()) -> str:
    columns = ", ".join(
        f'"{name}" {"text" if name in text else _TYPES.get(name, "text")}'
        for name in row.__struct_fields__
    )
    return f"jsonb_to_recordset(%s::jsonb) AS v({columns})"


def _value(name: str) -> str:
    if name == "key_id":
        return "k.id"  # null if the key was deleted meanwhile
    return f"decode(v.{name}, 'hex')" if name in _IN_HEX else f'v."{name}"'


def _names(row: type[msgspec.Struct]) -> str:
    return ", ".join(f'"{name}"' for name in row.__struct_fields__)


def _values(row: type[msgspec.Struct]) -> str:
    return ", ".join(map(_value, row.__struct_fields__))


def _restarts(table: str, row: type[msgspec.Struct], but: str = "") -> str:
    """A submission that never landed and never can may be submitted again, as a new one, `but` for
    some.
    """
    sets = ", ".join(f'"{name}" = EXCLUDED."{name}"' for name in row.__struct_fields__)
    return (
        f"DO UPDATE SET {sets}, settled_at = NULL WHERE {table}.settled_at IS NOT NULL"
        f" AND {table}.state IN ('expired', 'refused')"
        f" AND {table}.accepted_at < EXCLUDED.accepted_at{but}"
    )


# Of a nonce's transaction that is settled nothing more can come: its nonce has moved on. One whose
# watch has ended is watched again.
_BUT_NONCES = (
    " AND priority_submission.nonce IS NULL OR priority_submission.settled_at IS NULL"
    " AND priority_submission.is_nonced AND NOT priority_submission.is_watched"
)
_BUT_OF_NONCES = (
    " AND NOT EXISTS (SELECT FROM priority_submission s"
    " WHERE s.bundle_id = priority_bundle.id AND s.nonce IS NOT NULL)"
)
_INSERT_SUBMISSIONS = (
    f"INSERT INTO priority_submission ({_names(SubmissionRow)})"
    f" SELECT {_values(SubmissionRow)} FROM {_recordset(SubmissionRow)}"
    " LEFT JOIN access_apikey k ON k.id = v.key_id ORDER BY v.signature"
    f" ON CONFLICT (signature) {_restarts('priority_submission', SubmissionRow, _BUT_NONCES)}"
    " RETURNING id, signature, xmax <> 0"
)
_INSERT_BUNDLES = (
    f"INSERT INTO priority_bundle ({_names(BundleRow)})"
    f" SELECT {_values(BundleRow)} FROM {_recordset(BundleRow, text=['bundle_id'])}"
    " LEFT JOIN access_apikey k ON k.id = v.key_id ORDER BY v.bundle_id"
    f" ON CONFLICT (bundle_id) {_restarts('priority_bundle', BundleRow, _BUT_OF_NONCES)}"
)


def _note_cosubmitters(table: str, name: str, match: str, recordset: str) -> str:
    """Both customers that submit the same may read its fate, whichever key the row has."""
    return (
        "WITH noted AS (INSERT INTO priority_cosubmitter (name, key_id, accepted_at)"
        f" SELECT {name}, k.id, CASE k.id WHEN v.key_id THEN v.accepted_at ELSE t.accepted_at END"
        f" FROM {recordset} JOIN {table} t ON {match}"
        " JOIN access_apikey k ON k.id IN (v.key_id, t.key_id)"
        " WHERE v.key_id IS DISTINCT FROM t.key_id ON CONFLICT DO NOTHING RETURNING accepted_at)"
        f" {note_steps('noted')}"
    )


_NOTE_OF_SUBMISSIONS = _note_cosubmitters(
    "priority_submission",
    "t.signature",
    "t.signature = decode(v.signature, 'hex')",
    _recordset(SubmissionRow),
)
_NOTE_OF_BUNDLES = _note_cosubmitters(
    "priority_bundle",
    "decode(t.bundle_id, 'hex')",
    "t.bundle_id = v.bundle_id",
    _recordset(BundleRow, text=["bundle_id"]),
)
# A restarted one leaves the step of time in which it was accepted before.
_NOTE_OF_RESTARTS = note_steps(
    f"(SELECT t.accepted_at FROM {_recordset(SubmissionRow)}"
    " JOIN priority_submission t ON t.signature = decode(v.signature, 'hex')"
    " WHERE t.settled_at IS NOT NULL AND t.state IN ('expired', 'refused') AND t.nonce IS NULL"
    " OR t.settled_at IS NULL AND t.is_nonced AND NOT t.is_watched) AS restarted"
)


_KEEP_SIGNATURES = (
    "UPDATE priority_bundle b SET signatures = v.names FROM (SELECT v.bundle_id,"
    " array_agg(decode(v.signature, 'hex') ORDER BY v.bundle_index) AS names"
    f" FROM {_recordset(SubmissionRow)} GROUP BY v.bundle_id) AS v WHERE b.id = v.bundle_id"
    " AND EXISTS (SELECT FROM priority_submission s WHERE s.signature = ANY(v.names)"
    " AND s.bundle_id IS DISTINCT FROM b.id)"
)
# Rows that start again leave the bundles that they were in.
_KEEP_SIGNATURES_OF_RESTARTED = (
    "UPDATE priority_bundle b SET signatures = (SELECT array_agg(s.signature ORDER BY"
    " s.bundle_index) FROM priority_submission s WHERE s.bundle_id = b.id)"
    " WHERE b.signatures IS NULL AND b.id IN (SELECT s.bundle_id FROM priority_submission s"
    f" JOIN {_recordset(SubmissionRow)} ON s.signature = decode(v.signature, 'hex')"
    " WHERE s.state IN ('expired', 'refused') AND s.bundle_id IS DISTINCT FROM v.bundle_id)"
)
# It was sent in a bundle, or alone, and not in this one's.
_IS_BEHIND = "v.state = 'received' AND s.sent_at IS NOT NULL"
# Others submit the same too: what was done for them is not the row's.
_IS_OWN = "v.key_id IS NOT DISTINCT FROM {}.key_id".format
# Another lander may have the same, and hear of the chain later. Only a dead fork takes a fate back.
_IS_AHEAD = (
    "s.slot IS NOT NULL AND NOT s.slot = ANY(v.lost_slots) AND (v.slot IS NULL OR"
    " v.commitment = 'processed' AND (s.commitment = 'confirmed' OR s.slot > v.slot))"
)
_CHANGED = {
    **{name: f"v.{name}" for name in Standing.__struct_fields__},
    "accepted_slot": f"CASE WHEN {_IS_OWN('s')}"
    " THEN COALESCE(v.accepted_slot, s.accepted_slot) ELSE s.accepted_slot END",
    "last_valid_block_height": "COALESCE(v.last_valid_block_height, s.last_valid_block_height)",
    "tries": f"CASE WHEN {_IS_OWN('s')} THEN v.tries ELSE s.tries END",
    "sent_at": "LEAST(s.sent_at, v.sent_at)",
}
_OF_THE_FATE = {
    **dict.fromkeys(["commitment", "slot", "transaction_index", "err", "seen_at"], "v.{}"),
    "state": f"CASE WHEN {_IS_BEHIND} THEN 'sent' ELSE v.state END",
    "reason": f"CASE WHEN {_IS_BEHIND} THEN s.reason"
    f" WHEN {_IS_OWN('s')} OR v.reason = '' THEN v.reason ELSE s.reason END",
    "stopped": f"CASE WHEN {_IS_OWN('s')} OR v.stopped = '' OR v.stopped ^@ 'patience_over'"
    " THEN v.stopped ELSE s.stopped END",
}
_CHANGED |= {
    name: f"CASE WHEN {_IS_AHEAD} THEN s.{name} ELSE {value.format(name)} END"
    for name, value in _OF_THE_FATE.items()
}
_CHANGE_SUBMISSIONS = (
    f"UPDATE priority_submission s SET {', '.join(f'{k} = {v}' for k, v in _CHANGED.items())}"
    f" FROM {_recordset(SubmissionChange)}"
    " WHERE s.signature = decode(v.signature, 'hex') AND s.settled_at IS NULL"
    " RETURNING s.signature, s.id, s.key_id, s.state, s.commitment, s.slot"
)
# The rows of its transactions, which are changed first, say whether its slot still stands.
_IS_BUNDLE_AHEAD = (
    "(v.slot IS NULL OR b.state IN ('landed', 'failed') AND v.state NOT IN ('landed', 'failed'))"
    " AND EXISTS (SELECT FROM priority_submission s WHERE s.slot = b.slot"
    " AND (s.bundle_id = b.id OR s.signature = ANY(b.signatures)))"
)
_CHANGE_BUNDLES = (
    f"UPDATE priority_bundle b SET slot = CASE WHEN {_IS_BUNDLE_AHEAD} THEN b.slot ELSE v.slot END,"
    f" state = CASE WHEN {_IS_BUNDLE_AHEAD} OR b.state = 'sent' AND v.state = 'received'"
    " THEN b.state ELSE v.state END,"
    f" reason = CASE WHEN NOT ({_IS_BUNDLE_AHEAD}) AND ({_IS_OWN('b')} OR v.reason = '')"
    " THEN v.reason ELSE b.reason END,"
    f" engine_ids = b.engine_ids || CASE WHEN {_IS_OWN('b')} THEN v.engine_ids ELSE '{{}}' END"
    f" FROM {_recordset(BundleRow, text=['bundle_id'])}"
    " WHERE b.bundle_id = v.bundle_id AND b.settled_at IS NULL"
)


def commit_durably() -> None:
    """This transaction is on the disk when it is committed: what it holds is in the stream no more.
    Whatever else is written can be read from the chain again.
    """
    execute("SET LOCAL synchronous_commit TO on")


def insert_bundles(rows: Sequence[BundleRow]) -> dict[str, int]:
    """The primary keys by bundle id, of those that were there too."""
    if not rows:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_NOTE_OF_BUNDLES, [_json(rows)])
        cursor.execute(_INSERT_BUNDLES, [_json(rows)])
        cursor.execute(
            "SELECT bundle_id, id FROM priority_bundle WHERE bundle_id = ANY(%s)",
            [[row.bundle_id for row in rows]],
        )
        return dict(cursor.fetchall())


def insert_submissions(
    rows: Sequence[SubmissionRow],
) -> tuple[dict[bytes, int], list[StoredSubmission]]:
    """The primary keys of new ones, and of restarted ones, by signature; and the others as
    they are.
    """
    if not rows:
        return {}, []
    with connection.cursor() as cursor:
        # Most are new, and need no notes.
        cursor.execute(
            "SELECT EXISTS (SELECT FROM priority_submission WHERE signature = ANY(%s))",
            [[bytes.fromhex(row.signature) for row in rows]],
        )
        if cursor.fetchone() == (True,):
            # Before the row may become another one's.
            cursor.execute(_NOTE_OF_SUBMISSIONS, [_json(rows)])
            cursor.execute(_NOTE_OF_RESTARTS, [_json(rows)])
            cursor.execute(_KEEP_SIGNATURES_OF_RESTARTED, [_json(rows)])
        cursor.execute(_INSERT_SUBMISSIONS, [_json(rows)])
        found = cursor.fetchall()
        new = {bytes(signature): pk for pk, signature, _ in found}
        restarted = [pk for pk, _, was_there in found if was_there]
        if restarted:
            cursor.execute(
                "DELETE FROM priority_attempt WHERE submission_id = ANY(%s)", [restarted]
            )
        others = [row for row in rows if bytes.fromhex(row.signature) not in new]
        if others:
            # Again: another lander may have been first since.
            cursor.execute(_NOTE_OF_SUBMISSIONS, [_json(others)])
            _join_bundles(others)
            _keep_signatures(rows)
        return new, stored_submissions([bytes.fromhex(row.signature) for row in others])


def _join_bundles(rows: Sequence[SubmissionRow]) -> None:
    """What was submitted by itself before is of the first bundle that holds it too."""
    in_bundles = [row for row in rows if row.bundle_id is not None]
    if not in_bundles:
        return
    execute(
        "UPDATE priority_submission s SET bundle_id = v.bundle_id,"
        f" bundle_index = v.bundle_index FROM {_recordset(SubmissionRow)}"
        " WHERE s.signature = decode(v.signature, 'hex') AND s.bundle_id IS NULL",
        [_json(in_bundles)],
    )


def _keep_signatures(rows: Sequence[SubmissionRow]) -> None:
    """Of bundles with a transaction whose row is in another one."""
    in_bundles = [row for row in rows if row.bundle_id is not None]
    execute(_KEEP_SIGNATURES, [_json(in_bundles)])


def stored_submissions(signatures: Sequence[bytes]) -> list[StoredSubmission]:
    """Those of them that have rows."""
    if not signatures:
        return []
    names = ", ".join(StoredSubmission._fields)
    stored = all_rows(
        f"SELECT {names} FROM priority_submission WHERE signature = ANY(%s)", [list(signatures)]
    )
    rows = [StoredSubmission(*row) for row in stored]
    return [
        row._replace(
            signature=bytes(row.signature),
            # Django leaves jsonb as text, for its own columns to read.
            err=json.loads(row.err) if isinstance(row.err, str) else row.err,
        )
        for row in rows
    ]


def change_submissions(rows: Sequence[SubmissionChange]) -> dict[bytes, Place]:
    """Those whose fate is not settled yet are changed: their rows by signature."""
    if not rows:
        return {}
    with connection.cursor() as cursor:
        # In one order, as every other writer of several rows does.
        cursor.execute(
            "SELECT FROM priority_submission WHERE signature = ANY(%s) ORDER BY id FOR UPDATE",
            [[bytes.fromhex(row.signature) for row in rows]],
        )
        cursor.execute(_CHANGE_SUBMISSIONS, [_json(rows)])
        return {bytes(signature): Place(*place) for signature, *place in cursor.fetchall()}


def change_bundles(rows: Sequence[BundleRow]) -> None:
    """Those whose fate is not settled yet."""
    if rows:
        execute(_CHANGE_BUNDLES, [_json(rows)])


def are_settled(signatures: Collection[bytes]) -> dict[bytes, bool]:
    """Whether their fates are final, of those that have rows."""
    rows = all_rows(
        "SELECT signature, settled_at IS NOT NULL FROM priority_submission"
        " WHERE signature = ANY(%s)",
        [list(signatures)],
    )
    return {bytes(signature): is_settled for signature, is_settled in rows}


def copy_attempts(rows: Sequence[AttemptRow]) -> None:
    types = ["int8", "int8", "text", "text", "int4", "timestamptz", "int4", "text", "text"]
    copy_rows("priority_attempt", AttemptRow._fields, types, rows)


def _json(rows: Sequence[msgspec.Struct]) -> str:
    return msgspec.json.encode(rows).decode()
