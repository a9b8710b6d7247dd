"""The recipes of CONTRIBUTING.md lead to a tree that passes the tests they name."""

import os
import re
import shutil
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
# The compiled modules come along: to compile all of them anew takes longer than the tests.
_LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".run", ".hypothesis", ".mypy_cache", ".pytest_cache", "node_modules"
)
_PYTEST = ".venv/bin/pytest -q "
_IN_A_LIST = (",", "(", "[", "{")
_BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_STEP = re.compile(r"# (\S+), (at the end|a new file|above: (.+)|below: (.+))\n")


# Names of a crate and of Django, which the text says.
_OF_OTHERS = {"SVMFeatureSet", "makemigrations"}


def recipes() -> Iterator[str]:
    """Sections that have steps."""
    for section in TEXT.split("\n## ")[1:]:
        if any(_STEP.match(body) for _, body in _BLOCK.findall(section)):
            yield section


def take(step: re.Match[str], lines: str, tree: Path) -> None:
    file = tree / step[1]
    if step[2] == "a new file":
        assert not file.exists(), f"{step[1]} is there already"
        file.write_text(lines, encoding="utf-8")
        return
    text = file.read_text(encoding="utf-8")
    if step[2] == "at the end":
        file.write_text(f"{text}\n\n{lines}", encoding="utf-8")
        return
    anchor = step[3] or step[4]
    found = re.findall(rf"^[ ]*{re.escape(anchor)}\n", text, re.MULTILINE)
    assert len(found) == 1, f"{step[1]} has {len(found)} lines `{anchor}`, which CONTRIBUTING names"
    margin = found[0][: -len(anchor) - 1]
    # A line that opens a bracket has its first element below it.
    if step[4] and anchor.endswith(_IN_A_LIST):
        lines = lines.rstrip("\n") + ",\n"
        margin += "    " * (not anchor.endswith(","))
    added = textwrap.indent(lines, margin)
    both = added + found[0] if step[3] else found[0] + added
    file.write_text(text.replace(found[0], both), encoding="utf-8")


def run(line: str, tree: Path) -> None:
    # The servers and workers of this run are not the copy's.
    ours = ("TIDEMARK_", "PYTEST_", "DJANGO_", "DATABASE_URL", "REDIS_URL")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    ran = subprocess.run(
        line, shell=True, cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, f"{line}\n{ran.stdout[-3_000:]}\n{ran.stderr[-3_000:]}"


def test_the_recipes_lead_to_what_they_promise(tmp_path: Path) -> None:
    tree = tmp_path / "tidemark"
    shutil.copytree(ROOT, tree, ignore=_LEFT_OUT, symlinks=True)
    (tree / ".venv").symlink_to(ROOT / ".venv")
    sections = list(recipes())
    assert len(sections) == 4
    tests: list[str] = []
    # What several recipes run is run once, where the last one does: it writes the same files anew.
    before: dict[str, None] = {}
    for section in sections:
        commands: list[str] = []
        for kind, body in _BLOCK.findall(section):
            step = _STEP.match(body)
            if kind == "sh":
                commands += body.splitlines()
            else:
                assert step is not None, f"CONTRIBUTING does not say where this goes:\n{body}"
                take(step, body[step.end() :], tree)
        *steps, last = commands
        assert last.startswith(_PYTEST), "a recipe ends with the tests that show it"
        tests.append(last.removeprefix(_PYTEST))
        for line in steps:
            before.pop(line, None)
            before[line] = None
    for line in before:
        # `make check` knows the types of the repository; a whole look at a copy takes minutes.
        if not line.endswith("/mypy"):
            run(line, tree)
    run(_PYTEST + " ".join(tests), tree)


def test_each_name_in_a_recipe_is_one_of_the_code() -> None:
    told = TEXT[TEXT.index("\n## Add an RPC method") : TEXT.index("\n## Before you push")]
    prose = re.sub(r"^```.*?^```$", "", told, flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"`([A-Za-z_]\w*)`", prose)) - _OF_OTHERS
    assert len(named) > 20
    folders = ("platform", "priority", "rewind", "historical", "tipping", "tests/priority")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    code = "\n".join(file.read_text(encoding="utf-8") for file in files)
    code += (ROOT / "requirements.txt").read_text(encoding="utf-8")
    made = r"^ *(?:async )?(?:def|class) {0}\b|^ *{0}\b(?: *[:=]|,)|\"{0}\""
    missing = [
        name for name in sorted(named) if not re.search(made.format(name), code, re.MULTILINE)
    ]
    commands = {file.stem for file in (ROOT / "platform").rglob("commands/*.py")}
    folders_named = {file.parent.name for file in files}
    assert not set(missing) - commands - folders_named
