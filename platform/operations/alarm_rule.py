"""What a rule of alarms consists of."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.text import slugify

from operations.models import Alarm
from operations.readings.present import Readings
from staff.formatting import in_units

CRITICAL, WARNING = Alarm.Severity.CRITICAL, Alarm.Severity.WARNING


class Finding(NamedTuple):
    """A problem of one subject (empty: of the service), as one sentence; `label` names it in two
    or three words, if the rule's title does not.
    """

    subject: str
    text: str
    label: str = ""


# None: the readings that the rule needs are not known now.
Check = Callable[[Readings], Iterable[Finding] | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of alarm. It opens once the condition has held for `holds` seconds, and closes once
    it has been over for `calm` seconds. `meaning` says what it does to the service, `begins` what
    the condition is, as a sentence without its full stop. `page` is the name of the admin URL to
    act on, `query` its filter for what is wrong now, `runbook` the heading of its section in
    docs/operators.md.
    """

    name: str
    severity: Alarm.Severity
    holds: int
    calm: int
    title: str
    meaning: str
    begins: str
    advice: str
    page: str
    check: Check
    query: str = ""
    runbook: str = ""

    @property
    def when(self) -> str:
        """When it opens, in a sentence."""
        opens = f"after {in_units(self.holds)}" if self.holds else "at once"
        return f"{self.begins}; opens {opens}."

    @property
    def runbook_page(self) -> str:
        """The address of the section; empty for none."""
        return f"/docs/operators/#{slugify(self.runbook)}" if self.runbook else ""
