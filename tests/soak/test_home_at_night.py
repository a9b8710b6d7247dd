"""Each process in turn is stopped or killed: what home says 5, 30 and 60 seconds later.

Prints the rows of the table in docs/operators.md.
"""

import html
import http.cookiejar
import json
import os
import re
import signal
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import psutil
import pytest

from tests.clients.service import Service, running_service
from tests.localnet_process import free_ports
from tests.soak.test_hung_processes import is_there, pid_of, unwell, wait

pytestmark = pytest.mark.soak

MOMENTS = tuple(float(each) for each in os.environ.get("SOAK_MOMENTS", "5 30 60").split())
VICTIMS = tuple(
    os.environ.get(
        "SOAK_VICTIMS",
        "web worker ingest simulations follower lander grpc beat localnet postgres valkey",
    ).split()
)
# Whose light has to turn red.
LIGHTS = {
    "web": "calling",
    "worker": "room",
    "ingest": "following",
    "simulations": "room",
    "follower": "following",
    "lander": "landing",
    "beat": "room",
    "localnet": "following",
    "grpc": "calling",
}
# What carries the page itself: it may not be there to say anything.
_BELOW = {"web", "postgres", "valkey"}
_SETTLED_SECONDS = 180.0
# As long as the page waits for an answer before it says that it is stale (live.js).
_PATIENCE = 8.0
_LIGHT = re.compile(r'class="tm-light tm-is-(\w+)" id="light-(\w+)"')
_FIRST = re.compile(r'<div class="tm-problem.*?<li>\s*<p>(.*?)<span', re.S)


@dataclass(frozen=True, slots=True)
class Said:
    """The colour of each light, the first problem, and what would fix it; `lights` is empty where
    the page gets no answer, which it says itself: `text`.
    """

    lights: dict[str, str]
    text: str

    def __str__(self) -> str:
        if not self.lights:
            return f"stale: {self.text}"
        wrong = [f"{name} {hue}" for name, hue in self.lights.items() if hue != "good"]
        return "; ".join([*wrong, self.text]) if wrong else "all green"


class Home:
    """An operator's browser, signed in."""

    def __init__(self, service: Service) -> None:
        self.base = service.base_url
        jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        login = json.loads((service.run_dir / "credentials.json").read_text())["admin"]
        page = self.opener.open(f"{self.base}/admin/login/").read().decode()
        token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
        body = {"username": login["username"], "password": login["password"]}
        self.opener.open(
            urllib.request.Request(
                f"{self.base}/admin/login/",
                urlencode({**body, "csrfmiddlewaretoken": token}).encode(),
                {"Referer": f"{self.base}/admin/login/"},
            )
        ).read()

    def says(self) -> Said:
        """What the page shows at this moment."""
        try:
            with self.opener.open(f"{self.base}/admin/live/", timeout=_PATIENCE) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            return Said({}, str(json.load(error).get("why")))
        except OSError:
            return Said({}, "the server does not answer")
        first = _FIRST.search(text)
        words = "" if first is None else " ".join(re.sub(r"<[^>]+>", "", first[1]).split())
        words = html.unescape(words)
        return Said({name: hue for hue, name in _LIGHT.findall(text)}, words)


@pytest.mark.parametrize("alone", [False, True], ids=["supervised", "alone"])
def test_home_says_what_is_wrong_and_when_it_is_over(alone: bool) -> None:
    """Under `make run`, which restarts what it finds; and `alone`, with `make run` stopped too."""
    grpc = {"GRPC_PORT": str(free_ports(1)[0])}
    with running_service(LOCALNET="true", WEB_WORKERS="2", **grpc) as service:
        wait(lambda: not unwell(service), _SETTLED_SECONDS, "all processes run")
        home = Home(service)
        wait_for_green(home, "at first")
        for victim in VICTIMS:
            for by in (signal.SIGSTOP, signal.SIGKILL):
                found = walk(service, home, victim, by, alone=alone)
                told = " | ".join(str(each) for each in found)
                print(f"| {victim} | {by.name} | {told} |", flush=True)
                held = [each for each in found if victim not in _BELOW]
                check(victim, held, alone=alone, by=by)
                wait(lambda: not unwell(service), _SETTLED_SECONDS, f"well after {victim}")
                wait_for_green(home, f"after {victim}")


def wait_for_green(home: Home, when: str) -> None:
    given_up_at = time.monotonic() + _SETTLED_SECONDS
    while not is_green(said := home.says()):
        assert time.monotonic() < given_up_at, f"{when}: {said}"
        time.sleep(0.5)


def is_green(said: Said) -> bool:
    return bool(said.lights) and set(said.lights.values()) == {"good"}


def walk(
    service: Service, home: Home, victim: str, by: signal.Signals, *, alone: bool
) -> list[Said]:
    """What home says at each moment."""
    pid = pid_of(service, victim)
    supervisor = psutil.Process(pid).ppid()
    if alone:
        os.kill(supervisor, signal.SIGSTOP)
    os.kill(pid, by)
    began, found = time.monotonic(), []
    try:
        for moment in MOMENTS:
            time.sleep(max(0.0, began + moment - time.monotonic()))
            found.append(home.says())
    finally:
        if alone:
            if is_there(pid):
                os.kill(pid, signal.SIGCONT)
            os.kill(supervisor, signal.SIGCONT)
    return found


def check(victim: str, found: list[Said], *, alone: bool, by: signal.Signals) -> None:
    if not found:
        return
    first, *_, last = found
    light: Any = LIGHTS[victim]
    if alone:  # nothing brings it back: red, and red
        assert [each.lights.get(light) for each in found] == ["bad"] * len(found), found
        assert victim in first.text, found
    elif by is signal.SIGSTOP:  # 20 s until it is restarted
        assert first.lights.get(light) == "bad" and victim in first.text, found
        assert last.lights.get(light) != "bad" or victim not in last.text, found
    else:  # restarted within seconds
        assert victim not in last.text, found
