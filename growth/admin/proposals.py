"""Proposals in the admin site: one page each, decided by POST and bound to the hash of what was shown.

A decision that comes too late leads to a conflict page that keeps all the trainer typed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_POST, require_safe

from growth.admin import desk
from growth.admin.base import DOOR, StewardAdmin, in_viewers_zone, me, typed
from growth.models import Proposal, Revision
from growth.sentence_choice import chosen
from growth.services import conflict_page, proposal_page, proposals
from synth.admin.base import AgentFilter, ValueFilter
from synth.errors import Conflict, DomainError, Invalid
from synth.text.sentences import spans


class DeliveryFilter(ValueFilter):
    """Whether a trainer was reached."""

    title = "delivery"
    parameter_name = "delivery_status"
    values = ("waiting", "sent", "failed", "nobody")


@admin.register(Proposal)
class ProposalAdmin(StewardAdmin):
    """Every proposal; the desk shows those that wait."""

    list_display = ["created_at", "agent", "kind", "status", "decided_by", "decided_at", "delivery_status"]
    is_read_only = True
    list_filter = ["status", DeliveryFilter, AgentFilter]
    empty_hint = "No proposal here. Agents in mode “request” ask with one after each reflection."
    page_template = "growth/proposal_page.html"

    def page_context(self, request: HttpRequest, row: Proposal) -> dict[str, Any]:
        return proposal_page.proposal(row)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("desk/", view(self.desk_view), name="growth_desk"),
            path("<int:pk>/approve/", view(self.approve_view), name="growth_approve"),
            path("<int:pk>/reject/", view(self.reject_view), name="growth_reject"),
            path("<int:pk>/revise/", view(self.revise_view), name="growth_revise"),
            path("revision/<int:pk>/", view(self.revision_view), name="growth_revision"),
            path("revision/<int:pk>/progress/", view(self.progress_view), name="growth_revision_progress"),
            *super().get_urls(),
        ]

    @method_decorator(require_safe)
    @in_viewers_zone
    def desk_view(self, request: HttpRequest) -> HttpResponse:
        """What waits for me, oldest first."""
        context = desk.context(self, request)
        return self.render(request, "growth/desk.html", "Trainer's desk", opts=None, **context)

    @method_decorator(require_POST)
    @in_viewers_zone
    def approve_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Apply it: as shown, as edited, or the sentences that were kept."""
        row: Proposal = self.found(request, pk)

        def decide(shown_hash: str) -> HttpResponse:
            edits = _edits(request, row)
            proposals.approve(row.pk, by=me(request), door=DOOR, shown_hash=shown_hash, **edits)
            said = f"Approved. {row.agent.name}'s next prompt carries it."
            self.message_user(request, said, messages.SUCCESS)
            return redirect("admin:growth_growthsettings_change", proposal_page.settings_pk(row.agent))

        return self._decide(request, row, "approve", decide)

    @method_decorator(require_POST)
    @in_viewers_zone
    def reject_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Discard it."""
        row: Proposal = self.found(request, pk)

        def decide(shown_hash: str) -> HttpResponse:
            said = typed(request, "feedback")
            proposals.reject(row.pk, by=me(request), door=DOOR, shown_hash=shown_hash, feedback=said)
            self.message_user(request, f"Rejected. {row.agent.name} stays as it was.", messages.SUCCESS)
            return redirect("admin:growth_desk")

        return self._decide(request, row, "reject", decide)

    @method_decorator(require_POST)
    @in_viewers_zone
    def revise_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask for a rewrite; a worker does it, its page shows how far it is."""
        row: Proposal = self.found(request, pk)

        def decide(shown_hash: str) -> HttpResponse:
            said = typed(request, "feedback")
            made = proposals.revise(row.pk, by=me(request), door=DOOR, feedback=said, shown_hash=shown_hash)
            return redirect("admin:growth_revision", made.pk)

        return self._decide(request, row, "revise", decide)

    def _decide(
        self, request: HttpRequest, row: Proposal, how: str, decide: Callable[[str], HttpResponse]
    ) -> HttpResponse:
        """Do it, or show what stood in the way with everything that was typed."""
        mine = _typed(request, row, how)
        try:
            # A form without the hash says nothing about what was shown, so it decides nothing.
            return decide(typed(request, "hash") or "-")
        except DomainError as error:
            # Who mistyped may be too late as well; only the conflict page then keeps what was typed.
            conflict = error if isinstance(error, Conflict) else proposals.too_late(row.pk)
            if conflict is None:
                context = proposal_page.proposal(row, mine, error)
                return self.render(
                    request, self.page_template, str(row), min(error.status, 422), original=row, **context
                )
            context = conflict_page.decision(row.pk, mine, conflict, me(request))
            return self.render(
                request, "growth/conflict_page.html", "Nothing was applied", 409, original=row, **context
            )

    @method_decorator(require_safe)
    @in_viewers_zone
    def revision_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """How far a rewrite is, and what came of it."""
        row = self._revision(request, pk)
        context = proposal_page.revision(row)
        return self.render(
            request, "growth/revision_page.html", "Rewriting", original=row.proposal, **context
        )

    @method_decorator(require_safe)
    def progress_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The same for the script of that page."""
        return JsonResponse(proposal_page.revision_progress(self._revision(request, pk)))

    def _revision(self, request: HttpRequest, pk: int) -> Revision:
        rows = Revision.objects.select_related("proposal__agent", "asked_by", "result")
        row = rows.filter(pk=pk).first()
        if row is None:
            raise Http404
        row.proposal = self.found(request, row.proposal_id)
        return row


def _edits(request: HttpRequest, row: Proposal) -> dict[str, Any]:
    """What the form changes of the proposal; nothing for the plain button. Invalid without a sentence."""
    form = request.POST.get("form", "")
    if form == "sentences":
        content = chosen(row.content, _sentences(request, row))
        if not content:
            raise Invalid("Keep at least one sentence.", field="content", code="blank")
        return {} if content == row.content.strip() else {"content": content}
    if form == "edit":
        mine = _typed(request, row, "approve")
        is_same = mine["content"].strip() == row.content.strip()
        return {
            "content": None if is_same else mine["content"],
            "likes": mine["likes"],
            "dislikes": mine["dislikes"],
        }
    return {}


def _sentences(request: HttpRequest, row: Proposal) -> list[str | None]:
    """For each sentence what it should say, or None to drop it."""
    numbers = range(len(spans(row.content)))
    return [typed(request, f"sentence-{n}") if f"keep-{n}" in request.POST else None for n in numbers]


def _typed(request: HttpRequest, row: Proposal, how: str) -> dict[str, Any]:
    """Everything the trainer said, so that no answer of ours loses it."""
    form = request.POST.get("form", "")
    mine: dict[str, Any] = {
        "how": how,
        "form": form,
        "feedback": typed(request, "feedback"),
        "content": row.content,
        "likes": row.likes,
        "dislikes": row.dislikes,
        "sentences": None,
    }
    if form == "edit":
        mine["content"] = typed(request, "content")
        mine["likes"] = [line for line in typed(request, "likes").splitlines() if line.strip()]
        mine["dislikes"] = [line for line in typed(request, "dislikes").splitlines() if line.strip()]
    elif form == "sentences":
        mine["sentences"] = [
            {"text": typed(request, f"sentence-{n}"), "is_kept": f"keep-{n}" in request.POST}
            for n in range(len(spans(row.content)))
        ]
        mine["content"] = chosen(row.content, _sentences(request, row))
    return mine
