"""The bounded loop of a turn: ask the model, perform what it asks for, tell it the results, ask again.

Each action's result is a `tool` node in the tree, saved as soon as it is known: the line of truth, whatever
the model says. No transaction and no connection is held while a model thinks. Where a person must be asked
first the loop ends as `Waiting`; `state()` is what another process needs to go on.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from django.db import transaction

from synth import actions, faults, options
from synth.actions import Outcome, Waiting
from synth.chat import asked, history
from synth.chat.asked import Asked, Wanted
from synth.llm import LlmError, Reply, Request, complete
from synth.llm import Message as Sent
from synth.llm.messages import ToolCall
from synth.models import Approval, ApprovalStatus, Message, MessageRole, MessageStatus
from synth.rowqueue import leases
from synth.services import approval_asking, approvals, branches, check_ins
from synth.services.turn_live import Live
from synth.services.turn_request import Builder, name_of
from synth.turns import Turn

MAX_CORRECTIONS = 2  # rounds in which the model may put refused actions right
faults.declare("turns.action.before", "the model asked for an action, nothing is done yet")
faults.declare("turns.result.before", "an action is done, its result line is not saved")


class Stopped(Exception):
    """The turn was told to end; `Live.reason` says why."""


@dataclass(frozen=True)
class Final:
    """The end of a loop: the words for the person, how the last reply ended, calls left to the client."""

    text: str
    reply: Reply
    client_calls: tuple[ToolCall, ...] = ()


@dataclass
class Loop:
    """One turn's loop. `answer` is the placeholder that is leased, `tip` the node it stands below."""

    turn: Turn
    answer: Message
    kept: leases.Kept
    live: Live
    builder: Builder
    tip: Message
    tools: list[dict[str, Any]] = field(default_factory=list)
    n_calls: int = 0
    n_corrections: int = 0
    rounds: list[Sent] = field(default_factory=list)
    done: dict[str, str] = field(default_factory=dict)
    tool_nodes: list[int] = field(default_factory=list)
    waits: list[Asked] = field(default_factory=list)  # of the current round, not performed yet
    wanted: Wanted | None = None
    is_last: bool = False  # the reply at hand is the last one, and may cause nothing
    is_ending: bool = False  # the next one is
    is_awaited: bool = False  # a person was asked about the first of `waits`
    last: Reply | None = None
    usage: dict[str, int] = field(default_factory=lambda: {"prompt_tokens": 0, "completion_tokens": 0})
    _lines: list[tuple[Asked, Outcome]] = field(default_factory=list)
    _nudge: str = ""

    def run(self) -> Final | Waiting:
        """Until the model asks for nothing more, or a person must be asked.

        LlmError as `complete`; Conflict when the lease is lost; Stopped.
        """
        if self.wanted is not None and (waiting := self._work_off()):
            return waiting
        while True:
            is_full = self.n_calls >= options.read("CHAT_MAX_CALLS") - 1
            self.is_last = self.is_ending or is_full or self.n_corrections > MAX_CORRECTIONS
            reply, request = self._ask(self._request())
            wanted, client_calls = self._split(self._read(reply, request))
            self.live.end_round(wanted.text)
            if wanted.asked:
                self._begin_round(wanted, reply, has_more=bool(client_calls))
                if waiting := self._work_off():
                    return waiting
            if self.is_last or client_calls or not wanted.asked:
                return self._final(wanted, reply, client_calls)

    def check(self) -> None:
        """Stopped, or Conflict when the lease is lost."""
        if self.live.is_stopped():
            raise Stopped
        self.kept.check()

    def state(self) -> dict[str, Any]:
        """What it takes to go on elsewhere; the rest stands in the tree."""
        return {
            "n_calls": self.n_calls,
            "n_corrections": self.n_corrections,
            "tool_nodes": self.tool_nodes,
            "done": self.done,
            "waits": [asdict(item) for item in self.waits],
            "takes_tools": bool(self.tools),
            "is_ending": self.is_ending,
            "usage": self.usage,
        }

    def facts(self) -> dict[str, Any]:
        """What an answer keeps of the way to it."""
        found: dict[str, Any] = {"n_calls": self.n_calls, "usage": self.usage}
        if self.last is not None:
            found |= {"model": self.last.model, "llm_call": str(self.last.call_id)}
        return found | ({"tool_nodes": self.tool_nodes} if self.tool_nodes else {})

    def take_up(self, state: dict[str, Any], said: Message) -> None:
        """Go on where another process laid the turn aside: below `said` stand its rounds."""
        self.n_calls, self.is_ending = state["n_calls"], state["is_ending"]
        self.tool_nodes, self.done, self.usage = state["tool_nodes"], state["done"], state["usage"]
        self.tools = self.tools if state["takes_tools"] else []
        self.builder.base(bool(self.tools))  # what is suspicious is told by what the model has seen
        for node, results in _rounds(branches.between(said, self.tip)):
            items = [
                Asked(c.id, c.name, asked.payload_of(c.arguments)[0]) for c in history.calls_of(node.metadata)
            ]
            self.wanted = Wanted(node.content, items, node.metadata["via"])
            self._lines = [(item, _told(results[item.id])) for item in items if item.id in results]
            if len(self._lines) == len(items):
                self._remember()
        self.n_corrections = state["n_corrections"]
        self.waits = [Asked(**item) for item in state["waits"]]
        self.is_awaited = bool(self.waits)

    def _request(self) -> Request:
        base = self.builder.base(bool(self.tools))
        messages = history.merged([*base.messages, *self.rounds])
        choice: Any = "none" if self.is_last and self.tools else ""
        if self.n_calls == 0 and self.builder.client_tools and not choice:
            choice = self.builder.client.get("tool_choice") or ""
        return replace(base, messages=messages, tools=self.tools, tool_choice=choice)

    def _ask(self, request: Request) -> tuple[Reply, Request]:
        """One call; a host that refuses tools is asked again without, once and for the rest of the turn."""
        try:
            return self._call(request), request
        except LlmError as error:
            is_about_tools = error.reason == "llm_refused" and "tool" in error.detail.lower()
            if not (request.tools and is_about_tools and self.n_calls == 1):
                raise
        self.tools = []
        request = self._request()
        return self._call(request), request

    def _call(self, request: Request) -> Reply:
        self.check()
        self.n_calls += 1
        self.live.begin_round()
        # The work ends in time for its lease; a stream may take all of it.
        reply = complete(replace(request, timeout_s=max(1.0, self.kept.remaining_s)), self.live)
        self.last = reply
        self.usage["prompt_tokens"] += reply.n_prompt_tokens
        self.usage["completion_tokens"] += reply.n_completion_tokens
        return reply

    def _read(self, reply: Reply, request: Request) -> Wanted:
        if reply.finish_reason == "length":
            # Half an action is none.
            if not reply.text.strip():
                raise LlmError("cut", call_id=reply.call_id)
            return Wanted(asked.visible(reply.text), [])
        shown = [text for m in request.messages if m.role != "assistant" for _, text in m.record()]
        return asked.read(reply.text, reply.tool_calls, shown)

    def _split(self, wanted: Wanted) -> tuple[Wanted, tuple[ToolCall, ...]]:
        """What is ours to do, and the calls that the client does itself."""
        theirs = {name_of(tool) for tool in self.builder.client_tools} if self.tools else set()
        if not theirs or wanted.via != "tools":
            return wanted, ()
        ours = [item for item in wanted.asked if item.name not in theirs]
        return replace(wanted, asked=ours), tuple(c for c in wanted.calls if c.name in theirs)

    def _begin_round(self, wanted: Wanted, reply: Reply, *, has_more: bool) -> None:
        """Save what was asked for."""
        is_answer = self.is_last or has_more  # then the words are the answer's own
        self._add(
            MessageRole.ASSISTANT, "" if is_answer else wanted.text,
            {"tool_calls": [call.as_json() for call in wanted.calls], "via": wanted.via,
             "llm_call": str(reply.call_id)},
        )  # fmt: skip
        self.wanted, self.waits, self._lines = wanted, list(wanted.asked), []

    def _work_off(self) -> Waiting | None:
        """Do what the round still waits for, one by one, and remember it for the next call."""
        while self.waits:
            self.check()
            item = self.waits[0]
            outcome = self._one(item)
            if isinstance(outcome, Waiting):
                return outcome
            self.waits = self.waits[1:]
            self._lines.append((item, outcome))
        self._remember()
        return None

    def _remember(self) -> None:
        if self.wanted is None:
            return
        outcomes = [outcome for _, outcome in self._lines]
        if any(outcome.is_correctable for outcome in outcomes):
            self.n_corrections += 1
        names = [(item.name, outcome.text) for item, outcome in self._lines]
        sent: list[Sent]
        if self.wanted.via == "tools":
            results = [history.result_as_tool(item.id, outcome.text) for item, outcome in self._lines]
            sent = [Sent("assistant", self.wanted.text, tool_calls=self.wanted.calls), *results]
        else:
            sent = [
                history.asked_by_text(self.wanted.text, self.wanted.calls),
                history.results_as_text(names),
            ]
        if self._nudge:
            sent, self._nudge = [*sent, Sent("user", self._nudge)], ""
        self.rounds.extend(sent)
        self.builder.shown(sent)
        self.wanted, self._lines = None, []

    def _one(self, item: Asked) -> Outcome | Waiting:
        faults.point("turns.action.before")
        tell = self.live.publisher.action
        outcome = self._refusal(item)
        if outcome is None:
            found = self._perform(item)
            if isinstance(found, Waiting):
                return found
            outcome = found
        if outcome.is_ok:
            self.done[item.key] = outcome.text
        faults.point("turns.result.before")
        outcome = replace(outcome, text=outcome.text[: actions.MAX_TEXT_CHARS])
        self._add(MessageRole.TOOL, outcome.text, {"call_id": item.id, **described(item.name, outcome)})
        self.tool_nodes.append(self.tip.pk)
        tell(
            id=self.tip.pk, action=item.name, call_id=item.id, status="done" if outcome.is_ok else "refused",
            is_ok=outcome.is_ok, code=outcome.code, text=outcome.text,
        )  # fmt: skip
        self._look()
        return outcome

    def _refusal(self, item: Asked) -> Outcome | None:
        """Why an action is not even tried, or what it brought when it was done before in this turn."""
        if self.is_last or self.is_ending:
            return actions.refuse(self.turn, item.name, "too_many")
        if item.problem:
            return actions.refuse(self.turn, item.name, "invalid_payload", item.problem)
        if item.is_quoted:
            return actions.refuse(self.turn, item.name, "quoted")
        earlier = self.done.get(item.key)
        if earlier is not None and self.n_corrections:
            # Only what was refused is to be repeated; models tend to repeat everything.
            return Outcome(f"Done before in this turn, not repeated: {earlier}")
        return None

    def _perform(self, item: Asked) -> Outcome | Waiting:
        # Hosts count their calls anew in each reply; a question is about one call of the whole turn.
        call_id = _call_id(self.n_calls, item.id)
        question = approval_asking.find(self.answer, call_id) if self.is_awaited else None
        if question is not None and question.status != ApprovalStatus.PENDING:
            self.live.publisher.approval(approvals.as_json(question))
        self.live.publisher.action(id=None, action=item.name, call_id=item.id, status="running")
        outcome = actions.perform(self.turn, item.name, item.payload, call_id=call_id, answer=self.answer)
        if not isinstance(outcome, Waiting):
            self.is_awaited = False
        elif not self.is_awaited:
            self.live.publisher.approval(approvals.as_json(Approval.objects.get(pk=outcome.approval_id)))
        return outcome

    def _look(self) -> None:
        """Does the turn still make progress?"""
        word = check_ins.look(self.turn, self.answer, len(self.tool_nodes), self.live.publisher)
        if word == check_ins.STOP:
            self.is_ending = True
        elif word:
            self._nudge = word

    def _add(self, role: str, text: str, metadata: dict[str, Any]) -> None:
        """A node above the answer, in the branch."""
        with transaction.atomic():
            node = Message.objects.create(
                dialogue_id=self.answer.dialogue_id, parent=self.tip, role=role, content=text,
                metadata=metadata,
            )  # fmt: skip
            leases.guarded(self.answer, was={"status": MessageStatus.STREAMING}, parent=node)
        self.tip = node

    def _final(self, wanted: Wanted, reply: Reply, client_calls: tuple[ToolCall, ...]) -> Final:
        if not wanted.text and not self.tool_nodes and not client_calls:
            raise LlmError("bad_shape", "It was empty.", call_id=reply.call_id)
        return Final(wanted.text, reply, client_calls)


