"""The core's REST addresses; each answers with and without its last slash, the schema shows it with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, re_path
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from synth.api import openapi  # noqa: F401 - registers the key scheme with the schema
from synth.api.agents import AgentsView, AgentView
from synth.api.approvals import (
    ApprovalsView,
    ApprovalView,
    DecideView,
    GrantsView,
    RevokeView,
    ShouldHaveAskedView,
)
from synth.api.chat import AnswerView, ChatView, StopView, StreamView
from synth.api.check_ins import CheckInView
from synth.api.dialogues import DialoguesView, DialogueView, MessagesView, ToolkitsView
from synth.api.diary import DiaryView
from synth.api.errors import plain_json
from synth.api.me import MeView
from synth.api.memories import MemoriesView
from synth.api.prompt import PromptView
from synth.api.tickets import TicketsView

APPROVAL = r"(?P<approval_id>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
SLUG = r"(?P<slug>[-\w]+)"
DIALOGUE = r"(?P<dialogue_id>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"


def both(route: str, view: Callable[..., Any], name: str) -> URLPattern:
    """A route (a regular expression without ends) that takes the slash at its end or not."""
    return re_path(rf"^{route}/?$", view, name=name)


class SchemaView(SpectacularAPIView):
    """The schema; there is one version, and a `?version=` would end in a header as it came."""

    def _get_version_parameter(self, request: HttpRequest) -> None:
        return None


class DocsView(SpectacularSwaggerSplitView):
    """The browsable schema. It has no serializers to describe, so OPTIONS is not allowed."""

    metadata_class = None


@csrf_exempt
def nothing_here(request: HttpRequest) -> HttpResponseBase:
    """The answer to a path the API does not have."""
    return plain_json(request, 404, "There is no such path.")


urlpatterns = [
    both("schema", SchemaView.as_view(), "schema"),
    both("docs", DocsView.as_view(url_name="schema"), "docs"),
    both("me", MeView.as_view(), "me"),
    both("agents", AgentsView.as_view(), "agents"),
    both(rf"agents/{SLUG}", AgentView.as_view(), "agent"),
    both(rf"agents/{SLUG}/prompt", PromptView.as_view(), "agent-prompt"),
    both(rf"agents/{SLUG}/diary", DiaryView.as_view(), "agent-diary"),
    both(rf"agents/{SLUG}/memories", MemoriesView.as_view(), "agent-memories"),
    both("dialogues", DialoguesView.as_view(), "dialogues"),
    both(rf"dialogues/{DIALOGUE}", DialogueView.as_view(), "dialogue"),
    both(rf"dialogues/{DIALOGUE}/messages", MessagesView.as_view(), "dialogue-messages"),
    both("toolkits", ToolkitsView.as_view(), "toolkits"),
    both("chat", ChatView.as_view(), "chat"),
    both("approvals", ApprovalsView.as_view(), "approvals"),
    both("approvals/grants", GrantsView.as_view(), "approval-grants"),
    both(r"approvals/grants/(?P<grant_id>[0-9]+)/revoke", RevokeView.as_view(), "approval-grant-revoke"),
    both(f"approvals/{APPROVAL}", ApprovalView.as_view(), "approval"),
    both(f"approvals/{APPROVAL}/decide", DecideView.as_view(), "approval-decide"),
    both(f"approvals/{APPROVAL}/should-have-asked", ShouldHaveAskedView.as_view(), "approval-regret"),
    both("chat/stream", StreamView.as_view(), "chat-stream"),
    both(r"chat/(?P<message_id>[0-9]+)", AnswerView.as_view(), "chat-answer"),
    both(r"chat/(?P<message_id>[0-9]+)/stop", StopView.as_view(), "chat-stop"),
    both("stream-tickets", TicketsView.as_view(), "stream-tickets"),
    both(r"chat/(?P<message_id>[0-9]+)/check-in", CheckInView.as_view(), "chat-check-in"),
]
