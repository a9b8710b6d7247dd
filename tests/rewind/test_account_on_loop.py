"""getAccountInfo on the web server's loop: as a thread answers, which reads what takes more."""

from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

import pytest
from solders.pubkey import Pubkey

from chain.blocks import Granularity
from eventloop.faces import complete
from gaps.slot_gap import GapStatus
from jsonrpc.errors import RpcError
from jsonrpc.params import ParamsReader
from jsonrpc.wire import encode
from rewind.accounts.methods.accounts import get_account_info
from rewind.coverage.services.gaps import archive_gaps as gaps
from rewind.recording.services import filters
from rewind.recording.store import partitions
from tests.cluster import one_machine
from tests.loop_calls import Queries
from tests.rewind.conftest import NOW
from tests.rewind.samples import block, key, signature, write

pytestmark = [pytest.mark.django_db(transaction=True), one_machine]
_read = ParamsReader(get_account_info).read
_ASKED: list[dict[str, Any]] = [
    *({"slot": slot} for slot in (9, 10, 11, 12, 14, 15, 16, 2**63)),
    *({"slot": slot, "tolerateGaps": True} for slot in (14, 15)),
    {"slot": 12, "transactionIndex": 1},
    {"slot": 12, "encoding": "base58"},
    {"slot": 12, "encoding": "jsonParsed"},
    {"slot": 12, "dataSlice": {"offset": 1, "length": 2}},
    {"slot": 12, "proof": True},
    {"slot": 12, "idl": True},
    {},
]


@pytest.fixture
def loop(record: Any, empty_ledger: None) -> Iterator[Queries]:
    """1 lives, 2 is closed in slot 12, 3 is large, 4 is not followed, 5 was never there."""
    record(
        block(
            10, writes=[write(each, signature(10, each % 4), data=b"data") for each in (1, 2, 4)]
        ),
        block(11, writes=[write(3, signature(11, 0), data=bytes(range(256)) * 1_000)]),
        block(12, writes=[write(2, signature(12, 0), lamports=0)]),
        block(13, writes=[write(1, signature(13, 2), lamports=7)], granularity=Granularity.SLOT),
        block(16, 13, writes=[write(1, signature(16, 3), lamports=9)]),
    )
    gaps.open_gap(14, 15, status=GapStatus.MISSING, cause="test", now=NOW)
    filters.filter_account(Pubkey(key(4)), filtered=True)
    partitions.layout(-1)
    running = Queries()
    running.connected()
    yield running
    running.stop()


def asking(account: int, config: dict[str, Any]) -> Callable[[], Coroutine[Any, Any, Any]]:
    arguments = _read(encode([str(Pubkey(key(account))), config]))
    return partial(get_account_info, None, *arguments)  # type: ignore[arg-type]


def shown(found: Any) -> Any:
    return (type(found), str(found)) if isinstance(found, RpcError) else encode(found)


@pytest.mark.parametrize("account", [1, 2, 3, 4, 5])
def test_the_loop_answers_as_a_thread(loop: Queries, account: int) -> None:
    for config in _ASKED:
        try:
            expected: Any = complete(asking(account, config)())
        except RpcError as error:
            expected = error
        for _ in range(2):  # the second time it is known where the account stands
            (found,) = loop.run(asking(account, config))
            assert shown(found) == shown(expected), config


def test_a_living_account_at_the_end_of_a_slot_takes_no_thread(loop: Queries) -> None:
    jobs = loop.jobs
    plain: dict[str, Any]
    for plain in ({"slot": 12}, {"slot": 16}, {"slot": 10, "encoding": "base64+zstd"}):
        (found,) = loop.run(asking(1, plain))
        assert b'"lamports":' in encode(found)
    assert loop.jobs == jobs
    for account, config in ((1, {"slot": 14}), (2, {"slot": 12}), (3, {"slot": 12})):
        loop.run(asking(account, config))
    assert loop.jobs == jobs + 3
