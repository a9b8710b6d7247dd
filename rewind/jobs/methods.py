"""Simulation jobs: submit, get, results, cancel."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import msgspec
import redis
from django.conf import settings
from kombu.exceptions import OperationalError as BrokerError
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chain.units import Slot
from gaps.errors import EmptyRange
from gateway.calls import Call
from gateway.refusals import KeyRequired
from gateway.transactions import TransactionText, read_transaction
from historical.transactions.services.recorded_transactions import recorded
from jsonrpc.errors import InvalidParams
from jsonrpc.params import U64, Config, read_base58
from rewind.accounts.methods.positions import Anchor, asked
from rewind.calls import call_job
from rewind.errors import BadCursor, BadLimit, PreStateTooNew, UnknownSignature
from rewind.jobs.errors import (
    AnswerTooLarge,
    BadJob,
    JobNotFound,
    ReferenceTaken,
    ResultsExpired,
    SimulationLost,
    TooManyJobs,
    TooManySimulations,
)
from rewind.jobs.results import Job, ResultPage, Submitted, job_status, submitted
from rewind.jobs.services import pages, submitting
from rewind.jobs.services.requests import Item, JobRequest, Json, SlotSteps
from rewind.method_table import methods
from rewind.positions import Asked
from rewind.replay.methods import ASKING_ERRORS, SimulationConfig, asking, simulation_of
from rewind.replay.results.simulation import Simulation

log = logging.getLogger(__name__)

_LISTED = 100
Reference = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Step = Annotated[int, msgspec.Meta(ge=1)]


class JobPosition(Config, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A position in the past: `slot`, or `anchor`, and not both.

    slot: the end of this slot
    transaction_index: not the end of the slot, but right after its transaction of this index
    anchor: right before or after a transaction
    pre_state_slot: run on accounts as they were at this earlier slot
    """

    slot: U64 | None = None
    transaction_index: U64 | None = None
    anchor: Anchor | None = None
    pre_state_slot: U64 | None = None


