"""URI templates: which URIs a resource template stands for.

Of RFC 6570, the expansions whose values can be told apart again: `{name}` for one path segment,
`{+name}` and `{name*}` for several.
Spec: server/resources#resource-templates
"""

from __future__ import annotations

import re
from typing import Final

_VARIABLE: Final = re.compile(r"\{(?P<plus>\+?)(?P<name>[A-Za-z_]\w*)(?P<star>\*?)\}")


class UriTemplate:
    """A parsed template.

    >>> UriTemplate("kite://articles/{slug}").match("kite://articles/sso%20loop")
    {'slug': 'sso loop'}

    Raises:
        ValueError: It uses an expression that is not supported, or a name twice.
    """

    def __init__(self, template: str) -> None:
        self.template = template
        self.names: list[str] = []
        pattern, end = "", 0
        for variable in _VARIABLE.finditer(template):
            name = variable["name"]
            if name in self.names:
                raise ValueError(f"{template}: the variable {name} stands in it twice")
            self.names.append(name)
            many = variable["plus"] or variable["star"]
            pattern += re.escape(template[end : variable.start()])
            pattern += f"(?P<{name}>{'.+' if many else '[^/?#]+'})"
            end = variable.end()
        pattern += re.escape(template[end:])
        if re.search(r"[{}]", _VARIABLE.sub("", template)):
            raise ValueError(f"{template}: only {{name}}, {{+name}} and {{name*}} are supported")
        self._pattern = re.compile(pattern, re.DOTALL)
        self._many = {v["name"] for v in _VARIABLE.finditer(template) if v["plus"] or v["star"]}

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the values of the variables in a URI, or `None` when it does not fit.

        A value that would climb out of the place it stands in does not fit: neither `..` nor, in a
        single segment, an encoded slash.
        """
        found = self._pattern.fullmatch(uri)
        if found is None:
            return None
        from urllib.parse import unquote  # noqa: PLC0415 - most servers start without it

        values = {name: unquote(value) for name, value in found.groupdict().items()}
        for name, value in values.items():
            segments = re.split(r"[/\\]", value)
            if ".." in segments or "\0" in value or (name not in self._many and len(segments) > 1):
                return None
        return values
