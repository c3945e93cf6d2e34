"""What cycles and rewritings share as rows that a worker runs: what each error of a model means for them."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, TypeVar

from growth.services.rewrite import Unusable
from synth.errors import DomainError
from synth.llm import LlmError
from synth.rowqueue.leased import Tried
from synth.rowqueue.runner import Ending, RowRunner

R = TypeVar("R", bound=Tried)


class AskingRunner(RowRunner[R]):
    """`reasons` is the table of what such a row may end with."""

    reasons: ClassVar[Collection[str]]

    def ending(self, error: Exception) -> Ending | None:
        """Two unusable replies, trouble of the host, or a refusal that has its own reason."""
        if isinstance(error, Unusable):
            return Ending("bad_shape", error.detail)
        if isinstance(error, LlmError) and error.retryable:
            wait_s = error.retry_after_s or 0
            return Ending("llm_unreachable", error.message, is_host_trouble=True, wait_s=wait_s)
        if isinstance(error, DomainError) and error.code in self.reasons:
            return Ending(error.code, error.message)
        return None
