"""The REST addresses of growth; each answers with and without its last slash."""

from __future__ import annotations

from growth.api import cards, proposals, views
from synth.api.urls import SLUG, both

ID = r"(?P<pk>[0-9]+)"

urlpatterns = [
    both("agents/import", cards.CardImport.as_view(), "agent-import"),
    both(rf"agents/{SLUG}/export", cards.CardExport.as_view(), "agent-export"),
    both(rf"agents/{SLUG}/growth", views.AgentGrowth.as_view(), "agent-growth"),
    both("growth/states", views.StateList.as_view(), "growth-states"),
    both(rf"growth/states/{ID}/restore", views.StateRestore.as_view(), "growth-state-restore"),
    both(rf"growth/states/{ID}/diff", views.StateDiff.as_view(), "growth-state-diff"),
    both("growth/proposals", proposals.ProposalList.as_view(), "growth-proposals"),
    both(rf"growth/proposals/{ID}", proposals.ProposalDetail.as_view(), "growth-proposal"),
    both(rf"growth/proposals/{ID}/approve", proposals.ProposalApprove.as_view(), "growth-proposal-approve"),
    both(rf"growth/proposals/{ID}/reject", proposals.ProposalReject.as_view(), "growth-proposal-reject"),
    both(rf"growth/proposals/{ID}/revise", proposals.ProposalRevise.as_view(), "growth-proposal-revise"),
    both("growth/runs", views.RunList.as_view(), "growth-runs"),
    both(rf"growth/runs/{ID}", views.RunDetail.as_view(), "growth-run"),
]
