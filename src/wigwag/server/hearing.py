"""Hands notifications of clients to whoever wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from wigwag.protocol.events import NotificationReceived, RequestReceived
from wigwag.runtime.dispatch import Dispatch
from wigwag.schema import LATEST_MODERN, ClientCapabilities
from wigwag.server.context import Context
from wigwag.server.middleware import Pipeline

if TYPE_CHECKING:
    from wigwag.server.methods import Method


async def hear(
    server: Any,
    pipeline: Pipeline | None,
    method: Method | None,
    notification: NotificationReceived,
    connection: Dispatch,
) -> None:
    """Take a notification, inside of the middleware; what goes wrong is noted in the log."""

    async def receive(notification: NotificationReceived, context: Context[Any]) -> None:
        if method is not None:
            await method.hear(notification, context)

    context: Context[Any] = Context(server, connection, _as_request(notification, connection))
    await (pipeline or Pipeline(server, (), None)).hear(receive, notification, context)


def _as_request(notification: NotificationReceived, connection: Dispatch) -> RequestReceived:
    """Return what stands in for the request that a context is about."""
    session = connection.protocol.session
    return RequestReceived(
        None,  # type: ignore[arg-type]
        notification.method,
        notification.params,
        b"" if notification.source is UNSET else bytes(notification.source),
        LATEST_MODERN if session is None else session.revision,
        session is None,
        UNSET,
        ClientCapabilities() if session is None else session.client_capabilities,
        UNSET if session is None else session.client_info,
    )
