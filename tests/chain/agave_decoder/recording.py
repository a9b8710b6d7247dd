"""The made inputs, and what Agave's decoder answered to them.

`python -m tests.chain.agave_decoder.recording PROGRAM` records again; PROGRAM is what `cargo build`
makes of this folder. docs/decisions/json-parsed.md has the whole way.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import zstandard

from tests.chain.agave_decoder.accounts import Account, made_accounts
from tests.chain.agave_decoder.instructions import Instruction, made_instructions
from tests.chain.agave_decoder.token_accounts import made_token_accounts
from tests.chain.agave_decoder.token_instructions import made_token_instructions

Case = Instruction | Account

ANSWERS = Path(__file__).parent / "answers.jsonl.zst"
# What the program writes where Agave's decoder panics.
PANIC = "panic"
_ZSTD_LEVEL = 19


def cases() -> list[Case]:
    """Every made input, once, in the order of the recording."""
    return list(dict.fromkeys(_made()))


def digest(made: list[Case]) -> str:
    """Which inputs these are: the recording holds for no others."""
    return sha256("\n".join(map(_line, made)).encode()).hexdigest()


def recorded() -> tuple[str, list[Any]]:
    """The digest of the inputs and the answers: null where Agave leaves the bytes unparsed."""
    with zstandard.open(ANSWERS, "rt", encoding="utf-8") as lines:
        first, *answers = (json.loads(line) for line in lines)
    return first["inputs"], answers


def ask(program: str | Path, made: list[Case]) -> list[str]:
    """The program's answers to these inputs, one JSON text each with its members sorted."""
    asked = "".join(f"{_line(case)}\n" for case in made)
    done = subprocess.run([program], input=asked, capture_output=True, text=True, check=True)
    lines = done.stdout.removesuffix("\n").split("\n")
    if len(lines) != len(made):
        raise ValueError(f"{len(made)} inputs, but {len(lines)} answers")
    return [json.dumps(json.loads(line), sort_keys=True) for line in lines]


def record(program: str) -> None:
    """Asks the program for its answers and writes them to ANSWERS."""
    made = cases()
    answers = ask(program, made)
    text = "\n".join([json.dumps({"inputs": digest(made)}), *answers, ""])
    ANSWERS.write_bytes(zstandard.compress(text.encode(), _ZSTD_LEVEL))
    print(f"{len(made)} inputs, {ANSWERS.stat().st_size} bytes", file=sys.stderr)


def _made() -> Iterator[Case]:
    yield from made_instructions()
    yield from made_token_instructions()
    yield from made_accounts()
    yield from made_token_accounts()


def _line(case: Case) -> str:
    fields: dict[str, Any]
    if isinstance(case, Instruction):
        fields = {"program": case.program, "accounts": case.accounts}
    else:
        mint = None if case.mint is None else case.mint.hex()
        fields = {"owner": case.owner, "pubkey": case.pubkey, "mint": mint, "now": case.now}
    return json.dumps({**fields, "data": case.data.hex()})


if __name__ == "__main__":
    record(sys.argv[1])
