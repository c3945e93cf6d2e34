"""Handlers that leave a row for each event they handled, and runs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.db import connection, transaction

from synth.models import AuditEntry
from synth.services import outbox

ROOT = Path(__file__).resolve().parents[3]
EVENT = "test.thing_happened"


def leave_a_row(payload: dict[str, Any]) -> None:
    """One row per event; TEST_HANDLER_FAILS makes it raise after writing, as a real bug would."""
    done = f"event:{payload['id']}"
    AuditEntry.objects.create(actor_label="test", door="task", action="handled", object=done)
    if os.environ.get("TEST_HANDLER_SAYS"):
        structlog.get_logger("test").info("test_handler", event_id=payload["id"])
    time.sleep(float(os.environ.get("TEST_HANDLER_SLEEPS", "0")))
    if os.environ.get("TEST_HANDLER_FAILS"):
        raise RuntimeError("asked to fail")


def subscribe() -> None:
    """Add the handler to the current registry."""
    outbox.subscribe(EVENT, "test.leave_a_row")(leave_a_row)


def publish(n: int) -> None:
    """Save n events in one transaction."""
    with transaction.atomic():
        for i in range(n):
            outbox.publish(EVENT, {"id": i})


def rows_by_event() -> Counter[str]:
    """How often each event was handled."""
    return Counter(AuditEntry.objects.filter(action="handled").values_list("object", flat=True))


def child_env(**extra: str) -> dict[str, str]:
    """The environment of a process that works on this test's database."""
    url = urlsplit(os.environ["DATABASE_URL"])
    database = url._replace(path="/" + connection.settings_dict["NAME"]).geturl()
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"DATABASE_URL": database, "PYTHONPATH": path, "LOG_LEVEL": "warning"} | extra


def drain_in_child(*, later_s: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
    """Drain everything in another process whose clock is `later_s` ahead."""
    code = (
        "import django; django.setup()\n"
        "from datetime import timedelta\nfrom django.utils.timezone import now\n"
        "from synth.services import draining\nfrom synth.tests.outbox import helpers\n"
        f"helpers.subscribe()\ndraining.drain(clock=lambda: now() + timedelta(seconds={later_s}))\n"
    )
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=child_env(**env), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
