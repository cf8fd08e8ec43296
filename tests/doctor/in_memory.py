"""Lets the doctor look at a server of the zoo without a process or a socket."""

import json
from collections.abc import Sequence

from tests.zoo.animal import Animal
from wigwag.transports.contract import Connection, Received
from wigwag.transports.memory import MemoryConnection, memory_pair


class _Keeper:
    """Hands an animal what arrives, and sends what it answers."""

    def __init__(self, animal: Animal, connection: MemoryConnection) -> None:
        self._animal = animal
        self._connection = connection

    def messages_received(self, messages: Sequence[Received]) -> None:
        for message in messages:
            assert isinstance(message, bytes)
            try:
                response = self._animal.answer(json.loads(message))
            except SystemExit:
                self._connection.abort()
                return
            if response is not None:
                self._connection.send([json.dumps(response).encode()])

    def end_of_input(self) -> None:
        self._connection.abort()

    def connection_lost(self, reason: Exception | None) -> None:
        pass


async def connect_to(animal: Animal) -> Connection:
    """Open a connection to an animal."""
    ours, theirs = memory_pair()
    theirs.start(_Keeper(animal, theirs))
    return ours
