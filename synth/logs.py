"""Structured logs: one line an event, for people or as JSON, from Django, Celery and our own code alike.

Every line carries the ids bound at the time: `request_id` of the request that began it, `task_id` of the
task that goes on with it (carried in the message, also by rings), `llm_call_id` of the call it makes.
Secrets are hidden.
"""

from __future__ import annotations

import logging.config
import re
from collections.abc import MutableMapping
from typing import Any

import structlog

HIDDEN = "[hidden]"
_SECRET_KEY = re.compile(
    r"(?:^|_|-)(?:api[_-]?key|authorization|passw(?:or)?d|secret(?:_key)?|cookie|token|field_key|gift_code_key)$",
    re.I,
)
_SECRET_TEXT = (
    (re.compile(r"(?P<keep>\b[a-z][a-z0-9+.-]*://[^\s/:@]*):[^\s@/]+@", re.I), rf"\g<keep>:{HIDDEN}@"),
    (re.compile(r"(?P<keep>\b(?:bearer|token|basic)\s+)[A-Za-z0-9._~+/=-]{8,}", re.I), rf"\g<keep>{HIDDEN}"),
    (
        re.compile(
            r"(?P<keep>\b(?:authorization|api[_-]?key|passw(?:or)?d|secret(?:_key)?)[\"']?\s*[:=]\s*[\"']?)"
            r"(?!bearer |token |basic |\[hidden)[^\s\"',;&]+",
            re.I,
        ),
        rf"\g<keep>{HIDDEN}",
    ),
    (re.compile(r"\bsk-[A-Za-z0-9_-]{8,}"), HIDDEN),
)


def trace_id() -> str:
    """The id that ties rows to log lines: of the request that began this work, else of the task, or blank."""
    bound = structlog.contextvars.get_contextvars()
    return str(bound.get("request_id") or bound.get("task_id") or "")[:100]


def redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Hide secrets in a log line: values under telling names, and passwords, keys and headers inside text."""
    for key, value in event.items():
        event[key] = HIDDEN if _SECRET_KEY.search(key) and value else _clean(value)
    return event


def _clean(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        for pattern, instead in _SECRET_TEXT:
            value = pattern.sub(instead, value)
        return value
    if depth < 4 and isinstance(value, dict):
        return {
            key: HIDDEN if isinstance(key, str) and _SECRET_KEY.search(key) else _clean(inner, depth + 1)
            for key, inner in value.items()
        }
    if depth < 4 and isinstance(value, (list, tuple)):
        return [_clean(inner, depth + 1) for inner in value]
    if isinstance(value, (int, float, bool, type(None))):
        return value
    return _clean(str(value), depth + 1)


class News(logging.Filter):
    """Keeps one line a request: its end."""

    def filter(self, record: logging.LogRecord) -> bool:
        """False for a line that tells nobody anything."""
        event = record.msg
        if record.name != "django_structlog.middlewares.request" or not isinstance(event, dict):
            return True
        return event.get("event") != "request_started"


def _processors() -> list[Any]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]


def configure(level: str, fmt: str) -> None:
    """Route every logger through structlog to standard error. `fmt` is `console` or `json`."""
    last: Any = structlog.dev.ConsoleRenderer(colors=False)
    if fmt == "json":
        last = structlog.processors.JSONRenderer()
    line = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": _processors(),
        # Hidden last, so that nothing added on the way slips past.
        "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, redact, last],
    }
    quiet = ["httpx", "httpcore", "openai", "axes.apps", "django_structlog.celery"]
    if level != "debug":  # every ring and tick is a line there
        quiet += ["celery.worker.strategy", "celery.beat"]
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": line},
            "filters": {"news": {"()": News}},
            "handlers": {
                "stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["news"]}
            },
            "root": {"handlers": ["stderr"], "level": level.upper()},
            "loggers": {
                **{name: {"level": "WARNING"} for name in quiet},
                # uvicorn sets up its own before it imports us; its lines belong with the others.
                **{name: {"handlers": [], "propagate": True} for name in ("uvicorn", "uvicorn.error")},
                "uvicorn.access": {"handlers": [], "propagate": False},
                # Each failed task is one line: django_structlog's, which has the ids.
                "celery.app.trace": {"level": "CRITICAL"},
                # The middleware's own line says the same, with ids.
                "django.request": {"level": "CRITICAL"},
            },
        }
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_processors(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
