"""Imports that meet in the database."""

import io
import threading
from pathlib import Path

from django.core.management import call_command
from django.db import connection

from historical.models import Block, Import, Transaction
from tests.upstream import sample_blocks as sample


def test_two_imports_of_one_file_at_once_store_it_once(transactional_db, tmp_path):
    call_command("flush", verbosity=0, interactive=False)
    path = Path(tmp_path, f"block-{sample.SLOT}.json")
    path.write_bytes(sample.json_file())
    problems: list[BaseException] = []
    ready = threading.Barrier(6)

    def work() -> None:
        try:
            ready.wait()
            call_command(
                "import_blocks",
                str(path),
                "--genesis",
                "mainnet",
                stdout=io.StringIO(),
                stderr=io.StringIO(),
            )
        except BaseException as problem:
            problems.append(problem)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert Block.objects.count() == 1
    assert Transaction.objects.count() == 2
    done = Import.objects.filter(state="done")
    assert sorted(entry.blocks_recorded for entry in done) == [0, 0, 0, 0, 0, 1]
    assert sorted(entry.blocks_present for entry in done) == [0, 1, 1, 1, 1, 1]
