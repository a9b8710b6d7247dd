"""deploy/prometheus and deploy/grafana: valid, and each name is one of the service."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from access.counted_calls import Kind
from operations.metrics import METRICS
from operations.readings.processes import DUTIES

DEPLOY = Path(__file__).resolve().parent.parent.parent / "deploy"
RULES = DEPLOY / "prometheus" / "alerts.yml"
TESTS = [DEPLOY / "prometheus" / f"{name}.test.yml" for name in ("alerts", "days")]
PROMTOOL = shutil.which("promtool")
_needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="needs promtool: apt-get install prometheus"
)
# Prometheus' own, and what it puts on every series.
_PROMETHEUS_METRICS, _PROMETHEUS_LABELS = {"up"}, {"instance", "job"}
# Documented metrics that neither an alert nor the dashboard shows, and why. None now.
LEFT_OUT: dict[str, str] = {}


def _rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def _panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DEPLOY / "grafana" / "tidemark.json").read_text())[
        "panels"
    ]
    return [each for each in found if each["type"] != "row"]


def _expressions() -> Iterator[tuple[str, str]]:
    """Where, and the expression in PromQL."""
    for rule in _rules():
        yield rule.get("alert") or rule["record"], rule["expr"]
    for panel in _panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def _names(expression: str) -> set[str]:
    return set(re.findall(r"(?<![\w:])(?:tidemark_\w+|up)(?![\w:(])", expression))


def test_each_metric_that_is_named_exists() -> None:
    unknown = {
        (where, name)
        for where, expression in _expressions()
        for name in _names(expression)
        if name not in METRICS and name not in _PROMETHEUS_METRICS
    }
    assert not unknown


def test_each_recorded_series_that_is_named_is_recorded() -> None:
    recorded = {rule["record"] for rule in _rules() if "record" in rule}
    named = {
        name
        for _, expression in _expressions()
        for name in re.findall(r"tidemark:[\w:]+", expression)
    }
    assert named == recorded


def test_each_documented_metric_is_shown_or_left_out_with_a_reason() -> None:
    page = (DEPLOY.parent / "docs" / "metrics.md").read_text()
    documented = set(re.findall(r"^\| `(tidemark_\w+)`", page, re.MULTILINE))
    named = {name for _, expression in _expressions() for name in _names(expression)}
    assert documented == set(METRICS)
    advice = "show it in deploy/grafana or an alert, or leave it out here, with a reason"
    assert documented - named == set(LEFT_OUT), advice


def test_each_label_is_one_of_its_metric() -> None:
    for where, expression in _expressions():
        for name, matchers in re.findall(r"(tidemark_\w+)\{([^}]*)\}", expression):
            labels = set(re.findall(r"(\w+)\s*(?:=|!)", matchers))
            assert labels <= {*METRICS[name].labels, *_PROMETHEUS_LABELS}, f"{where}: {name}"
    for rule in _rules():
        known = {label for name in _names(rule["expr"]) for label in _labels(name)}
        known |= {
            label for by in re.findall(r"by \(([^)]*)\)", rule["expr"]) for label in by.split(", ")
        }
        texts = " ".join([*rule.get("annotations", {}).values(), *rule.get("labels", {}).values()])
        used = set(re.findall(r"\$labels\.(\w+)", texts))
        assert used <= known | _PROMETHEUS_LABELS, rule


def _labels(name: str) -> tuple[str, ...]:
    return METRICS[name].labels if name in METRICS else ()


def test_values_of_labels_are_the_services() -> None:
    text = RULES.read_text()
    kinds = re.findall(r'tidemark_calls_total\{[^}]*kind!?="([^"]*)"', text)
    assert kinds and set(kinds) <= set(Kind)
    page = (DEPLOY.parent / "docs" / "metrics.md").read_text()
    queues = re.search(r"tidemark_queue_length.*", page)
    states = re.search(r"tidemark_submissions_total.*", page)
    assert queues is not None and states is not None
    for value in re.findall(r'queue=~"([^"]*)"', text)[0].split("|"):
        assert value in queues[0]
    for values in re.findall(r'state=~?"([^"]*)"', text):
        assert all(value in states[0] for value in values.split("|"))
    units = {each.stem for each in (DEPLOY / "systemd").glob("*.service")}
    assert {f"tidemark-{kind}" for kind in DUTIES} - {"tidemark-localnet"} <= units


def test_each_alert_says_what_to_do() -> None:
    alerts = [rule for rule in _rules() if "alert" in rule]
    for rule in alerts:
        assert rule["alert"].startswith("Tidemark")
        assert set(rule["annotations"]) == {"summary", "description"}, rule["alert"]
        assert all(text.endswith(".") for text in rule["annotations"].values()), rule["alert"]
        assert rule["labels"]["severity"] in ("critical", "warning", "{{ $labels.severity }}")
    names = [rule["alert"] for rule in alerts]
    assert len(set(names)) == len(names) > 25


def test_panels_have_a_place_each_and_a_unit() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in _panels():
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
        assert panel["targets"] and all("$instance" in each["expr"] for each in panel["targets"])


@_needs_promtool
def test_promtool_takes_rules_configuration_and_dashboard(tmp_path: Path) -> None:
    for arguments in (
        ["check", "rules", "--lint=all", "--lint-fatal", str(RULES)],
        ["check", "config", "--syntax-only", str(RULES.parent / "prometheus.yml")],
        ["test", "rules", *map(str, TESTS)],
        ["check", "rules", str(_as_rules(tmp_path))],
    ):
        found = subprocess.run(
            [str(PROMTOOL), *arguments], capture_output=True, text=True, check=False
        )
        assert found.returncode == 0, found.stdout + found.stderr


def _as_rules(folder: Path) -> Path:
    """The dashboard's expressions as recording rules, whose syntax promtool checks."""
    rules = [
        {"record": f"panel:{number}", "expr": target["expr"].replace("$instance", "a")}
        for number, target in enumerate(
            target for panel in _panels() for target in panel["targets"]
        )
    ]
    file = folder / "panels.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    return file
