"""The torch worker: serves local models to the other processes until it is told to stop."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from synth import registries
from synth.inference import runners, worker
from synth.liveness import Heartbeat


class Command(BaseCommand):
    """`manage.py inference_worker`; `--stub` serves the twin without models, for tests and benches."""

    help = "Serve local models (one process a device) until SIGTERM."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether to serve real models."""
        parser.add_argument("--stub", action="store_true", help="serve the model-free twin instead")

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve; the exit status is 0 after SIGTERM or SIGINT."""
        stop = threading.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, lambda *_: stop.set())
        makers: dict[str, Any] = dict(registries.model_runners.items())
        if options["stub"]:
            makers = {"stub": runners.Stub, **{kind: runners.Stub for kind in makers}}
        heartbeat = Heartbeat("torch")
        heartbeat.start()
        if not options["stub"]:
            self.stdout.write(f"inference: process {os.getpid()}; models load at the first ask")
        try:
            worker.serve(makers, stop)
        finally:
            heartbeat.stop()
