"""Terminals: a command writes nothing to one that steers it."""

import io
import os
import sys
from typing import Any

import pytest

from config.output import terminal


@pytest.mark.django_db
def test_no_command_steers_a_terminal_with_what_others_wrote(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from django.core.management import call_command
    from django.utils import timezone
    from solders.pubkey import Pubkey

    from rewind.replay.services.builds import add_build
    from tests.simulator.elf import SUCCEEDS

    program = Pubkey([9] * 32)
    name = "\x1b[2J\x1b]0;owned\x07\u202eso.x"
    add_build(
        program, SUCCEEDS, loader=3, from_slot=1, to_slot=None, source=name, now=timezone.now()
    )
    ours, theirs = os.openpty()
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(sys, stream, os.fdopen(os.dup(theirs), "w"))
    terminal.guard()
    call_command("program_builds")
    sys.stdout.write("\x1b[32mour own colour\x1b[0m\r\x1b[K")
    sys.stdout.flush()
    text = ""
    while not text.endswith("\x1b[K"):  # a terminal gives what it has
        text += os.read(ours, 100_000).decode()
    assert r"\x1b[2J\x1b]0;owned\x07\u202eso.x" in text
    assert "\x1b[32mour own colour\x1b[0m\r\x1b[K" in text
    assert not {"\x1b[2J", "\x07", "\u202e"} & {*text} and "\x1b[2J" not in text


def test_a_pipe_is_given_the_bytes_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe: Any = io.StringIO()
    monkeypatch.setattr(sys, "stdout", pipe)
    terminal.guard()
    assert sys.stdout is pipe
