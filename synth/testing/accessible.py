"""Looks at a page in a browser with axe, the common checker of accessibility."""

from __future__ import annotations

from typing import Any

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


def problems(page: Any, within: str = "") -> list[str]:
    """What axe finds wrong on a Playwright page, or in the part a CSS selector names; a line each."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, context=within or None, options=RULES).response["violations"]
    return [
        f"{rule['id']} ({rule['impact']}): {node['target'][0]} {node['html'][:120]}"
        for rule in found
        for node in rule["nodes"]
    ]
