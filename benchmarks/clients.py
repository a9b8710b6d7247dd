"""The clients that make the load: wrk or oha where this machine has them, else benchmarks/load.py.

`CLIENT` names one of wrk, oha and own.
"""

import itertools
import json
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import load
from benchmarks.load import Figures

# Base address as http://host:port, whole HTTP requests, connections, seconds.
Run = Callable[[str, Sequence[bytes], int, float], Figures]

# Requests one after the other, round and round, each a whole HTTP request: no header is wrk's own.
_WRK_SCRIPT = r"""
local requests, following = {}, 0
function init(arguments)
  local file = io.open(os.getenv("REQUESTS"), "rb")
  for length in file:lines() do
    requests[#requests + 1] = file:read(tonumber(length))
    file:read(1)
  end
  file:close()
end
function request()
  following = following % #requests + 1
  return requests[following]
end
function done(summary, latency)
  local failed = summary.errors
  io.write(string.format("figures %d %d %d %d %d %d\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), summary.bytes,
    failed.connect + failed.read + failed.write + failed.status + failed.timeout))
end
"""


class LoadFailed(RuntimeError):
    """Some requests got no answer, or one that is no success."""


# A turn without a single answer, on a machine with much else to do, is taken again for so long.
_LONGEST_SECONDS = 10.0

# wrk and oha do not read answers: errors in place of them are shorter.
_LEAST_OF_SIZE = 0.7


def require_size(
    figures: Figures, expected: float, again: Callable[[int], Figures] | None = None
) -> None:
    """Raises LoadFailed where the answers were much shorter than they should be, on average.
    `expected` may be of other requests of the same list, whose answers differ in size: `again`
    sends as many of the same ones once more, and reads their answers.
    """
    if again is not None and figures.bytes_each < _LEAST_OF_SIZE * expected:
        expected = again(figures.answers).bytes_each
    if figures.bytes_each < _LEAST_OF_SIZE * expected:
        raise LoadFailed(f"answers of {figures.bytes_each:,.0f} bytes instead of {expected:,.0f}")


@dataclass(frozen=True, slots=True)
class Client:
    """A load client by name and version; `run` takes figures with it."""

    name: str
    run: Run


def chosen(*names: str) -> Client:
    """The first of the clients that this machine has, or the one that CLIENT names."""
    wanted = os.environ.get("CLIENT", "")
    if wanted and wanted not in _MAKERS:
        raise SystemExit(f"CLIENT={wanted}: expected one of {', '.join(_MAKERS)}")
    for name in [wanted] if wanted else names:
        found = _MAKERS[name]()
        if found is not None:
            return found
    raise SystemExit(f"CLIENT={wanted} is not on this machine")


def _wrk() -> Client | None:
    program = shutil.which("wrk")
    if program is None:
        return None
    version = subprocess.run([program, "-v"], capture_output=True, text=True, check=False)
    return Client(" ".join(version.stdout.split()[:2]), _run_wrk)


def _run_wrk(base: str, requests: Sequence[bytes], connections: int, seconds: float) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        script, written = Path(folder, "load.lua"), Path(folder, "requests")
        script.write_text(_WRK_SCRIPT, encoding="utf-8")
        written.write_bytes(b"".join(b"%d\n%b\n" % (len(each), each) for each in requests))
        taken = subprocess.run(
            [
                "wrk",
                "--threads",
                "1",
                "--connections",
                str(connections),
                "--duration",
                f"{math.ceil(seconds)}s",
                "--timeout",
                "30s",
                "--script",
                str(script),
                base,
            ],
            env={**os.environ, "REQUESTS": str(written)},
            capture_output=True,
            text=True,
            check=False,
        )
    lines = [line for line in taken.stdout.splitlines() if line.startswith("figures ")]
    if taken.returncode or not lines:
        raise LoadFailed(f"wrk: {taken.stdout}{taken.stderr}")
    count, microseconds, p50, p99, received, failed = map(int, lines[0].split()[1:])
    if not count and not failed and seconds < _LONGEST_SECONDS:
        return _run_wrk(base, requests, connections, _LONGEST_SECONDS)  # something else ran
    if failed or not count:
        raise LoadFailed(f"{count} requests of {base} were answered, {failed} failed")
    return Figures(count / microseconds * 1e6, p50 / 1e6, p99 / 1e6, received, count)


def _oha() -> Client | None:
    program = shutil.which("oha")
    if program is None:
        return None
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return Client(version.stdout.strip(), _run_oha)


def _run_oha(base: str, requests: Sequence[bytes], connections: int, seconds: float) -> Figures:
    """One path and head for all, and bodies at random: that is what oha can send."""
    head, _, _ = requests[0].partition(b"\r\n\r\n")
    first, *headers = head.decode().split("\r\n")
    method, path, _ = first.split()
    sent = [each for each in headers if not each.lower().startswith(("host:", "content-length:"))]
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, "bodies")
        written.write_bytes(b"\n".join(each.partition(b"\r\n\r\n")[2] for each in requests))
        taken = subprocess.run(
            [
                "oha",
                "--no-tui",
                "--output-format",
                "json",
                "-m",
                method,
                "-z",
                f"{seconds * 1e3:.0f}ms",
                "-c",
                str(connections),
                "-t",
                "30s",
                *itertools.chain.from_iterable(("-H", each) for each in sent),
                "-Z",
                str(written),
                base + path,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    if taken.returncode:
        raise LoadFailed(f"oha: {taken.stderr}")
    found = json.loads(taken.stdout)
    codes = found["statusCodeDistribution"]
    # Cut off at the end of the time: as many as there are connections.
    errors = {
        name: count
        for name, count in found["errorDistribution"].items()
        if name != "aborted due to deadline"
    }
    if set(codes) != {"200"} or errors:
        raise LoadFailed(f"{base} answered {codes}, errors {errors}")
    times, summary = found["latencyPercentiles"], found["summary"]
    count = codes["200"]
    rate = count / summary["total"]
    return Figures(rate, times["p50"], times["p99"], summary["totalData"], count)


def _own() -> Client | None:
    return Client("benchmarks/load.py", _run_own)


def _run_own(base: str, requests: Sequence[bytes], connections: int, seconds: float) -> Figures:
    host, _, port = base.removeprefix("http://").partition(":")
    if not base.startswith("http://"):
        raise SystemExit(f"{base}: benchmarks/load.py speaks plain HTTP only; install wrk or oha")
    return load.run((host, int(port or 80)), requests, connections=connections, seconds=seconds)


_MAKERS: dict[str, Callable[[], Client | None]] = {"wrk": _wrk, "oha": _oha, "own": _own}
