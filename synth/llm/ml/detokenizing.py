"""Words from tokens as they come: a letter of several tokens is held back until it is whole."""

from __future__ import annotations

from typing import Any

HALF = "\ufffd"


class Detokenizing:
    """One reply. Reads a few tokens back, because tokenizers join words by what stands before."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._ids: list[int] = []
        self._from = self._said = 0

    def add(self, token: int) -> str:
        """The words that are whole by now."""
        self._ids.append(token)
        return self._rest(is_last=False)

    def end(self) -> str:
        """What is left, half letters as replacement marks."""
        return self._rest(is_last=True)

    def _rest(self, *, is_last: bool) -> str:
        before, now = self._text(self._ids[self._from : self._said]), self._text(self._ids[self._from :])
        if len(now) <= len(before) or (now.endswith(HALF) and not is_last):
            return ""
        self._from, self._said = self._said, len(self._ids)
        return now[len(before) :]

    def _text(self, ids: list[int]) -> str:
        found: str = self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return found
