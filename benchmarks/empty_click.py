"""The least that a program with click can do: it tells what it can do, which is nothing."""

import click


@click.command()
def main() -> None:
    """Do nothing."""


if __name__ == "__main__":
    main()
