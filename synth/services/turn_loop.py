"""The bounded loop of a turn: ask the model, perform what it asks for, tell it the results, ask again.

Each action's result is a `tool` node in the tree, saved as soon as it is known: the line of truth, whatever
the model says. No transaction and no connection is held while a model thinks.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import transaction

from synth import actions, faults
from synth.actions import Outcome
from synth.chat import asked, history
from synth.chat.asked import Asked, Wanted
from synth.llm import LlmError, Reply, Request, complete
from synth.llm import Message as Sent
from synth.models import Message, MessageRole, MessageStatus
from synth.rowqueue import leases
from synth.turns import Turn

MAX_CALLS = 8  # model calls of one turn
MAX_CORRECTIONS = 2  # rounds in which the model may put refused actions right
faults.declare("turns.action.before", "the model asked for an action, nothing is done yet")
faults.declare("turns.result.before", "an action is done, its result line is not saved")


@dataclass(frozen=True)
class Final:
    """The end of a loop: the words for the person, and what is kept with them."""

    text: str
    reply: Reply
    n_calls: int
    tool_nodes: list[int]


@dataclass
class Loop:
    """One turn's loop. `build(takes_tools)` gives the request; `answer` is the placeholder that is leased."""

    turn: Turn
    answer: Message
    kept: leases.Kept
    tools: list[dict[str, Any]]
    build: Any
    tip: Message
    n_calls: int = 0
    n_corrections: int = 0
    rounds: list[Sent] = field(default_factory=list)
    done: dict[str, Outcome] = field(default_factory=dict)
    tool_nodes: list[int] = field(default_factory=list)

    def run(self) -> Final:
        """Until the model asks for nothing more. LlmError as `complete`, Conflict when the lease is lost."""
        while True:
            is_last = self.n_calls >= MAX_CALLS - 1 or self.n_corrections > MAX_CORRECTIONS
            request = self._request(is_last)
            reply, request = self._ask(request)
            wanted = self._read(reply, request)
            if wanted.asked:
                self._round(wanted, reply, is_performed=not is_last)
            if is_last or not wanted.asked:
                return self._final(wanted, reply, is_last)

    def _request(self, is_last: bool) -> Request:
        base: Request = self.build(bool(self.tools))
        messages = history.merged([*base.messages, *self.rounds])
        choice = "none" if is_last and self.tools else ""
        return replace(base, messages=messages, tools=self.tools, tool_choice=choice)

    def _ask(self, request: Request) -> tuple[Reply, Request]:
        """One call; a host that refuses tools is asked again without, once and for the rest of the turn."""
        self.kept.check()
        self.n_calls += 1
        try:
            return complete(request), request
        except LlmError as error:
            is_about_tools = error.reason == "llm_refused" and "tool" in error.detail.lower()
            if not (request.tools and is_about_tools and self.n_calls == 1):
                raise
        self.tools, self.n_calls = [], self.n_calls + 1
        request = self._request(is_last=False)
        return complete(request), request

    def _read(self, reply: Reply, request: Request) -> Wanted:
        if reply.finish_reason == "length":
            # Half an action is none.
            if not reply.text.strip():
                raise LlmError("cut", call_id=reply.call_id)
            return Wanted(asked.visible(reply.text), [])
        shown = [text for m in request.messages if m.role != "assistant" for _, text in m.record()]
        return asked.read(reply.text, reply.tool_calls, shown)

    def _round(self, wanted: Wanted, reply: Reply, *, is_performed: bool) -> None:
        """Save what was asked for, do it one by one, and remember it for the next call."""
        self._add(
            # The words of the last call are the answer itself.
            MessageRole.ASSISTANT, wanted.text if is_performed else "",
            {"tool_calls": [call.as_json() for call in wanted.calls], "via": wanted.via,
             "llm_call": str(reply.call_id)},
        )  # fmt: skip
        outcomes = [self._one(item, is_performed) for item in wanted.asked]
        if any(outcome.is_correctable for outcome in outcomes):
            self.n_corrections += 1
        lines = [outcome.text for outcome in outcomes]
        if wanted.via == "tools":
            self.rounds.append(Sent("assistant", wanted.text, tool_calls=wanted.calls))
            pairs = zip(wanted.asked, lines, strict=True)
            self.rounds.extend(history.result_as_tool(item.id, line) for item, line in pairs)
        else:
            names = [item.name for item in wanted.asked]
            self.rounds.append(history.asked_by_text(wanted.text, wanted.calls))
            self.rounds.append(history.results_as_text(zip(names, lines, strict=True)))

    def _one(self, item: Asked, is_performed: bool) -> Outcome:
        self.kept.check()
        faults.point("turns.action.before")
        outcome = self._outcome(item, is_performed)
        if outcome.is_ok:
            self.done[item.key] = outcome
        faults.point("turns.result.before")
        line = outcome.text[: actions.MAX_TEXT_CHARS]
        self._add(MessageRole.TOOL, line, {"call_id": item.id, **described(item.name, outcome)})
        self.tool_nodes.append(self.tip.pk)
        return replace(outcome, text=line)

    def _outcome(self, item: Asked, is_performed: bool) -> Outcome:
        if not is_performed:
            return actions.refuse(self.turn, item.name, "too_many")
        if item.problem:
            return actions.refuse(self.turn, item.name, "invalid_payload", item.problem)
        if item.is_quoted:
            return actions.refuse(self.turn, item.name, "quoted")
        earlier = self.done.get(item.key)
        if earlier is not None and self.n_corrections:
            # Only what was refused is to be repeated; models tend to repeat everything.
            return replace(earlier, text=f"Done before in this turn, not repeated: {earlier.text}")
        return actions.perform(self.turn, item.name, item.payload)

    def _add(self, role: str, text: str, metadata: dict[str, Any]) -> None:
        """A node above the answer, in the branch."""
        with transaction.atomic():
            node = Message.objects.create(
                dialogue_id=self.answer.dialogue_id, parent=self.tip, role=role, content=text,
                metadata=metadata,
            )  # fmt: skip
            leases.guarded(self.answer, was={"status": MessageStatus.STREAMING}, parent=node)
        self.tip = node

    def _final(self, wanted: Wanted, reply: Reply, is_last: bool) -> Final:
        if not wanted.text and not self.tool_nodes:
            raise LlmError("bad_shape", "It was empty.", call_id=reply.call_id)
        return Final(wanted.text, reply, self.n_calls, self.tool_nodes)


def described(name: str, outcome: Outcome) -> dict[str, Any]:
    """What a tool node says of its action: `{action, is_ok, code, data}`."""
    try:
        data = json.loads(json.dumps(outcome.data, default=str, allow_nan=False))
    except ValueError:
        data = {}
    return {"action": name[:64], "is_ok": outcome.is_ok, "code": outcome.code, "data": data}
