"""Authorizes the requests of a client with tokens that it gets by the flows of `wigwag.oauth`.

Theory of operation: the tokens in use are in memory, and while they are fresh nothing else is
looked at. Otherwise a flow is run, one at a time for a server: within this client in turn, among
all others under the lock of the store. Each flow begins with what is kept, so that whoever waited
finds what another has got. A flow is a task of its own: a refresh that nobody waits for any more
is still brought to its end, because its answer is the only one there will be; a user who is no
longer waited for is no longer asked.

Spec: basic/authorization
"""

from __future__ import annotations

import asyncio
import copy
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from math import inf
from typing import Final, TypeVar

from wigwag.client.authorization.authorizer import AuthorizationNews
from wigwag.client.authorization.flow_running import FlowRun, Steps
from wigwag.errors import AuthorizationFailed
from wigwag.oauth.attempts import Attempts, Refusal
from wigwag.oauth.challenges import Demand, demand_of, parse_challenges
from wigwag.oauth.dpop import MakeProof, authorization_headers, is_nonce
from wigwag.oauth.flow import ClientAuthorization
from wigwag.oauth.steps import Flow
from wigwag.oauth.storage import Tokens
from wigwag.oauth.urls import read_url
from wigwag.transports.http_client_authorization import ResponseHead

__all__ = ["OAuthAuthorizer", "Ready"]

_T = TypeVar("_T")

_logger = logging.getLogger("wigwag.client")

# Somebody who waits for longer wants to know what for.
_QUIET_SECONDS: Final = 2.0

# Tokens that could not be refreshed, or live for moments only, are used for so long before it is
# tried again.
_RETRY_SECONDS: Final = 10.0
# A refresh under way at the end is waited for, because the server has replaced the token already.
_CLOSE_SECONDS: Final = 2.0
# Servers may change their nonce with every response.
_MAX_NONCES: Final = 2


