"""Holds every connection to the contract."""

import asyncio

import pytest

from tests.contract.connection_contract import CHECKS, PATIENCE, Check, Transport
from tests.contract.transports import CLOSE_TIMEOUT, TRANSPORTS

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("transport", TRANSPORTS, ids=lambda transport: transport.name)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_every_connection_keeps_the_contract(
    check: Check, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wigwag.transports.stream.CLOSE_TIMEOUT", CLOSE_TIMEOUT)
    async with asyncio.timeout(3 * PATIENCE):
        await check(transport)
