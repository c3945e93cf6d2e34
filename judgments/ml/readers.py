"""Answers to typed questions by whatever reads them best here or was asked for, and which reader it was.

Picked per question: a trained head where the very question was trained; a causal language model where one
is installed; else embedding cosine for choices and a flat answer for the rest, which are said to be
uncalibrated. Every distinct text of a batch is read once. No reader sees ids or the order of options, and
a state's batch mates change only the last bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from judgments.ml.artifacts import Artifact
from judgments.ml.causal import CausalReader
from judgments.ml.encoding import Read, Reading, TooLong
from judgments.ml.head import Seen, prepare
from judgments.ml.rendering import field_texts, meanings, option_texts, plain, says_yes
from judgments.questions import Question

MAX_STATE_TOKENS = 8_192
MAX_QUESTION_TOKENS = 32_768
COSINE_TEMPERATURE = 0.02

Asked = tuple[Any, Question]
LANGUAGE_MODEL, EMBEDDING, FLAT = "causal", "embedding", "flat"


class CannotRead(ValueError):
    """The reader that was asked for has no answer to this question."""


@dataclass(frozen=True)
class Answered:
    """Numbers for `typed_answer`: p of yes for a noul, else one probability an option, in order."""

    numbers: float | list[float]
    reader: str
    is_calibrated: bool


class Readers:
    """All readers over one encoder. `heads` by family."""

    def __init__(
        self, reading: Reading, heads: Sequence[Artifact] = (), causal: CausalReader | None = None
    ) -> None:
        self.reading = reading
        self.causal = causal
        self.heads = [head for head in heads if head.about.encoder == reading.encoder.name]

    def tokens(self, state: Any, questions: Sequence[Question]) -> int:
        """How many tokens an ask has. TooLong over a limit: nothing is ever cut."""
        n_state = self.reading.count(plain(state), MAX_STATE_TOKENS)
        if n_state > MAX_STATE_TOKENS:
            raise TooLong(MAX_STATE_TOKENS, n_state)
        n_asked = 0
        for question in questions:
            for text in _question_texts(question):
                n_asked += self.reading.count(text, MAX_QUESTION_TOKENS)
                if n_asked > MAX_QUESTION_TOKENS:
                    raise TooLong(MAX_QUESTION_TOKENS, n_asked)
        if self.causal is not None and not all(self._has_head(state, q) for q in questions):
            self.causal.check(state, questions)
        return n_state + n_asked

    def check(self, state: Any, questions: Sequence[Question], only: str) -> None:
        """CannotRead when one of the questions is not for the reader `only`, a family or another reader."""
        for question in questions:
            self._pick(state, question, only)

    def answer(self, asked: Sequence[Asked], only: Sequence[str] = ()) -> list[Answered]:
        """One answer a question, in order. `only` names a reader for each; "" leaves the pick to us."""
        wanted = only or [""] * len(asked)
        picked = [
            self._pick(state, question, one) for (state, question), one in zip(asked, wanted, strict=True)
        ]
        state_texts: list[str] = []
        question_texts: list[str] = []
        for (state, question), head in zip(asked, picked, strict=True):
            if isinstance(head, Artifact):
                found = field_texts(state, head.fields) or []
                state_texts += [text for entries in found for text in entries]
                question_texts += _question_texts(question)
            elif head == EMBEDDING:
                state_texts.append(plain(state))
                question_texts += meanings(question)
        read = self.reading.read(question_texts, keep=True) | self.reading.read(state_texts)
        found_by_head = self._by_heads(asked, picked, read) | self._by_causal(asked, picked)
        answers = []
        for n, ((state, question), head) in enumerate(zip(asked, picked, strict=True)):
            if n in found_by_head:
                answers.append(found_by_head[n])
            elif head == EMBEDDING:
                answers.append(Answered(_by_cosine(state, question, read), EMBEDDING, False))
            else:
                answers.append(flat(question))
        return answers

    def _has_head(self, state: Any, question: Question) -> bool:
        return any(head.answers(question, state) for head in self.heads)

    def _pick(self, state: Any, question: Question, only: str = "") -> Artifact | str:
        is_choice = question.type == "choice" and len(question.options) > 1
        for head in self.heads:
            if only in ("", head.family) and head.answers(question, state):
                return head
        if only == EMBEDDING and not is_choice:
            raise CannotRead("The embedding reader answers choices between two options or more.")
        if only not in ("", EMBEDDING, LANGUAGE_MODEL):
            raise CannotRead(f"The head {only} answers its own question about its own kind of state alone.")
        if self.causal is not None and only != EMBEDDING:
            return LANGUAGE_MODEL
        # No state is nearer to the word yes than to no.
        return EMBEDDING if is_choice and says_yes(question) is None else FLAT

    def _by_causal(self, asked: Sequence[Asked], picked: Sequence[Artifact | str]) -> dict[int, Answered]:
        """Answers of the language model; questions about one state share its reading."""
        places = [n for n, head in enumerate(picked) if head == LANGUAGE_MODEL]
        if self.causal is None or not places:
            return {}
        by_state: dict[str, list[int]] = {}
        for n in places:
            by_state.setdefault(plain(asked[n][0]), []).append(n)
        found: dict[int, Answered] = {}
        for state, same in by_state.items():
            numbers = self.causal.answer(state, [asked[n][1] for n in same])
            for n, one in zip(same, numbers, strict=True):
                found[n] = Answered(one, f"causal:{self.causal.name}", False)
        return found

    def _by_heads(
        self, asked: Sequence[Asked], picked: Sequence[Artifact | str], read: dict[str, Read]
    ) -> dict[int, Answered]:
        """Answers of trained heads; asks with the same head and as many options are computed together."""
        groups: dict[tuple[int, int], list[int]] = {}
        for n, head in enumerate(picked):
            if isinstance(head, Artifact):
                groups.setdefault((id(head), len(option_texts(asked[n][1]))), []).append(n)
        found: dict[int, Answered] = {}
        for places in groups.values():
            head = picked[places[0]]
            assert isinstance(head, Artifact)
            for n, row in zip(places, self._logits(head, [asked[n] for n in places], read), strict=True):
                numbers: list[float] = row.softmax(-1).tolist()
                is_noul = asked[n][1].type == "noul"
                found[n] = Answered(
                    numbers[0] if is_noul else numbers, f"head:{head.label}", head.about.is_calibrated
                )
        return found

    def _logits(self, head: Artifact, asked: Sequence[Asked], read: dict[str, Read]) -> Tensor:
        hidden = self.reading.encoder.bert.shape.hidden
        seen: list[Seen] = []
        for state, _ in asked:
            texts = field_texts(state, head.fields) or []
            seen.append(prepare(texts, read, head.fields.pair_places, hidden))
        options = torch.stack(
            [torch.stack([read[text].mean for _, text in option_texts(q)]) for _, q in asked]
        )
        instructions = read[plain(asked[0][1].instructions or "")].mean
        with torch.inference_mode():
            logits: Tensor = head.head(seen, instructions, options)
        return logits


def flat(question: Question) -> Answered:
    """The honest answer of a server that has no reader for the question."""
    if question.type == "noul":
        return Answered(0.5, "flat", False)
    n = len(question.options)
    return Answered([1 / n] * n, "flat", n == 1)


def _question_texts(question: Question) -> list[str]:
    return [plain(question.instructions or ""), *(text for _, text in option_texts(question))]


def _by_cosine(state: Any, question: Question, read: dict[str, Read]) -> list[float]:
    """How near the state is to each option; options that say the same share what one of them would get.

    Taking the bare question's own likeness off made it worse.
    """
    texts = meanings(question)
    distinct = list(dict.fromkeys(texts))
    near = torch.stack([read[text].mean for text in distinct]) @ read[plain(state)].mean
    found = dict(zip(distinct, (near / COSINE_TEMPERATURE).softmax(-1).tolist(), strict=True))
    numbers: list[float] = [found[text] / texts.count(text) for text in texts]
    return numbers
