"""The Celery application: `celery -A synth …`. Tasks are doors; what is due stands in rows."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from celery import Celery, signals
from celery.exceptions import SecurityWarning

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "synth.settings")

# Root is expected in containers and on the embedded stack; no task unpickles anything.
warnings.filterwarnings("ignore", category=SecurityWarning)

app = Celery("synth")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

# Signs of life of this process; a list, because a signal's receiver has nowhere else to keep one.
_heartbeats: list[Any] = []


@signals.setup_logging.connect
def _keep_our_logging(**_: Any) -> None:
    """Celery sets up its own log lines unless this signal has a receiver; ours stand in `synth.logs`."""


@signals.worker_init.connect
def _prepare_worker(**_: Any) -> None:
    """Refuse an unknown fault point; put the request's and the task's ids on every line of a task."""
    from django.apps import apps

    _refuse_unknown_fault()
    apps.get_app_config("django_structlog")._celery_receiver.connect_worker_signals()  # type: ignore[attr-defined]


@signals.beat_init.connect
def _prepare_beat(**_: Any) -> None:
    from synth import background

    _refuse_unknown_fault()
    background.ensure_ticks()


def _refuse_unknown_fault() -> None:
    """Workers run no system checks that could stop them, so this one is made by hand."""
    from synth import faults

    if wanted := os.environ.get(faults.VARIABLE):
        try:
            faults.check(wanted)
        except faults.UnknownFault as error:
            raise SystemExit(str(error)) from None


@signals.worker_ready.connect
def _say_alive(sender: Any = None, **_: Any) -> None:
    from synth.liveness import Heartbeat

    role = "torch" if "torch" in sender.app.amqp.queues.consume_from else "worker"
    _heartbeats.append(Heartbeat(role))
    _heartbeats[-1].start()


@signals.worker_ready.connect
def _listen_for_chats(sender: Any = None, **_: Any) -> None:
    """A worker of language models also runs the turns of chats, beside Celery's tasks."""
    if "llm" in sender.app.amqp.queues.consume_from:
        from synth.chat import listener

        listener.start()


@signals.worker_shutting_down.connect
def _say_goodbye(**_: Any) -> None:
    from synth.rowqueue import deadline

    deadline.end_all()
    if listener := sys.modules.get("synth.chat.listener"):
        listener.close()
    while _heartbeats:
        _heartbeats.pop().stop()


@signals.worker_shutdown.connect
def _let_turns_end(**_: Any) -> None:
    if listener := sys.modules.get("synth.chat.listener"):
        listener.wait()


@signals.task_prerun.connect
def _before_task(task: Any = None, **_: Any) -> None:
    from synth import background

    background.answer_ring(task)
    background.tick_started(task)


@signals.task_postrun.connect
def _after_task(task: Any = None, retval: Any = None, **_: Any) -> None:
    from synth import background

    background.tick_finished(task, retval if isinstance(retval, BaseException) else None)
