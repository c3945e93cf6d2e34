"""The chat page: a person's dialogues, one of them open; fragments for what changes in it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from synth import selectors
from synth.api import throttles
from synth.api.auth import caller_of
from synth.errors import DomainError, Invalid, NotAllowed, NotFound
from synth.models import Dialogue, Message, MessageRole
from synth.pages import thread
from synth.schemas import Caller
from synth.services import approvals, branches, dialogue_search, dialogues, fields, turns

LOGIN = "/login/"
LOGGED_OUT = "You are no longer logged in; nothing was sent. Copy your words, and load the page anew."
MAX_KEY_CHARS = 200
N_DIALOGUES = 60
MAX_ID = 9_223_372_036_854_775_807
View = Callable[..., HttpResponse]


def page(view: View) -> Callable[..., HttpResponseBase]:
    """A view for people who are logged in; a refusal is said on the page, with its status.

    A page whose session ended meanwhile is told so: the login page in its place would lose what was written.
    What a person asks here counts with what their browser asks of the API (`RATE_PER_KEY`).
    """

    @login_required(login_url=LOGIN)
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if wait_s := throttles.count_person(request.user):
            text = f"Too many requests; try again in {wait_s} s. Nothing was sent."
            late = render(request, "synth/chat_notice.html", {"text": text}, status=429)
            late["Retry-After"] = str(wait_s)
            return late
        try:
            return view(request, *args, **kwargs)
        except NotFound as error:
            raise Http404(error.message) from None
        except DomainError as error:
            return render(request, "synth/chat_notice.html", {"text": error.message}, status=error.status)

    @wraps(view)
    def whole(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if "HX-Request" in request.headers and not request.user.is_authenticated:
            return render(request, "synth/chat_notice.html", {"text": LOGGED_OUT}, status=401)
        return wrapped(request, *args, **kwargs)

    return whole


@require_GET
@page
def index(request: HttpRequest) -> HttpResponse:
    """A person's dialogues, those where something is found (`q`), and a way to begin one."""
    caller = caller_of(request)
    words = dialogue_search.words_of(request.GET.get("q", ""))
    found = _found(caller, words) if words else []
    return render(
        request, "synth/chat_index.html", {**_sidebar(caller), "words": " ".join(words), "found": found}
    )


@require_POST
@page
def new(request: HttpRequest) -> HttpResponse:
    """Begin a dialogue with an agent."""
    caller = caller_of(request)
    slug = request.POST.get("agent", "").replace("\x00", "")
    agent = selectors.agents_seen(caller).filter(slug=slug, archived_at=None).first()
    if agent is None:
        raise NotFound("There is no such agent.")
    row = dialogues.create(agent, caller.person, scratch=request.POST.get("scratch") == "on")
    return redirect("chat-dialogue", dialogue_id=row.pk)


@require_GET
@page
def dialogue(request: HttpRequest, dialogue_id: UUID) -> HttpResponse:
    """One dialogue."""
    caller = caller_of(request)
    row = _own(caller, dialogue_id)
    return render(request, "synth/chat.html", {**_sidebar(caller), **_thread(row)})


@require_GET
@page
def earlier(request: HttpRequest, dialogue_id: UUID) -> HttpResponse:
    """What stands above a message (`above`), for the top of the page."""
    row = _own(caller_of(request), dialogue_id)
    message = _message(row, request.GET.get("above"))
    if message is None:
        raise Invalid("Above which message?", field="above")
    return render(request, "synth/chat_bubbles.html", {"dialogue": row, "thread": thread.read_above(message)})


@require_POST
@page
def say(request: HttpRequest, dialogue_id: UUID) -> HttpResponse:
    """Say something at the end of the branch, or in place of an earlier message (`edits`)."""
    caller = caller_of(request)
    row = _open(caller, dialogue_id)
    edited = _message(row, request.POST.get("edits"), role=MessageRole.USER)
    place = turns.Place(edited.parent, at_root=edited.parent is None) if edited else turns.Place()
    key = fields.text(request.POST.get("key", ""), "key", max_chars=MAX_KEY_CHARS)
    turns.begin(row, caller.person, request.POST.get("content", ""), place, caller=caller, key=key)
    return _branch(request, row)


@require_POST
@page
def again(request: HttpRequest, dialogue_id: UUID) -> HttpResponse:
    """Have the message above an answer answered anew."""
    caller = caller_of(request)
    row = _open(caller, dialogue_id)
    answer = _message(row, request.POST.get("message"), role=MessageRole.ASSISTANT)
    if answer is None:
        raise Invalid("Which answer?", field="message")
    said = answer.parent
    while said is not None and said.role != MessageRole.USER:
        said = said.parent
    if said is None:
        raise Invalid("Nobody asked for this one.", field="message")
    turns.begin_retake(row, caller.person, said, caller=caller)
    return _branch(request, row)


