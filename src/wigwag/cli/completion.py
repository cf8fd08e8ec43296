"""`wigwag completion`, which teaches a shell to complete the words of `wigwag`."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

__all__ = ["completion_command"]

_VARIABLE: Final = "_WIGWAG_COMPLETE"  # what click looks for
_SHELLS: Final = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
def completion_command(shell: str) -> None:
    r"""Write what a shell reads to complete commands, options and values.

    \b
        bash: add to ~/.bashrc    eval "$(wigwag completion bash)"
        zsh:  add to ~/.zshrc     eval "$(wigwag completion zsh)"
        fish: wigwag completion fish > ~/.config/fish/completions/wigwag.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    root = click.get_current_context().find_root().command
    click.echo(kind(root, {}, "wigwag", _VARIABLE).source())
