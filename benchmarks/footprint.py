"""How soon `make run` answers, and what it takes while nothing is asked of it (Linux).

The service runs with localnet in a directory of its own; its second start is measured, as an
operator's is; with LOCALNET_VOTES=true each of localnet's blocks has votes. CPU is that of every
process of the run, the servers' included and with it that of children that ended; memory is the
proportional set size, in which a shared page counts once.
"""

import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
_TICK = os.sysconf("SC_CLK_TCK")
_SETTLED_SECONDS, _IDLE_SECONDS = 20.0, 30.0
_LONGEST_START_SECONDS = 300.0
_WRAPPED_SOL = "So11111111111111111111111111111111111111112"
# What a worker is asked first: (path, method, params), and the pages.
_CALLS: list[tuple[str, str, list[Any]]] = [
    ("/historical", "getSlot", []),
    ("/historical", "getBlock", [5]),
    ("/historical", "getTransaction", ["5" * 88]),
    ("/historical", "getSignaturesForAddress", [_WRAPPED_SOL]),
    ("/rewind", "getRewindCoverage", []),
    ("/rewind", "getAccountInfo", [_WRAPPED_SOL, {"slot": 5}]),
    ("/", "getSlot", []),
    ("/priority", "getHealth", []),
    ("/bundle", "getTipAccounts", []),
]
_PAGES = ("/readyz", "/priority/tipinfo", "/", "/admin/login/", "/docs/", "/portal/")


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="tidemark-footprint-"))
    try:
        with _running(folder) as (process, port):
            _first_answer(process, port, folder)
        began = time.monotonic()
        with _running(folder) as (process, port):
            key = _first_answer(process, port, folder)
            print(f"second start: first right answer after {time.monotonic() - began:.2f} s")
            _until_ready(process, port)
            print(f"  /readyz is ok after {time.monotonic() - began:.2f} s")
            _first_calls(process, port, key)
            time.sleep(_SETTLED_SECONDS)
            _idle(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _running(folder: Path) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    port, rpc, geyser, tpu, engine = _ports()
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment = {
        **kept,
        "TIDEMARK_RUN_DIR": str(folder / "run"),
        "PORT": str(port),
        "LOCALNET_RPC_PORT": str(rpc),
        "LOCALNET_GEYSER_PORT": str(geyser),
        "LOCALNET_TPU_PORT": str(tpu),
        "LOCALNET_BLOCK_ENGINE_PORT": str(engine),
        "LOCALNET_VOTES": os.environ.get("LOCALNET_VOTES", "false"),
    }
    command = [sys.executable, "manage.py", "run"]
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield process, port
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)


def _ports() -> list[int]:
    """Free ones; localnet's WebSocket is on the one behind its JSON-RPC."""
    chance = random.SystemRandom()
    while True:
        first = chance.randrange(20_000, 30_000, 8)
        ports = [first, first + 2, first + 4, first + 5, first + 6]
        try:
            for port in (*ports, first + 3):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return ports


def _first_answer(process: "subprocess.Popen[bytes]", port: int, folder: Path) -> str:
    """Asks until the newest slot comes; the key it was asked with."""
    deadline = time.monotonic() + _LONGEST_START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError, ValueError, KeyError, http.client.HTTPException):
            found = json.loads((folder / "run" / "credentials.json").read_text())
            key: str = found["api_keys"]["epic"]
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            with contextlib.closing(connection):
                _, answer = _call(connection, key, *_CALLS[0])
            if isinstance(answer.get("result"), int):
                return key
        time.sleep(0.01)
    raise SystemExit((folder / "output").read_text())


def _until_ready(process: "subprocess.Popen[bytes]", port: int) -> None:
    while process.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with contextlib.suppress(OSError, ValueError), contextlib.closing(connection):
            connection.request("GET", "/readyz")
            if json.loads(connection.getresponse().read())["status"] == "ok":
                return
        time.sleep(0.05)


