"""Which commands of a Procfile are forked, and with which words."""

import pytest

from config.procfile_commands import argv_of

ENVIRONMENT = {"PORT": "8080", "EMPTY": "", "TWO": "a b"}


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("python manage.py localnet", "python manage.py localnet"),
        ("python manage.py serve --port ${PORT:-8000}", "python manage.py serve --port 8080"),
        ("python manage.py serve --port $PORT", "python manage.py serve --port 8080"),
        ("python manage.py serve --workers ${OF:-2}", "python manage.py serve --workers 2"),
        ("python manage.py serve --workers ${EMPTY:-2}", "python manage.py serve --workers 2"),
        ("celery --app a worker -n i@%h", "celery --app a worker -n i@%h"),
        ("celery beat --pidfile=", "celery beat --pidfile="),
    ],
)
def test_a_command_of_ours_is_forked_with_the_words_that_a_shell_would_make(
    command: str, words: str
) -> None:
    assert argv_of(command, ENVIRONMENT) == words.split()


@pytest.mark.parametrize(
    "command",
    [
        "node server.js",
        "python other.py",
        "python manage.py",
        "PORT=1 python manage.py serve",
        "python manage.py serve | tee log",
        "python manage.py serve --host 'a b'",
        "python manage.py import_blocks *.json",
        "python manage.py serve --host $TWO",
        "python manage.py serve --host $EMPTY",
        "python manage.py serve --host $(hostname)",
        "python manage.py serve --port ${PORT:-a b}",
        "python manage.py serve && true",
        "/usr/bin/celery beat",
    ],
)
def test_a_command_that_needs_a_shell_is_left_to_it(command: str) -> None:
    assert argv_of(command, ENVIRONMENT) is None
