"""The circuit breaker: a host that keeps failing is left alone for a while, longer each time."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import F

from reminders.models import RemoteHost

# Failures in a row before a host is shut; then 1 min, doubled at each further failure, at most an hour.
PATIENCE = 5
FIRST_SHUT = timedelta(minutes=1)
LONGEST_SHUT = timedelta(hours=1)


def shut_until(name: str, at: datetime) -> datetime | None:
    """When the host may be tried again, or None when it may be now."""
    return RemoteHost.objects.filter(pk=name, shut_until__gt=at).values_list("shut_until", flat=True).first()


def note_failure(name: str, at: datetime) -> None:
    """Count a failure that was the host's fault."""
    RemoteHost.objects.bulk_create([RemoteHost(name=name)], ignore_conflicts=True)
    RemoteHost.objects.filter(pk=name).update(n_failures=F("n_failures") + 1)
    n_failures = RemoteHost.objects.filter(pk=name).values_list("n_failures", flat=True).first() or 0
    n_over = n_failures - PATIENCE
    if n_over >= 0:
        shut = min(FIRST_SHUT * 2 ** min(n_over, 10), LONGEST_SHUT)
        RemoteHost.objects.filter(pk=name).update(shut_until=at + shut)


def note_answer(name: str) -> None:
    """Forget earlier failures: the host answered."""
    RemoteHost.objects.filter(pk=name).delete()