@require_POST
@page
def branch(request: HttpRequest, dialogue_id: UUID) -> HttpResponse:
    """Show the newest branch that goes through a message."""
    row = _own(caller_of(request), dialogue_id)
    message = _message(row, request.POST.get("message"))
    if message is None:
        raise Invalid("Which message?", field="message")
    branches.show(row, message)
    return _branch(request, row)


@require_GET
@page
def news(request: HttpRequest, dialogue_id: UUID) -> HttpResponse:
    """The branch anew when it ends elsewhere than the page knows; else nothing (204)."""
    row = _own(caller_of(request), dialogue_id)
    if request.GET.get("leaf", "") == str(row.active_leaf_id or ""):
        return HttpResponse(status=204)
    return _branch(request, row)


@require_POST
@page
def stop(request: HttpRequest, dialogue_id: UUID) -> HttpResponse:
    """Stop the answer that is being written."""
    caller = caller_of(request)
    row = _own(caller, dialogue_id)
    answer = Message.objects.filter(dialogue=row, status="streaming").first()
    if answer is not None:
        turns.request_stop(answer.pk, "stopped", by=caller.person)
    return HttpResponse(status=204)


@require_GET
@page
def bubble(request: HttpRequest, dialogue_id: UUID, message_id: int) -> HttpResponse:
    """One message as it is now; the page swaps it in when an answer has ended or asks for something."""
    row = _own(caller_of(request), dialogue_id)
    message = _message(row, str(message_id))
    if message is None:
        raise NotFound("There is no such message.")
    return render(request, "synth/chat_bubble.html", {"bubble": thread.bubble_of(message), "dialogue": row})


@require_POST
@page
def decide(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """Decide about an action that waits."""
    raw = request.POST.get("scope", "0")
    scope = int(raw) if raw.isascii() and raw.isdigit() and len(raw) < 4 else -1
    row = approvals.decide(
        approval_id, request.POST.get("decision", ""), by=caller_of(request), scope=scope, door="chat"
    )
    return render(request, "synth/chat_decided.html", {"approval": row})


@require_POST
@page
def change(request: HttpRequest, dialogue_id: UUID) -> HttpResponse:
    """Name a dialogue, put it away, bring it back, or delete it."""
    row = _own(caller_of(request), dialogue_id)
    what = request.POST.get("what", "")
    if what == "rename":
        dialogues.rename(row, request.POST.get("title", ""))
    elif what == "archive":
        dialogues.archive(row)
    elif what == "unarchive":
        dialogues.unarchive(row)
    elif what == "delete":
        dialogues.delete(row, by=row.person, door="chat")
    else:
        raise Invalid("There is no such change.", field="what")
    if what in ("archive", "delete"):
        return redirect("chat")
    return redirect("chat-dialogue", dialogue_id=row.pk)


def _own(caller: Caller, dialogue_id: UUID) -> Dialogue:
    row = selectors.dialogues_of(caller.person).filter(pk=dialogue_id).first()
    if row is None:
        raise NotFound("There is no such dialogue.")
    return row


def _open(caller: Caller, dialogue_id: UUID) -> Dialogue:
    """One's own, with an agent that one may still talk to."""
    row = _own(caller, dialogue_id)
    dialogues.refuse_archived(row.agent)
    if not selectors.agents_seen(caller).filter(pk=row.agent_id).exists():
        raise NotAllowed("This agent is no longer open to you; what was said stays.")
    return row


def _message(row: Dialogue, raw: str | None, role: str = "") -> Message | None:
    """A message of this dialogue by its number; None for a blank one."""
    if not raw:
        return None
    is_number = raw.isascii() and raw.isdigit() and len(raw) <= 19 and int(raw) <= MAX_ID
    rows = Message.objects.filter(dialogue=row).select_related("parent", "dialogue")
    found = rows.filter(pk=int(raw)).first() if is_number else None
    if found is None or (role and found.role != role):
        raise NotFound("There is no such message here.")
    return found


def _branch(request: HttpRequest, row: Dialogue) -> HttpResponse:
    row.refresh_from_db()
    return render(request, "synth/chat_thread.html", _thread(row))


def _thread(row: Dialogue) -> dict[str, Any]:
    return {"dialogue": row, "thread": thread.read(row)}


def _found(caller: Caller, words: list[str]) -> list[tuple[Dialogue, str]]:
    """The newest dialogues that hold the words, each with a line around these."""
    rows = list(dialogue_search.find(selectors.dialogues_of(caller.person), words)[:N_DIALOGUES])
    snippets = dialogue_search.snippets(rows, words)
    return [(row, snippets.get(row.pk, "")) for row in rows]


def _sidebar(caller: Caller) -> dict[str, Any]:
    mine = selectors.dialogues_of(caller.person)
    return {
        "agents": selectors.agents_seen(caller).filter(archived_at=None).order_by("name"),
        "dialogues": mine.filter(archived_at=None)[:N_DIALOGUES],
        "archived": mine.exclude(archived_at=None)[:N_DIALOGUES],
    }
