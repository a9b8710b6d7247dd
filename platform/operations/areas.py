"""The four questions of the home page, and which of them each alarm is about."""

import enum

from operations.alarm_rule import CRITICAL, Finding, Rule


class Area(enum.StrEnum):
    """A light of the home page."""

    FOLLOWING = "following"
    LANDING = "landing"
    CALLING = "calling"
    ROOM = "room"


ALL = tuple(Area)
_F, _L, _C, _R = ((each,) for each in ALL)

# Rule → the areas that it is about.
_OF_RULES: dict[str, tuple[Area, ...]] = {
    # What lands is not seen while the chain is not heard.
    "stream_silent": _F + _L,
    "stream_lost": _F + _L,
    "streams_lacking": _F,
    "chain_behind": _F,
    "storing_stopped": _F + _L,
    "gaps_open": _F,
    "archive_damaged": _F,
    "divergences_open": _F,
    # What is simulated may end otherwise on the chain.
    "rules_missing": _C,
    "proof_refuted": _F,
    "proof_failing": _F,
    "stakes_differ": _F,
    # Fetches of an address fail, and without one customers cannot send.
    "class_unavailable": _L + _C,
    "class_running_dry": _L + _C,
    "sweep_stuck": _L,
    "no_upstream": _L,
    "upstream_broken": _L,
    "landing_low": _L,
    "landing_behind": _L,
    "errors_high": _C,
    "webhook_failing": _C,
    "deliveries_late": _C,
    "clock_differs": _R,
    "clock_stopped": _R,
    "queue_deep": _R,
    "sealing_behind": _R,
    "sealing_failing": _R,
    "retention_failing": _R,
    "disk_low": _R,
    "redis_memory_high": _R,
    "database_slow": _R,
    "redis_down": ALL,
    "database_down": ALL,
}
# Rule and subject → the areas, where they depend on the subject.
_OF_SUBJECTS: dict[tuple[str, str], tuple[Area, ...]] = {
    ("process_missing", "localnet"): _F + _L,
    ("process_missing", "follower"): _F + _L,
    ("process_missing", "ingest"): _F,
    ("process_missing", "lander"): _L,
    ("process_missing", "web"): _C,
    ("process_missing", "grpc"): _C,
    ("process_missing", "postgres"): ALL,
    ("process_missing", "valkey"): ALL,
    ("queue_deep", "ingest"): _F,
    ("queue_deep", "follower"): _F,
    ("queue_deep", "accepted"): _L,
}
_ELSE = {"process_missing": _R}


def areas_of(name: str, subject: str) -> tuple[Area, ...]:
    """The areas of an alarm; the room, where this version does not know its rule."""
    found = _OF_SUBJECTS.get((name, subject)) or _OF_RULES.get(name) or _ELSE.get(name)
    return found or _R


def has_area(name: str) -> bool:
    """Whether an area is named for the rule."""
    return name in _OF_RULES or name in _ELSE


def hue_of(rule: Rule) -> str:
    """The colour of what the rule finds."""
    return "bad" if rule.severity == CRITICAL else "warning"


def title_of(rule: Rule, finding: Finding) -> str:
    """The rule's title, with its subject."""
    return f"{rule.title}: {finding.subject}" if finding.subject else rule.title
