"""Trained heads between bytes and tensors; what the file format says stands in `judgments.heads`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import torch
from safetensors.torch import load, save

from judgments.heads import BadHead, Said, said
from judgments.ml.head import Head
from judgments.ml.rendering import FIELDS, OPEN_OPTIONS, Fields, field_texts, question_key
from judgments.questions import Question


@dataclass(frozen=True)
class Artifact:
    """A head that can answer the question `about` names, from the parts `fields` of a state."""

    about: Said
    head: Head
    fields: Fields

    @property
    def family(self) -> str:
        """The judgment it answers."""
        return self.about.family

    @property
    def label(self) -> str:
        """`growth.decision@1a2b3c4d`."""
        return f"{self.family}@{self.about.version}"

    def answers(self, question: Question, state: Any) -> bool:
        """Whether this very question was trained, and the state has the parts that are read."""
        key = question_key(question, with_options=self.family not in OPEN_OPTIONS)
        return key == self.about.key and field_texts(state, self.fields) is not None


def dumps(
    family: str,
    key: str,
    encoder: str,
    head: Head,
    metrics: dict[str, Any],
    fields: Fields | None = None,
) -> bytes:
    """The head as bytes of a file; `fields` where the family has none of its own."""
    tensors = {name: value.to(torch.float16).contiguous() for name, value in head.state_dict().items()}
    about = {"family": family, "key": key, "encoder": encoder, "metrics": json.dumps(metrics)}
    if fields is not None:
        about["fields"] = json.dumps({"names": fields.names, "pair": fields.pair})
    return bytes(save(tensors, metadata=about))


def loads(data: bytes) -> Artifact:
    """The head in these bytes. BadHead for others."""
    about = said(data)
    try:
        fields = _fields(about)
        tensors = load(data)
        head = Head(tensors["key.weight"].shape[1], fields.n)
        head.load_state_dict({name: value.to(torch.float32) for name, value in tensors.items()})
    except Exception as error:  # noqa: BLE001 - whatever a foreign file breaks, the worker must go on
        raise BadHead(str(error)[:200]) from None
    return Artifact(about, head.eval(), fields)


def _fields(about: Said) -> Fields:
    if about.fields is None:
        return FIELDS[about.family]
    pair = about.fields["pair"]
    return Fields(tuple(about.fields["names"]), tuple(pair) if pair else None)
