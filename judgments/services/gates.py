"""The gates an automatic decision passed or failed, kept on its run at the time of the ask."""

from __future__ import annotations

from django.utils.timezone import now

from judgments.models import RunEvent, RunEventKind
from judgments.services import labels, runs

MAX_RULE = 200


def save(
    run_id: str | None,
    *,
    rule: str,
    rule_listed: bool,
    self_protect_refused: bool,
    threshold: float,
    by: str = "",
) -> bool:
    """Append the gates; whether they were saved. `rule` names what would have allowed it."""
    if run_id is None:
        return False
    judgment, key = runs.parse_id(run_id)
    data = {
        "rule": rule[:MAX_RULE],
        "rule_listed": rule_listed,
        "self_protect_refused": self_protect_refused,
        "threshold": threshold,
    }
    return labels.append(
        RunEvent(run_id=key, judgment=judgment, kind=RunEventKind.GATES, data=data, by=by[:200], at=now())
    )
