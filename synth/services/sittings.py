"""A dialogue's sitting that ended becomes one diary entry: facts only, by the agent's model or by a rule.

A sitting ends when nothing was said for half an hour, or when its dialogue is put away. The row is the queue;
entry and status are one transaction, so a worker killed anywhere leaves no second entry.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from synth import faults
from synth.chat import summary
from synth.errors import Conflict
from synth.llm import LlmError, is_configured
from synth.models import (
    Dialogue,
    DiaryEntry,
    DiarySource,
    LlmCallPart,
    Message,
    MessageStatus,
    Sitting,
    SittingStatus,
)
from synth.rowqueue import leases
from synth.rowqueue.runner import Ending, RowRunner
from synth.services import branches, dialogue_deletion, diary, forget, summarising
from synth.services.traces import Traces

TASK = "synth.tasks.run_sittings"
IDLE = timedelta(minutes=30)
# What ended longer ago (an upgrade, a long outage) is no longer written up.
LOOK_BACK = timedelta(days=7)
OPEN = (SittingStatus.QUEUED, SittingStatus.RUNNING)
TAG = "dialogue"
READ_CHARS = 200_000  # of a branch, from its end
_CHUNK = 200
faults.declare("sittings.queue.before", "ended sittings are about to be queued")
faults.declare("sittings.commit.before", "a diary entry is written, the transaction is still open")
faults.declare("sittings.commit.after", "a sitting and its diary entry are committed")


def end_due(at: datetime) -> int:
    """Queue the sittings that ended by `at`; how many. Twice at once queues each once."""
    n_queued, n_found = 0, _CHUNK
    while n_found == _CHUNK:
        with transaction.atomic():
            # Locked, so none of them can be deleted before its row is there; who is busy comes next time.
            rows = list(_ended(at).select_for_update(skip_locked=True, no_key=True, of=("self",))[:_CHUNK])
            made = [Sitting(dialogue=row, since=_last(row), until=row.at, due_at=at, at=at) for row in rows]
            faults.point("sittings.queue.before")
            n_queued += len(Sitting.objects.bulk_create(made, ignore_conflicts=True))
        n_found = len(rows)
    return n_queued


def _ended(at: datetime) -> QuerySet[Dialogue]:
    """Dialogues whose last words no sitting covers, idle or put away, with no answer on its way."""
    streaming = Message.objects.filter(dialogue=OuterRef("pk"), status=MessageStatus.STREAMING)
    covered = Sitting.objects.filter(dialogue=OuterRef("pk"), until__gte=OuterRef("at"))
    is_over = Q(at__lte=at - IDLE) | Q(archived_at__isnull=False)
    ended = Dialogue.objects.filter(is_over, is_scratch=False, at__gt=at - LOOK_BACK)
    return ended.exclude(Exists(streaming)).exclude(Exists(covered)).order_by("at", "id")


def _last(dialogue: Dialogue) -> datetime | None:
    """Where the sitting before ended."""
    earlier = Sitting.objects.filter(dialogue=dialogue, until__lt=dialogue.at).order_by("-until")
    return earlier.values_list("until", flat=True).first()


class SittingRunner(RowRunner[Sitting]):
    """Sittings waiting for their summary."""

    name = "sitting"
    task = TASK

    def rows(self) -> QuerySet[Sitting]:
        """Open rows with dialogue, agent and person."""
        return Sitting.objects.filter(status__in=OPEN).select_related("dialogue__agent", "dialogue__person")

    def do(self, row: Sitting, kept: leases.Kept) -> None:
        """From the branch that is shown to an entry, or a reason why there is none."""
        dialogue = row.dialogue
        spoken = _spoken(row)
        if dialogue.agent.archived_at is not None:
            _end(row, SittingStatus.SKIPPED, "agent_archived")
        elif dialogue.is_scratch:
            _end(row, SittingStatus.SKIPPED, "scratch")
        elif not summary.is_worth_it(spoken):
            _end(row, SittingStatus.SKIPPED, "nothing_said")
        else:
            try:
                text = _text(row, spoken)
                kept.check()
                _commit(row, text)
            except Conflict:
                dialogue_deletion.forget_if_gone(dialogue)
                raise

    def fail(self, row: Sitting, reason: str, detail: str) -> None:
        """`running → failed`."""
        _end(row, SittingStatus.FAILED, reason, detail)

    def ending(self, error: Exception) -> Ending | None:
        """Trouble of the host is put off; what the host or the spend cap refuses ends with its reason."""
        if not isinstance(error, LlmError):
            return None
        if error.retryable:
            return Ending("llm_unreachable", error.message, True, error.retry_after_s or 0)
        return Ending(error.reason, error.message)


SITTINGS = SittingRunner()
run_waiting = SITTINGS.run_waiting
ring_if_waiting = SITTINGS.ring_if_waiting


def _spoken(row: Sitting) -> list[Message]:
    """The messages of this sitting in the branch that is shown, oldest first."""
    leaf = row.dialogue.active_leaf
    if leaf is None:
        return []
    nodes = [*branches.above(leaf, READ_CHARS)[0], leaf]
    return [n for n in nodes if n.at <= row.until and (row.since is None or n.at > row.since)]


def _text(row: Sitting, spoken: list[Message]) -> str:
    agent, person = row.dialogue.agent, row.dialogue.person
    if is_configured(agent, summarising.PURPOSE):
        return summarising.ask(row, spoken)
    return summary.compose(spoken, person.get_full_name() or person.username, agent.language)


def _commit(row: Sitting, text: str) -> None:
    with transaction.atomic():
        # First the row: `forget` locks it too, and then either waits for this entry or leaves no row.
        _end(row, SittingStatus.DONE)
        entry = diary.write(
            row.dialogue.agent, content=text, at=row.until, source=DiarySource.AGENT,
            people=[row.dialogue.person.username], tags=[TAG],
        )  # fmt: skip
        Sitting.objects.filter(pk=row.pk).update(entry=entry)
        faults.point("sittings.commit.before")
    faults.point("sittings.commit.after")


def _end(row: Sitting, status: str, reason: str = "", detail: str = "") -> None:
    leases.guarded(
        row, was={"status": SittingStatus.RUNNING}, status=status, reason=reason[:64], detail=detail[:500],
        lease_until=None,
    )  # fmt: skip


def forget_of(rows: Iterable[Dialogue]) -> dict[str, int]:
    """Delete the sittings of dialogues, the diary entries made from them and copies of these in prompts.

    Part of the caller's transaction; rows by table.
    """
    held = list(Sitting.objects.select_for_update().filter(dialogue__in=list(rows)).order_by("pk"))
    entries = DiaryEntry.objects.filter(pk__in=[row.entry_id for row in held if row.entry_id])
    counts: Counter[str] = Counter()
    for entry in entries:
        counts.update(_forget_copies(entry))
    counts.update(entries.delete()[1])
    counts.update(Sitting.objects.filter(pk__in=[row.pk for row in held]).delete()[1])
    return dict(counts)


def _forget_copies(entry: DiaryEntry) -> dict[str, int]:
    """The agent's reflections and reviews since then may quote the entry."""
    traces = Traces([entry.content])
    links = LlmCallPart.objects.filter(
        call__agent=entry.agent_id, call__at__gte=entry.at, part__is_removed=False
    ).exclude(call__purpose__in=["chat", summarising.PURPOSE])
    parts = dict(links.values_list("part_id", "part__text").distinct())
    return forget.forget([sha256 for sha256, text in parts.items() if traces.are_in(text)])


def queued(at: datetime) -> int:
    """End what is due and wake a worker for whatever waits; how many were queued now."""
    n_queued = end_due(at)
    ring_if_waiting(at)
    return n_queued
