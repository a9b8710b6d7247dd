"""Commands of the Procfile that a fork of the preloaded image can run, without a shell."""

import re
from collections.abc import Mapping

# ${A}, ${A:…} with a default behind a minus, and $A, as the shell reads them.
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))")
# What else the shell would give a meaning to; such a command goes to the shell.
_SHELL = re.compile(r"[|&;<>()$`\\\"'*?\[\]#~={}!\n]")
_DJANGO = ("python", "manage.py")
_CELERY = "celery"


def argv_of(command: str, environment: Mapping[str, str]) -> list[str] | None:
    """The command's words, with variables replaced; None for one that is neither
    `python manage.py …` nor `celery …`, or needs a shell.
    """

    def value(match: re.Match[str]) -> str:
        found = environment.get(match[1] or match[3], "")
        return found or match[2] or ""

    words: list[str] = []
    for word in command.split():
        is_variable = bool(_VARIABLE.search(word))
        replaced = _VARIABLE.sub(value, word)
        # A shell splits what a variable holds, and drops what is empty.
        if is_variable and len(replaced.split()) != 1:
            return None
        bare = _VARIABLE.sub("", word)
        if _SHELL.search(bare.replace("=", "") if words else bare):
            return None
        words.append(replaced)
    if tuple(words[:2]) == _DJANGO and len(words) > 2:
        return words
    return words if words[:1] == [_CELERY] else None
