"""WebSocket by the Autobahn test suite, which others wrote: docs/testing.md says how to get it."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.webserver.application import served
from tests.webserver.echo import echo

WSTEST = os.environ.get("TIDEMARK_TEST_WSTEST") or shutil.which("wstest") or ""
# Text that is wrong in a frame that is not whole: the library has frames only once they are.
_NON_STRICT = {"6.4.3", "6.4.4"}
# What the RFC leaves open: a message before a close frame is answered, the codes 5000 and 65535
# end with 1002.
_INFORMATIONAL = {"7.1.6", "7.13.1", "7.13.2"}
# Without compression, which is not offered (12 and 13).
_SECTIONS = ("1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "9.*", "10.*")


@pytest.mark.soak
@pytest.mark.skipif(not WSTEST, reason="wstest is not on PATH, and TIDEMARK_TEST_WSTEST is not set")
def test_websocket_is_as_its_rfc_says(tmp_path: Path) -> None:
    spec = tmp_path / "spec.json"
    with served() as server:
        server.application.upgrade = echo
        asked = {
            "outdir": str(tmp_path),
            "servers": [{"agent": "ours", "url": f"ws://127.0.0.1:{server.port}/socket"}],
            "cases": _SECTIONS,
            "exclude-cases": [],
            "exclude-agent-cases": {},
        }
        spec.write_text(json.dumps(asked))
        environment = {"PATH": os.environ["PATH"]}
        command = [WSTEST, "-m", "fuzzingclient", "-s", str(spec)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "index.json").read_text())["ours"]
    outcomes: dict[str, set[str]] = {}
    for name, case in found.items():
        ends = "" if case["behaviorClose"] in ("OK", "INFORMATIONAL") else case["behaviorClose"]
        outcomes.setdefault(case["behavior"] + ends, set()).add(name)
    passed = outcomes.pop("OK")
    assert outcomes == {"NON-STRICT": _NON_STRICT, "INFORMATIONAL": _INFORMATIONAL}
    assert len(passed) == 296
