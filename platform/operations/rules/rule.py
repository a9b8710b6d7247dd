"""What a rule consists of."""

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.utils.text import slugify

from operations.models import Alarm
from operations.readings.present import Readings
from operations.rules.commands import Command
from staff.formatting import in_units

CRITICAL, WARNING = Alarm.Severity.CRITICAL, Alarm.Severity.WARNING


class Area(enum.StrEnum):
    """A light of the home page, and its question."""

    FOLLOWING = "following"
    LANDING = "landing"
    CALLING = "calling"
    ROOM = "room"


# Where the service serves docs/alarms.md.
CATALOGUE = "/docs/alarms/"
ALL = tuple(Area)
FOLLOWING, LANDING, CALLING, ROOM = ((each,) for each in ALL)


class Finding(NamedTuple):
    """A problem of one subject (empty: of the service), as one sentence; `label` names it in two
    or three words, if the rule's title does not.
    """

    subject: str
    text: str
    label: str = ""


class Place(NamedTuple):
    """Where home shows a finding: its lights, the ids of its cards, and the admin URL's name of the
    page to act on.
    """

    lights: tuple[Area, ...] = ()
    cards: tuple[str, ...] = ()
    page: str = ""


class Press(NamedTuple):
    """A button: a fix of operations/home/fixes.py, on what, and what follows its label."""

    fix: str
    whom: str = ""
    behind: str = ""


# None: the readings that the rule needs are not known now.
Check = Callable[[Readings], Iterable[Finding] | None]


def no_buttons(_subject: str, _now: Readings) -> Iterable[Press]:
    return ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of problem. Its alarm opens once the condition has held for `holds` seconds, and
    closes once it has been over for `calm` seconds. `meaning` says what it does to the service,
    `incident` the same to customers, for the public status page: without a name of a host, key or
    customer, and empty if only the operator or one customer notices. `begins` says what the
    condition is, as a sentence without its full stop. `subjects` say where one
    subject differs from `at`: other lights, more cards, another page. `query` is the page's filter
    for what is wrong now, `runbook` the heading of its section in docs/operators.md. Doctor reports
    it unless it has a check of its own (`by_doctor`), or the service does not run (`of_a_run`).
    """

    name: str
    severity: Alarm.Severity
    holds: int
    calm: int
    title: str
    meaning: str
    incident: str
    begins: str
    advice: str
    check: Check
    at: Place
    subjects: Mapping[str, Place] = field(default_factory=dict)
    query: str = ""
    runbook: str = ""
    command: Command | Callable[[str, Readings], Sequence[Command]] | None = None
    buttons: Callable[[str, Readings], Iterable[Press]] = no_buttons
    by_doctor: bool = True
    of_a_run: bool = False

    @property
    def when(self) -> str:
        """When it opens, in a sentence."""
        opens = f"after {in_units(self.holds)}" if self.holds else "at once"
        return f"{self.begins}; opens {opens}."

    @property
    def hue(self) -> str:
        """The colour of its findings."""
        return "bad" if self.severity == CRITICAL else "warning"

    @property
    def paragraph(self) -> str:
        """The address of its paragraph of docs/alarms.md, as the service serves it."""
        return f"{CATALOGUE}#{slugify(self.title)}"

    @property
    def runbook_page(self) -> str:
        """The address of the section; empty for none."""
        return f"/docs/operators/#{slugify(self.runbook)}" if self.runbook else ""

    def place_of(self, subject: str) -> Place:
        """Where home shows a finding of the subject."""
        own = self.subjects.get(subject, Place())
        return Place(
            own.lights or self.at.lights, self.at.cards + own.cards, own.page or self.at.page
        )

    def title_of(self, finding: Finding) -> str:
        """The title, with the subject."""
        return f"{self.title}: {finding.subject}" if finding.subject else self.title

    def commands(self, subject: str, now: Readings) -> Sequence[Command]:
        """What to run for the subject; empty where a button or a page is all that helps."""
        if self.command is None or isinstance(self.command, Command):
            return [] if self.command is None else [self.command]
        return self.command(subject, now)
