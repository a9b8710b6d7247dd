"""Blocks of an archive of CAR epochs through the whole service: cold, with known indexes, warm."""

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from benchmarks import load  # noqa: E402
from benchmarks.service import (  # noqa: E402
    FIXTURES,
    SERVICE,
    database,
    new_key,
    rpc_request,
    served,
)
from tests.upstream import old_faithful_files as files  # noqa: E402
from tests.upstream.range_server import RangeServer, serving  # noqa: E402

# Nodes and signatures of other blocks in the indexes: buckets are as full as those of an epoch.
_OTHERS = 400_000
_DELAYS = (0.0, 0.03)
_READABLE = {"maxSupportedTransactionVersion": 0}


class Calls:
    """Calls of one service: the time of each, and what the archive was asked for meanwhile."""

    def __init__(self, address: tuple[str, int], key: str, server: RangeServer) -> None:
        self._address, self._key, self._server = address, key, server
        # The key is read and the process is warm.
        load.exchange(address, rpc_request(key, "getLedgerCoverage", []))

    def measure(self, label: str, method: str, calls: Sequence[Sequence[Any]]) -> None:
        """Prints the medians over the calls, which run one after the other."""
        times, requests, sent, sizes = [], [], [], []
        for params in calls:
            before = (len(self._server.requests), self._server.sent)
            began = time.perf_counter()
            answer = load.exchange(self._address, rpc_request(self._key, method, params))
            times.append(time.perf_counter() - began)
            assert b'"error"' not in answer[:60], answer[:300]
            requests.append(len(self._server.requests) - before[0])
            sent.append(self._server.sent - before[1])
            sizes.append(len(answer))
        print(
            f"{label}: {statistics.median(times) * 1e3:,.1f} ms,"
            f" {statistics.median(requests):.0f} requests,"
            f" {statistics.median(sent):,.0f} bytes read,"
            f" {statistics.median(sizes):,.0f} bytes of answer ({len(calls)} calls)",
            flush=True,
        )


def main() -> None:
    with tempfile.TemporaryDirectory() as name, database():
        folder = Path(name)
        small, large = _write(folder)
        key = new_key()
        with serving(folder) as server:
            environment = {
                "OLD_FAITHFUL_URL": server.url,
                "OLD_FAITHFUL_SIGNATURE_EPOCHS": str(small[0].slot // files.SLOTS),
                "LOCALNET": "false",
            }
            for delay in _DELAYS:
                server.delay = delay
                print(f"an archive that takes {delay * 1e3:.0f} ms longer for each request")
                with served(SERVICE, environment=environment) as address:
                    _measure(Calls(address, key, server), small, large)


def _measure(calls: Calls, small: Sequence[Any], large: Any) -> None:
    slots = [record.slot for record in small]
    blocks = [[slot, _READABLE] for slot in slots[2:]]
    calls.measure("getBlock, the first of a process", "getBlock", blocks[:1])
    calls.measure("getBlock, further ones of the epoch", "getBlock", blocks[1:41])
    calls.measure("getBlock, their neighbours", "getBlock", blocks[41:81])
    calls.measure("getBlock, the same again", "getBlock", blocks[1:41])
    base64 = [[slot, {**_READABLE, "encoding": "base64"}] for slot, _ in blocks[1:41]]
    calls.measure("getBlock, the same in another encoding", "getBlock", base64)
    calls.measure("getBlock of 1,445 transactions", "getBlock", [[large.slot, _READABLE]])
    calls.measure("the same again", "getBlock", [[large.slot, _READABLE]] * 10)
    calls.measure("getBlockTime, known indexes", "getBlockTime", [[slot] for slot in slots[2:]])
    first = slots[0] - 1_000
    calls.measure("getBlocks of 1,000 slots, first", "getBlocks", [[first, first + 1_000]])
    calls.measure("getBlocks of 1,000 slots, again", "getBlocks", [[first, first + 1_000]] * 10)
    signatures = [str(_signature(record, 0)) for record in small[2:42]]
    config = [[each, _READABLE] for each in signatures]
    calls.measure("getTransaction, the first", "getTransaction", config[:1])
    calls.measure("getTransaction, further ones", "getTransaction", config[1:])
    calls.measure("getTransaction, the same again", "getTransaction", config[1:])


def _signature(record: Any, index: int) -> Any:
    from solders.signature import Signature

    return Signature.from_bytes(record.transactions[index].signature)


def _write(folder: Path) -> tuple[list[Any], Any]:
    """Two epochs: 88 blocks of December 2020, and one of April 2025 behind a made parent."""
    import zstandard

    from chain.units import Slot
    from upstream.archives.compression import plain
    from upstream.archives.confirmed_block import slot_record
    from upstream.archives.containers import dbin_messages
    from upstream.protobuf import confirmed_block_pb2 as schema

    contents = []
    with (FIXTURES / "mainnet-55065000-55065099.dbin.zst").open("rb") as source:
        for message in dbin_messages(plain(source), 1 << 28):
            outer = schema.ContainedBlock.FromString(message)
            block = schema.ConfirmedBlock.FromString(outer.payload)
            contents.append(files.confirmed(slot_record(block, Slot(outer.number)), block))
    files.publish(folder, contents, others=_OTHERS)
    small = [record for record, _metas, _rewards in contents]
    packed = (FIXTURES / "mainnet-332254855.confirmedblock.pb.zst").read_bytes()
    content = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    block = schema.ConfirmedBlock.FromString(content)
    large = slot_record(block, Slot(332_254_855))
    (parent,) = files.empty_blocks((large.parent_slot, large.parent_slot - 1))
    whole = [files.bare(parent), files.confirmed(large, block)]
    files.publish(folder, whole, others=_OTHERS)
    return small, large


if __name__ == "__main__":
    main()
