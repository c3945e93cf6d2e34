"""Public clients as tests drive them, whoever reads at the other end."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SUITE = "import sys; from jevcompat.cli import main; sys.exit(main())"


def passes_the_public_suite(url: str, key: str, report: Path) -> None:
    """Run `jevcompat test`; AssertionError with its output unless every requirement is met."""
    run = subprocess.run(
        [sys.executable, "-c", SUITE, "test", url, "--key", key, "--timeout", "20", "--json", str(report)],
        capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    found = json.loads(report.read_text())
    must, should = found["summary"]["MUST"], found["summary"]["SHOULD"]
    assert (must["passed"], must["tested"]) == (32, 32), run.stdout
    assert should["passed"] == should["tested"] >= 15, run.stdout
    assert not any(item["status"] == "fail" for item in found["results"])


def ask_with_the_sdk(url: str, key: str, state: str, compression: Any) -> list[Any]:
    """Three questions of the official SDK, asked by its plain and by its asynchronous client."""
    import typesafe_sdk as sdk

    asked: Any = {
        "refund": sdk.Noul(instructions="Is the customer asking for money back?"),
        "team": sdk.Choice(instructions="Which team?", criteria={"Billing": "Refunds", "Sales": None}),
        "anger": sdk.Score(instructions="How angry?", criteria=["calm", "cross", "furious"]),
    }
    how: Any = {"api_key": key, "base_url": url, "compression": compression}
    with sdk.TypeSafeClient(**how) as client:
        plain = client.system_one(model="jev-latest", state=state, questions=asked)

    async def ask() -> Any:
        async with sdk.AsyncTypeSafeClient(**how) as client:
            return await client.system_one(model="jev-latest", state=state, questions=asked)

    return [plain, asyncio.run(ask())]


def ask_decisions(url: str, key: str) -> list[dict[str, Any]]:
    """A predicate, a choice and a score asked through OpenAI's client; the answers in order."""
    import openai

    asked = [
        {"type": "predicate", "instructions": "Money back?"},
        {"type": "choice", "instructions": "Team?", "choices": [{"value": "Billing"}, {"value": "Sales"}]},
        {"type": "score", "instructions": "Angry?", "levels": [{"label": "calm"}, {"label": "furious"}]},
    ]
    body = {"model": "jev-latest", "input": "I was charged twice.", "questions": asked}
    with openai.OpenAI(api_key=key, base_url=f"{url}/v1", max_retries=0) as client:
        reply: Any = client.post("/decisions", body=body, cast_to=object)
    return list(reply["answers"])
