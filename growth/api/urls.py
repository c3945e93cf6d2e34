"""The REST addresses of growth; each answers with and without its last slash."""

from __future__ import annotations

from growth.api import views
from synth.api.urls import SLUG, both

ID = r"(?P<pk>[0-9]+)"

urlpatterns = [
    both(rf"agents/{SLUG}/growth", views.AgentGrowth.as_view(), "agent-growth"),
    both("growth/states", views.StateList.as_view(), "growth-states"),
    both(rf"growth/states/{ID}/restore", views.StateRestore.as_view(), "growth-state-restore"),
    both(rf"growth/states/{ID}/diff", views.StateDiff.as_view(), "growth-state-diff"),
    both("growth/runs", views.RunList.as_view(), "growth-runs"),
    both(rf"growth/runs/{ID}", views.RunDetail.as_view(), "growth-run"),
]
