"""A request as code in four languages, all written from one description of it."""

import json
import shlex
from collections.abc import Callable, Sequence
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
        lines.append(f"body = {_literal(request.body, PYTHON_WORDS, len('body = '))}")
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
        body = _literal(request.body, TYPESCRIPT_WORDS, len("  body: JSON.stringify(), "), "  ")
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
class Words:
    """How a language writes constants, and names and braces of an object on one line."""

    true: str
    false: str
    null: str
    has_bare_names: bool
    space: str
    indent: int
    last_comma: str = ","


PYTHON_WORDS = Words("True", "False", "None", has_bare_names=False, space="", indent=4)
_JSON_WORDS = Words(
    "true", "false", "null", has_bare_names=False, space="", indent=2, last_comma=""
)
TYPESCRIPT_WORDS = Words("true", "false", "null", has_bare_names=True, space=" ", indent=2)


@dataclass(frozen=True, slots=True)
class Group:
    """What stands between brackets, on one line or a part a line; each part with what is before it,
    such as its name. `space` stands inside the brackets on one line.
    """

    opening: str
    closing: str
    parts: "Sequence[tuple[str, Node]]"
    space: str = ""


Node = Group | str


def literal(value: Any, words: Words) -> Node:
    """The value in the language."""
    if isinstance(value, bool):
        return words.true if value else words.false
    if value is None:
        return words.null
    if isinstance(value, list):
        return Group("[", "]", [("", literal(each, words)) for each in value])
    if isinstance(value, dict):
        parts = [(f"{_name(name, words)}: ", literal(each, words)) for name, each in value.items()]
        return Group("{", "}", parts, words.space)
    return json.dumps(value, ensure_ascii=False)


def written(node: Node, words: Words, used: int, indent: str = "") -> str:
    """On one line if that fits beside the `used` columns."""
    flat = _flat(node)
    if len(flat) + used <= _WIDTH or isinstance(node, str) or not node.parts:
        return flat
    deeper = indent + " " * words.indent
    inner = ",\n".join(
        f"{deeper}{before}{written(part, words, len(deeper) + len(before) + 1, deeper)}"
        for before, part in node.parts
    )
    return f"{node.opening}\n{inner}{words.last_comma}\n{indent}{node.closing}"


def _literal(value: Any, words: Words, used: int, indent: str = "") -> str:
    return written(literal(value, words), words, used, indent)


def _flat(node: Node) -> str:
    if isinstance(node, str):
        return node
    inner = ", ".join(before + _flat(part) for before, part in node.parts)
    space = node.space if inner else ""
    return f"{node.opening}{space}{inner}{space}{node.closing}"


def _name(name: str, words: Words) -> str:
    return name if words.has_bare_names and name.isidentifier() else json.dumps(name)


_LANGUAGES: tuple[tuple[str, str, str, Callable[[Request], str]], ...] = (
    ("curl", "curl", "sh", _curl),
    ("python", "Python", "python", _python),
    ("ts", "TypeScript", "ts", _typescript),
    ("go", "Go", "go", _go),
)
