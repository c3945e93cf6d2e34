"""README, CONTRIBUTING and docs/ name files, commands, make targets and addresses that exist."""

from __future__ import annotations

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest
from django.core.management import get_commands
from django.urls import Resolver404, resolve

from synth.api.urls import nothing_here
from synth.docs_pages import DOCS
from synth.options import OPTIONS

ROOT = DOCS.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
each = pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
LINK = re.compile(r"\]\(([^)#]+)\)")
COMMAND = re.compile(r"manage\.py ([a-z_]+)")
TARGET = re.compile(r"\bmake ([a-z-]+)(?=`|\s+#)")
VARIABLE = re.compile(r"`([A-Z][A-Z_]+_(?:URL|KEY|MODEL|HOME|TOKENS|HOSTS|TLS|MODE))`")
ADDRESS = re.compile(r"(?:127\.0\.0\.1:8000|GET |POST |`)(/(?:api|admin|healthz|readyz|metrics)[^\s`>)?]*)")


@each
def test_relative_links_lead_to_files(page: Path):
    targets = [link for link in LINK.findall(page.read_text("utf-8")) if not link.startswith("http")]
    assert [link for link in targets if not (page.parent / link).exists()] == []


@each
def test_commands_exist(page: Path):
    known = set(get_commands())
    assert set(COMMAND.findall(page.read_text("utf-8"))) <= known


@each
def test_make_targets_exist(page: Path):
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert set(TARGET.findall(page.read_text("utf-8"))) <= targets


@each
def test_variables_are_options(page: Path):
    assert set(VARIABLE.findall(page.read_text("utf-8"))) <= set(OPTIONS)


@each
def test_addresses_answer(page: Path):
    addresses = ADDRESS.findall(page.read_text("utf-8"))
    assert [address for address in addresses if not _answers(address)] == []


def test_files_to_touch_are_there():
    """`app` stands for any app: a file named under it is one that some app has."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = set(re.findall(r"`((?:app|synth|docs)/[a-z_./]*)`", text))
    assert {"app/prompts.py", "app/actions.py", "synth/actions.py", "synth/registries.py"} <= named
    assert [path for path in sorted(named) if not list(ROOT.glob(re.sub("^app/", "*/", path)))] == []


def test_names_in_code_can_be_imported():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    names = set(re.findall(r"`(synth(?:\.\w+)+)[`(]", text))
    names |= {f"synth.{name}" for name in re.findall(r"(?<![\w./])registries\.(?!py)\w+", text)}
    assert names and [name for name in sorted(names) if resolve_name(name) is None] == []


def test_the_readme_names_addresses_and_a_wrong_one_would_be_seen():
    assert len(ADDRESS.findall((ROOT / "README.md").read_text("utf-8"))) >= 4
    assert not _answers("/api/agentz/")


def _answers(address: str) -> bool:
    """True when a view of its own stands behind the address."""
    try:
        return (
            resolve(re.sub(r"{(?:id|message)}", "1", address.replace("{slug}", "wren"))).func
            is not nothing_here
        )
    except Resolver404:
        return False
