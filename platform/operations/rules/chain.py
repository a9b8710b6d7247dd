"""The rules about following and storing the chain."""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from operations.readings.chain import GAP_PATIENCE
from operations.readings.present import Readings
from operations.rules.commands import DOCTOR, MANAGE, Command, of_process
from operations.rules.processes import MOST_NAMED, follows
from operations.rules.rule import (
    CALLING,
    CRITICAL,
    FOLLOWING,
    LANDING,
    WARNING,
    Finding,
    Place,
    Press,
    Rule,
)
from shared_state.pace import SILENT_SLOTS
from staff.formatting import counted, duration, grouped

SLOTS_BEHIND = 50
UNSTORED = timedelta(seconds=60)
_GAPS, _OPEN = "rewind_gap_changelist", "state=open"
_NODE = "Check that the node answers and keeps up, and the follower's lines in the log."


def _stream_silent(now: Readings) -> Iterator[Finding]:
    if now.chain.stream == "silent":
        silent = now.chain.silent_seconds
        since = "since it connected"
        if silent is not None:
            since = f"for {duration(timedelta(seconds=silent))}"
        yield Finding(
            "", f"The {now.chain.source} is connected, but has not sent anything {since}."
        )


def _stream_lost(now: Readings) -> Iterator[Finding]:
    if now.chain.stream == "not connected":
        why = f": {now.chain.problem}" if now.chain.problem else "."
        yield Finding("", f"The chain is not followed: its source is not connected{why}")


def _streams_down(now: Readings) -> Iterator[Finding]:
    if now.chain.stream != "not connected" and (count := now.chain.streams_down):
        verb = "is" if count == 1 else "are"
        why = f": {now.chain.problem}" if now.chain.problem else "."
        yield Finding("", f"{grouped(count)} of the streams {verb} not connected{why}")


def _storing_stopped(now: Readings) -> Iterator[Finding]:
    unstored = timedelta(seconds=now.chain.unstored_seconds)
    if unstored > UNSTORED:
        waiting = counted(now.chain.waiting_slots, "slot")
        verb = "waits" if now.chain.waiting_slots == 1 else "wait"
        text = f"Nothing has been stored for {duration(unstored)}: {waiting} {verb}."
        yield Finding("", f"{text}{follows(now, 'ingest')}")


def _chain_behind(now: Readings) -> Iterator[Finding]:
    behind = now.chain.behind
    if behind is not None and behind > SLOTS_BEHIND:
        yield Finding("", f"The newest stored slot is {counted(behind, 'slot')} behind the chain.")


def _gaps_open(now: Readings) -> Iterator[Finding]:
    for store in ("ledger", "archive"):
        old = [each for each in now.chain.gaps if each.store == store and each.old]
        if old:
            slots, gaps = sum(each.slots for each in old), sum(each.old for each in old)
            causes = ", ".join(sorted({each.cause.replace("_", " ") for each in old}))
            verb = "is" if gaps == 1 else "are"
            about = f"about {counted(slots, 'slot')} ({causes})"
            text = f"{counted(gaps, 'gap')} {verb} not filled, {about}."
            yield Finding(store, text)


def _archive_damaged(now: Readings) -> Iterator[Finding]:
    for each in now.chain.damage:
        more = f", and {each.count - 1:,} more" if each.count > 1 else ""
        yield Finding(each.store, f"Sealed data of the {each.store}: {each.lowest}{more}.")


def _divergences(now: Readings) -> Iterator[Finding]:
    if count := now.chain.divergences:
        yield Finding("", f"The replay of {counted(count, 'transaction')} differs from the chain.")


def _rules_missing(now: Readings) -> Iterator[Finding]:
    if found := now.rules.of_kind("feature"):
        named = "; ".join(each.name or each.address for each in found[:MOST_NAMED])
        more = f", and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        text = f"The chain has {counted(len(found), 'rule')} that this version does not support"
        yield Finding("", f"{text}: {named}{more}.")


def _retry(store: str, _now: Readings) -> Iterable[Press]:
    return (Press(f"retry-{store}"),) if store in ("archive", "ledger") else ()


