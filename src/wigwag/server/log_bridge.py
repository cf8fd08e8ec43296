"""Sends what a program logs while it serves a request to the client of that request.

Spec: server/utilities/logging
"""

from __future__ import annotations

import logging
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Raw

from wigwag.schema import LoggingLevel
from wigwag.server.context import Context

if TYPE_CHECKING:
    from wigwag.server.middleware import CallNext

_logger = logging.getLogger("wigwag.server")

# Which request the running code serves, and for which bridge; threads of handlers have it too.
_served: ContextVar[tuple[LogBridge, Context[Any]] | None] = ContextVar("_served", default=None)

_turn: Final = threading.Lock()  # a server may be used in several event loops

_LEVELS: Final[tuple[tuple[int, LoggingLevel], ...]] = (
    (logging.CRITICAL, "critical"),
    (logging.ERROR, "error"),
    (logging.WARNING, "warning"),
    (logging.INFO + 5, "notice"),
    (logging.INFO, "info"),
)

# What every record has; the rest was passed as `extra`.
_OF_EVERY_RECORD: Final = {
    *vars(logging.makeLogRecord({})), "message", "asctime", "taskName"
}  # fmt: skip


class LogBridge(logging.Handler):
    """A handler of log records, and the middleware that tells it which request is being served.

    It hangs on its logger only while a request is served, so it is in nobody's way, and only
    what belongs to a request is sent. Records of Wigwag itself never are. A client gets those of
    the level that it asked for and above, with the name of their logger: the text, or, of records
    that have `extra`, an object of that with the text as `message`. Tracebacks stay here, as they
    may say what is not meant for a client.

    Args:
        logger: The logger whose records are sent, with those below it; `""` for all. It is set to
            let records of this level through.
        level: The lowest level that is sent.
        formatter: What makes the text; then there is nothing but text. It may add tracebacks.

    Raises:
        ValueError: There is no such level.
    """

    def __init__(
        self,
        logger: str = "",
        level: int | str = logging.INFO,
        formatter: logging.Formatter | None = None,
    ) -> None:
        super().__init__(level)
        self._least = self.level
        self.level = min(self._least, logging.WARNING)  # for what is handed on
        self.setFormatter(formatter)
        self._target = logging.getLogger(logger)
        self._serving = 0
        if self._target.getEffectiveLevel() > self._least:
            self._target.setLevel(self._least)

    async def __call__(self, context: Context[Any], call_next: CallNext) -> Any:
        """Serve a request, as a middleware."""
        self._begin()
        token = _served.set((self, context))
        try:
            return await call_next(context)
        finally:
            _served.reset(token)
            self._end()

    def _begin(self) -> None:
        with _turn:
            self._serving += 1
            if self._serving == 1:
                self._target.addHandler(self)

    def _end(self) -> None:
        with _turn:
            self._serving -= 1
            if self._serving == 0:
                self._target.removeHandler(self)

    def handle(self, record: logging.LogRecord) -> Any:
        """Take a record."""
        # Python writes warnings to the terminal where there are no handlers, and now there is one.
        last = logging.lastResort
        if last is not None and record.levelno >= last.level and self._is_alone(record.name):
            last.handle(record)
        return super().handle(record)

    def _is_alone(self, name: str) -> bool:
        """Tell whether nobody else hears of the records of a logger, other bridges aside."""
        logger: logging.Logger | None = logging.getLogger(name)
        handlers: list[logging.Handler] = []
        while logger is not None:
            handlers += logger.handlers
            logger = logger.parent if logger.propagate else None
        return handlers[:1] == [self] and all(isinstance(each, LogBridge) for each in handlers)

    def filter(self, record: logging.LogRecord) -> Any:
        """Tell whether a record is to be sent."""
        served = _served.get()
        if served is None or served[0] is not self:
            return False
        if record.levelno < self._least or record.name == "wigwag":
            return False
        if record.name.startswith("wigwag."):
            return False
        return super().filter(record)

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record to the client of the request that is being served."""
        served = _served.get()
        if served is None:
            return
        # Whoever sends may log as well, now or later in a callback: that is not to be sent.
        token = _served.set(None)
        try:
            data = Raw(msgspec.json.encode(self._data_of(record), enc_hook=str))
            served[1].log(_level_of(record.levelno), data, logger=record.name)
        except Exception as error:  # noqa: BLE001 - whoever logs is not to fail of it
            _logger.debug("a log record cannot be sent to the client: %s", error)
        finally:
            _served.reset(token)

    def _data_of(self, record: logging.LogRecord) -> Any:
        if self.formatter is not None:
            return _encodable(self.format(record))
        text = _encodable(record.getMessage())
        extra = {
            name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD
        }
        return {"message": text, **extra} if extra else text


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _level_of(number: int) -> LoggingLevel:
    for least, level in _LEVELS:
        if number >= least:
            return level
    return "debug"
