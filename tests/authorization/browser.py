"""What stands in for a browser: opens a URL, follows where it leads, and notes that: `LOG URL`."""

import sys
import urllib.request
from pathlib import Path


def main(log: str, url: str) -> None:
    with Path(log).open("a", encoding="utf-8") as file:
        file.write(f"{url}\n")
    with urllib.request.urlopen(url, timeout=60) as page:
        page.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
