"""A client that answers a server's questions as a test has written down."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from wigwag.client.client import Client
from wigwag.client.healing import Healing
from wigwag.client.link import Timeouts
from wigwag.client.questions import Roots
from wigwag.schema import ClientCapabilities, ElicitationCapability, SamplingCapability
from wigwag.testing.answers import Answers, Asked, Script
from wigwag.testing.hang_watch import HangWatch

__all__ = ["ScriptedClient"]


class ScriptedClient(Client):
    """A `Client` whose user and model are scripts; `connect` makes it.

    Args:
        target: As for `Client`.
        elicit: What the user answers; see `connect`.
        sample: What the model answers.
        roots: The folders that the client works in.
        timeout: Seconds that each request may take; opening the connection may take twice as long.
        options: Whatever else `Client` takes.
    """

    def __init__(
        self,
        target: Any,
        *,
        elicit: Script = None,
        sample: Script = None,
        roots: Roots | None = None,
        timeout: float | None = 10.0,
        **options: Any,
    ) -> None:
        self.answers = Answers(elicit=elicit, sample=sample)
        """What the script has answered so far."""
        self.hang_watch: HangWatch | None = None
        """What notices that the server blocks; `connect` sets it."""
        if elicit is not None:
            options["elicitation"] = self.answers.answer_elicitation
        if sample is not None:
            options["sampling"] = self.answers.answer_sampling
        if roots is not None:
            options["roots"] = lambda: self.answers.note_roots(roots)
        options["capabilities"] = _declared(options)
        # What breaks in a test is to be seen there.
        options.setdefault("heal", Healing(restart=False, resend=False, listen=False))
        if timeout is not None:
            # A process that starts slowly is not to be taken for one of the legacy era.
            limits = Timeouts(request=timeout, ceiling=timeout, probe=timeout, connect=2 * timeout)
            options.setdefault("timeouts", limits)
        super().__init__(target, **options)

    def reason(self) -> AssertionError | None:
        """Return what went wrong on the side, and so may be why a test fails; only once."""
        found = None if self.hang_watch is None else self.hang_watch.found
        reason = found or self.answers.failure
        if self.hang_watch is not None:
            self.hang_watch.found = None
        self.answers.failure = None
        # Where in here it was found out tells nobody anything.
        return None if reason is None else reason.with_traceback(None)

    def check(self) -> None:
        """See that the server asked what the test had answers for, and never blocked.

        Raises:
            ScriptError: It asked something else, or less.
            ServerHangs: It blocked the event loop.
        """
        reason = self.reason()
        if reason is not None:
            raise reason
        self.answers.check_used()

    @property
    def asked(self) -> list[Asked]:
        """What the server has asked so far, and what it was told; oldest first."""
        return self.answers.asked


def _declared(options: dict[str, Any]) -> ClientCapabilities:
    """Declare all that a script can answer, where the test does not say it in other words."""
    declared: ClientCapabilities = options.get("capabilities") or ClientCapabilities()
    implied: dict[str, Any] = {}
    if "elicitation" in options and declared.elicitation is UNSET:
        implied["elicitation"] = ElicitationCapability(form={}, url={})
    if "sampling" in options and declared.sampling is UNSET:
        implied["sampling"] = SamplingCapability(tools={})
    return msgspec.structs.replace(declared, **implied)