class SlotRange(Config, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ends of these slots.

    from_slot: the first slot, included
    to_slot: the last slot, included
    step: every so many slots; 1 by default
    """

    from_slot: U64
    to_slot: U64
    step: Step | None = None


# A misspelled member would be another job: unknown ones are refused.
class JobSpec(Config, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Transactions by their texts, or by signatures of the ledger, each at each of the positions;
    signatures without positions each right before itself.

    transactions: the transactions as text, or else `signatures`
    signatures: transactions of the ledger, by their signatures
    encoding: how the transactions are written; `base64` by default
    positions: where in the past, or else `slotRange`
    slot_range: the ends of a range of slots
    config: how to simulate: what simulateHistoricalTransaction takes, but for the position
    client_reference: your own name for the job: handed in again under it, it is not run again
    """

    transactions: list[str] | None = None
    signatures: list[Signature] | None = None
    encoding: TransactionText | None = None
    positions: list[JobPosition] | None = None
    slot_range: SlotRange | None = None
    config: SimulationConfig | None = None
    client_reference: Reference | None = None


class ResultsConfig(Config, frozen=True, kw_only=True):
    """Which results.

    limit: how many a page: 100 by default, at most 1,000
    cursor: `next` of the page before
    """

    limit: U64 | None = None
    cursor: str | None = None


@methods.add(
    "submitSimulationJob",
    errors=(
        BadJob,
        ReferenceTaken,
        TooManySimulations,
        TooManyJobs,
        EmptyRange,
        *ASKING_ERRORS,
    ),
)
def submit_simulation_job(call: Call, spec: JobSpec) -> Submitted:
    """Hands in many simulations at once; they run in the background, in order. It needs a key.

    spec: what to simulate, and where
    """
    key_id = _key_of(call)
    _check(spec)
    job, is_new = submitting.submit(
        _request(spec),
        key_id=key_id,
        tier=call.caller.tier,
        reference=spec.client_reference,
        most_open=call.caller.simulation_jobs,
        most_simulations=call.caller.simulations_per_job,
        slots=_slots(spec),
        now=call.now,
    )
    if is_new:
        try:
            call_job(job.pk, job.turn)
        except (redis.RedisError, BrokerError, OSError) as error:
            # The job is in the database: the schedule queues it when Redis is back.
            log.warning("job %s waits for Redis: %s", job.pk, type(error).__name__)
    return submitted(job)


@methods.add("getSimulationJob", errors=(JobNotFound,))
def get_simulation_job(call: Call, job_id: str) -> Job:
    """How far a job of yours is.

    job_id: the job's id, as submitSimulationJob answered it
    """
    return job_status(submitting.job_of(_key_of(call), job_id))


@methods.add(
    "getSimulationJobResults",
    expensive=True,
    errors=(
        JobNotFound,
        ResultsExpired,
        BadCursor,
        BadLimit,
        SimulationLost,
        AnswerTooLarge,
        UnknownSignature,
    ),
)
def get_simulation_job_results(
    call: Call, job_id: str, config: ResultsConfig = ResultsConfig()
) -> ResultPage:
    """The results of a job of yours in their order, as far as they are there; also while it runs.

    job_id: the job's id
    config: which results
    """
    return pages.page(
        submitting.job_of(_key_of(call), job_id),
        limit=_LISTED if config.limit is None else config.limit,
        cursor=config.cursor,
        most_bytes=settings.ARCHIVE_ANSWER_BYTES,
        now=call.now,
    )


@methods.add("cancelSimulationJob", errors=(JobNotFound,))
def cancel_simulation_job(call: Call, job_id: str) -> Job:
    """Calls a job of yours off: it does nothing more, and what it has done stays.

    job_id: the job's id
    """
    return job_status(
        submitting.cancel(
            _key_of(call), job_id, now=call.now, keep_hours=settings.SIMULATION_JOB_HOURS
        )
    )


def simulate(request: JobRequest, item: Item) -> Simulation:
    """One simulation of a job: what simulateHistoricalTransaction answers."""
    config = msgspec.convert(
        {**request.config, **item.position}, SimulationConfig, dec_hook=read_base58
    )
    if item.text is not None:
        transaction = read_transaction(
            item.text,
            TransactionText(request.encoding),
            at=f"[0].transactions[{item.transaction}]",
        )
    else:
        signature = Signature.from_string(item.signature)
        found = recorded(signature)
        if found is None:
            raise UnknownSignature(signature)
        transaction = found.transaction
    position = asked(config.slot, config.transaction_index, config.anchor)
    with _config_of_a_job():
        asked_for = asking(transaction, position, config, is_shared=True)
        return simulation_of(asked_for, proof=config.proof)


@contextmanager
def _config_of_a_job() -> Iterator[None]:
    """Refusals name a place in the config, which is the second param of
    simulateHistoricalTransaction and a member of a job.
    """
    try:
        yield
    except InvalidParams as error:
        place = error.data.get("at", "")
        if place.startswith("[1]"):
            error.data["at"] = "[0].config" + place.removeprefix("[1]")
        raise


def _key_of(call: Call) -> int:
    """The caller's key, which owns the jobs. Raises KeyRequired."""
    if call.caller.key_id is None:
        raise KeyRequired
    return call.caller.key_id


def _check(spec: JobSpec) -> None:
    """All that can be wrong with a job before it is compared with the archive."""
    given = [
        name
        for name, value in (("transactions", spec.transactions), ("signatures", spec.signatures))
        if value is not None
    ]
    if len(given) != 1:
        raise BadJob(f"expected `transactions` or `signatures`, found {_listed(given)}", "[0]")
    if not (spec.transactions or spec.signatures):
        raise BadJob(f"expected at least one in `{given[0]}`", f"[0].{given[0]}")
    if "\0" in (spec.client_reference or ""):  # which PostgreSQL's texts do not have
        raise BadJob("`clientReference` contains a NUL", "[0].clientReference")
    if spec.positions is not None and spec.slot_range is not None:
        raise BadJob("expected `positions` or `slotRange`, found both", "[0]")
    if spec.positions is None and spec.slot_range is None and spec.transactions is not None:
        raise BadJob("expected `positions` or `slotRange` with `transactions`, found none", "[0]")
    if spec.positions is not None and not spec.positions:
        raise BadJob("expected at least one in `positions`", "[0].positions")
    config = spec.config or SimulationConfig()
    if (config.slot, config.transaction_index, config.anchor) != (None, None, None):
        raise BadJob("positions stand in `positions` or `slotRange`", "[0].config")
    for position in spec.positions or ():
        pre_state_slot = position.pre_state_slot
        if pre_state_slot is None:
            pre_state_slot = config.pre_state_slot
        # Of a transaction's place it says nothing.
        if asked(position.slot, position.transaction_index, position.anchor).index is None:
            _check_pre_state(pre_state_slot, position.slot)
    if spec.slot_range is not None:
        if spec.slot_range.from_slot > spec.slot_range.to_slot:
            raise EmptyRange(Slot(spec.slot_range.from_slot), Slot(spec.slot_range.to_slot))
        _check_pre_state(config.pre_state_slot, spec.slot_range.from_slot)


def _check_pre_state(pre_state_slot: int | None, slot: int | None) -> None:
    if pre_state_slot is not None and slot is not None and pre_state_slot > slot:
        raise PreStateTooNew(pre_state_slot, slot)


def _listed(given: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in given) or "neither"


def _request(spec: JobSpec) -> JobRequest:
    """What is kept of the spec, every transaction and every override read once."""
    config = spec.config or SimulationConfig()
    encoding = spec.encoding or config.encoding or TransactionText.BASE64
    if spec.transactions is not None:
        read = [
            read_transaction(text, encoding, at=f"[0].transactions[{number}]")
            for number, text in enumerate(spec.transactions)
        ]
        signatures = [str(transaction.signatures[0]) for transaction in read]
    else:
        signatures = [str(signature) for signature in spec.signatures or ()]
    # Refuses bad overrides and accounts now.
    with _config_of_a_job():
        asking(VersionedTransaction.default(), Asked(), config, is_shared=True)
    return JobRequest(
        signatures=signatures,
        texts=spec.transactions,
        encoding=encoding.value,
        positions=None if spec.positions is None else [_json(each) for each in spec.positions],
        range=_steps(spec.slot_range),
        config=_json(config),
    )


def _steps(wanted: SlotRange | None) -> SlotSteps:
    if wanted is None:
        return SlotSteps()
    step = wanted.step or 1
    return SlotSteps(wanted.from_slot, (wanted.to_slot - wanted.from_slot) // step + 1, step)


def _slots(spec: JobSpec) -> Iterator[int]:
    """Those that the job names, the first and the last of its range."""
    if spec.slot_range is not None:
        yield spec.slot_range.from_slot
        yield spec.slot_range.to_slot
    for position in spec.positions or ():
        anchored = None if position.anchor is None else position.anchor.slot
        for slot in (position.slot, anchored):
            if slot is not None:
                yield slot


def _json(config: Config) -> Json:
    """The members that were given, as they came."""
    found = msgspec.json.decode(msgspec.json.encode(config, enc_hook=str))
    kept = _without_none(found)
    assert isinstance(kept, dict)
    return kept


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    return value
