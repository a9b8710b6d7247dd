"""Logs in JSON: whatever is logged is one object a line, and so is what others print."""

import io
import json
import logging
import logging.config
import os
import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from config.output.json_lines import PROCESS
from config.output.logs import logging_of
from config.output.printing import JsonPrinter, LinePrinter
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parent.parent.parent

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lines]:
    """What was logged, as settings.LOGGING would write it in a process named ingest."""
    from django.conf import settings

    monkeypatch.setenv(PROCESS, "ingest")
    output = io.StringIO()
    chosen = logging_of("INFO", "json")
    chosen["handlers"]["stderr"]["stream"] = output
    logging.config.dictConfig(chosen)
    yield lambda: [json.loads(line) for line in output.getvalue().splitlines()]
    logging.config.dictConfig(settings.LOGGING)


def test_a_line_says_when_who_and_what(lines: Lines) -> None:
    logging.getLogger("ingest.follower").warning("slot %d\ndid not come", 7, extra={"slot": 7})
    (found,) = lines()
    assert datetime.fromisoformat(found.pop("time")).tzinfo is not None
    assert found == {
        "level": "WARNING",
        "logger": "ingest.follower",
        "process": "ingest",
        "message": "slot 7\ndid not come",
        "slot": 7,
    }


def test_a_traceback_is_one_field(lines: Lines) -> None:
    try:
        raise ValueError("a reason")
    except ValueError:
        logging.getLogger("ingest").exception("it failed")
    (found,) = lines()
    assert found["message"] == "it failed"
    assert found["traceback"].startswith("Traceback")
    assert found["traceback"].endswith("ValueError: a reason")


def test_a_link_to_a_password_is_not_logged_with_what_was_refused(lines: Lines) -> None:
    from django.conf import settings
    from django.test import Client

    browser = Client(enforce_csrf_checks=True)
    paths = (
        "/portal/invitation/",
        "/portal/password/",
        "/portal/alert-address/",
        "/admin/password/MQ/",
    )
    for path in paths:
        assert browser.post(f"{path}hush-token/").status_code == 403
    refused = [each["message"] for each in lines() if each["logger"] == "django.security.csrf"]
    assert [each.partition(": ")[2] for each in refused] == [f"{path}…/" for path in paths]
    assert "without_links" in settings.LOGGING["handlers"]["stderr"]["filters"]


def test_a_request_object_is_left_out_for_its_address_may_hold_a_key(lines: Lines, rf: Any) -> None:
    request = rf.get("/?api_key=tmk_secret")
    extra = {"status_code": 500, "request": request}
    logging.getLogger("django.request").error("Internal Server Error: %s", "/", extra=extra)
    (found,) = lines()
    assert found["status_code"] == 500
    assert "tmk_secret" not in json.dumps(found)


def test_an_outage_is_not_logged_with_each_call_that_it_refuses(lines: Lines, rf: Any) -> None:
    for status in (503, 500):
        extra = {"status_code": status, "request": rf.get("/")}
        logging.getLogger("django.request").error("%s", status, extra=extra)
    assert [each["status_code"] for each in lines()] == [500]


