"""A run directory on a disk that fails."""

from embedded.passwords import read_or_make
from tests.unwritable_database import failing_disk


def test_a_secret_that_was_made_is_there_after_the_machine_failed() -> None:
    with failing_disk() as disk:
        run_dir = disk.folder / "run"
        assert read_or_make(run_dir, "tip_seed", lambda: "first") == "first"
        disk.fail()
        disk.repair()
        assert read_or_make(run_dir, "tip_seed", lambda: "second") == "first"
