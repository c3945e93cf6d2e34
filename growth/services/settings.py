"""Changing the growth settings of an agent; what holds at any moment is `effective(agent)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils.timezone import now

from growth.models import GrowthSettings
from growth.options import FIELDS
from growth.services import clock
from growth.services.effective import EffectiveSettings, effective, effective_of, lock, parse, row_of
from synth.errors import Invalid, Refused
from synth.options import BadOption
from synth.services import audit

if TYPE_CHECKING:
    from synth.models import Agent, Person

__all__ = ["EffectiveSettings", "change", "effective", "effective_of", "lock", "parse", "row_of"]


def change(agent: Agent, changes: Mapping[str, Any], *, by: Person | None, door: str) -> GrowthSettings:
    """Set fields of an agent's row and replan its clock, in one transaction.

    Raises Invalid with the field for a value that does not fit or an unknown field, and Refused
    (`overridden_by_env`) for a field the environment holds at another value.
    """
    parsed = {field: _checked(field, value) for field, value in changes.items()}
    with transaction.atomic():
        row = lock(agent)
        held = effective_of(row)
        for field in list(parsed):
            if field in held.overridden_by_env:
                if parsed[field] != getattr(held, field):
                    raise Refused(
                        f"{FIELDS[field].name} is set in the environment and wins over this setting.",
                        code="overridden_by_env",
                        field=field,
                    )
                del parsed[field]
        before = {field: getattr(row, field) for field in parsed}
        for field, value in parsed.items():
            setattr(row, field, value)
        if before != parsed:
            row.save(update_fields=[*parsed])
            audit.record(
                by,
                door=door,
                action="growth_settings_change",
                object=f"growth.growthsettings:{row.pk}",
                before=before,
                after=parsed,
                agent=agent,
            )
        clock.replan_row(row, at=now())
    return row


def _checked(field: str, value: Any) -> Any:
    if field not in FIELDS:
        raise Invalid(f"There is no growth setting {field}.", field=field, code="unknown_field")
    try:
        return parse(field, value)
    except BadOption as error:
        raise Invalid(f"The value does not fit: {error}.", field=field) from None
