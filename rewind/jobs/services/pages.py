"""The results of a job, page by page; also while it runs."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from datetime import datetime

import msgspec

from jsonrpc.wire import Encoded, encode
from rewind.errors import BadCursor, BadLimit
from rewind.jobs import store
from rewind.jobs.errors import ResultsExpired
from rewind.jobs.models import SimulationJob
from rewind.jobs.results import ResultPage
from rewind.jobs.services.requests import JobRequest, read_request

MOST_LISTED = 1_000
# So many are read at once: each may be large.
_READ = 20


class _Cursor(msgspec.Struct, forbid_unknown_fields=True):
    number: int


def page(
    job: SimulationJob,
    *,
    limit: int,
    cursor: str | None,
    most_bytes: int,
    now: datetime,
) -> ResultPage:
    """Results from the cursor on. `next` is null when none will ever come after them. Raises
    BadLimit, BadCursor, ResultsExpired.
    """
    if limit < 1:
        raise BadLimit(MOST_LISTED)
    start = 0 if cursor is None else _read_cursor(cursor, job.total)
    if job.expires_at is not None and job.expires_at <= now:
        raise ResultsExpired(int(job.expires_at.timestamp()))
    request = read_request(job.request)
    texts: list[Encoded] = []
    size, is_cut = 0, False
    for number, answer in _answers(job, start, min(limit, MOST_LISTED)):
        text = _entry(request, number, answer)
        size += len(text)
        if texts and size > most_bytes:
            is_cut = True
            break
        texts.append(Encoded(text))
    end = start + len(texts)
    is_over = job.state not in store.OPEN
    return ResultPage(
        results=texts,
        next=None if is_over and end >= job.done else _cursor(end),
        complete=is_over,
        truncated_by_bytes=is_cut,
    )


def _answers(job: SimulationJob, start: int, limit: int) -> Iterator[tuple[int, bytes]]:
    """No further than the job said: what came since is the next page's."""
    end = min(start + limit, job.done)
    for first in range(start, end, _READ):
        yield from store.results(job.pk, first, min(_READ, end - first))


def _entry(request: JobRequest, number: int, answer: bytes) -> bytes:
    item = request.item(number)
    head = {
        "number": number,
        "transaction": item.transaction,
        "signature": item.signature,
        "position": item.position,
    }
    return encode(head)[:-1] + b"," + answer[1:]


def _cursor(number: int) -> str:
    return urlsafe_b64encode(msgspec.json.encode(_Cursor(number))).decode()


def _read_cursor(text: str, total: int) -> int:
    try:
        found = msgspec.json.decode(urlsafe_b64decode(text.encode()), type=_Cursor).number
    except (ValueError, msgspec.MsgspecError):
        raise BadCursor from None
    if not 0 <= found <= total:
        raise BadCursor
    return found
