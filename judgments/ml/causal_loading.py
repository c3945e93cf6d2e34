"""Writes a causal language model, a GGUF file for one, as a folder that loads fast."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from synth.inference.ml.loading import load_model


def unpack(path: Path, folder: Path) -> None:
    """Write the model as a folder that loads in a tenth of the time a GGUF file takes.

    ValueError when the path is no model or the folder has something in it.
    """
    from safetensors.torch import save_file

    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder}: not empty")
    model, tokenizer, _ = load_model(path)
    folder.mkdir(parents=True, exist_ok=True)
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    save_file(_without_twins(model.state_dict()), folder / "model.safetensors", metadata={"format": "pt"})


def _without_twins(weights: dict[str, Any]) -> dict[str, Any]:
    """Tied weights once, under the name they have first."""
    seen: set[int] = set()
    found = {}
    for name, tensor in weights.items():
        if tensor.data_ptr() not in seen:
            seen.add(tensor.data_ptr())
            found[name] = tensor.contiguous()
    return found
