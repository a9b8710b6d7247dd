"""HTTP/2 by h2spec, a suite that others wrote: docs/testing.md says how to get it."""

import os
import shutil
import subprocess

import pytest

from tests.yellowstone.conftest import Geyser

H2SPEC = os.environ.get("TIDEMARK_TEST_H2SPEC") or shutil.which("h2spec") or ""
# A GET is answered by 415 in one HEADERS frame, where these two expect a body.
_NO_BODY = {
    "Sends a WINDOW_UPDATE frame on half-closed (remote) stream",
    "Sends a PRIORITY frame on half-closed (remote) stream",
}
# Its streams were answered and wait for their client's half-close: the oldest one makes room for
# the new one. To refuse that would refuse calls of others behind a proxy's connection.
_MAKES_ROOM = {
    "Sends HEADERS frames that causes their advertised concurrent stream limit to be exceeded"
}


@pytest.mark.skipif(not H2SPEC, reason="h2spec is not on PATH, and TIDEMARK_TEST_H2SPEC is not set")
def test_http2_is_as_its_rfcs_say(geyser: Geyser) -> None:
    asked = ["-p", str(geyser.port), "-P", "/grpc.health.v1.Health/Check", "-o", "3"]
    done = subprocess.run([H2SPEC, *asked], capture_output=True, text=True, check=False)
    failed = {line.split(": ", 1)[1] for line in done.stdout.splitlines() if "\u00d7 " in line}
    assert failed <= _NO_BODY | _MAKES_ROOM, done.stdout
    assert "145 tests" in done.stdout
