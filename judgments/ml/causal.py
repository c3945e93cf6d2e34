"""Any Hugging Face causal language model as a reader, without training: how much likelier yes is than no.

The state is read once and its key-value cache repeated for all suffixes. Each option is a suffix of its own
("Is this right?"), so that no option has a place in an order; only the rows of the output matrix that stand
for yes and no are computed. What the model says of the same question without any state is taken off.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from judgments.ml.encoding import TooLong
from judgments.ml.rendering import option_texts, plain
from judgments.questions import Question

MAX_TOKENS = 4_096
SUFFIX_TOKENS = 4_096  # padded tokens of one forward
PRIOR = 0.5
TEMPERATURE = 1.0
YES = (" yes", " Yes", "yes", "Yes")
NO = (" no", " No", "no", "No")
NOTHING = "(nothing is known)"


class CausalReader:
    """A model and its tokenizer; `name` is what answers call it."""

    def __init__(self, model: Any, tokenizer: Any, name: str) -> None:
        self.model = model.eval().requires_grad_(False)
        self.tokenizer = tokenizer
        self.name = name
        self._yes, self._no = self._ids(YES), self._ids(NO)
        self._priors: dict[tuple[str, ...], list[float]] = {}

    def answer(self, state: Any, questions: Sequence[Question]) -> list[float | list[float]]:
        """p of yes for each noul, else one probability an option; `check` was called before."""
        suffixes = [_suffixes(question) for question in questions]
        flat = [suffix for one in suffixes for suffix in one]
        found = iter(self._scores(plain(state), flat))
        answers: list[float | list[float]] = []
        for question, one in zip(questions, suffixes, strict=True):
            own = torch.tensor([next(found) for _ in one])
            scores = (own - PRIOR * torch.tensor(self._prior(one))) / TEMPERATURE
            answers.append(
                float(scores.sigmoid()) if question.type == "noul" else scores.softmax(-1).tolist()
            )
        return answers

    def check(self, state: Any, questions: Sequence[Question]) -> None:
        """TooLong when the state with its longest question is over the limit."""
        suffixes = [suffix for question in questions for suffix in _suffixes(question)]
        longest = len(self._tokens(plain(state))) + 8 + max(len(self._tokens(suffix)) for suffix in suffixes)
        if longest > MAX_TOKENS:
            raise TooLong(MAX_TOKENS, longest)

    def _prior(self, suffixes: Sequence[str]) -> list[float]:
        """The scores without a state; options in a fixed order, so that they are the same in any."""
        ordered = tuple(sorted(suffixes))
        if ordered not in self._priors:
            if len(self._priors) > 1_000:
                self._priors.clear()
            self._priors[ordered] = self._scores(NOTHING, ordered)
        known = dict(zip(ordered, self._priors[ordered], strict=True))
        return [known[suffix] for suffix in suffixes]

    def _scores(self, state: str, suffixes: Sequence[str]) -> list[float]:
        """log p(yes) − log p(no) after each suffix."""
        prefix = self._tokens(f"Situation:\n{state}\n", first=True)
        rows = [self._tokens(suffix) for suffix in suffixes]
        with torch.inference_mode():
            cache = self.model(torch.tensor([prefix]), use_cache=True, logits_to_keep=1).past_key_values
            order = sorted(range(len(rows)), key=lambda n: len(rows[n]))
            found = [0.0] * len(rows)
            size = max(1, SUFFIX_TOKENS // max(map(len, rows)))
            for start in range(0, len(order), size):
                part = order[start : start + size]
                scores = self._after(cache, len(prefix), [rows[n] for n in part])
                for n, score in zip(part, scores.tolist(), strict=True):
                    found[n] = score
        return found

    def _after(self, cache: Any, n_prefix: int, rows: Sequence[Sequence[int]]) -> Tensor:
        longest = max(map(len, rows))
        ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
        mask = torch.tensor([[1] * (n_prefix + len(row)) + [0] * (longest - len(row)) for row in rows])
        repeated = copy.deepcopy(cache)
        repeated.batch_repeat_interleave(len(rows))
        hidden = self.model.model(ids, attention_mask=mask, past_key_values=repeated, use_cache=True)
        last = hidden.last_hidden_state[torch.arange(len(rows)), torch.tensor([len(row) - 1 for row in rows])]
        weight = self.model.get_output_embeddings().weight
        yes = (last @ weight[self._yes].T).float().logsumexp(-1)
        return yes - (last @ weight[self._no].T).float().logsumexp(-1)

    def _ids(self, words: Sequence[str]) -> Tensor:
        """First tokens of these words, each once."""
        return torch.tensor(sorted({self._tokens(word)[0] for word in words}))

    def _tokens(self, text: str, *, first: bool = False) -> list[int]:
        found: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        start = self.tokenizer.bos_token_id
        return [start, *found] if first and start is not None else found


def _suffixes(question: Question) -> list[str]:
    """One text an option, each ending where yes or no comes next."""
    instructions = plain(question.instructions or "")
    options = option_texts(question)
    if question.type == "noul":
        criteria = question.criteria or {}
        pairs = [(word, criteria.get(key)) for key, word in (("true", "yes"), ("false", "no"))]
        said = [f"{word}: {plain(text)}" for word, text in pairs if text]
        return ["\n".join([f"Question: {instructions}", *said, "Answer (yes or no):"])]
    asked = f"Question: {instructions or 'Which fits the situation?'}\n"
    end = "Is the proposed answer right? Answer (yes or no):"
    return [f"{asked}Proposed answer: {text}\n{end}" for _, text in options]


def load(path: Path) -> CausalReader:
    """A folder with safetensors, or a GGUF file. ValueError when it is neither; nothing is downloaded."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder, more = path, {}
    if path.is_file() and path.suffix == ".gguf":
        folder, more = path.parent, {"gguf_file": path.name}
    elif not path.is_dir():
        raise ValueError(f"{path}: no folder and no .gguf file")
    kind = torch.bfloat16 if torch.cuda.is_available() else torch.float32
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=kind, local_files_only=True, **more)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, **more)
    return CausalReader(model, tokenizer, path.stem if more else path.name)
