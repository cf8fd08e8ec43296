"""Gets what decides over tokens from an issuer, within bounds, and only from where it may be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from wigwag.errors import AuthorizationFailed, TransportError, VerifierUnavailable
from wigwag.oauth.fetch_rules import Networks
from wigwag.oauth.requests import HttpRequest, HttpResponse
from wigwag.oauth.steps import Answer, Flow
from wigwag.oauth.urls import is_loopback, read_url
from wigwag.transports.document_fetching import DocumentFetcher

if TYPE_CHECKING:
    from wigwag.transports.http_client_engine import TLS

__all__ = ["Fetch", "fetch_from", "run_flow"]

_T = TypeVar("_T")

Fetch: TypeAlias = Callable[[HttpRequest], Awaitable[HttpResponse]]


def fetch_from(urls: Sequence[str], hosts: Sequence[str], ssl: TLS | None) -> Fetch:
    """Return what makes requests.

    Args:
        urls: What the author has named: wherever these hosts are, they may be asked. Others, that
            only metadata names, must have public addresses.
        hosts: What the author allows besides.
        ssl: Whom to trust.
    """
    parts = [read_url(url) for url in urls]
    networks = Networks(
        loopback=any(is_loopback(url) for url in parts),
        hosts=(*(url.host for url in parts), *hosts),
    )
    fetcher = DocumentFetcher(networks=networks, ssl=ssl)

    async def fetch(request: HttpRequest) -> HttpResponse:
        try:
            return await fetcher.fetch(request)
        except (AuthorizationFailed, TransportError) as error:
            raise VerifierUnavailable(str(error)) from error

    return fetch


async def run_flow(flow: Flow[_T], fetch: Fetch) -> _T:
    """Run a flow that makes requests and nothing else.

    Raises:
        VerifierUnavailable: What it needs is not to be had.
    """
    answer: Answer = None
    try:
        while True:
            step = flow.send(answer)
            assert isinstance(step, HttpRequest)  # flows about issuers have no other steps
            answer = await fetch(step)
    except StopIteration as end:
        found: _T = end.value
        return found
    except AuthorizationFailed as error:
        raise VerifierUnavailable(str(error)) from error
    finally:
        flow.close()
