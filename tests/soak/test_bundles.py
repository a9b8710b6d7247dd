"""Ten thousand random bundles: nothing of one is left for the next."""

import os
from collections import Counter

import pytest

from tests.simulator.random_bundles import compare

pytestmark = pytest.mark.soak

BUNDLES = int(os.environ.get("SOAK_BUNDLES", "10000"))
_PART = 500


def test_pooled_engines_answer_as_new_ones() -> None:
    seed = int(os.environ.get("SOAK_SEED", "3"))
    kinds: Counter[str] = Counter()
    for part in range(BUNDLES // _PART):
        kinds += compare(_PART, seed * 1_000 + part)
    print(f"{BUNDLES:,} bundles, no difference: {dict(kinds.most_common(12))}")
    assert kinds["bundles"] > BUNDLES // 5
