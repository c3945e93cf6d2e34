"""Order-proof choices: each is asked in several orders of its options, in one ask, and the answers averaged.

The copies go out as further questions of the same request, so one deadline and one reading of the state serve
all. What is kept of the ask is the average under the question's own id, with how far the order moved it:
`x_instability` and `x_flips`, as `judgments.orders` has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from judgments import backends, orders
from judgments.backends import HostConfig, Reply
from judgments.questions import Ask, Question
from judgments.typed import Answer, ChoiceAnswer, to_wire, typed_answer


def ask(host: HostConfig, ask: Ask, deadline_s: float, **how: Any) -> Reply:
    """As `backends.ask`, in `host.n_orders` orders. Failure when one copy has no good answer."""
    if host.n_orders < 2 or host.backend == "local":
        return backends.ask(host, ask, deadline_s, **how)
    asked, copies = orders.spread(ask.questions, host.n_orders)
    reply = backends.ask(host, replace(ask, questions=tuple(asked)), deadline_s, **how)
    if not copies:
        return reply
    typed: dict[str, Answer] = {}
    answers: dict[str, Any] = {}
    for question in ask.questions:
        typed[question.id], answers[question.id] = _one(question, reply, copies.get(question.id))
    return replace(reply, typed=typed, answers=answers)


def instabilities(reply: Reply) -> list[float]:
    """How far the order moved each choice that was asked in several."""
    found = [answer for answer in reply.answers.values() if isinstance(answer, Mapping)]
    return [answer["x_instability"] for answer in found if "x_orders" in answer]


def _one(question: Question, reply: Reply, ids: list[str] | None) -> tuple[Answer, Any]:
    if ids is None:
        return reply.typed[question.id], reply.answers[question.id]
    found = [one for name in ids if isinstance(one := reply.typed[name], ChoiceAnswer)]
    mean = orders.average([one.probabilities for one in found])
    answer = typed_answer(question, [mean.probabilities[name] for name in question.options])
    extras = {"orders": mean.n_orders, "instability": mean.instability, "flips": mean.flips}
    return answer, to_wire(answer, extras)
