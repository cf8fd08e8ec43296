"""An MCP server that misbehaves on command, of any era, over stdio or HTTP; written without Wigwag.

    python -m tests.faults.fault_server stdio FOLDER
    python -m tests.faults.fault_server http FOLDER [PORT]

In the folder is the file that says what goes wrong (`Orders`), and the server notes there what it
receives. Over HTTP each folder in that folder is a server of its own, under its name as the path.
There the program writes the port to its standard output, and ends with its standard input.
"""

import sys

from tests.faults.stdio_side import serve_stdio


def main() -> None:
    kind, folder, *port = sys.argv[1:]
    if kind == "stdio":
        serve_stdio(folder)
    else:
        from tests.faults.http_side import serve_http  # noqa: PLC0415 - it takes long to load

        serve_http(folder, int(port[0]) if port else 0)


if __name__ == "__main__":
    main()
