"""A causal language model from a folder or a GGUF file that an operator names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch


def load_model(path: Path, dtype: str = "float32") -> tuple[Any, Any, str]:
    """Model, tokenizer and name of a folder with safetensors or a `.gguf` file; nothing is downloaded.

    ValueError when the path is neither, or what lies there is broken; ImportError for a package it needs.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder, more = path, {}
    if path.is_file() and path.suffix == ".gguf":
        folder, more = path.parent, {"gguf_file": path.name}
    elif not path.is_dir():
        raise ValueError(f"{path}: no folder and no .gguf file")
    kind = getattr(torch, dtype)
    try:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=kind, local_files_only=True, **more)
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, **more)
    except (ImportError, MemoryError, OSError):
        raise
    except Exception as error:  # every reader has its own for a file that was cut
        raise ValueError(f"{path}: cannot be read as a model ({type(error).__name__}: {error})") from error
    return model, tokenizer, path.stem if more else path.name
