"""`tidemark`: the management API in a shell. Its commands are the methods of `Management`.

    tidemark keys issue --customer 7 --tier basic --name trading
    tidemark usage --customer 7 --span 30d --csv

The root key is read from TIDEMARK_ROOT_KEY or the file that TIDEMARK_ROOT_KEY_FILE names: arguments
are seen by every user of a machine.
"""

import argparse
import inspect
import os
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tidemark._sync import resources
from tidemark._sync.management import Management
from tidemark.cli_output import as_json, as_text
from tidemark.failures import ResponseUnreadable, TidemarkError, Unreachable
from tidemark.values import Unset
from tidemark.version import VERSION

_DEFAULT_URL = "http://127.0.0.1:8000"
_URL_MEANING = "--url or TIDEMARK_URL is its URL."
_MOST_ENTRIES = 100
# Before the names of a method's arguments, some of which are the command's own: url, method.
_OF_METHOD = "of_"


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of a method, with fewer options where it lists some."""

    method: str
    options: frozenset[str] = frozenset()


_ALIASES = {
    ("keys", "issue"): Alias("create"),
    ("keys", "restrict"): Alias(
        "change", frozenset({"scopes", "methods", "networks", "origins", "expires_at", "version"})
    ),
    ("keys", "limits"): Alias(
        "change", frozenset({"tier", "requests_per_second", "calls_per_month", "version"})
    ),
}


class NoKey(Exception):
    """There is no root key, or its file cannot be read."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command → the exit status: 1 after a refusal, 2 for a wrong command line."""
    given = parser().parse_args(completed(sys.argv[1:] if arguments is None else arguments))
    try:
        with Management(given.url, root_key(os.environ)) as management:
            found = _run(management, given)
            print(found if isinstance(found, str) else _written(found, given.json), end="")
    except Unreachable as error:
        print(f"tidemark: {error}\nIs the service running there? {_URL_MEANING}", file=sys.stderr)
        return 1
    except (TidemarkError, ResponseUnreadable, NoKey, ValueError) as error:
        print(f"tidemark: {error}", file=sys.stderr)
        for line in _problems(getattr(error, "data", {}).get("fields", {})):
            print(f"  {line}", file=sys.stderr)
        return 1
    return 0


def _problems(fields: Mapping[str, Any], before: str = "") -> Iterator[str]:
    """A line for each field; those of a member follow its name and a point."""
    for name, problems in fields.items():
        if isinstance(problems, Mapping):
            yield from _problems(problems, f"{before}{name}.")
        else:
            yield f"{before}{name}: {' '.join(map(str, problems))}"


def root_key(environment: Mapping[str, str]) -> str:
    """The root key of the environment. Raises NoKey."""
    key, file = (environment.get(f"TIDEMARK_ROOT_KEY{end}", "") for end in ("", "_FILE"))
    try:
        found = key or (Path(file).read_text(encoding="utf-8") if file else "")
    except (OSError, UnicodeDecodeError) as error:
        raise NoKey(f"the root key cannot be read: {error}") from error
    if not found.strip():
        raise NoKey("set TIDEMARK_ROOT_KEY, or TIDEMARK_ROOT_KEY_FILE to a file with the key")
    return found.strip()


def completed(arguments: Sequence[str]) -> list[str]:
    """The arguments with the action that `tidemark alarms` and `tidemark usage --csv` imply."""
    found = list(arguments)
    known = commands()
    at = next((place for place, each in enumerate(found) if each in known), None)
    if at is None:
        return found
    following = found[at + 1] if at + 1 < len(found) else ""
    if following in known[found[at]] or following in ("-h", "--help"):
        return found
    actions = known[found[at]]
    implied = "csv" if "csv" in actions and "--csv" in found else "read"
    rest = [each for each in found[at + 1 :] if each != "--csv" or "csv" not in actions]
    return [*found[: at + 1], implied if implied in actions else "list", *rest]


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    made = argparse.ArgumentParser(
        "tidemark", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--version", action="version", version=VERSION)
    url = os.environ.get("TIDEMARK_URL", _DEFAULT_URL)
    made.add_argument("--url", default=url, help=f"the service (TIDEMARK_URL, else {_DEFAULT_URL})")
    output = argparse.ArgumentParser(add_help=False)
    output.add_argument("--json", action="store_true", help="JSON instead of text")
    named = made.add_subparsers(metavar="resource", required=True)
    for resource, actions in commands().items():
        described = named.add_parser(resource, help=", ".join(actions))
        choices = described.add_subparsers(metavar="action", required=True)
        for action, (method, options) in actions.items():
            text, meanings = _described(method)
            made_action = choices.add_parser(action, help=text, description=text, parents=[output])
            names = _add_arguments(made_action, method, options, meanings)
            made_action.set_defaults(resource=resource, method=method.__name__, names=names)
            if inspect.isgeneratorfunction(method):
                limit = f"the newest entries; 0 is all of them ({_MOST_ENTRIES} by default)"
                made_action.add_argument("--limit", type=_count, default=_MOST_ENTRIES, help=limit)
    return made


@cache
def commands() -> dict[str, dict[str, tuple[Callable[..., Any], frozenset[str]]]]:
    """By resource and action: the method, and the options that it has there (none listed: all)."""
    found: dict[str, dict[str, tuple[Callable[..., Any], frozenset[str]]]] = {}
    for resource, kind in typing.get_type_hints(resources.Resources).items():
        name = resource.replace("_", "-")
        methods = {each: method for each, method in vars(kind).items() if not each.startswith("_")}
        found[name] = {
            each.replace("_", "-"): (method, frozenset()) for each, method in methods.items()
        }
        for (owner, alias), target in _ALIASES.items():
            if owner == name:
                found[name][alias] = (methods[target.method], target.options)
    return found


def _run(management: Management, given: argparse.Namespace) -> Any:
    resource = getattr(management, given.resource.replace("-", "_"))
    sent = vars(given)
    values = {name: sent[_OF_METHOD + name] for name in given.names if _OF_METHOD + name in sent}
    answer = getattr(resource, given.method)(**values)
    if isinstance(answer, Iterator):
        return list(islice(answer, given.limit or None))
    return answer


def _written(found: Any, is_json: bool) -> str:
    return as_json(found) if is_json else as_text(found)


def _add_arguments(
    command: argparse.ArgumentParser,
    method: Callable[..., Any],
    options: frozenset[str],
    meanings: Mapping[str, str],
) -> list[str]:
    """Adds the method's arguments → their names."""
    hints = typing.get_type_hints(method)
    names = []
    for name, parameter in inspect.signature(method).parameters.items():
        is_named = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        if name == "self" or (is_named and options and name not in options):
            continue
        names.append(name)
        kind, is_list = _kind(hints[name])
        shown: dict[str, Any] = {"type": _reader(kind), "help": meanings.get(name, "") or None}
        if is_list:
            shown["nargs"] = "*"
        shown["metavar"] = _metavar(kind)
        if not is_named:
            command.add_argument(_OF_METHOD + name, **shown)
            continue
        # A change that names no version is made whatever the version is.
        given = "*" if name == "version" else argparse.SUPPRESS
        required = parameter.default is inspect.Parameter.empty and name != "version"
        default = given if parameter.default is inspect.Parameter.empty else argparse.SUPPRESS
        option = f"--{name.strip('_').replace('_', '-')}"
        command.add_argument(
            option, dest=_OF_METHOD + name, required=required, default=default, **shown
        )
    return names


def _kind(hint: Any) -> tuple[Any, bool]:
    """The type of an option's value, and whether it may have several."""
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    choices = [each for each in (typing.get_args(hint) if is_union else (hint,)) if each != Unset]
    for each in choices:
        if typing.get_origin(each) is Sequence:
            return typing.get_args(each)[0], True
    return typing.Union[tuple(choices)], False  # noqa: UP007  (of a tuple)


def _reader(kind: Any) -> Callable[[str], Any]:
    """Reads the text of an argument as the type; `null` is None where the type has it."""
    adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def read(text: str) -> Any:
        try:
            if text == "null" and type(None) in typing.get_args(kind):
                return None
            if text[:1] in "{[":
                return adapter.validate_json(text)
            return adapter.validate_strings(text)
        except ValidationError as error:
            raise argparse.ArgumentTypeError(error.errors()[0]["msg"]) from None

    return read


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("0 or more entries")
    return int(text)


def _metavar(kind: Any) -> str:
    choices = [each for each in typing.get_args(kind) or (kind,) if each is not type(None)]
    if any(typing.get_origin(each) is typing.Literal for each in (kind, *choices)):
        literals = [each for each in (kind, *choices) if typing.get_origin(each) is typing.Literal]
        return "|".join(map(str, typing.get_args(literals[0])))
    names = {int: "N", str: "TEXT", bool: "true|false", datetime: "TIME", float: "N"}
    return names.get(choices[0], "JSON")


def _described(method: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """A method's docstring: its text, and the meaning of each argument."""
    text, _, parts = inspect.getdoc(method).partition("\n\n")  # type: ignore[union-attr]
    meanings: dict[str, str] = {}
    for line in parts.splitlines():
        if line.startswith("  "):
            meanings[next(reversed(meanings))] += " " + line.strip()
        else:
            name, _, meaning = line.partition(": ")
            meanings[name] = meaning
    escaped = {name: meaning.replace("%", "%%") for name, meaning in meanings.items()}
    return " ".join(text.split()).replace("%", "%%"), escaped


if __name__ == "__main__":
    sys.exit(main())
