"""Every reason a language model call can fail for, in one table, and the one exception that carries it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from synth.errors import DomainError

if TYPE_CHECKING:
    from synth.llm.completion import Completion


@dataclass(frozen=True)
class Reason:
    """`is_retryable`: trouble of the host, worth another try from the row. `status`: the REST answer."""

    sentence: str
    is_retryable: bool = False
    status: int = 422


REASONS: dict[str, Reason] = {
    "no_language_model": Reason("No language model is configured (LLM_BASE_URL).", status=503),
    "llm_unreachable": Reason("The language model host cannot be reached.", is_retryable=True, status=503),
    "llm_timeout": Reason("The language model did not answer in time.", is_retryable=True, status=503),
    "llm_overloaded": Reason("The language model host is busy or failing.", is_retryable=True, status=503),
    "llm_refused": Reason("The language model host refused the request."),
    "cut": Reason("The reply reached the token limit before its end."),
    "content_filter": Reason("The language model's content filter withheld the reply."),
    "bad_shape": Reason("The reply could not be read as the JSON that was asked for."),
    "spend_cap": Reason("The agent has spent its tokens for today."),
    "local_only": Reason("This agent may only use language models on this machine or network."),
    "stopped": Reason("The call was ended before its reply was whole.", status=409),
    "in_transaction": Reason("A language model may not be called inside a database transaction.", status=500),
}


class LlmError(DomainError):
    """A call that brought no usable reply. `reason` is a key of `REASONS`; `detail` adds what is known.

    `retryable` says whether a later try may help, `retry_after_s` when the host said so. `call_id` is the
    saved call, None where nothing was sent. `partial` is the `Completion` as far as it had come when a call
    broke or was stopped. A key or other secret is never part of the detail.
    """

    def __init__(
        self,
        reason: str,
        detail: str = "",
        *,
        retry_after_s: float | None = None,
        call_id: UUID | None = None,
        partial: Completion | None = None,
    ) -> None:
        entry = REASONS[reason]
        super().__init__(f"{entry.sentence} {detail}".strip(), code=reason)
        self.reason = reason
        self.detail = detail
        self.status = entry.status
        self.retryable = entry.is_retryable
        self.retry_after_s = retry_after_s
        self.call_id = call_id
        self.partial = partial
