"""A torch worker without torch: serves System 1 with flat answers, for what the way there and back costs."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from typing import Any


class Flat:
    """Answers every ask of the wire with 0.5, or all options alike."""

    keep_alive_s = 0.0

    def load(self) -> None:
        """Nothing to load."""

    def unload(self) -> None:
        """Nothing to give back."""

    def run(self, batch: Sequence[dict[str, Any]]) -> list[Any]:
        """One body of the wire a payload."""
        from judgments import strict_json
        from judgments.typed import to_wire, typed_answer
        from judgments.wire import parse_request

        found = []
        for payload in batch:
            answers = {}
            for question in parse_request(strict_json.loads(payload["ask"])).questions:
                n = len(question.options)
                answers[question.id] = to_wire(typed_answer(question, [1 / n] * n if n else 0.5))
            found.append(
                {"model": "flat", "answers": answers, "usage": {"input_tokens": 0, "output_tokens": 0}}
            )
        return found


def main() -> None:
    """Serve until SIGTERM."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "synth.settings")
    import django

    django.setup()
    from synth.inference import worker

    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    worker.serve({"systemone": Flat}, stop)


if __name__ == "__main__":
    main()
