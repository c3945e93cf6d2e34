"""The REST addresses of judgments; each answers with and without its last slash."""

from __future__ import annotations

from judgments.api import views
from synth.api.urls import both

NAME = r"(?P<name>[a-z0-9_-]+(?:\.[a-z0-9_-]+)+)"
KEY = r"(?P<key>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"

urlpatterns = [
    both("judgments", views.JudgmentList.as_view(), "judgments"),
    both("judgments/runs", views.RunList.as_view(), "judgment-runs"),
    both(rf"judgments/runs/{NAME}/{KEY}", views.RunDetail.as_view(), "judgment-run"),
    both(rf"judgments/runs/{NAME}/{KEY}/labels", views.RunLabels.as_view(), "judgment-run-labels"),
    both(rf"judgments/runs/{NAME}/{KEY}/acted", views.RunActed.as_view(), "judgment-run-acted"),
    both(rf"judgments/{NAME}", views.JudgmentDetail.as_view(), "judgment"),
    both(rf"judgments/{NAME}/ask", views.JudgmentAsk.as_view(), "judgment-ask"),
    both(rf"judgments/{NAME}/report", views.JudgmentReport.as_view(), "judgment-report"),
]
