"""What the rules find in the readings of this moment, before it is an alarm."""

from collections.abc import Iterable
from dataclasses import dataclass

from operations.alarm_rule import CRITICAL, Finding, Rule
from operations.areas import Area, areas_of, hue_of, title_of
from operations.readings.present import Readings
from operations.rules import RULES

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
    def areas(self) -> tuple[Area, ...]:
        return areas_of(*self.key)

    @property
    def hue(self) -> str:
        return hue_of(self.rule)

    @property
    def label(self) -> str:
        """In a few words, for a badge."""
        title = self.rule.title
        return self.finding.label or f"{title[:1].lower()}{title[1:]}"

    @property
    def title(self) -> str:
        return title_of(self.rule, self.finding)


def findings(readings: Readings) -> list[Found]:
    """Critical ones first, of these what others follow from, else in the order of the rules. What
    is not known is not found.
    """
    found = [Found(rule, finding) for rule in RULES for finding in rule.check(readings) or ()]
    return sorted(found, key=_rank)


def _rank(found: Found) -> tuple[bool, int]:
    name = found.rule.name
    return found.rule.severity != CRITICAL, _CAUSES.index(name) if name in _CAUSES else len(_CAUSES)


def about(found: Iterable[Found], *names: str) -> list[Found]:
    """Those of the rules, or of `rule:subject`."""
    return [
        each
        for each in found
        if each.rule.name in names or f"{each.rule.name}:{each.finding.subject}" in names
    ]
