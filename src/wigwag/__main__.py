"""`python -m wigwag` is the command `wigwag`."""

from wigwag.cli import main

if __name__ == "__main__":
    main()
