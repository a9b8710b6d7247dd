"""The self-test passes on this engine, and on no other."""

from dataclasses import replace
from typing import Any

import pytest

from simulator.engine import Engine
from simulator.errors import SelfTestFailed
from simulator.outcome import Outcome
from simulator.self_test import self_test


def test_this_engine_passes() -> None:
    engine = Engine()
    self_test(engine)
    self_test(engine)


@pytest.mark.parametrize(
    "difference",
    [{"units_consumed": 151}, {"err": "AccountNotFound"}, {"post_balances": [0, 0, 1]}],
    ids=str,
)
def test_another_engine_does_not(difference: dict[str, Any]) -> None:
    class Another(Engine):
        def execute(self, *arguments: Any, **options: Any) -> Outcome:
            return replace(super().execute(*arguments, **options), **difference)

    with pytest.raises(SelfTestFailed, match="a transfer"):
        self_test(Another())
