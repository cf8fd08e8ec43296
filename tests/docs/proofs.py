"""Takes out of a page what its entries claim to be proved by: servers of the zoo.

A comment `<!-- zoo: contents/dotted-name finds tool-name-refused -->` below an entry says that the
doctor has this finding about this server. The first part of its name says which part of the zoo it
lives in.
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

_PROOF: Final = re.compile(
    r"^<!-- zoo: (?P<place>\w+)/(?P<name>\S+) finds (?P<code>\S+) -->$", re.M
)


class Proof(NamedTuple):
    """A server of the zoo, and the finding about it."""

    place: str
    name: str
    code: str

    def __str__(self) -> str:
        return f"{self.place}/{self.name}"


def proofs_of(page: Path) -> list[Proof]:
    """Return all proofs on a page, in order."""
    return [Proof(**found.groupdict()) for found in _PROOF.finditer(page.read_text("utf-8"))]
