"""The disk of the run directory fails under load, as Linux makes it read-only after an error: what
is refused says why, and after a repair and a new start everything accepted has its fate.
"""

import os
import subprocess
import tempfile
import time
from collections import Counter
from contextlib import ExitStack

import pytest
from solders.hash import Hash

from tests.clients.service import prepared, running_in
from tests.readiness import readyz_of
from tests.soak.doors import Doors
from tests.soak.submitting import Answered, Sender
from tests.soak.test_chaos import localnet_of, rows
from tests.soak.test_foreign_servers import MEANT, OUTAGES, wait_until_well
from tests.soak.test_landing_chaos import (
    TipAddresses,
    all_fates,
    compare,
    fresh,
    funded,
    newest_blockhash,
)
from tests.unwritable_database import failing_disk

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "20"))


def test_a_service_whose_disk_fails_goes_on_after_its_repair() -> None:
    with ExitStack() as stack:
        disk = stack.enter_context(failing_disk("2g"))
        environment = prepared(disk.folder, LOCALNET="true", LOCALNET_SLOT_MS="200")
        # The chain is elsewhere, as mainnet is: this one's files are not synced.
        (disk.folder / "run" / "localnet").symlink_to(stack.enter_context(_folder()))
        subprocess.run(["sync", "-f", disk.folder], check=True)
        with running_in(disk.folder, environment) as service:
            localnet = localnet_of(service)
            rows(service, "UPDATE access_tier SET requests_per_second = NULL WHERE name = 'epic'")
            known: list[Hash] = []

            def blockhash() -> Hash:
                try:
                    known[:] = [Hash.from_string(newest_blockhash(localnet))]
                except (OSError, AssertionError, ValueError):
                    assert known  # localnet's log is on that disk
                return known[0]

            answered = Answered()
            payer, tips = funded(localnet), TipAddresses(service).next
            before, meanwhile = (
                Sender(
                    service,
                    payer,
                    tips,
                    fresh(blockhash, seconds=1.0),
                    answered,
                    per_second=10.0,
                    seed=seed,
                )
                for seed in (3, 4)
            )
            before.start()
            time.sleep(SECONDS / 2)
            before.stop()
            # With a machine the last second of what was accepted may be lost (docs/operators.md).
            time.sleep(3)
            doors = Doors(service)
            disk.fail()
            time.sleep(3)
            meanwhile.start()
            time.sleep(SECONDS)
            code, found = readyz_of(service.base_url, service.run_dir, timeout=60)
            meanwhile.stop()
            doors.stop()
        tried = doors.tried()
        why = {name: each["why"] for name, each in found["checks"].items() if "why" in each}
        disk.repair()
        with running_in(disk.folder, environment) as service:
            settled = wait_until_well(service)
            fates, final = all_fates(service, list(answered.accepted))
            print(
                f"\n{code} {why}; {dict(sum(tried.answers.values(), Counter()))};"
                f" {len(fates)} accepted, refused {dict(answered.refused)}; well after"
                f" {settled:.1f} s, final after {final:.1f} s"
            )
            assert code == 503 and "read-only" in why["disk"]
            assert tried.kinds() | set(answered.refused) <= OUTAGES | MEANT | {
                "upstream_unreachable"
            }
            assert len(fates) == len(answered.accepted) > 0
            compare(localnet, fates, answered.accepted)


def _folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="tidemark-chain-")
