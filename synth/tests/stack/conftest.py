"""Process trees for the tests of the stack."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from synth.tests.stack.tree import Tree


@pytest.fixture
def new_tree(tmp_path: Path) -> Iterator[Callable[..., Tree]]:
    """Make trees on homes below a temporary folder; what is left of them is killed afterwards."""
    made: list[Tree] = []

    def make(name: str = "home", **options) -> Tree:
        made.append(Tree(tmp_path / name, **options))
        return made[-1]

    yield make
    for tree in made:
        tree.destroy()
