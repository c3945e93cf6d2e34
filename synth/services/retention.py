"""Lets go of what was kept only for a while: one call a tick; a backlog goes in chunks."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import connection, transaction

from synth.models import IdempotentAnswer, LlmCall, LlmCallPart

CHAT_BODIES = timedelta(days=14)
ANSWERS = timedelta(days=7)
# Their bodies stay as long as their run; who deletes the run calls `forget.forget_sessions`.
LASTING_PURPOSES = ("reflection", "review")
_CHUNK = 500


def sweep(at: datetime, *, max_chunks: int = 100) -> dict[str, int]:
    """Remove expired bodies of calls and answers to repeated requests, as of `at`; rows by kind."""
    counts = {"call_bodies": 0, "prompt_parts": 0, "answers": 0}
    for _ in range(max_chunks):
        n_calls, n_parts = _sweep_calls(at)
        n_answers = _sweep_answers(at)
        counts["call_bodies"] += n_calls
        counts["prompt_parts"] += n_parts
        counts["answers"] += n_answers
        if not n_calls and not n_answers:
            break
    return counts


def _sweep_calls(at: datetime) -> tuple[int, int]:
    """Take parts, reply and error from one chunk of old calls; the row with its counts stays."""
    with transaction.atomic():
        old = LlmCall.objects.filter(at__lt=at - CHAT_BODIES).exclude(purpose__in=LASTING_PURPOSES)
        bodied = old.exclude(response_text="", error="", tool_calls=[]) | old.filter(call_parts__isnull=False)
        ids = list(bodied.order_by().distinct().values_list("pk", flat=True)[:_CHUNK])
        links = LlmCallPart.objects.filter(call_id__in=ids)
        parts = set(links.values_list("part_id", flat=True))
        links.delete()
        LlmCall.objects.filter(pk__in=ids).update(response_text="", error="", tool_calls=[])
        return len(ids), delete_orphans(parts)


def delete_orphans(hashes: set[str]) -> int:
    """Delete those of the parts that no call uses, last in the caller's transaction; how many.

    A call on its way to disk may count on a part it found there without holding a lock on it. The table lock
    waits until those calls are committed and lets new ones wait for us. What was forgotten stays, to stay so.
    """
    if not hashes:
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '5s'")
        cursor.execute("LOCK TABLE synth_promptpart IN SHARE ROW EXCLUSIVE MODE")
        cursor.execute(
            "DELETE FROM synth_promptpart p WHERE p.sha256 = ANY(%s) AND NOT p.is_removed "
            "AND NOT EXISTS (SELECT FROM synth_llmcallpart l WHERE l.part_id = p.sha256)",
            [sorted(hashes)],
        )
        return int(cursor.rowcount)


def _sweep_answers(at: datetime) -> int:
    old = IdempotentAnswer.objects.filter(at__lt=at - ANSWERS).order_by("at").values_list("pk", flat=True)
    return IdempotentAnswer.objects.filter(pk__in=list(old[:_CHUNK])).delete()[0]