def _call_id(n_calls: int, id: str) -> str:
    """The name of a call in its whole turn, of at most 100 characters; no two calls have the same."""
    whole = f"{n_calls}.{id}"
    return whole if len(whole) <= 100 else f"{whole[:67]}#{hashlib.sha256(whole.encode()).hexdigest()[:32]}"


def described(name: str, outcome: Outcome) -> dict[str, Any]:
    """What a tool node says of its action: `{action, is_ok, code, data}`."""
    try:
        data = json.loads(json.dumps(outcome.data, default=str, allow_nan=False))
    except ValueError:
        data = {}
    return {"action": name[:64], "is_ok": outcome.is_ok, "code": outcome.code, "data": data}


def _told(node: Message) -> Outcome:
    """An outcome as its result line tells it."""
    return Outcome(node.content, is_ok=bool(node.metadata["is_ok"]), code=str(node.metadata["code"]))


def _rounds(nodes: list[Message]) -> list[tuple[Message, dict[str, Message]]]:
    """Each reply that asked for actions, with the results it has so far by call."""
    found: list[tuple[Message, dict[str, Message]]] = []
    for node in nodes:
        if node.role == MessageRole.ASSISTANT:
            found.append((node, {}))
        elif found and node.role == MessageRole.TOOL:
            found[-1][1][str(node.metadata.get("call_id", ""))] = node
    return found