RULES = (
    Rule(
        name="stream_silent",
        severity=CRITICAL,
        holds=10,
        calm=15,
        title="The stream is silent",
        meaning="The stream is connected but silent: no new slots arrive, and fates stay open.",
        incident="New slots do not arrive. Fates of transactions stay open until they do.",
        begins=f"The stream has not sent a message for {SILENT_SLOTS} slots, and for at least 2 s",
        advice=_NODE,
        check=_stream_silent,
        at=Place(FOLLOWING + LANDING, ("chain", "submissions"), _GAPS),
        command=DOCTOR,
        of_a_run=True,
    ),
    Rule(
        name="stream_lost",
        severity=CRITICAL,
        holds=20,
        calm=15,
        title="The stream is lost",
        meaning="No stream is connected: no new slots arrive, and fates stay open.",
        incident="New slots do not arrive. Fates of transactions stay open until they do.",
        begins="The source of the chain is not connected",
        advice=_NODE,
        check=_stream_lost,
        at=Place(FOLLOWING + LANDING, ("chain", "submissions"), _GAPS),
        command=DOCTOR,
        of_a_run=True,
    ),
    Rule(
        name="streams_lacking",
        severity=WARNING,
        holds=60,
        calm=60,
        title="One of several streams is lost",
        meaning="The other streams are still followed; anything that they omit is missing.",
        incident="",
        begins="One of several streams of UPSTREAM_GEYSER_URL is not connected",
        advice="Check that its server answers, and read the follower's lines in the log. A stream"
        " of another chain is ignored until the follower restarts.",
        check=_streams_down,
        at=Place(FOLLOWING, ("chain",), _GAPS),
        command=DOCTOR,
    ),
    Rule(
        name="storing_stopped",
        severity=CRITICAL,
        holds=0,
        calm=15,
        title="Nothing is stored",
        meaning="The newest slots cannot be read, and fates stay open. Nothing is lost while the"
        " follower has memory for waiting slots; after that, it stops reading the stream.",
        incident="The newest slots cannot be read yet. Fates of transactions stay open.",
        begins=f"Slots have waited for more than {duration(UNSTORED)} without any being stored",
        advice="Restart the ingest process. If that does not help, check its lines in the log, the"
        " database and the disk.",
        check=_storing_stopped,
        at=Place(FOLLOWING + LANDING, ("chain",), _GAPS),
        command=lambda *_: of_process("ingest"),
        of_a_run=True,
    ),
    Rule(
        name="chain_behind",
        severity=WARNING,
        holds=30,
        calm=30,
        title="Behind the chain",
        meaning="The newest slots cannot be read yet, and fates become final later than usual.",
        incident="New slots can be read later than usual, and fates become final later.",
        begins=f"The newest stored slot is more than {SLOTS_BEHIND} slots behind the chain",
        advice="Check the ingest process, the database and the disk: slots are stored too slowly.",
        check=_chain_behind,
        at=Place(FOLLOWING, ("chain",), _GAPS),
        command=DOCTOR,
        of_a_run=True,
    ),
    Rule(
        name="gaps_open",
        severity=WARNING,
        holds=0,
        calm=0,
        title="Gaps are open",
        meaning="Slots are missing, and retries have not filled them yet: reads of these slots"
        " fail.",
        incident="Some slots are missing: reads of these slots fail.",
        begins=f"A gap is open for more than {duration(GAP_PATIENCE)}",
        advice="Gaps are retried automatically, or at once from their page. Nodes in FILL_RPC_URLS"
        " fill gaps of the ledger; replays of the streams fill gaps of the archive. A gap is given"
        " up once every source reports that it cannot fill it, or by you on its page.",
        check=_gaps_open,
        at=Place(FOLLOWING, ("gaps",), _GAPS),
        subjects={"ledger": Place(page="historical_gap_changelist")},
        query=_OPEN,
        runbook="Missing slots",
        buttons=_retry,
    ),
    Rule(
        name="archive_damaged",
        severity=CRITICAL,
        holds=0,
        calm=0,
        title="Sealed data is damaged",
        meaning="The disk or memory corrupted sealed data: reads that need it fail.",
        incident="Some past slots cannot be read until they are repaired.",
        begins="Sealed data is damaged and not yet repaired",
        advice="Reads that need it fail, its segment is not merged, and retention does not drop"
        " anything from there on. Its page shows the command that repairs it from another database,"
        " or opens its slots as gaps. Check the disk.",
        check=_archive_damaged,
        at=Place(FOLLOWING, ("gaps",), "rewind_sealeddamage_changelist"),
        subjects={"ledger": Place(page="historical_ledgerdamage_changelist")},
        query="state=damaged",
        command=Command(f"{MANAGE} archive_repair", "Lists the damaged data."),
    ),
    Rule(
        name="divergences_open",
        severity=WARNING,
        holds=0,
        calm=0,
        title="Replays diverge",
        meaning="A replay of a stored transaction gave another result than the chain.",
        incident="A replay of a past transaction gave another result than the chain.",
        begins="A divergence is not resolved",
        advice="Each divergence shows the differences. Either the archive or the simulation engine"
        " is wrong.",
        check=_divergences,
        at=Place(FOLLOWING, ("gaps",), "rewind_divergence_changelist"),
        query=_OPEN,
    ),
    Rule(
        name="rules_missing",
        severity=WARNING,
        holds=0,
        calm=0,
        title="The chain has newer rules",
        meaning="Simulations and replays may give other results than the chain. Each lists the"
        " rules.",
        incident="Simulations and replays may give other results than the chain.",
        begins="A feature that can affect transactions is active on the archived chain, but the"
        " engine does not support it",
        advice="Upgrade Tidemark: a later version supports them. Sending, storing and reading are"
        " unaffected.",
        check=_rules_missing,
        at=Place(CALLING, ("failures",)),
        command=DOCTOR,
    ),
)
