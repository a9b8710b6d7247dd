"""Agave's own decoder, compiled: the recording of tests/chain is its answers, and ours are as well
to inputs that were never recorded.
"""

import os
import subprocess
from pathlib import Path
from random import Random, SystemRandom

import pytest

from tests.chain.agave_decoder import recording
from tests.chain.agave_decoder.mutants import mutants
from tests.chain.agave_decoder.ours import shown, text

from .conftest import needed

pytestmark = pytest.mark.clients
MUTANTS = 100_000


@pytest.fixture(scope="module")
def program(request: pytest.FixtureRequest) -> Path:
    needed("cargo")
    assert request.config.cache is not None
    target = request.config.cache.mkdir("agave-decoder")
    # The crates ask for the compiler that Agave is built with; an older one compiles these two.
    done = subprocess.run(
        ["cargo", "build", "--locked", "--ignore-rust-version"],
        cwd=recording.ANSWERS.parent,
        env={**os.environ, "CARGO_TARGET_DIR": str(target)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return target / "debug" / "agave_decoder"


def test_the_recording_is_what_agave_answers(program: Path) -> None:
    _, recorded = recording.recorded()
    assert recording.ask(program, recording.cases()) == [text(answer) for answer in recorded]


def test_made_inputs_with_changed_bytes_are_shown_as_agave_shows_them(program: Path) -> None:
    seed = SystemRandom().getrandbits(32)
    made = mutants(recording.cases(), MUTANTS, Random(seed))
    differing = [
        (case, answer)
        for case, answer in zip(made, recording.ask(program, made), strict=True)
        if answer not in (text(shown(case)), text(recording.PANIC))
    ]
    assert not differing, f"seed {seed}: {len(differing)} differ, the first: {differing[0]}"
