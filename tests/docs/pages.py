"""Takes the code blocks out of the pages, with what their pages say about them.

An HTML comment right above a block, which readers do not see, says what a test does with it:

- `<!-- file: server.py -->`: the block is a file, there for the other blocks of its page.
- `<!-- more of: server.py -->`: the block goes on with a file, before its `if __name__` line.
- `<!-- client of: server.py -->`: the block stands inside `async with Client("server.py")`, which
  is its `client`.
- `<!-- client of: http://localhost:8765/mcp -->`: the same, with a client of a URL.
- `<!-- serves -->`: the block starts a program, which goes on running behind those of the following
  blocks that name its port. What it prints is what tells that it is ready.
- `<!-- output -->`, `<!-- stderr -->`: what the block before prints; `...` stands for anything.
- `<!-- log -->`: what the programs that go on running print meanwhile.
- `<!-- drawing -->`: there is nothing to run.

`<!-- zoo: … -->`, below an entry, is what `tests/docs/proofs.py` tells of.

`<!-- files of: other.md -->`, above no block, has the files of another page for this one too.

A block of Python without any is a program, and is run as it stands. The ports 8765 to 8769 on a
page stand for free ones.
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

_FILES_OF: Final = re.compile(r"<!-- files of: (\S+) -->")
_COMMENT: Final = re.compile(r"<!--\s*(?P<what>[a-z ]+?)\s*(?::\s*(?P<name>\S+)\s*)?-->")
_FENCE: Final = re.compile(r"(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_MAIN: Final = 'if __name__ == "__main__":'


class Block(NamedTuple):
    """A block of code on a page.

    Attributes:
        page: The page.
        line: The line of its first line on the page.
        language: What stands behind the fence.
        text: What stands in it.
        what: What the comment above it says that it is; empty without one.
        name: The name in that comment, if it has one.
    """

    page: Path
    line: int
    language: str
    text: str
    what: str
    name: str

    def __str__(self) -> str:
        """Where it is."""
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """Return all code blocks of a page, in order."""
    lines = page.read_text(encoding="utf-8").splitlines()
    blocks: list[Block] = []
    said: re.Match[str] | None = None
    at = 0
    while at < len(lines):
        opened = _FENCE.fullmatch(lines[at])
        if opened is None:
            if lines[at].strip():
                said = _COMMENT.fullmatch(lines[at].strip())
            at += 1
            continue
        start = at = at + 1
        while lines[at].strip() != opened["fence"]:
            at += 1
        text = "".join(line.removeprefix(opened["indent"]) + "\n" for line in lines[start:at])
        what, name = (said["what"], said["name"] or "") if said else ("", "")
        blocks.append(Block(page, start + 1, opened["info"].strip(), text, what, name))
        said, at = None, at + 1
    return blocks


def borrowed(page: Path) -> list[Path]:
    """Return the pages whose files a page has too."""
    names = _FILES_OF.findall(page.read_text(encoding="utf-8"))
    return [page.parent / name for name in names]


def files_of(blocks: list[Block]) -> dict[str, str]:
    """Return the files that the blocks of a page are, whole."""
    files: dict[str, str] = {}
    for block in blocks:
        if block.what == "file":
            assert block.name not in files, f"{block}: {block.name} is on this page twice"
            files[block.name] = block.text
        elif block.what == "more of":
            head, main, tail = files[block.name].partition(_MAIN)
            files[block.name] = f"{head.rstrip()}\n\n\n{block.text}" + (
                f"\n\n{main}{tail}" if main else ""
            )
    return files


def is_shown(actual: str, expected: str) -> bool:
    """Tell whether a page shows what was printed; `...` stands for anything."""
    parts = [re.escape(part) for part in expected.split("...")]
    return re.fullmatch("(?:.|\n)*?".join(parts), actual) is not None
