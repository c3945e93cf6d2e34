"""Any Hugging Face causal language model as a reader, without training: how much likelier yes is than no.

The state is read once for all questions of an ask. Each option is a continuation of its own ("Is the
proposed answer right?"), so that no option has a place in an order; only the rows of the output matrix that
stand for yes and no are computed. What the model says of the same option without any state is taken off.
Names of described options are not read, options that say the same share what one of them would get, and a
choice between yes and no is read as the yes-or-no question it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from judgments.ml.continuing import Continuing
from judgments.ml.encoding import TooLong
from judgments.ml.rendering import meanings, plain, says_yes
from judgments.questions import Question
from synth.inference.ml.loading import load_model
from synth.inference.wanted import look

MAX_TOKENS = 4_096
MOST_CHARS = 64  # of one token, about
PRIOR = 0.5
KEPT_PRIORS = 4_096
TEMPERATURE = 1.0
YES = (" yes", " Yes", "yes", "Yes")
NO = (" no", " No", "no", "No")
NOTHING = "(nothing is known)"


class CausalReader:
    """A model and its tokenizer; `name` is what answers call it. The model is changed in place."""

    def __init__(self, model: Any, tokenizer: Any, name: str) -> None:
        self.tokenizer = tokenizer
        self.name = name
        yes, no = self._firsts(YES), self._firsts(NO)
        self._n_yes = len(yes - no)
        if not self._n_yes or not no - yes:
            raise ValueError(f"{name}: its tokens don't tell yes from no")
        places = getattr(model.config, "max_position_embeddings", None)
        self.max_tokens = min(MAX_TOKENS, places or MAX_TOKENS)
        self.continuing = Continuing(model, [*sorted(yes - no), *sorted(no - yes)])
        self._priors: dict[str, float] = {}

    def answer(self, state: Any, questions: Sequence[Question]) -> list[float | list[float]]:
        """p of yes for each noul, else one probability an option; `check` was called before."""
        asked = [_suffixes(question) for question in questions]
        wanted = list(dict.fromkeys(suffix for one in asked for suffix in one))
        priors = self._known(wanted)
        found = self._scores(plain(state), wanted)
        scores = {text: (found[text] - PRIOR * priors[text]) / TEMPERATURE for text in wanted}
        return [_numbers(question, one, scores) for question, one in zip(questions, asked, strict=True)]

    def check(self, state: Any, questions: Sequence[Question]) -> None:
        """TooLong when the state with its longest question is over the limit."""
        for text in {plain(question.instructions or "") for question in questions}:
            # Each option repeats it: a long one is not multiplied by all of them first.
            if len(text) > MOST_CHARS * self.max_tokens or len(self._tokens(text)) > self.max_tokens:
                raise TooLong(self.max_tokens, max(self.max_tokens + 1, len(text) // MOST_CHARS))
        suffixes = [suffix for question in questions for suffix in _suffixes(question)]
        longest = len(self._prefix(plain(state))) + max(len(self._tokens(suffix)) for suffix in suffixes)
        if longest > self.max_tokens:
            raise TooLong(self.max_tokens, longest)

    def _known(self, suffixes: Iterable[str]) -> dict[str, float]:
        """The scores without a state, which stay known."""
        missing = [text for text in suffixes if text not in self._priors]
        if len(self._priors) + len(missing) > KEPT_PRIORS:
            self._priors.clear()
            missing = list(suffixes)
        if missing:
            self._priors |= self._scores(NOTHING, missing)
        return self._priors

    def _scores(self, state: str, suffixes: Sequence[str]) -> dict[str, float]:
        """log p(yes) − log p(no) after each suffix."""
        prefix = self._prefix(state)
        logits = self.continuing.logits(prefix, [self._tokens(text) for text in suffixes])
        yes, no = logits[:, : self._n_yes].logsumexp(-1), logits[:, self._n_yes :].logsumexp(-1)
        return dict(zip(suffixes, (yes - no).tolist(), strict=True))

    def _prefix(self, state: str) -> list[int]:
        start = self.tokenizer.bos_token_id
        return [*([] if start is None else [start]), *self._tokens(f"Situation:\n{state}\n")]

    def _firsts(self, words: Sequence[str]) -> set[int]:
        return {self._tokens(word)[0] for word in words}

    def _tokens(self, text: str) -> list[int]:
        look()
        found: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return found


def _suffixes(question: Question) -> list[str]:
    """One text an option, each ending where yes or no comes next; one in all where yes or no is asked for."""
    instructions = plain(question.instructions or "")
    if question.type == "noul" or says_yes(question) is not None:
        criteria = (question.criteria or {}) if question.type == "noul" else {}
        pairs = [(word, criteria.get(key)) for key, word in (("true", "yes"), ("false", "no"))]
        said = [f"{word}: {plain(text)}" for word, text in pairs if text]
        return ["\n".join([f"Question: {instructions}", *said, "Answer (yes or no):"])]
    asked = f"Question: {instructions or 'Which fits the situation?'}\n"
    end = "Is the proposed answer right? Answer (yes or no):"
    return [f"{asked}Proposed answer: {text}\n{end}" for text in meanings(question)]


def _numbers(question: Question, suffixes: Sequence[str], scores: dict[str, float]) -> float | list[float]:
    """p of yes, else one probability an option; `scores` by suffix."""
    are_yes = says_yes(question)
    if question.type == "noul" or are_yes is not None:
        p = float(torch.tensor(scores[suffixes[0]]).sigmoid())
        if are_yes is None:
            return p
        return [(p if is_yes else 1 - p) / are_yes.count(is_yes) for is_yes in are_yes]
    distinct = list(dict.fromkeys(suffixes))
    shares = torch.tensor([scores[text] for text in distinct]).softmax(-1).tolist()
    found = dict(zip(distinct, shares, strict=True))
    return [found[text] / suffixes.count(text) for text in suffixes]


def load(path: Path) -> CausalReader:
    """A folder with safetensors, or a GGUF file. ValueError when it is neither; nothing is downloaded.

    In float32: bfloat16 was twice as fast on a processor with AMX, but then an answer differed by up to 0.011
    between a question alone and with others; float32 keeps them within 1e-5.
    """
    return CausalReader(*load_model(path))
