"""The shape of what a node says of the load: its stream, outcomes, answers and notifications."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.clients.chain_endpoints import Question, answers_of_node
from tests.localnet.stream_shapes import Shape, shape_of
from tests.real.meeting import Meeting
from tests.recorded_answers import difference

# Keys, hashes and signatures; data in base64; numbers.
_NAMES = re.compile(r"\b[1-9A-HJ-NP-Za-km-z]{32,88}\b|[\w+/]{40,}={0,2}|\d+")
# The programs themselves are the same on each chain.
_PROGRAM = re.compile(r"^Program \S+")


@dataclass(frozen=True)
class Outcomes:
    """Of one kind of transaction: errors, lines of logs without names and numbers, fields of the
    meta, and compute units.
    """

    errors: frozenset[str]
    logs: frozenset[str]
    fields: frozenset[str]
    units: frozenset[int]


@dataclass(frozen=True)
class Seen:
    """What one node said, by names that are the same for every node."""

    version: str
    stream: Shape
    # By the kind of transaction and the program that it calls last, which chance may choose.
    outcomes: dict[tuple[str, str], Outcomes]
    answers: list[tuple[str, dict[str, Any]]]
    notifications: dict[str, Any]
    blocks: list[dict[str, Any]]


def seen(meeting: Meeting, asked: Sequence[Question]) -> Seen:
    results = meeting.theirs.results
    answers = zip(asked, answers_of_node(meeting.node, asked), strict=True)
    return Seen(
        meeting.version,
        shape_of([each.update for each in meeting.recording.messages]),
        _outcomes(meeting),
        [(f"{number} {question[0]}", answer) for number, (question, answer) in enumerate(answers)],
        {f"{name}{_kind(each)}": each for name, said in results.items() for each in reversed(said)},
        list(meeting.recording.blocks.values()),
    )


def _kind(result: Any) -> str:
    """Of which kind among those of one subscription it is."""
    return f", {result['type']}" if isinstance(result, dict) and "type" in result else ""


def _outcomes(meeting: Meeting) -> dict[tuple[str, str], Outcomes]:
    kinds = {
        each.signature: re.sub(r"\d+", "N", each.kind)
        for each in (*meeting.workload.taken, *meeting.workload.submitted)
    }
    metas: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for block in meeting.recording.blocks.values():
        for each in block["transactions"]:
            kind = kinds.get(each["transaction"]["signatures"][0])
            if kind is not None:
                metas[kind, _last_program(each["meta"])].append(each["meta"])
    return {named: _outcome(found) for named, found in metas.items()}


def _last_program(meta: dict[str, Any]) -> str:
    called = [line.split()[1] for line in meta["logMessages"] or () if line.endswith("invoke [1]")]
    return called[-1] if called else ""


def _outcome(metas: list[dict[str, Any]]) -> Outcomes:
    return Outcomes(
        frozenset(str(each["err"]) for each in metas),
        frozenset(_bare(line) for each in metas for line in each["logMessages"] or ()),
        frozenset(name for each in metas for name in each),
        frozenset(each["computeUnitsConsumed"] for each in metas),
    )


def _bare(line: str) -> str:
    program = _PROGRAM.match(line)
    start = program.end() if program else 0
    return line[:start] + _NAMES.sub("…", line[start:])


def differences(theirs: Seen, ours: Seen) -> dict[str, str]:
    """What localnet (ours) says in another shape, by outcome, call or subscription."""
    found: dict[str, str] = {}
    kinds, others = ({kind for kind, _ in each.outcomes} for each in (theirs, ours))
    found |= dict.fromkeys(kinds ^ others, "in one of the blocks alone")
    for named in theirs.outcomes.keys() & ours.outcomes.keys():
        for name in ("errors", "logs", "fields", "units"):
            wanted = getattr(theirs.outcomes[named], name)
            got = getattr(ours.outcomes[named], name)
            # They depend on what is random, such as bumps and the length of a memo.
            is_random = name == "units" and (len(wanted) > 1 or len(got) > 1)
            if wanted != got and not is_random:
                found[f"{' by '.join(named)}: {name}"] = (
                    f"{_few(wanted - got)} is {_few(got - wanted)}"
                )
    for (name, wanted), (_, got) in zip(theirs.answers, ours.answers, strict=True):
        if why := difference(wanted, got):
            found[f"call {name}"] = why
    for name, result in theirs.notifications.items():
        why = _unlike(result, ours.notifications.get(name))
        if why:
            found[f"subscription {name}"] = why
    for place, wanted in (("first", theirs.blocks[0]), ("last", theirs.blocks[-1])):
        if why := _unlike(wanted, ours.blocks[0]):
            found[f"block, the {place}"] = why
    return found


def _few(values: frozenset[Any]) -> str:
    return str(sorted(map(str, values))[:3])[:400]


def _unlike(theirs: Any, ours: Any) -> str:
    return difference({"id": 0, "result": theirs}, {"id": 0, "result": ours})
