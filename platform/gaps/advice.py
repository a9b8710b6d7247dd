"""What callers get for the slots of a gap, what fills it, and what staff does about it."""

from dataclasses import dataclass
from typing import NamedTuple

from gaps.causes import cause_of
from gaps.slot_gap import GapState, SlotGap

_MANAGE = ".venv/bin/python manage.py"


class Step(NamedTuple):
    """A sentence or two, and a command for a shell on the server, if it takes one."""

    text: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Sources:
    """How many streams are followed and how many nodes are asked, and whether blocks that are not
    stored are read from OLD_FAITHFUL_URL.
    """

    streams: int
    nodes: int
    has_remote: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """`callers`: which calls fail meanwhile, and how. `steps` are numbered on the page. `rest` says
    why none of them is needed, and is empty where they are. `prevention`: of the next such gap.
    """

    callers: str
    filled_by: str
    steps: tuple[Step, ...]
    rest: str
    prevention: str


def advice_on(gap: SlotGap, area: str, sources: Sources) -> Advice | None:
    """None for a closed gap. `area` is archive or ledger."""
    if gap.state is GapState.CLOSED:
        return None
    is_open = gap.state is GapState.OPEN
    if area == "archive":
        steps = _archive_open(sources) if is_open else _ARCHIVE_GIVEN_UP
        rest = _ARCHIVE_REST
        callers, filled_by = _ARCHIVE_CALLERS, _archive_sources(sources)
    else:
        steps = _LEDGER_OPEN if is_open else _LEDGER_GIVEN_UP
        rest = _LEDGER_REST
        callers = _LEDGER_CALLERS + (_REMOTE_CALLERS if sources.has_remote else "")
        filled_by = _ledger_sources(sources)
    prevention = cause_of(gap.cause).prevention
    return Advice(callers, filled_by, steps, "" if is_open else rest, prevention)


# --- the archive ---

_ARCHIVE_CALLERS = (
    "Reads, simulations and replays at these slots fail with slot_in_archive_gap (-32018):"
    " getAccountInfo, getMultipleAccounts, getAccountDiff, simulateHistoricalTransaction. With"
    " tolerateGaps they return the state from before the gap. Reads at later slots work; where the"
    " account may have been written in the gap, context.completeness says so (incomplete, cause"
    " gap), as it does on pages of getAccountChanges."
)


def _archive_sources(sources: Sources) -> str:
    followed = "" if sources.streams else " No stream is followed now."
    return (
        "Only the replay of a followed stream (UPSTREAM_GEYSER_URL) fills it: account writes are"
        " not in blocks, so neither a node nor a file of blocks has them. A node can only show that"
        f" slots were skipped, which closes them.{followed}"
    )


def _archive_open(sources: Sources) -> tuple[Step, ...]:
    first = "Wait: the worker asks every followed stream again by itself, at the next try above."
    if not sources.streams:
        first = "Follow a stream (UPSTREAM_GEYSER_URL): until then nothing can fill the gap."
    return (
        Step(first),
        Step(
            "If the history says that each stream has only later slots: add a stream whose server"
            " still has these to UPSTREAM_GEYSER_URL, restart, and press “Try again now”."
        ),
        Step(
            "If no server has them, the gap is given up automatically at its third try, once each"
            " stream says so. Where one does not say, press “Give up”: the alarm closes, and"
            " nothing changes for callers."
        ),
    )


_ARCHIVE_REST = (
    "Nothing needs doing: the writes of these slots are lost for the archive, the gap is not"
    " retried and is no alarm, and callers keep getting the error below."
)
_ARCHIVE_GIVEN_UP = (
    Step(
        "Only a stream whose server still has the slots can bring them back: add it to"
        " UPSTREAM_GEYSER_URL, restart, and press “Try again now”."
    ),
    Step(
        "A snapshot of a later slot does not fill the gap, but makes reads after that slot complete"
        " again: import it if customers meet incomplete responses.",
        f"{_MANAGE} import_snapshot FILE",
    ),
)

# --- the ledger ---

_LEDGER_CALLERS = (
    "getBlock and getBlockTime of these slots fail with slot_missing (-32009). getTransaction and"
    " getSignatureStatuses return null for their transactions. getBlocks, getBlocksWithLimit,"
    " getSignaturesForAddress and getTransactionsForAddress leave them out and name the slots in"
    " X-Ledger-Gaps."
)
_REMOTE_CALLERS = (
    " Where the archive at OLD_FAITHFUL_URL has the slots, getBlock, getBlockTime and getBlocks"
    " read them from there instead."
)


def _ledger_sources(sources: Sources) -> str:
    nodes = "" if sources.nodes else " That setting names no node now."
    return (
        "The replays of the followed streams and the nodes of FILL_RPC_URLS fill it, and files of"
        f" blocks that you import.{nodes}"
    )


_IMPORT = Step(
    "Or import a file with the blocks (import_epoch for an epoch of Old Faithful): the slots close"
    " as they are stored.",
    f"{_MANAGE} import_blocks FILE",
)
_LEDGER_OPEN = (
    Step("Wait: the worker asks streams and nodes again by itself, at the next try above."),
    Step(
        "If the history says that every node begins above these slots: add a node that keeps older"
        " blocks to FILL_RPC_URLS, restart, and press “Try again now”."
    ),
    _IMPORT,
    Step(
        "If no source has them, the gap is given up automatically at its third try, once each"
        " source says so. Where one does not say, press “Give up”: the alarm closes, and nothing"
        " changes for callers."
    ),
)
_LEDGER_REST = (
    "Nothing needs doing unless customers need these blocks: the gap is not retried and is no"
    " alarm, and callers keep getting the responses below."
)
_LEDGER_GIVEN_UP = (
    Step(
        "Add a node that keeps older blocks to FILL_RPC_URLS, restart, and press “Try again now”."
    ),
    _IMPORT,
)
