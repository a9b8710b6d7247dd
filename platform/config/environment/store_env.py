"""Readers of an object store's address and options. No error shows a value: it may be a secret."""

import json
from typing import Any
from urllib.parse import urlsplit

from config.environment import env
from config.environment.env import BadEnvironment

_CLIENT = {
    "allow_http",
    "allow_invalid_certificates",
    "http1_only",
    "http2_only",
    "proxy_url",
    "proxy_ca_certificate",
    "proxy_excludes",
    "root_certificate",
    "user_agent",
}
_STORE = {
    "s3": {
        "access_key_id",
        "secret_access_key",
        "session_token",
        "endpoint",
        "region",
        "default_region",
        "virtual_hosted_style_request",
        "skip_signature",
        "request_payer",
        "unsigned_payload",
        "server_side_encryption",
        "sse_kms_key_id",
        "checksum_algorithm",
        "sse_bucket_key_enabled",
        "disable_tagging",
        "conditional_put",
        "role_arn",
        "role_session_name",
        "sts_endpoint",
        "web_identity_token_file",
        "metadata_endpoint",
        "container_credentials_relative_uri",
        "container_credentials_full_uri",
        "container_authorization_token_file",
    },
    "gs": {
        "service_account",
        "service_account_key",
        "application_credentials",
        "base_url",
        "bearer_token",
        "skip_signature",
    },
    "az": {
        "account_name",
        "account_key",
        "client_id",
        "client_secret",
        "tenant_id",
        "authority_host",
        "sas_key",
        "token",
        "endpoint",
        "msi_endpoint",
        "object_id",
        "msi_resource_id",
        "federated_token_file",
        "use_azure_cli",
        "use_emulator",
        "skip_signature",
        "disable_tagging",
    },
    "file": set[str](),
}
_ADDRESSES = {"endpoint", "base_url", "proxy_url", "sts_endpoint", "authority_host"}


class StoreOptions(dict[str, str]):
    """Options by name. Its repr has the names alone."""

    def __repr__(self) -> str:
        return f"<StoreOptions {', '.join(sorted(self)) or 'none'}>"

    __str__ = __repr__

    def for_client(self) -> dict[str, str]:
        """Those of the HTTP client."""
        return {name: value for name, value in self.items() if name in _CLIENT}

    def for_store(self) -> dict[str, str]:
        """Those of the store: endpoint, region, credentials."""
        return {name: value for name, value in self.items() if name not in _CLIENT}


def address(name: str) -> str:
    """The folder of a store, without a trailing slash; empty for none. Raises BadEnvironment."""
    url = env.text(name, "").rstrip("/")
    if not url:
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise BadEnvironment(f"{name}: not an address") from None
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise BadEnvironment(
            f"{name}: expected no credentials, query or fragment in the address;"
            " credentials go into ARCHIVE_STORE_OPTIONS"
        )
    if parts.scheme == "file":
        good = len(parts.path) > 1 and not parts.netloc
    else:
        good = parts.scheme in _STORE and bool(parts.netloc)
    if not good or ".." in parts.path.split("/"):
        raise BadEnvironment(
            f"{name}: expected s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or"
            " file:///folder"
        )
    return url


def options(name: str, store: str) -> StoreOptions:
    """A JSON object, or `key=value` with commas between, for the store of that address. Raises
    BadEnvironment, which names keys and no values.
    """
    raw = env.text(name, "")
    found = _from_json(name, raw) if raw.startswith("{") else _from_pairs(name, raw)
    scheme = store.partition(":")[0]
    if found and not store:
        raise BadEnvironment(f"{name}: there is no store: set ARCHIVE_STORE too")
    known = (_STORE[scheme] | (_CLIENT if scheme != "file" else set())) if store else set()
    for key in found:
        if key not in known:
            expected = ", ".join(sorted(known)) or "none"
            shown = repr(key) if key.replace("_", "").isalnum() and len(key) < 40 else "a key"
            raise BadEnvironment(f"{name}: {shown} is no option of {scheme}; expected {expected}")
        if key in _ADDRESSES and not _is_address(found[key]):
            raise BadEnvironment(
                f"{name}: {key}: expected http://host:port or https://host, without credentials"
            )
    for key in ("endpoint", "base_url"):
        if found.get(key, "").startswith("http:") and not _is_true(found.get("allow_http", "")):
            raise BadEnvironment(f"{name}: {key} has http: set allow_http=true, or use https")
    return StoreOptions(found)


def _from_json(name: str, raw: str) -> dict[str, str]:
    try:
        found: dict[str, Any] = json.loads(raw)
    except ValueError:
        raise BadEnvironment(f"{name}: not JSON, though it begins with a brace") from None
    if any(not isinstance(value, str | bool | int) for value in found.values()):
        raise BadEnvironment(f"{name}: expected texts, numbers, true and false as values")
    return {
        key.lower(): str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in found.items()
    }


def _from_pairs(name: str, raw: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, item in enumerate(filter(None, map(str.strip, raw.split(","))), 1):
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise BadEnvironment(
                f"{name}: item {number} is not key=value; a value with a comma needs the JSON form"
            )
        if (own := key.strip().lower()) in found:
            raise BadEnvironment(f"{name}: item {number} repeats the key of an earlier one")
        found[own] = value.strip()
    return found


def _is_true(value: str) -> bool:
    return value.lower() in {"1", "true", "yes", "on"}


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        parts.port  # noqa: B018  (read to be checked)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc
