"""A request as code in four languages, all written from one description of it."""

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

_WIDTH = 88
_SHELL_WIDTH = 90
_SHELL_BREAK = " \\\n     "


@dataclass(frozen=True, slots=True)
class Request:
    """A POST of `body`, or without one a GET; `secret` is the environment variable of what goes
    into the header Authorization, after `scheme`. The response is read as `reads` says.
    """

    url: str
    body: dict[str, Any] | None = None
    secret: str = ""
    scheme: str = ""
    reads: Literal["json", "text", "lines"] = "json"


@dataclass(frozen=True, slots=True)
class Sample:
    """The request in a language: name in ids, title, name for highlighting, and the text."""

    id: str
    language: str
    lexer: str
    text: str


def samples(request: Request) -> list[Sample]:
    """The request as curl, Python, TypeScript and Go."""
    return [Sample(name, title, lexer, write(request)) for name, title, lexer, write in _LANGUAGES]


def _curl(request: Request) -> str:
    parts = ["curl -sSN" if request.reads == "lines" else "curl -sS"]
    parts[0] += f" {_quoted(request.url)}"
    if request.secret:
        parts.append(f'-H "Authorization: {request.scheme}${request.secret}"')
    if request.body is not None:
        parts.append("-H 'Content-Type: application/json'")
        flat = json.dumps(request.body, separators=(",", ":"), ensure_ascii=False)
        body = flat if len(flat) < _WIDTH else _literal(request.body, _JSON_WORDS, _WIDTH, " " * 5)
        parts.append(f"-d {_shell_text(body)}")
    line = " ".join(parts)
    return (line if len(line) <= _SHELL_WIDTH else _SHELL_BREAK.join(parts)) + "\n"


def _python(request: Request) -> str:
    lines = ["import json"] if request.body is not None or request.reads == "json" else []
    lines += ["import os"] if request.secret else []
    lines += ["import urllib.request", ""]
    arguments = [json.dumps(request.url)]
    headers = {}
    if request.secret:
        value = f'os.environ["{request.secret}"]'
        headers["Authorization"] = f'"{request.scheme}" + {value}' if request.scheme else value
    if request.body is not None:
        lines.append(f"body = {_literal(request.body, _PYTHON_WORDS, len('body = '))}")
        headers["Content-Type"] = '"application/json"'
        arguments.append("json.dumps(body).encode()")
    if headers:
        inner = ", ".join(f'"{name}": {value}' for name, value in headers.items())
        lines.append(f"headers = {{{inner}}}")
        arguments.append("headers" if request.body is not None else "headers=headers")
    lines.append(f"request = urllib.request.Request({', '.join(arguments)})")
    lines.append("with urllib.request.urlopen(request) as response:")
    if request.reads == "lines":
        lines += ["    for line in response:", '        print(line.decode(), end="")']
    elif request.reads == "text":
        lines.append("    print(response.read().decode())")
    else:
        lines.append("    print(json.load(response))")
    return "\n".join(lines) + "\n"


def _typescript(request: Request) -> str:
    headers = []
    if request.secret:
        value = f"process.env.{request.secret}"
        value = f"`{request.scheme}${{{value}}}`" if request.scheme else f'{value} ?? ""'
        headers.append(f"Authorization: {value}")
    options = []
    if request.body is not None:
        headers.append('"Content-Type": "application/json"')
        options.append('  method: "POST",')
    if headers:
        options.append(f"  headers: {{ {', '.join(headers)} }},")
    if request.body is not None:
        body = _literal(request.body, _TYPESCRIPT_WORDS, len("  body: JSON.stringify(), "), "  ")
        options.append(f"  body: JSON.stringify({body}),")
    inner = ", {\n" + "\n".join(options) + "\n}" if options else ""
    lines = [f"const response = await fetch({json.dumps(request.url)}{inner});"]
    if request.reads == "lines":
        lines += [
            "const lines = response.body?.pipeThrough(new TextDecoderStream()) ?? [];",
            "for await (const text of lines) console.log(text);",
        ]
    else:
        lines.append(f"console.log(await response.{request.reads}());")
    return "\n".join(lines) + "\n"


def _go(request: Request) -> str:
    verb, reader, imports = "GET", "nil", ["io", "net/http", "os"]
    lines = []
    if request.body is not None:
        text = json.dumps(request.body, separators=(",", ":"), ensure_ascii=False)
        lines.append(f"\tbody := {_go_text(text)}")
        verb, reader, imports = "POST", "strings.NewReader(body)", [*imports, "strings"]
    lines.append(
        f'\trequest, err := http.NewRequest("{verb}", {json.dumps(request.url)}, {reader})'
    )
    lines += ["\tif err != nil {", "\t\tpanic(err)", "\t}"]
    if request.secret:
        value = f'os.Getenv("{request.secret}")'
        value = f'"{request.scheme}"+{value}' if request.scheme else value
        lines.append(f'\trequest.Header.Set("Authorization", {value})')
    if request.body is not None:
        lines.append('\trequest.Header.Set("Content-Type", "application/json")')
    lines += ["\tresponse, err := http.DefaultClient.Do(request)"]
    lines += ["\tif err != nil {", "\t\tpanic(err)", "\t}"]
    lines += ["\tdefer response.Body.Close()", "\tio.Copy(os.Stdout, response.Body)"]
    head = ["package main", "", "import (", *(f'\t"{name}"' for name in imports), ")", ""]
    return "\n".join([*head, "func main() {", *lines, "}"]) + "\n"


def _quoted(url: str) -> str:
    """For a shell: an address with a query is quoted."""
    return shlex.quote(url) if set(url) & set("?&{}") else url


def _shell_text(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _go_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if "`" in text else f"`{text}`"


@dataclass(frozen=True, slots=True)
class _Words:
    """How a language writes constants, and names and braces of an object on one line."""

    true: str
    false: str
    null: str
    has_bare_names: bool
    space: str
    last_comma: str = ","


_PYTHON_WORDS = _Words("True", "False", "None", has_bare_names=False, space="")
_JSON_WORDS = _Words("true", "false", "null", has_bare_names=False, space="", last_comma="")
_TYPESCRIPT_WORDS = _Words("true", "false", "null", has_bare_names=True, space=" ")


def _literal(value: Any, words: _Words, used: int, indent: str = "") -> str:
    """The value in the language, on one line if that fits beside the `used` columns."""
    flat = _flat(value, words)
    if len(flat) + used <= _WIDTH or not isinstance(value, list | dict) or not value:
        return flat
    deeper = indent + ("    " if words is _PYTHON_WORDS else "  ")
    if isinstance(value, list):
        opening, closing = "[]"
        parts = [_literal(each, words, len(deeper) + 1, deeper) for each in value]
    else:
        opening, closing = "{}"
        names = [_name(name, words) for name in value]
        parts = [
            f"{name}: {_literal(each, words, len(deeper) + len(name) + 3, deeper)}"
            for name, each in zip(names, value.values(), strict=True)
        ]
    inner = ",\n".join(f"{deeper}{part}" for part in parts)
    return f"{opening}\n{inner}{words.last_comma}\n{indent}{closing}"


def _flat(value: Any, words: _Words) -> str:
    if isinstance(value, bool):
        return words.true if value else words.false
    if value is None:
        return words.null
    if isinstance(value, list):
        return f"[{', '.join(_flat(each, words) for each in value)}]"
    if isinstance(value, dict):
        inner = ", ".join(
            f"{_name(name, words)}: {_flat(each, words)}" for name, each in value.items()
        )
        return f"{{{words.space}{inner}{words.space}}}" if inner else "{}"
    return json.dumps(value, ensure_ascii=False)


def _name(name: str, words: _Words) -> str:
    return name if words.has_bare_names and name.isidentifier() else json.dumps(name)


_LANGUAGES: tuple[tuple[str, str, str, Callable[[Request], str]], ...] = (
    ("curl", "curl", "sh", _curl),
    ("python", "Python", "python", _python),
    ("ts", "TypeScript", "ts", _typescript),
    ("go", "Go", "go", _go),
)
