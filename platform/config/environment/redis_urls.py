"""REDIS_URL, whose options mean what they mean in redis-py, and its form for Celery."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from redis.asyncio.connection import SSLConnection
from redis.connection import parse_url

from config.environment import env
from config.environment.env import BadEnvironment

_FORMS = "expected redis://host:port/0, rediss://host:port/0 or unix:///path?db=0"
_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
# Those of TLS that redis-py's asynchronous connections have, too.
_TLS = {
    *_FILES,
    "ssl_ca_path",
    "ssl_cert_reqs",
    "ssl_check_hostname",
    "ssl_ciphers",
    "ssl_min_version",
    "ssl_exclude_verify_flags",
    "ssl_include_verify_flags",
    "ssl_password",
}
_OPTIONS = {"db", "username", "password", "client_name", *_TLS}
_CERT_REQS = ("none", "optional", "required")


def redis_url(name: str, default: Callable[[], str]) -> str:
    """A URL that every Redis client reads alike. Its text is not repeated: there may be a
    password in it.
    """
    url = env.text(name, "") or default()
    if not _is_address(url):
        hint = "" if url.count("@") < 2 and "#" not in url else "; percent-encode the password"
        raise BadEnvironment(f"{name}: {_FORMS}{hint}")
    try:
        options = options_of(url)
    except ValueError as error:
        raise BadEnvironment(f"{name}: {error}") from None
    _check_options(name, url, options)
    if urlsplit(url).scheme == "rediss":
        _check_tls(name, options)
    return url


def options_of(url: str) -> dict[str, Any]:
    """The arguments of redis-py's connections. Raises ValueError."""
    return dict(parse_url(url))  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True)
class Broker:
    """REDIS_URL as Celery's settings have it: `url`, `tls` (`broker_use_ssl`; empty without) and
    `options` of its transport.
    """

    url: str
    tls: dict[str, Any]
    options: dict[str, Any]


def broker_of(url: str) -> Broker:
    """The same Redis for kombu, whose URLs have other names. Raises ValueError."""
    options = options_of(url)
    user, password = (quote(options.get(name) or "", safe="") for name in ("username", "password"))
    login = f"{user}:{password}@" if user or password else ""
    database, scheme = options.get("db", 0), urlsplit(url).scheme
    if scheme == "unix":
        found = f"redis+socket://{login}{quote(options['path'])}?virtual_host={database}"
    else:
        host = f"[{options['host']}]" if ":" in options["host"] else options["host"]
        found = f"{scheme}://{login}{host}:{options.get('port', 6_379)}/{database}"
    tls = {name: value for name, value in options.items() if name in _TLS}
    if scheme == "rediss":
        tls.setdefault("ssl_cert_reqs", "required")
    named = {name: options[name] for name in ("client_name",) if name in options}
    return Broker(found, tls, named)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    if parts.fragment or port == 0:
        return False
    if parts.scheme == "unix":
        return bool(unquote(parts.path).strip("/")) and not parts.hostname
    number = parts.path.removeprefix("/").removesuffix("/")
    named = parts.scheme in {"redis", "rediss"} and bool(parts.hostname)
    return named and (not number or (number.isascii() and number.isdecimal()))


def _check_options(name: str, url: str, options: dict[str, Any]) -> None:
    query = parse_qs(urlsplit(url).query, keep_blank_values=True)
    for option, values in query.items():
        if option not in _OPTIONS:
            known = ", ".join(sorted(_OPTIONS))
            raise BadEnvironment(f"{name}: the option {option!r} is not supported, only {known}")
        if option in _TLS and not url.startswith("rediss://"):
            raise BadEnvironment(f"{name}: {option} applies to rediss:// only")
        if len(values) > 1 or not values[0]:
            raise BadEnvironment(f"{name}: {option} must have one value")
    if options.get("db", 0) < 0:
        raise BadEnvironment(f"{name}: db must not be negative")
    if " " in options.get("client_name", ""):
        raise BadEnvironment(f"{name}: client_name must not contain spaces")


def _check_tls(name: str, options: dict[str, Any]) -> None:
    """Certificates and keys can be read and fit together."""
    if options.get("ssl_cert_reqs", "required") not in _CERT_REQS:
        raise BadEnvironment(f"{name}: ssl_cert_reqs must be {', '.join(_CERT_REQS)}")
    for option in _FILES:
        if option in options and not os.access(options[option], os.R_OK):
            raise BadEnvironment(f"{name}: {option}: cannot read {options[option]}")
    tls = {option: value for option, value in options.items() if option in _TLS}
    try:
        SSLConnection(**tls).ssl_context.get()
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise BadEnvironment(f"{name}: the options of TLS do not work: {error}") from None
