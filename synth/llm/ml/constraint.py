"""Keeps a model to JSON of a schema: which tokens may come next, by llguidance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import structlog
import torch
from torch import Tensor

log = structlog.get_logger(__name__)


class Constraint:
    """One reply. `allowed` masks the next token, `take` notes the one that was picked."""

    def __init__(self, matcher: Any, n_tokens: int) -> None:
        self._matcher = matcher
        self._n_tokens = n_tokens

    def allowed(self, logits: Tensor) -> Tensor:
        """The logits with what may not come next at minus infinity."""
        bits = torch.frombuffer(bytearray(self._matcher.compute_bitmask()), dtype=torch.uint8)
        may = ((bits[:, None] >> torch.arange(8, dtype=torch.uint8)) & 1).bool().flatten()[: self._n_tokens]
        return logits.masked_fill(~may, -torch.inf)

    def take(self, token: int) -> bool:
        """Whether the value is whole now. RuntimeError for a token that may not come."""
        if not self._matcher.consume_token(token):
            raise RuntimeError(self._matcher.get_error()[:200])
        return bool(self._matcher.is_stopped())


class Constraints:
    """Makes them for one tokenizer. Without the library, or for a tokenizer or a schema it cannot take, none:
    the reply is then read tolerantly, as any host's.
    """

    def __init__(self, tokenizer: Any, n_tokens: int, ends: Sequence[int]) -> None:
        self._n_tokens = n_tokens
        self._known: Any = None
        try:
            from llguidance import hf

            self._known = hf.from_tokenizer(tokenizer, n_vocab=n_tokens, eos_token=list(ends))
        except Exception as error:  # noqa: BLE001 - foreign tokenizers fail in many ways
            log.warning("json_not_constrained", error=str(error)[:300])

    def of(self, schema: dict[str, Any] | None) -> Constraint | None:
        """The constraint of a schema; None without one."""
        if schema is None or self._known is None:
            return None
        from llguidance import LLMatcher

        # Blanks wherever JSON allows them would let a weak model write nothing but blanks.
        grammar = LLMatcher.grammar_from_json_schema(schema, overrides={"whitespace_flexible": False})
        matcher = LLMatcher(self._known, grammar)
        if matcher.is_error():
            log.warning("json_schema_not_constrained", error=matcher.get_error()[:300])
            return None
        return Constraint(matcher, self._n_tokens)