@pytest.mark.django_db
def test_a_slow_call_is_logged_with_its_key_and_request(
    lines: Lines, rpc: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rpc("/historical", "getSlot")
    assert lines() == [], "fast calls are not logged"
    settings.SLOW_CALL_MS = 1e-9
    rpc("/historical", "getSlot")
    (found,) = lines()
    assert (found["method"], found["level"]) == ("getSlot", "WARNING")
    assert found["request_id"] and found["key_id"] and found["milliseconds"] > 0
    settings.SLOW_CALL_MS = 0
    rpc("/historical", "getSlot")
    assert len(lines()) == 1, "0 logs none"


@pytest.mark.django_db
def test_a_failed_call_is_logged_with_its_traceback_and_how_long_it_took(
    lines: Lines, rpc: Any
) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE historical_block RENAME TO nowhere")
    answer = rpc("/historical", "getBlockTime", 7)
    assert answer["error"]["data"]["reason"] == "internal_error"
    raised, took = lines()
    assert "historical_block" in raised["traceback"]
    assert raised["request_id"] == took["request_id"]
    assert (took["method"], took["status"]) == ("getBlockTime", "internal_error")
    assert took["key_id"] == raised["key_id"] and took["milliseconds"] > 0


def test_what_others_print_becomes_an_object_and_objects_pass_as_they_are() -> None:
    output = io.StringIO()
    printer = JsonPrinter(output)
    told = '{"level": "INFO", "message": "as it is"}'
    for text in (told, "[ERROR] a server's own line", '{"half": ', "[1, 2]"):
        printer.write(text, "web")
    first, *wrapped = output.getvalue().splitlines()
    assert first == told
    found = [json.loads(each) for each in wrapped]
    assert [each["message"] for each in found] == [
        "[ERROR] a server's own line",
        '{"half": ',
        "[1, 2]",
    ]
    assert {each["process"] for each in found} == {"web"}


# --- lines that repeat ---


class Window:
    """A clock that stands still within a window, however long a busy machine takes to fill it."""

    def __init__(self) -> None:
        self._now = time.monotonic()

    def monotonic(self) -> float:
        return self._now

    def end(self) -> None:
        self._now += 2.0


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> Window:
    """The window of two seconds in which lines are counted."""
    window = Window()
    clock = SimpleNamespace(monotonic=window.monotonic)
    monkeypatch.setattr("config.output.repeated_lines.time", clock)
    return window


@pytest.fixture
def limited(lines: Lines, window: Window) -> Lines:
    """Three lines of a kind pass in two seconds."""
    from django.conf import settings

    output = io.StringIO()
    chosen = logging_of("INFO", "json")
    chosen["handlers"]["stderr"]["stream"] = output
    chosen["filters"]["repeated_lines"] |= {"most": 3, "seconds": 2.0}
    assert "repeated_lines" in settings.LOGGING["handlers"]["stderr"]["filters"]
    logging.config.dictConfig(chosen)
    return lambda: [json.loads(line) for line in output.getvalue().splitlines()]


def summaries(limited: Lines, window: Window) -> list[dict[str, Any]]:
    """As soon as there is one behind the window."""
    window.end()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := [each for each in limited() if "repeated" in each]):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def test_of_lines_that_repeat_a_few_pass_and_then_their_number(
    limited: Lines, window: Window
) -> None:
    log = logging.getLogger("celery.beat")
    for number in range(200):
        try:
            raise ConnectionError("away")
        except ConnectionError:
            log.exception("no task can be started: %d", number)
    (summary,) = summaries(limited, window)
    assert summary["level"] == "ERROR" and summary["logger"] == "celery.beat"
    passed = [each for each in limited() if "repeated" not in each]
    assert len(passed) + summary["repeated"] == 200 and len(passed) == 3
    assert all("traceback" in each for each in passed) and "traceback" not in summary
    said = f"… repeated {summary['repeated']} times in 2 s: no task can be started: 3"
    assert summary["message"] == said
    log.error("no task can be started: %d", 7)
    assert limited()[-1]["message"] == "no task can be started: 7", "a new window has begun"


def test_another_template_exception_method_or_level_is_another_line(
    limited: Lines, window: Window
) -> None:
    log = logging.getLogger("jsonrpc.dispatch")
    for error in (ValueError(), KeyError()):
        for method in ("getBlock", "getSlot"):
            for _ in range(4):
                log.error("failed: %s", "x", exc_info=error, extra={"method": method})
    for _ in range(40):
        log.info("failed: %s", "x")
    passed = [each for each in limited() if "repeated" not in each]
    assert len([each for each in passed if each["level"] == "ERROR"]) == 2 * 2 * 3
    assert len([each for each in passed if each["level"] == "INFO"]) == 40, "nothing is wrong there"
    assert sum(each["repeated"] for each in summaries(limited, window)) >= 1


