"""Asks the torch worker of this install; web and worker processes need no torch for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.utils.module_loading import import_string

from judgments import strict_json
from judgments.backends.types import Failure, HostConfig, Raw
from judgments.questions import Ask
from synth.inference import queue

if TYPE_CHECKING:
    from synth.inference.runners import Runner

KIND = "systemone"
_REFUSALS = frozenset({"max_tokens_exceeded", "not_for_model"})  # what the asker did, not the worker


def make_runner() -> Runner:
    """The runner of the worker loop. Imports torch: only the torch process calls it."""
    runner: Runner = import_string("judgments.ml.runner.Runner")()
    return runner


def send(host: HostConfig, ask: Ask, deadline: float) -> Raw:
    """One ask within the deadline. Failure: `unreachable` says in its text why no worker answers."""
    # As text: a state may be nested deeper than the queue's own JSON reader goes.
    payload = {"ask": strict_json.dumps({**ask.as_wire(), "model": host.model})}
    until = time.time() + max(0.0, deadline - time.monotonic())
    try:
        return Raw(queue.ask(KIND, payload, deadline=until))
    except queue.Overloaded as error:
        raise Failure("overloaded", error.text, status=529, retry_after_s=error.retry_after_s) from None
    except queue.Late:
        raise Failure("timeout", "The torch worker did not answer in time.") from None
    except queue.NoWorker as error:
        text = f"{error.reason}: {error.text}" if error.text else error.reason
        raise Failure("unreachable", text) from None
    except queue.Rejected as error:
        if error.reason in _REFUSALS:
            raise Failure("refused", error.text, status=400) from None
        raise Failure("bad_answer", error.text) from None
    except queue.Cancelled:
        raise Failure("cancelled") from None
