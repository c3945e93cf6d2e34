"""A causal language model from a folder or a GGUF file that an operator names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch


def load_model(path: Path, dtype: str = "float32") -> tuple[Any, Any, str]:
    """Model, tokenizer and name of a folder with safetensors or a `.gguf` file; nothing is downloaded.

    ValueError when the path is neither.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder, more = path, {}
    if path.is_file() and path.suffix == ".gguf":
        folder, more = path.parent, {"gguf_file": path.name}
    elif not path.is_dir():
        raise ValueError(f"{path}: no folder and no .gguf file")
    kind = getattr(torch, dtype)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=kind, local_files_only=True, **more)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, **more)
    return model, tokenizer, path.stem if more else path.name
