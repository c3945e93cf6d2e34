"""Writes a GGUF language model as a folder for `SYSTEM_ONE_LM`, which loads much faster."""

from __future__ import annotations

from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

NEEDED = ("torch", "transformers")


class Command(BaseCommand):
    """`manage.py unpack_model FILE.gguf FOLDER`; four bytes a weight, nothing is downloaded."""

    help = "Write a GGUF language model as a folder for SYSTEM_ONE_LM, which loads in a tenth of the time."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """From where, to where."""
        parser.add_argument("model", type=Path, help="a .gguf file")
        parser.add_argument("folder", type=Path, help="new or empty")

    def handle(self, *args: Any, model: Path, folder: Path, **options: Any) -> None:
        """Write it, or say why not."""
        if any(find_spec(name) is None for name in NEEDED):
            raise CommandError("needs pip install 'synth[ml]'")
        from judgments.ml.causal_loading import unpack

        try:
            unpack(model, folder)
        except (ValueError, ImportError, OSError) as error:
            raise CommandError(str(error)[:500]) from error
        self.stdout.write(f"SYSTEM_ONE_LM={folder}")