def test_processes_that_follow_each_other_write_as_few_as_one(
    tmp_path: Path, window: Window
) -> None:
    """As a worker's pool processes, which are replaced after some tasks."""
    from django.conf import settings

    path = tmp_path / "lines"
    chosen = logging_of("INFO", "json")
    chosen["filters"]["repeated_lines"] |= {"most": 3, "seconds": 2.0}
    with path.open("a") as stream:
        chosen["handlers"]["stderr"]["stream"] = stream
        logging.config.dictConfig(chosen)
        try:
            for _ in range(4):
                if not (pid := os.fork()):
                    for number in range(5):
                        logging.getLogger("ingest").warning("slot %d waits", number)
                    os._exit(0)
                os.waitpid(pid, 0)
            assert len(path.read_text().splitlines()) == 3
            window.end()
            logging.getLogger("ingest").warning("slot %d waits", 7)
        finally:
            logging.config.dictConfig(settings.LOGGING)
    told = [json.loads(line)["message"] for line in path.read_text().splitlines()[3:]]
    assert told == ["… repeated 17 times in 2 s: slot 7 waits", "slot 7 waits"]


def test_texts_that_differ_in_their_values_alone_are_one_kind(limited: Lines) -> None:
    """As asyncio and other libraries write them, without arguments."""
    log = logging.getLogger("asyncio")
    for number in range(20):
        log.error(f"Task exception was never retrieved\nfuture: <Task name='Task-{number}'>")
        log.error(f"Unclosed connection at 0x7f{number:x}, client '10.0.0.{number}'")
    passed = [each for each in limited() if "repeated" not in each]
    assert len(passed) == 2 * 3


def test_an_outage_is_not_one_kind_for_each_method(limited: Lines) -> None:
    log = logging.getLogger("jsonrpc.dispatch")
    for number in range(20):
        log.warning("calls are answered %s: %s", "x", "y", extra={"method": f"get{number}"})
    assert len([each for each in limited() if "repeated" not in each]) == 3


def test_bytes_in_a_text_are_escaped_and_a_long_one_is_cut() -> None:
    output = io.StringIO()
    chosen = logging_of("INFO", "line")
    chosen["handlers"]["stderr"]["stream"] = output
    logging.config.dictConfig(chosen)
    try:
        log = logging.getLogger("priority.lander")
        log.warning("COPY failed: %s", 'line 1: "\x00\x1b[2J\r\x9b\u202eabc\ud800"')
        log.warning("%s", "x" * 1_000_000)
    finally:
        from django.conf import settings

        logging.config.dictConfig(settings.LOGGING)
    first, second = output.getvalue().splitlines()
    assert first.endswith(r'COPY failed: line 1: "\x00\x1b[2J\r\x9b\u202eabc\ud800"')
    assert len(second) < 5_000 and second.endswith("more characters)")


def test_lines_for_people_are_limited_too() -> None:
    from django.conf import settings

    output = io.StringIO()
    chosen = logging_of("INFO", "line")
    chosen["handlers"]["stderr"]["stream"] = output
    logging.config.dictConfig(chosen)
    try:
        for _ in range(50):
            logging.getLogger("ingest").warning("waiting")
    finally:
        logging.config.dictConfig(settings.LOGGING)
    assert output.getvalue() == "WARNING ingest: waiting\n" * 5


def test_lines_for_people_name_their_program() -> None:
    output = io.StringIO()
    LinePrinter(output, ["web", "lander"]).write("one\ntwo", "web")
    first, second = output.getvalue().splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d web    \| one", first)
    assert second.endswith("web    | two")


def test_lines_have_a_colour_on_a_terminal_alone() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    output = Terminal()
    printer = LinePrinter(output, ["web", "lander"])
    printer.write("ready", "web")
    printer.write("ready", "lander")
    first, second = output.getvalue().splitlines()
    assert first.startswith("\x1b[0m\x1b[36m") and first.endswith("web    | \x1b[0mready")
    assert second.startswith("\x1b[0m\x1b[33m")
