"""What a rule of alarms consists of."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from operations.models import Alarm
from operations.readings.present import Readings

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
    it has been over for `calm` seconds. `page` is the name of the admin URL to act on, `query` its
    filter for what is wrong now.
    """

    name: str
    severity: Alarm.Severity
    holds: int
    calm: int
    title: str
    advice: str
    page: str
    check: Check
    query: str = ""
