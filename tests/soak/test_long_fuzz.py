"""Readers of files fed with broken bytes for minutes."""

import os
import random
import time
from pathlib import Path

import pytest
import zstandard

from tests.upstream import sample_blocks as sample
from upstream.archives.block_files import open_block_file
from upstream.archives.errors import BadBlockFile

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "90"))


def mutated(chance: random.Random, data: bytes) -> bytes:
    broken = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(broken))
        kind = chance.randrange(4)
        if kind == 0:
            broken[at] = chance.randrange(256)
        elif kind == 1:
            del broken[at : at + chance.randint(1, 40)]
        elif kind == 2:
            broken[at:at] = chance.randbytes(chance.randint(1, 20))
        else:
            del broken[max(1, at) :]
        if not broken:
            break
    return bytes(broken)


def test_nothing_but_bad_block_file_comes_of_broken_bytes(tmp_path: Path) -> None:
    seeds = [sample.json_file(encoding) for encoding in ("json", "base64", "base58")]
    seeds.append(sample.block_message().SerializeToString())
    seeds += [zstandard.compress(seed) for seed in seeds]
    chance = random.Random(20)
    path = tmp_path / "block-103"
    tried = refused = 0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        path.write_bytes(mutated(chance, chance.choice(seeds)))
        tried += 1
        try:
            with open_block_file(path) as blocks:
                for _ in blocks:
                    pass
        except BadBlockFile as problem:
            refused += 1
            assert problem.reason
    print(f"{tried:,} broken files, {refused:,} refused")
    assert tried > 1000
