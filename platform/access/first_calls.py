"""The first call with a key that was just issued, in the languages of its callers."""

from typing import NamedTuple


class FirstCall(NamedTuple):
    """Its id in a page, the language's name, that of its highlighting, and the text."""

    id: str
    language: str
    lexer: str
    text: str


_CURL = "curl -sS {base}/whoami -H 'Authorization: {secret}'\n"
_PYTHON = """\
import json
import urllib.request

headers = {{"Authorization": "{secret}"}}
request = urllib.request.Request("{base}/whoami", headers=headers)
with urllib.request.urlopen(request) as response:
    print(json.load(response))
"""
_TYPESCRIPT = """\
const response = await fetch("{base}/whoami", {{ headers: {{ Authorization: "{secret}" }} }});
console.log(await response.json());
"""


def first_calls(base: str, secret: str) -> list[FirstCall]:
    """What can be run as it is: it says whose key it is, which any key may ask."""
    return [
        FirstCall(name, language, lexer, text.format(base=base, secret=secret))
        for name, language, lexer, text in (
            ("curl", "curl", "sh", _CURL),
            ("python", "Python", "python", _PYTHON),
            ("typescript", "TypeScript", "ts", _TYPESCRIPT),
        )
    ]
