"""Trained heads as files: float16 safetensors whose metadata say what they answer and how well."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save

from judgments.ml.head import Head
from judgments.ml.rendering import FIELDS, OPEN_OPTIONS, Fields, field_texts, question_key
from judgments.questions import Question

FOLDER = Path(__file__).resolve().parent.parent / "data" / "heads"


class BadArtifact(ValueError):
    """Bytes that are no head of ours."""


@dataclass
class Artifact:
    """One head ready to answer. `key` is the digest of the question it was trained on."""

    family: str
    key: str
    encoder: str
    version: str
    head: Head
    metrics: dict[str, Any] = field(default_factory=dict)

    @property
    def fields(self) -> Fields:
        """Which parts of a state it reads."""
        return FIELDS[self.family]

    @property
    def label(self) -> str:
        """`growth.decision@1a2b3c4d`."""
        return f"{self.family}@{self.version}"

    def answers(self, question: Question, state: Any) -> bool:
        """Whether this very question was trained, and the state has the parts that are read."""
        key = question_key(question, with_options=self.family not in OPEN_OPTIONS)
        return key == self.key and field_texts(state, self.fields) is not None


def dumps(family: str, key: str, encoder: str, head: Head, metrics: dict[str, Any]) -> bytes:
    """The head as bytes of a file."""
    tensors = {name: value.to(torch.float16).contiguous() for name, value in head.state_dict().items()}
    said = {"family": family, "key": key, "encoder": encoder, "metrics": json.dumps(metrics)}
    return bytes(save(tensors, metadata=said))


def loads(data: bytes) -> Artifact:
    """The head in these bytes. BadArtifact for others."""
    try:
        said = _metadata(data)
        tensors = load(data)
        family = said["family"]
        hidden = tensors["key.weight"].shape[1]
        head = Head(hidden, len(FIELDS[family].names))
        head.load_state_dict({name: value.to(torch.float32) for name, value in tensors.items()})
        metrics = json.loads(said["metrics"])
    except Exception as error:  # noqa: BLE001 - whatever a foreign file breaks, the worker must go on
        raise BadArtifact(str(error)[:200]) from None
    version = hashlib.sha256(data).hexdigest()[:8]
    return Artifact(family, said["key"], said["encoder"], version, head.eval(), metrics)


def _metadata(data: bytes) -> dict[str, str]:
    n = int.from_bytes(data[:8], "little")
    found: dict[str, str] = json.loads(data[8 : 8 + n])["__metadata__"]
    return found


def shipped() -> dict[str, bytes]:
    """The files of the heads in the repository, by family."""
    return {path.stem: path.read_bytes() for path in sorted(FOLDER.glob("*.safetensors"))}
