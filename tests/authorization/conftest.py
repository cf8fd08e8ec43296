from collections.abc import AsyncIterator

import pytest

from tests.authorization.answering_login import Logins
from tests.authorization.authorization_server import AuthorizationServer
from tests.authorization.guarded_url import GuardedUrl
from wigwag.stores.memory_tokens import MemoryTokenStore


@pytest.fixture
async def issuer() -> AsyncIterator[AuthorizationServer]:
    """An authorization server."""
    async with AuthorizationServer() as server:
        yield server


@pytest.fixture
async def guarded(issuer: AuthorizationServer) -> AsyncIterator[GuardedUrl]:
    """An MCP server that wants its tokens."""
    async with GuardedUrl(issuer) as server:
        yield server


@pytest.fixture
def store() -> MemoryTokenStore:
    """Where clients of a test keep their tokens."""
    return MemoryTokenStore()


@pytest.fixture
def logins() -> Logins:
    """A user who logs in whenever asked."""
    return Logins()
