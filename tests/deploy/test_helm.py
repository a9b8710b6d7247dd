"""deploy/helm: what the chart renders runs each process of the Procfile, closed and with limits."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.version import VERSION
from tests.deploy.test_container import procfile

ROOT = Path(__file__).resolve().parent.parent.parent
CHART = ROOT / "deploy" / "helm" / "tidemark"
HELM = shutil.which("helm")
needs_helm = pytest.mark.skipif(
    HELM is None, reason="needs helm: go install helm.sh/helm/v3/cmd/helm@latest"
)
# One pod of each: a second one would write the same slots, or start the same tasks twice.
ONCE = {"ingest", "follower", "beat"}
TEMPLATE = ("template", "try", ".", "--kube-version", "1.30.0")


def tried(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(HELM), *arguments], capture_output=True, text=True, check=False, cwd=CHART
    )


def helm(*arguments: str) -> str:
    found = tried(*arguments)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def rendered(*options: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Each object by its kind and its name without the release's."""
    made = helm(*TEMPLATE, *options)
    return {
        (each["kind"], each["metadata"]["name"].removeprefix("try").removeprefix("-")): each
        for each in yaml.safe_load_all(made)
        if each
    }


def pod_of(found: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = found["spec"]["template"]["spec"]
    return pod


def test_the_chart_has_the_services_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == VERSION


def test_every_setting_of_the_values_is_one() -> None:
    documented = (ROOT / "docs" / "settings.md").read_text()
    text = (CHART / "values.yaml").read_text()
    named = {*yaml.safe_load(text)["settings"], *re.findall(r"^#   .*?([A-Z]\w+)", text, re.M)}
    assert {"DATABASE_URL", "UPSTREAM_RPC_URL"} <= named
    for name in named:
        assert f"`{name}`" in documented, name


@needs_helm
def test_lint_finds_nothing() -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", ".")


@needs_helm
def test_each_process_of_the_procfile_is_a_deployment_with_its_command() -> None:
    made = rendered("--set", "grpc.enabled=true")
    expected = procfile()
    deployments = {name: each for (kind, name), each in made.items() if kind == "Deployment"}
    assert deployments.keys() == expected.keys() - {"localnet"}
    for name, deployment in deployments.items():
        (container,) = pod_of(deployment)["containers"]
        wanted = re.sub(r"\$\{HOST:-[^}]*\}", "0.0.0.0", expected[name])
        wanted = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", wanted)
        assert " ".join(container["command"]) == wanted
        is_once = deployment["spec"]["strategy"]["type"] == "Recreate"
        assert is_once is (name in ONCE)
        assert name not in ONCE or deployment["spec"]["replicas"] == 1


@needs_helm
def test_pods_are_closed_and_have_limits() -> None:
    for (kind, name), each in rendered("--set", "grpc.enabled=true").items():
        if kind not in ("Deployment", "Job"):
            continue
        pod = pod_of(each)
        assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"]
        for container in pod["containers"]:
            closed = container["securityContext"]
            assert closed["readOnlyRootFilesystem"] and closed["capabilities"] == {"drop": ["ALL"]}
            assert not closed["allowPrivilegeEscalation"]
            assert name == "migrate" or container["resources"]["limits"]["memory"], name
            assert {each["name"] for each in container["volumeMounts"]} <= {
                each["name"] for each in pod["volumes"]
            }


@needs_helm
def test_services_and_the_ingress_lead_to_pods() -> None:
    made = rendered("--set", "grpc.enabled=true,ingress.enabled=true,ingress.tlsSecret=tls")
    for (kind, name), each in made.items():
        if kind != "Service":
            continue
        pods = [
            deployment
            for (of, _), deployment in made.items()
            if of == "Deployment"
            and each["spec"]["selector"].items()
            <= deployment["spec"]["template"]["metadata"]["labels"].items()
        ]
        assert len(pods) == 1, name
        (container,) = pod_of(pods[0])["containers"]
        ports = {port["name"] for port in container["ports"]}
        assert {port["targetPort"] for port in each["spec"]["ports"]} <= ports
    (rule,) = made["Ingress", ""]["spec"]["rules"]
    backend = rule["http"]["paths"][0]["backend"]["service"]
    assert backend["name"] == "try" and ("Service", "") in made
    settings = made["ConfigMap", "settings"]["data"]
    assert settings["GRPC_PORT"] == "10010" and "UPSTREAM_RPC_URL" not in settings


ISSUER = ("--set", "settings.OIDC_ISSUER=https://login.example")
CLIENT = ("--set", "settings.OIDC_CLIENT_ID=tidemark")
CLIENT_SECRET = ("--set", "oidc.clientSecret.name=keycloak-client")


@needs_helm
def test_every_process_has_the_provider_and_its_clients_secret() -> None:
    groups = ("--set-string", r"settings.OIDC_STAFF_GROUPS=root=administrator\,ops=operator")
    made = rendered(*ISSUER, *CLIENT, *CLIENT_SECRET, *groups)
    settings = made["ConfigMap", "settings"]["data"]
    assert settings["OIDC_ISSUER"] == "https://login.example"
    assert settings["OIDC_CLIENT_ID"] == "tidemark" and "OIDC_NAME" not in settings
    assert settings["OIDC_STAFF_GROUPS"] == "root=administrator,ops=operator"
    reference = {"secretKeyRef": {"name": "keycloak-client", "key": "client-secret"}}
    for (kind, name), each in made.items():
        if kind in ("Deployment", "Job"):
            (container,) = pod_of(each)["containers"]
            assert container["env"] == [{"name": "OIDC_CLIENT_SECRET", "valueFrom": reference}], (
                name
            )
    # Without a Secret of its own it is one of existingSecret's.
    for (kind, _), each in rendered(*ISSUER, *CLIENT).items():
        assert kind != "Deployment" or "env" not in pod_of(each)["containers"][0]


@needs_helm
@pytest.mark.parametrize("some", [ISSUER, CLIENT, CLIENT_SECRET])
def test_half_a_provider_is_not_installed(some: tuple[str, ...]) -> None:
    found = tried(*TEMPLATE, *some)
    assert found.returncode and "OIDC_ISSUER and" in found.stderr
