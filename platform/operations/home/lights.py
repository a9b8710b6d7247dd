"""The four lights of the home page: each a colour and one plain sentence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from operations.home import figures
from operations.home.cards import Card
from operations.home.landing import MEANING, MINUTES
from operations.readings.present import Readings
from operations.rules.rule import Area
from operations.services.findings import Found
from operations.status.states import is_off
from staff.formatting import counted, grouped, milliseconds, size_of

LIGHTS = {
    Area.FOLLOWING: "Following",
    Area.LANDING: "Landing",
    Area.CALLING: "Callable",
    Area.ROOM: "Room",
}
_WORDS = {"good": "OK", "warning": "Attention", "bad": "Alarm", "quiet": "Off"}


@dataclass(frozen=True, slots=True)
class Light:
    """One area: `hue` is good, warning, bad, or quiet where it is switched off. `meaning` is the
    address of the definition of a figure in the sentence, `more` a sentence with links behind it.
    """

    area: Area
    hue: str
    sentence: str
    meaning: str = ""
    more: str = ""

    @property
    def title(self) -> str:
        return LIGHTS[self.area]

    @property
    def word(self) -> str:
        return _WORDS[self.hue]


def light(
    area: Area,
    readings: Readings,
    found: Sequence[Found],
    cards: Sequence[Card],
    *,
    may_see: bool,
) -> Light:
    """The worst finding of the area or of one of its cards, as its own sentence: a light is never
    better than a card below it. Users who may not see alarms see only its colour.
    """
    on_cards = [each for card in cards for each in card.found]
    here = [each for each in found if area in each.place.lights or each in on_cards]
    troubles = [card.shown.trouble for card in cards if card.shown.trouble is not None]
    if here:
        worst, others = here[0], len(here) - 1
        more = f" And {counted(others, 'more problem')}." if others else ""
        sentence = f"{worst.finding.text}{more}" if may_see else "There are active alarms."
        return Light(area, worst.hue, sentence)
    if troubles:
        label, hue, hint = max(troubles, key=lambda each: each[1] == "bad")
        return Light(area, hue, f"{label[:1].upper()}{label[1:]}. {hint}".strip())
    hue, sentence = _WELL[area](readings)
    meaning = MEANING if area is Area.LANDING and readings.landing.rate is not None else ""
    return Light(area, hue, sentence, meaning)


def _following(now: Readings) -> tuple[str, str]:
    chain = now.chain
    if is_off(Area.FOLLOWING, now):
        return "quiet", "No chain is followed: the ledger has what was imported."
    if chain.behind is None:
        return "good", "The stream is connected; nothing is stored yet."
    if chain.behind == 0:
        return "good", "Everything is stored up to the newest finalized slot."
    return "good", f"{counted(chain.behind, 'slot')} behind the newest finalized slot."


def _landing(now: Readings) -> tuple[str, str]:
    found = now.landing
    if is_off(Area.LANDING, now):
        return "quiet", "No chain is followed, so nothing is sent to one."
    if found.rate is None:
        alive = sum(each.alive for each in now.processes or () if each.kind == "lander")
        lives = f"{counted(alive, 'lander')} ready" if alive else "A lander is starting"
        return "good", f"{lives}; no submission settled in the last {MINUTES} min."
    share = figures.percent(100 * found.rate)
    settled = counted(found.settled, "settled submission")
    return "good", f"{share} of {settled} landed in the last {MINUTES} min."


def _calling(now: Readings) -> tuple[str, str]:
    calls = now.calls
    if calls is None or calls.per_second is None:
        return "good", "Ready; how many call is known in a minute."
    if not calls.per_second:
        return "good", "Ready; no one called in the last minute."
    share = calls.failed_share or 0.0
    fail = f"{figures.percent(100 * share)} fail" if share else "none fails"
    fast = ""
    if calls.milliseconds is not None:
        fast = f", 95 of 100 take less than {milliseconds(calls.milliseconds[1])}"
    return "good", f"{figures.count(calls.per_second)} calls a second, {fail}{fast}."


def _room(now: Readings) -> tuple[str, str]:
    processes = now.processes or ()
    starting = [each.kind for each in processes if not each.alive]
    waiting = 0 if now.redis is None else sum(now.redis.queues.values())
    tasks = f"{counted(waiting, 'task')} wait" if waiting != 1 else "1 task waits"
    waits = "nothing waits" if not waiting else tasks
    free = size_of(now.disk.free)
    run = f"All {grouped(len(processes))} kinds of processes run"
    if starting:
        run = f"Starting: {', '.join(starting)}"
    return "good", f"{run}, {waits}, {free} are free."


_WELL: dict[Area, Callable[[Readings], tuple[str, str]]] = {
    Area.FOLLOWING: _following,
    Area.LANDING: _landing,
    Area.CALLING: _calling,
    Area.ROOM: _room,
}
