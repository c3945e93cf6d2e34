"""Values of growth that other apps may use."""

from __future__ import annotations

from growth.models import GrowthRun, RunStatus, Trigger
from growth.services.diff import Diff
from growth.services.effective import EffectiveSettings

__all__ = ["Diff", "EffectiveSettings", "GrowthRun", "RunStatus", "Trigger"]