def _call(
    connection: http.client.HTTPConnection, key: str, path: str, method: str, params: list[Any]
) -> tuple[float, dict[str, Any]]:
    """Milliseconds, and the answer."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    headers = {"Content-Type": "application/json", "Authorization": key}
    began = time.perf_counter()
    connection.request("POST", path, body, headers)
    answer = connection.getresponse().read()
    return 1e3 * (time.perf_counter() - began), json.loads(answer)


def _first_calls(process: "subprocess.Popen[bytes]", port: int, key: str) -> None:
    """The first call of each kind to each web worker, once it is ready."""
    family = psutil.Process(process.pid).children(recursive=True)
    listening = {p.pid: p for p in family if _listens(p, port)}
    masters = {p.ppid() for p in listening.values()}
    missing = {pid: p for pid, p in listening.items() if pid not in masters}
    kept = []
    while missing:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.connect()
        kept.append(connection)
        mine = connection.sock.getsockname()
        time.sleep(0.1)
        found = next((pid for pid, p in missing.items() if _holds(p, mine)), None)
        if found is None:
            continue
        del missing[found]
        slowest = []
        for call in _CALLS:
            slowest.append((_call(connection, key, *call)[0], f"{call[1]} {call[0]}"))
        for path in _PAGES:
            began = time.perf_counter()
            connection.request("GET", path, headers={"Accept": "text/html"})
            connection.getresponse().read()
            slowest.append((1e3 * (time.perf_counter() - began), f"GET {path}"))
        told = ", ".join(f"{name} {took:.1f} ms" for took, name in sorted(slowest)[:-4:-1])
        print(f"worker {found}: slowest of {len(slowest)} first calls: {told}")
    for connection in kept:
        connection.close()


def _listens(process: psutil.Process, port: int) -> bool:
    return any(each.laddr.port == port for each in process.net_connections("tcp"))


def _holds(process: psutil.Process, address: tuple[str, int]) -> bool:
    return any(each.raddr == address for each in process.net_connections("tcp"))


def _idle(folder: Path) -> None:
    before = _usage(folder)
    began = time.monotonic()
    time.sleep(_IDLE_SECONDS)
    seconds = time.monotonic() - began
    after = _usage(folder)
    rows = []
    for pid, (name, cpu) in after.items():
        spent = cpu - (before[pid][1] if pid in before else 0.0)
        rows.append((100 * spent / seconds, _pss(pid), name))
    for pid in before.keys() - after.keys():
        # What it had used before is its parent's by now.
        name, cpu = before[pid]
        rows.append((-100 * cpu / seconds, 0.0, f"ended: {name}"))
    print(f"idle for {seconds:.0f} s:  % of a core    MB PSS")
    for percent, memory, name in sorted(rows, reverse=True):
        print(f"    {percent:22.2f} {memory:9.1f}  {name}")
    cpu, memory = sum(row[0] for row in rows), sum(row[1] for row in rows)
    print(f"    {cpu:22.2f} {memory:9.1f}  {len(rows)} processes, load {os.getloadavg()[0]:.1f}")


def _usage(folder: Path) -> dict[int, tuple[str, float]]:
    """By process of the run: its name, and its CPU seconds with those of children that ended."""
    found = {}
    run_dir = str(folder / "run")
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            is_ours = process.environ().get("TIDEMARK_RUN_DIR") == run_dir
            if not is_ours and not process.cwd().startswith(run_dir):
                continue
            text = Path(f"/proc/{process.pid}/stat").read_text()
            fields = text.rpartition(")")[2].split()
            ticks = sum(map(int, fields[11:15]))
            words = [Path(word).name if "/" in word else word for word in process.cmdline()]
            found[process.pid] = " ".join(words)[:60], ticks / _TICK
    return found


def _pss(pid: int) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1_024
    return 0.0


if __name__ == "__main__":
    main()
