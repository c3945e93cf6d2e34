"""The Celery application: `celery -A synth.celery …`. Tasks are doors; what is due stands in rows."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "synth.settings")

app = Celery("synth")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.setup_logging.connect
def _keep_our_logging(**_: Any) -> None:
    """Celery sets up its own log lines unless this signal has a receiver; ours stand in `synth.logs`."""


@signals.worker_init.connect
def _bind_ids(**_: Any) -> None:
    """Put the request's and the task's ids on every line of a task."""
    from django_structlog.celery.receivers import CeleryReceiver

    app.structlog_receiver = CeleryReceiver()
    app.structlog_receiver.connect_worker_signals()


@signals.worker_ready.connect
def _say_alive(sender: Any = None, **_: Any) -> None:
    from synth.liveness import Heartbeat

    role = "torch" if "torch" in sender.app.amqp.queues.consume_from else "worker"
    app.heartbeat = Heartbeat(role)
    app.heartbeat.start()


@signals.worker_shutting_down.connect
def _say_goodbye(**_: Any) -> None:
    heartbeat, app.heartbeat = getattr(app, "heartbeat", None), None
    if heartbeat is not None:
        heartbeat.stop()


@signals.task_prerun.connect
def _before_task(task: Any = None, **_: Any) -> None:
    from synth import background

    background.answer_ring(task)
    background.tick_started(task)


@signals.task_postrun.connect
def _after_task(task: Any = None, retval: Any = None, **_: Any) -> None:
    from synth import background

    background.tick_finished(task, retval if isinstance(retval, BaseException) else None)
