"""Labelled rows for the core judgments, made from the seeds in `judgments/data`, reproducibly.

A phrase belongs to the train or the test part by its hash, and a row is kept only when all its phrases
belong to one part: what is measured was never seen in training, also not in another row.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from judgments import core_questions

DATA = Path(__file__).resolve().parent.parent / "data"
TEST_SHARE = 4  # one phrase in four
HELD_TOPICS = ("music", "pets", "money", "car")  # topics pair up in a row, so whole topics are held out
N_ENGLISH_KIT = 6  # the first phrases of a kit are English


@dataclass(frozen=True)
class Row:
    """One labelled state. `options` are name → text for a choice, {} for a noul; `label` is one of them.

    `group` is the phrase or topic it was made from: rows to calibrate on are kept by group.
    """

    family: str
    state: dict[str, Any]
    label: str
    options: dict[str, str]
    is_test: bool
    language: str = "en"
    group: str = ""


@cache
def seeds() -> dict[str, Any]:
    """The seed phrases."""
    found: dict[str, Any] = json.loads((DATA / "seeds.json").read_text(encoding="utf-8"))
    return found


def rows(family: str, n: int, seed: int = 7) -> list[Row]:
    """About `n` rows of a family, shuffled, labels about even, no state twice."""
    rng = random.Random(f"{family}:{seed}")  # noqa: S311 - reproducible data
    made = _MAKERS[family](rng)
    found: dict[str, Row] = {}
    for _ in range(20 * n):
        row = next(made)
        found.setdefault(json.dumps([row.state, row.options], ensure_ascii=False), row)
        if len(found) >= n:
            break
    return list(found.values())


def families() -> list[str]:
    """Names of the families that rows can be made for."""
    return list(_MAKERS)


def is_test(phrase: str) -> bool:
    """Which part a phrase belongs to."""
    return hashlib.sha256(phrase.encode()).digest()[0] % TEST_SHARE == 0


def _topics(rng: random.Random) -> tuple[bool, list[str]]:
    """A part and its topics, three times in four those to train on."""
    held = rng.randrange(TEST_SHARE) == 0
    return held, [topic for topic in seeds()["topics"] if (topic in HELD_TOPICS) == held]


Made = Iterator[Row]


def _noisy(rng: random.Random, text: str) -> str:
    """The text as people type it."""
    turn = rng.random()
    if turn < 0.15:
        return text.lower()
    if turn < 0.25:
        return text.rstrip(".!?。") + rng.choice(["!", "...", " :)", " 🙂", ""])
    if turn < 0.32 and text[0].isascii():
        return rng.choice(["Hey, ", "hm. ", "Well, ", "ok so: "]) + text
    return text


def _decision(rng: random.Random) -> Made:
    data = seeds()
    options = core_questions.of("growth.decision")["decision"]["criteria"]
    said = [
        "Shall I take this into how I see myself?",
        "I wrote a new line about me.",
        "How was your day?",
        "What do you think of it?",
    ]
    pool = {k: [(code, p) for code, ps in v.items() for p in ps] for k, v in data["decision"].items()}
    while True:
        label = rng.choice(list(pool))
        language, phrase = rng.choice(pool[label])
        state = {
            "message": _noisy(rng, phrase),
            "last_line": rng.choice(said),
            "proposal": rng.choice(data["proposals"]),
        }
        yield Row("growth.decision", state, label, options, is_test(phrase), language, phrase)


def _facts(rng: random.Random, topic: str, who: str) -> list[str]:
    return [fact.replace("{who}", who) for fact in seeds()["topics"][topic]["facts"]]


def _grounded(rng: random.Random) -> Made:
    people = seeds()["people"]
    verbs = ["I remember that ", "This week I learned that ", "I noticed that ", "I now know that ", ""]
    while True:
        who, other = rng.sample(people, 2)
        part, pool = _topics(rng)
        topics = rng.sample(pool, 3)
        facts = [rng.choice(_facts(rng, topic, who)) for topic in topics]
        kind = rng.choice(["same", "same", "same", "other_person", "other_fact", "negated", "more"])
        foreign = _facts(rng, rng.choice(pool), who)
        others = [fact for fact in _facts(rng, topics[0], who) + foreign if fact not in facts]
        claim = facts[0]
        if kind == "other_person":
            claim = claim.replace(who, other)
        elif kind == "other_fact":
            claim = rng.choice(others)
        elif kind == "negated":
            claim = f"it is not true that {claim}"
        elif kind == "more":
            claim = f"{claim} and {rng.choice(others)}"
        evidence = [rng.choice(["", "Today: ", "We talked. "]) + fact for fact in facts]
        rng.shuffle(evidence)
        state = {"line": rng.choice(verbs) + claim + ".", "evidence": evidence}
        yield Row("growth.grounded", state, "true" if kind == "same" else "false", {}, part, "en", topics[0])


def _filled(rng: random.Random, template: Any) -> Any:
    """A template with its slots filled, the same way throughout."""
    text = json.dumps(template, ensure_ascii=False)
    for slot, values in seeds()["fill"].items():
        text = text.replace("{" + slot + "}", rng.choice(values))
    return json.loads(text)


def _allow(rng: random.Random) -> Made:
    data = seeds()["actions"]
    templates = [(label, one) for label in data for one in data[label]]
    allowed, denied = ("allow_once", "allow_wide"), ("deny",)
    while True:
        base = rng.choice(["yes", "no"])
        template = rng.choice(data[base])
        action, arguments = _filled(rng, template)
        earlier = []
        for _ in range(rng.choice([0, 0, 1, 2])):
            kind, other = rng.choice(templates)
            name, given = _filled(rng, other)
            if name != action:
                answer = rng.choice(allowed if kind == "yes" else denied)
                earlier.append({"action": name, "arguments": given, "answer": answer})
        label = base
        if rng.random() < 0.3:
            label = rng.choice(["yes", "no"])
            answer = rng.choice(allowed if label == "yes" else denied)
            earlier.append({"action": action, "arguments": arguments, "answer": answer})
        rng.shuffle(earlier)
        state = {"action": action, "arguments": arguments, "diff": "", "earlier": earlier}
        right = "true" if label == "yes" else "false"
        yield Row(
            "approvals.allow", state, right, {}, is_test(json.dumps(template)), "en", json.dumps(template)
        )


def _progress(rng: random.Random) -> Made:
    data = seeds()
    turns, good, bad = data["turns"], data["results"]["good"], data["results"]["bad"]

    def call(step: str, result: str) -> dict[str, Any]:
        tool, _, rest = step.partition(" ")
        return {"tool": tool, "arguments": {"on": rest}, "result": result}

    while True:
        request = rng.choice(list(turns))
        kind = rng.choice(["well", "well", "loops", "wanders"])
        if kind == "well":
            steps = [step for step in turns[request] if rng.random() < 0.85] or turns[request]
            calls = [call(step, rng.choice(good if rng.random() < 0.85 else bad)) for step in steps]
        elif kind == "loops":
            step, result = rng.choice(turns[request]), rng.choice(bad + good)
            calls = [call(rng.choice(turns[request]), rng.choice(good)) for _ in range(rng.randint(0, 2))]
            n = rng.randint(3, 6)
            calls += [call(step, result if rng.random() < 0.8 else rng.choice(bad)) for _ in range(n)]
        else:
            other = rng.choice([turn for turn in turns if turn != request])
            calls = [call(step, rng.choice(good + bad)) for step in turns[other]]
        state = {"request": request, "calls": calls, "n_calls": rng.choice([50, 100, 150])}
        state["elapsed_s"] = rng.randint(60, 3000)
        right = "true" if kind == "well" else "false"
        yield Row("check-in.progress", state, right, {}, is_test(request), "en", request)


def _candidate(rng: random.Random) -> Made:
    people, topics = seeds()["people"], seeds()["topics"]
    while True:
        part, pool = _topics(rng)
        topic = rng.choice(pool)
        is_related = rng.random() < 0.5
        about = topic if is_related else rng.choice([other for other in pool if other != topic])
        memory = rng.choice(_facts(rng, topic, rng.choice(people)))
        language = rng.choice(["en", "en", "en", "de", "ja", "zh", "es", "ru"])
        talk = rng.choice(topics[about]["talk"] if language == "en" else topics[about][language])
        state = {"conversation": _noisy(rng, talk), "memory": memory}
        yield Row("context.candidate", state, "true" if is_related else "false", {}, part, language, topic)


def _toolkit(rng: random.Random) -> Made:
    kits = dict(seeds()["kits"])
    talk = kits.pop("chat")
    none = "None of them is needed."
    while True:
        names = rng.sample(list(kits), rng.randint(2, len(kits)))
        options = {name: kits[name][0] for name in names} | {"none": none}
        label = rng.choice([*names, "none"])
        source = talk if label == "none" else kits[label]
        prompt = rng.choice(source[1:])
        language = "en" if source.index(prompt) <= N_ENGLISH_KIT else "other"
        state = {"prompt": _noisy(rng, prompt), "toolkits": {name: kits[name][0] for name in names}}
        yield Row("toolkit.suggest", state, label, options, is_test(prompt), language, prompt)


def _act(rng: random.Random) -> Made:
    data = seeds()["act"]
    while True:
        label = rng.choice(["yes", "no"])
        phrase = rng.choice(data[label])
        text = _noisy(rng, phrase)
        if rng.random() < 0.5:
            day = rng.choice(["weekday", "Saturday", "Sunday"])
            text = f"{text}. It is {rng.randint(6, 23)}:{rng.randint(10, 59)}; {day}"
        yield Row(
            "decider.act", {"situation": text}, "true" if label == "yes" else "false", {}, is_test(phrase)
        )


_MAKERS = {
    "growth.decision": _decision,
    "growth.grounded": _grounded,
    "approvals.allow": _allow,
    "check-in.progress": _progress,
    "context.candidate": _candidate,
    "toolkit.suggest": _toolkit,
    "decider.act": _act,
}
