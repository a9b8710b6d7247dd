"""Yellowstone gRPC for customers: what one core serves, of a made stream at mainnet's load."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from benchmarks.sample_chain import TRANSACTIONS
from benchmarks.service import ROOT, database, new_key

_SLOT_SECONDS = 0.4
_SLOTS = 60
_SECONDS = 15.0


def main() -> None:
    with database() as run_dir:
        from access.models import Tier

        key = new_key()
        Tier.objects.update(
            stream_connections=100,
            stream_subscriptions=100,
            stream_notifications_per_second=None,
            stream_bytes_per_month=None,
        )
        for streams in (0, 1, 4):
            _measure(run_dir, key, streams)


def _measure(run_dir: Path, key: str, streams: int) -> None:
    from shared_state.redis_client import client

    client().flushdb()
    source = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.stream_source", str(_SLOTS), str(_SLOT_SECONDS)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert source.stdout is not None
    stream_port, node_port, writes = source.stdout.readline().split()
    port = _free_port()
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "platform")]),
        "TIDEMARK_RUN_DIR": str(run_dir),
        "UPSTREAM_GEYSER_URL": f"http://127.0.0.1:{stream_port}",
        "UPSTREAM_RPC_URL": f"http://127.0.0.1:{node_port}",
        "GRPC_PORT": str(port),
        "LOG_LEVEL": "WARNING",
    }
    started = [
        subprocess.Popen(
            [sys.executable, "manage.py", *words, "--skip-checks"],
            cwd=ROOT,
            env=environment,
            start_new_session=True,
        )
        for words in (["serve_geyser"], ["follow"])
    ]
    readers: list[_Reader] = []
    try:
        _wait(port, key)
        process = psutil.Process(started[0].pid)
        readers = [_Reader(port, key) for _ in range(streams)]
        time.sleep(2.0)
        follower = psutil.Process(started[1].pid)
        before, before_follower = _cpu(process), _cpu(follower)
        counted = sum(each.messages for each in readers), sum(each.bytes for each in readers)
        began = time.monotonic()
        time.sleep(_SECONDS)
        seconds = time.monotonic() - began
        spent, follower_spent = _cpu(process) - before, _cpu(follower) - before_follower
        messages = sum(each.messages for each in readers) - counted[0]
        size = sum(each.bytes for each in readers) - counted[1]
        print(
            f"{streams} streams of all accounts and transactions, of"
            f" {TRANSACTIONS / _SLOT_SECONDS:,.0f} transactions/s and"
            f" {int(writes) / _SLOTS / _SLOT_SECONDS:,.0f} writes/s:"
            f" {messages / seconds:,.0f} messages/s, {size / seconds / 1e6:.1f} MB/s in"
            f" {spent / seconds * 100:.0f} % of a core"
            f" ({messages / spent if spent else 0:,.0f} messages per core-second);"
            f" the follower took {follower_spent / seconds * 100:.0f} %,"
            f" memory {process.memory_info().rss / 1e6:.0f} MB;"
            f" ended: {[each.ended for each in readers if each.ended]}",
            flush=True,
        )
    finally:
        for reader in readers:
            reader.stream.close()
        for each in started:
            os.killpg(each.pid, signal.SIGKILL)
            each.wait()
        source.kill()
        source.wait()


class _Reader:
    """Counts what a stream is sent, without decoding it."""

    def __init__(self, port: int, key: str) -> None:
        from upstream.grpc.stream import GrpcStream
        from upstream.protobuf import geyser_pb2 as schema

        self.messages = self.bytes = 0
        self.ended = ""
        path = "/geyser.Geyser/Subscribe"
        self.stream = GrpcStream(f"http://127.0.0.1:{port}", path, metadata={"x-token": key})
        names: Any = {"all": {}}
        request = schema.SubscribeRequest(accounts=names, transactions=names)
        self.stream.send(request.SerializeToString())
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        from upstream.grpc.status import GrpcStatus

        try:
            for message in self.stream:
                self.messages += 1
                self.bytes += len(message)
        except GrpcStatus as status:
            self.ended = str(status)


def _wait(port: int, key: str) -> None:
    """Until the service knows where the chain is."""
    from upstream.grpc.status import GrpcStatus
    from upstream.grpc.stream import GrpcStream

    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(GrpcStatus, OSError):
            path = "/geyser.Geyser/GetSlot"
            url = f"http://127.0.0.1:{port}"
            with GrpcStream(url, path, metadata={"x-token": key}) as call:
                call.send(b"", last=True)
                next(iter(call))
                return
        time.sleep(0.2)
    raise SystemExit("the service heard nothing of the chain")


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
