"""Engine processes that have run many bundles answer as a VM made for each."""

from tests.simulator.random_bundles import compare


def test_hundreds_of_bundles() -> None:
    kinds = compare(250, seed=1)
    assert kinds["bundles"] > 60
    assert kinds["closed accounts"] > 20
    assert len(kinds) > 8
