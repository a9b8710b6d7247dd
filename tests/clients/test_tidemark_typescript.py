"""clients/typescript: it is fresh, and its own tests and README pass against a service."""

from pathlib import Path

import pytest

from .chain_endpoints import until
from .python_client import root_key_of
from .service import Service
from .test_readme import _is_stored, run_typescript
from .typescript_client import README, SOURCE, Samples, made

ADVICE = "run `make clients-generate`, and commit what it writes"


def test_it_is_that_of_the_documents_and_the_version(generated_typescript: Path) -> None:
    kept = sorted((SOURCE / "src" / "generated").iterdir())
    assert [each.name for each in kept] == sorted(
        each.name for each in (generated_typescript / "src" / "generated").iterdir()
    )
    for file in (*kept, SOURCE / "package.json", SOURCE / "package-lock.json"):
        again = generated_typescript / file.relative_to(SOURCE)
        assert file.read_text(encoding="utf-8") == again.read_text(encoding="utf-8"), ADVICE


@pytest.mark.clients
def test_its_own_tests_pass(followed: Service, typescript: Path) -> None:
    printed = made(
        typescript,
        "npm",
        "test",
        TIDEMARK_URL=followed.base_url,
        TIDEMARK_KEY=followed.key,
        TIDEMARK_ROOT_KEY=root_key_of(followed),
    )
    assert "fail 0" in printed and "skipped 0" in printed and "pass 0" not in printed, printed


@pytest.mark.clients
def test_its_readme_lands_and_reads_the_past(followed: Service, samples: Samples) -> None:
    signature = run_typescript(followed, samples, README).strip()
    until(lambda: _is_stored(followed, signature), "the transaction stored")
    account, *writes = run_typescript(
        followed, samples, README, 1, SIGNATURE=signature
    ).splitlines()
    assert account.split()[1] == "1000000000n"
    assert writes[0].split()[2] == signature
