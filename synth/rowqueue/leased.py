"""The columns of a row that workers claim; the moves are in `synth.rowqueue.leases`."""

from __future__ import annotations

from django.db import models


class Leased(models.Model):
    """A row one worker at a time may work on.

    `attempt` counts claims and guards every later move, so a slow worker and its successor never both win.
    `lease_until` is when a silent worker is given up; null means unclaimed. `due_at` is the earliest next
    claim.
    """

    attempt = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField()

    class Meta:
        abstract = True


class Tried(Leased):
    """A leased row whose work asks a host that may be in trouble: put off from the row, up to a limit.

    It also has `status` and `detail`; `synth.rowqueue.runner` moves them.
    """

    n_host_failures = models.PositiveSmallIntegerField(default=0)

    class Meta:
        abstract = True
