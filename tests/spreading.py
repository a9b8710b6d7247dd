"""How the tests are ordered, and how they are spread over worker processes."""

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

# The suite is made for two processors, and waits more than it works.
WORKERS = 5
# The phases in the order in which workers take them, from the last worker on; the others take them
# as they are numbered. Tests of the first keep a processor busy, those of the others wait: some of
# each run side by side from the start. After the second nothing of the first can come.
_NUMBERED = "123"
_ORDERS = ("23", "23", "312")
# What one worker runs, in this order, for a service or a ledger that all of it shares.
_TOGETHER = {
    "tests/historical": ["tests/historical/"],
    "tests/browser": ["tests/browser/"],
    "tests/localnet": [
        f"tests/localnet/test_{name}.py"
        for name in (
            "any_params",
            "block_engine",
            "blocks",
            "forks",
            "geyser_chain",
            "node_rules",
            "pubsub",
            "tokens",
            "tpu",
            "transactions",
        )
    ],
    "tests/priority/bundles": [
        f"tests/priority/test_{name}.py"
        for name in (
            "bundle_nodes",
            "bundle_past",
            "bundle_reach",
            "proxy",
            "send_bundle",
            "send_transaction",
            "simulate_bundle",
            "sweeps",
            "treasury",
        )
    ],
    "tests/priority/landing": [
        f"tests/priority/test_landing_{name}.py" for name in ("bundles", "trouble", "upstreams")
    ],
    # Those that read imported blocks, and those of the followed localnet.
    "tests/clients": [
        f"tests/clients/test_{name}.py"
        for name in (
            "http",
            "kit",
            "python",
            "web3js",
            "readme",
            "replay_samples",
            "localnet_npm",
            "localnet_python",
            "simulate_bundle",
            "start_page",
            "guides",
            "newcomer",
            "first_calls",
            "version_1",
            "tidemark_python",
            "tidemark_typescript",
        )
    ],
    # Those of the mixed history. With those that start whole services, too: no more than two
    # workers have one at a time.
    "tests/clients/test_replay_all.py": [
        "tests/embedded/test_run.py",
        *(
            f"tests/clients/test_{name}.py"
            for name in (
                "every_write",
                "shown_answers",
                "replay_all",
                "rewind_reads",
                "simulation_jobs",
                "without_beginning",
                "proven_localnet",
            )
        ),
    ],
}
# Those that take longest come first, so that what is left at the end is short.
_LONGEST = (
    "tests/test_recipes.py",
    "tests/browser",
    "tests/clients",
    "tests/clients/test_replay_all.py",
    "tests/localnet/test_restarts.py",
    "tests/historical",
    "tests/ingest/test_follow.py",
    "tests/embedded/test_servers.py",
    "tests/config/test_environment.py",
    "tests/access/test_processes.py",
    "tests/ingest/test_gaps.py",
    "tests/ingest/test_follow_command.py",
)
_EMPTYING = {"transactional_db", "live_server", "django_db_reset_sequences"}


def ordered(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Tests that roll back what they write, then those that empty the tables, with what migrations
    and session fixtures put there, then those without a database; of each the longest files first.
    """
    return sorted(items, key=lambda item: (_phase(item), _rank(item.nodeid)))


def rest_of_group(items: Sequence[pytest.Item], first: pytest.Item | None) -> list[pytest.Item]:
    """The test and those after it of what one worker runs together; none after the last test."""
    if first is None:
        return []
    group = _group(first.nodeid)
    return [item for item in items[items.index(first) :] if _group(item.nodeid) == group]


def workers(config: pytest.Config) -> int:
    """How many worker processes the command line deserves: none for a few tests."""
    few = config.option.keyword or all("::" in each or Path(each).is_file() for each in config.args)
    return 0 if few else WORKERS


class InOrder(LoadScopeScheduling):
    """Hands whole files to the workers, in the order of the collection. A file's tests of another
    phase are another piece of work: none is done by a worker that is past that phase.
    """

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False
        self._pieces: dict[str, str] = {}
        self._has_all_phases = False

    def schedule(self) -> None:
        if not self._pieces and self.registered_collections:
            self._pieces = dict(_pieces(next(iter(self.registered_collections.values()))))
            phases = {each[0] for each in self._pieces.values()}
            self._has_all_phases = phases == {*_NUMBERED}
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        return self._pieces[nodeid]

    def _assign_work_unit(self, node: Any) -> None:
        at, count = int(node.gateway.id.removeprefix("gw")), node.workerinput["workercount"]
        order = order_of(at, count) if self._has_all_phases else _NUMBERED
        piece = next_piece(self.workqueue, order)
        if piece is None:
            node.shutdown()
            return
        self.workqueue.move_to_end(piece, last=False)
        super()._assign_work_unit(node)


def order_of(worker: int, workers: int) -> str:
    """The phases in the order in which this one of the workers takes them. The first takes all, as
    does one that was started in place of another, whose number is beyond theirs.
    """
    from_last = workers - 1 - worker
    return _ORDERS[from_last] if 0 <= from_last < min(len(_ORDERS), workers - 1) else _NUMBERED


def next_piece(pieces: Collection[str], phases: str) -> str | None:
    """What a worker that takes the phases in this order does next of the pieces that are left."""
    return min(
        (each for each in pieces if each[0] in phases),
        key=lambda each: phases.index(each[0]),
        default=None,
    )


def _pieces(nodeids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each test's piece of work, which begins with the number of its phase: in each, the order of
    the groups begins anew.
    """
    group, count, phase, rank = "", 0, 1, (-1, "")
    for nodeid in nodeids:
        if _group(nodeid) != group:
            group, count = _group(nodeid), count + 1
            before, rank = rank, _rank(nodeid)[:2]
            phase += rank < before
        yield nodeid, f"{phase} {count} {group}"


def _phase(item: pytest.Item) -> int:
    marker = item.get_closest_marker("django_db")
    fixtures = set(getattr(item, "fixturenames", ()))
    if fixtures & _EMPTYING or (marker is not None and marker.kwargs.get("transaction")):
        return 1
    return 0 if marker is not None or "db" in fixtures else 2


def _group(nodeid: str) -> str:
    return _group_of(nodeid.partition("::")[0])


@cache
def _group_of(file: str) -> str:
    for group, starts in _TOGETHER.items():
        if file.startswith(tuple(starts)):
            return group
    return file


def _rank(nodeid: str) -> tuple[int, str, int]:
    group = _group(nodeid)
    place = _LONGEST.index(group) if group in _LONGEST else len(_LONGEST)
    # Files of a group in the order in which it names them.
    starts = _TOGETHER.get(group, [])
    return (
        place,
        group,
        next((at for at, each in enumerate(starts) if nodeid.startswith(each)), 0),
    )