class Ready:
    """What authorizes, once keys have been read.

    Args:
        client: The flows.
        steps: What does their steps.
        proof: Makes proofs for tokens that are bound to a key.
    """

    def __init__(
        self, client: ClientAuthorization, steps: Steps, proof: MakeProof | None = None
    ) -> None:
        self.client: Final = client
        self.steps: Final = steps
        self.proof: Final = proof

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold what a flow needs to itself, among all who use the store.

        That is the server, and what its tokens are for where that is more: a whole origin, which
        other servers may be part of. As that is always above the server, nobody waits in a circle.
        """
        store, server = self.steps.store, self.client.lock_name
        loop = asyncio.get_running_loop()
        notice = loop.call_later(_QUIET_SECONDS, _tell_of_waiting, server)
        try:
            async with store.lock(server), AsyncExitStack() as also:
                known, _ = await FlowRun(self.steps).run(self.client.kept())
                if known is not None and known.resource != server:
                    await also.enter_async_context(store.lock(known.resource))
                notice.cancel()
                yield
        finally:
            notice.cancel()


def _tell_of_waiting(server: str) -> None:
    _logger.warning("waiting for another program, which logs in at %s or refreshes tokens", server)


class OAuthAuthorizer:
    """Authorizes the requests of one client to one server.

    Args:
        get_ready: Reads keys, and returns what is needed; called once, when it is first needed.
        extensions: The extensions of the protocol that are made use of.
        clock: Tells the seconds since 1970.
    """

    def __init__(
        self,
        get_ready: Callable[[], Awaitable[Ready]],
        *,
        extensions: tuple[str, ...] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.extensions = extensions
        self.tell: Callable[[AuthorizationNews], object] = lambda _: None
        self._get_ready = get_ready
        self._clock = clock
        self._ready: Ready | None = None
        self._tokens: Tokens | None = None
        self._good_until = -inf  # what is in memory, also if that is nothing
        self._nonces: dict[str, str] = {}
        self._logins = 0
        self._turn = asyncio.Lock()
        self._failures = 0
        self._failure: tuple[object, AuthorizationFailed] | None = None
        self._running: set[asyncio.Task[object]] = set()

    # --- ClientAuthorizer

    def begin(self, operation: str) -> _OAuthRequest:
        """Begin a request."""
        return _OAuthRequest(self, operation)

    def at_hand(self, method: str, url: str) -> Mapping[str, str]:
        """Return the headers of the tokens in memory."""
        return self.headers_for(self._tokens, method, url)

    def principal(self) -> str | None:
        """Return another text after each log-in: it may have been that of somebody else."""
        return str(self._logins)

    async def aclose(self) -> None:
        """Ask no user any more, and bring to its end what cannot be repeated."""
        for _ in range(2):
            if self._running:
                await asyncio.wait(self._running, timeout=_CLOSE_SECONDS)
            for task in self._running:
                task.cancel()
        # The next life may have another event loop.
        self._turn = asyncio.Lock()

    # --- tokens

    async def tokens(self) -> Tokens | None:
        """Return the tokens to send; `None` to send none, and see."""
        if self._clock() < self._good_until:
            return self._tokens
        return await self._in_turn("current", self._look)

    async def _look(self) -> Tokens | None:
        """Look up what is kept, and refresh it if it is no longer fresh."""
        now = self._clock()
        if now < self._good_until:  # another request has
            return self._tokens
        ready = await self._made_ready()
        _, kept = await self._run(ready.client.kept(), lock=False)
        if kept is None or kept.is_fresh(now):
            self._use(kept)
            return kept
        self._use(kept)  # by whomever it was kept
        renewed = await self._run(ready.client.current(now))
        self._use(renewed, is_refreshed=True)
        if renewed is not None and renewed.access_token != kept.access_token:
            self.tell("token_refreshed")
        return renewed

    async def renew(self, refusal: Refusal, attempts: Attempts, demand: Demand) -> None:
        """Get other tokens than those that were refused."""

        async def work() -> None:
            ready = await self._made_ready()
            granted, refreshed = attempts.grants, attempts.has_refreshed
            flow = ready.client.refused(refusal, attempts, self._clock())
            tokens = await self._run(flow)
            is_refreshed = attempts.has_refreshed != refreshed and attempts.grants == granted
            self._use(tokens, is_refreshed=is_refreshed)
            if attempts.grants != granted:
                self.tell("logged_in")
            elif is_refreshed:
                self.tell("token_refreshed")

        await self._in_turn(("refused", demand.error, demand.scopes), work)

    def _use(self, tokens: Tokens | None, *, is_refreshed: bool = False) -> None:
        """Take tokens into use, which may be those of somebody else."""
        before, self._tokens = self._tokens, tokens
        is_same = (before and before.access_token) == (tokens and tokens.access_token)
        if not is_same and not (is_refreshed and before is not None):
            self._logins += 1
        now = self._clock()
        if tokens is None:
            self._good_until = inf
        else:
            expires_at = inf if tokens.expires_at is None else tokens.expires_at
            self._good_until = max(tokens.fresh_until, min(expires_at, now + _RETRY_SECONDS))

    # --- headers

    def headers_for(self, tokens: Tokens | None, method: str, url: str) -> dict[str, str]:
        """Return the headers of a request."""
        if tokens is None:
            return {}
        if tokens.token_type == "Bearer" or self._ready is None:
            return authorization_headers(tokens, None, method, url)
        nonce = self._nonces.get(read_url(url).origin)
        return authorization_headers(tokens, self._ready.proof, method, url, nonce=nonce)

    def note_nonce(self, url: str, response: ResponseHead) -> str | None:
        """Remember the nonce that a server wants in proofs from now on, and return it."""
        nonce = response.header("dpop-nonce")
        if not is_nonce(nonce):
            return None
        self._nonces[read_url(url).origin] = nonce
        return nonce

    # --- flows

    async def _made_ready(self) -> Ready:
        if self._ready is None:
            self._ready = await self._get_ready()
        return self._ready

    async def _in_turn(self, about: object, work: Callable[[], Awaitable[_T]]) -> _T:
        """Do something while nobody else of this client does; share a failure of the same.

        Otherwise many who wait at the same time would send a user who declines to the browser
        again and again, and ask a server that is down as often.
        """
        failures = self._failures
        async with self._turn:
            if self._failures != failures and self._failure is not None:
                failed, error = self._failure
                if failed == about:
                    raise copy.copy(error)
            try:
                return await work()
            except AuthorizationFailed as error:
                self._failures += 1
                self._failure = (about, error)
                raise

    async def _run(self, flow: Flow[_T], *, lock: bool = True) -> _T:
        """Run a flow in a task of its own, which outlives a caller who gives up, if it must."""
        ready = self._ready
        assert ready is not None
        run = FlowRun(ready.steps)
        is_waiting = lock

        async def locked() -> _T:
            nonlocal is_waiting
            async with ready.turn():
                is_waiting = False
                return await run.run(flow)

        task: asyncio.Task[_T] = asyncio.get_running_loop().create_task(
            locked() if lock else run.run(flow)
        )
        self._running.add(task)
        task.add_done_callback(self._ended)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            run.abandon()
            if is_waiting or run.is_with_user or not run.has_posted:
                task.cancel()
                await asyncio.wait([task])
            raise

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # raised where it is waited for, if anywhere


class _OAuthRequest:
    """What authorizes one request.

    Args:
        authorizer: Whose tokens it uses.
        operation: What the request is to do.
    """

    def __init__(self, authorizer: OAuthAuthorizer, operation: str) -> None:
        self._authorizer = authorizer
        self._operation = operation
        self._attempts = Attempts()
        self._used: Tokens | None = None
        self._url = ""
        self._refusal: Refusal | None = None
        self._demand = Demand()
        self._nonces = 0

    async def headers(self, method: str, url: str) -> Mapping[str, str]:
        """Return the headers to make the request with, this time."""
        self._used = await self._authorizer.tokens()
        self._url = url
        return self._authorizer.headers_for(self._used, method, url)

    def is_refusal(self, response: ResponseHead) -> bool:
        """Tell whether a response wants another token, or another proof."""
        nonce = self._authorizer.note_nonce(self._url, response)
        self._refusal = None
        if response.status not in (401, 403):
            return False
        lines = (response.headers().get("www-authenticate", ""),)
        self._demand = demand = demand_of(parse_challenges(lines))
        if demand.error == "use_dpop_nonce" and nonce is not None and self._nonces < _MAX_NONCES:
            self._nonces += 1
            return True
        if response.status == 403 and not demand.is_about_scope:
            return False  # it is not about authorization, or no token helps
        self._refusal = Refusal(
            status=response.status,
            challenges=lines,
            used=self._used,
            operation=self._operation,
        )
        return True

    async def renew(self) -> None:
        """Get other tokens, unless the same ones will do with another proof."""
        if self._refusal is not None:
            await self._authorizer.renew(self._refusal, self._attempts, self._demand)
