"""The only way to a language model: one request, one reply or one LlmError, one row on record.

Never inside a transaction: the door raises there, and gives the database connection back before it waits.
"""

from __future__ import annotations

import time

from django.utils.timezone import now

from synth import faults
from synth.llm import hosts, record, spend
from synth.llm.completion import Completion, redact
from synth.llm.messages import Reply, Request
from synth.llm.reasons import LlmError
from synth.llm.sink import Sink
from synth.net import database

faults.declare("llm.send.before", "a call is about to be made: its owner asks again")


def complete(request: Request, sink: Sink | None = None) -> Reply:
    """The model's reply. LlmError with a reason of `REASONS`; host trouble is not retried here, rows retry.

    A reply cut by the token limit is given back with `finish_reason="length"`; whoever needs it whole must
    refuse it. A `sink` gets the words as they come, and may stop the call (LlmError `stopped`); what had come
    of a call that broke is the `partial` of its error.
    """
    check_database()
    if earlier := record.replay(request):
        if sink is not None:
            sink.text(earlier.text)
        return earlier
    host = hosts.host_for(request.agent, request.purpose)
    at = now()
    started = time.monotonic()
    completion: Completion | None = None
    try:
        spend.check(request.agent, at)
        leave_database()
        faults.point("llm.send.before")
        completion = hosts.send(host, request, sink)
        if completion.finish_reason == "content_filter":
            raise LlmError("content_filter", completion.text[:200])
    except LlmError as error:
        message = redact(str(error), [host.api_key])
        completion = completion or error.partial
        outcome = record.Outcome(error.reason, message, completion, _ms(started))
        saved = record.save(request, host, outcome, at)
        detail, wait = redact(error.detail, [host.api_key]), error.retry_after_s
        raise LlmError(
            error.reason, detail, retry_after_s=wait, call_id=saved.call_id, partial=completion
        ) from None
    return record.save(request, host, record.Outcome("ok", "", completion, _ms(started)), at)


def check_database() -> None:
    """LlmError `in_transaction` when this thread is in one."""
    try:
        database.check()
    except database.InTransaction as error:
        raise LlmError("in_transaction", str(error)) from None


def leave_database() -> None:
    """Close this thread's database connections; LlmError `in_transaction` when one is in a transaction."""
    try:
        database.leave()
    except database.InTransaction as error:
        raise LlmError("in_transaction", str(error)) from None


def _ms(started: float) -> int:
    return int((time.monotonic() - started) * 1000)
