"""What the rules find in the readings of this moment, before it is an alarm."""

from dataclasses import dataclass

from operations.readings.present import Readings
from operations.rules.rule import CRITICAL, Finding, Place, Rule
from operations.rules.table import RULES

# From these the others follow.
_CAUSES = (
    "database_down",
    "redis_down",
    "process_missing",
    "no_upstream",
    "stream_lost",
    "stream_silent",
)


@dataclass(frozen=True, slots=True)
class Found:
    """A problem that is there now."""

    rule: Rule
    finding: Finding

    @property
    def key(self) -> tuple[str, str]:
        """Of its alarm."""
        return self.rule.name, self.finding.subject[:200]

    @property
    def place(self) -> Place:
        return self.rule.place_of(self.finding.subject)

    @property
    def hue(self) -> str:
        return self.rule.hue

    @property
    def label(self) -> str:
        """In a few words, for a badge."""
        title = self.rule.title
        return self.finding.label or f"{title[:1].lower()}{title[1:]}"

    @property
    def title(self) -> str:
        return self.rule.title_of(self.finding)


def findings(readings: Readings) -> list[Found]:
    """Critical ones first, of these what others follow from, else in the order of the rules. What
    is not known is not found.
    """
    found = [Found(rule, finding) for rule in RULES for finding in rule.check(readings) or ()]
    return sorted(found, key=_rank)


def _rank(found: Found) -> tuple[bool, int]:
    name = found.rule.name
    return found.rule.severity != CRITICAL, _CAUSES.index(name) if name in _CAUSES else len(_CAUSES)
