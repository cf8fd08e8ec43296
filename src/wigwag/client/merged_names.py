"""The names under which several servers appear as one: told apart where they would be the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

# What a name of a tool may not have in it; names of servers come from people.
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_EXPRESSION: Final = re.compile(r"\{(?P<operator>[+#./;?&]?)[^{}]*\}")


def merged_names(names: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, str]]:
    """Return the names of all servers together, and for each the server and its name there.

    A name that one server alone has stays as it is. One that several have is none any more: each
    gets the name of its server in front, with a `_` between. So does a name that looks as if it
    were of another server's, which nobody shall take for it. Where even that is taken, a number
    follows.

    >>> merged_names({"cats": ["feed", "pet"], "dogs": ["feed"]})
    {'cats_feed': ('cats', 'feed'), 'pet': ('cats', 'pet'), 'dogs_feed': ('dogs', 'feed')}
    """
    once = {server: list(dict.fromkeys(found)) for server, found in names.items()}
    count = Counter(name for found in once.values() for name in found)
    looks_of: dict[str, set[str]] = {}
    for server, name in ((server, name) for server, found in once.items() for name in found):
        looks_of.setdefault(qualified(server, name), set()).add(server)
    clear = {
        name
        for server, found in once.items()
        for name in found
        if count[name] == 1 and looks_of.get(name, {server}) == {server}
    }
    taken = set(clear)
    merged: dict[str, tuple[str, str]] = {}
    for server, found in once.items():
        for name in found:
            merged_name = name if name in clear else _free(qualified(server, name), taken)
            taken.add(merged_name)
            merged[merged_name] = (server, name)
    return merged


def qualified(server: str, name: str) -> str:
    """Return a name with that of its server in front.

    >>> qualified("my cats", "feed")
    'my_cats_feed'
    """
    return f"{_NOT_IN_NAMES.sub('_', server)}_{name}"


def _free(name: str, taken: set[str]) -> str:
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def may_be_of_template(uri: str, template: str) -> bool:
    """Tell whether a URI looks like one of a URI template, as far as that decides whom to ask.

    >>> may_be_of_template("cats://tom/food", "cats://{name}/food")
    True
    """
    pattern, end = "", 0
    for expression in _EXPRESSION.finditer(template):
        pattern += re.escape(template[end : expression.start()])
        pattern += ".*" if expression["operator"] else "[^/?#]*"
        end = expression.end()
    return re.fullmatch(pattern + re.escape(template[end:]), uri, re.DOTALL) is not None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about a name that is not known; empty if nothing is near.

    >>> did_you_mean("fed", ["feed", "pet"])
    "; did you mean 'feed'?"
    """
    import difflib  # noqa: PLC0415 - only mistakes need it

    known = list(known)
    near = [other for other in known if other.endswith(f"_{name}")]  # it has become several
    near = near or difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
