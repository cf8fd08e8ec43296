"""The command `wigwag`.

Whatever it does is done by the library; here are the words that it takes and the way it tells what
came of it.
"""

import io
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command that the arguments of the process say; does not return.

    Raises:
        SystemExit: It is done; `wigwag.cli.exit_codes` has what the code means.
    """
    try:
        import click  # noqa: F401, PLC0415 - only to say what is missing
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit("wigwag: the command line needs click: pip install 'wigwag[cli]'")
    from wigwag.cli.commands import wigwag  # noqa: PLC0415 - it needs click
    from wigwag.cli.failures import leave_quietly  # noqa: PLC0415 - as above

    if isinstance(sys.stdout, io.TextIOWrapper):  # escape what its encoding lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    with leave_quietly():
        wigwag.main(prog_name="wigwag")
