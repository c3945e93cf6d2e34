"""Labelled rows for the core judgments, made from the seeds in `judgments/data`, reproducibly.

A phrase belongs to the train or the test part by its hash, and a row is kept only when all its phrases
belong to one part: what is measured was never seen in training, also not in another row. The seeds in
`data/heldout` are for `judgments evaluate` alone: nothing is trained, chosen or calibrated on them.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from judgments import core_questions

DATA = Path(__file__).resolve().parent.parent / "data"
TRAINING, HELD_OUT = "seeds.json", "heldout/seeds.json"
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


Seeds = dict[str, Any]


@cache
def seeds(source: str = TRAINING) -> Seeds:
    """The seed phrases of one file."""
    found: Seeds = json.loads((DATA / source).read_text(encoding="utf-8"))
    return found


def rows(family: str, n: int, seed: int = 7, *, source: str = TRAINING) -> list[Row]:
    """About `n` rows of a family, shuffled, labels about even, no state twice."""
    rng = random.Random(f"{family}:{seed}")  # noqa: S311 - reproducible data
    made = _MAKERS[family](rng, seeds(source))
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


def _topics(rng: random.Random, data: Seeds) -> tuple[bool, list[str]]:
    """A part and its topics, three times in four those to train on; all where none are held."""
    held = rng.randrange(TEST_SHARE) == 0
    if not set(HELD_TOPICS) & set(data["topics"]):
        return held, list(data["topics"])
    return held, [topic for topic in data["topics"] if (topic in HELD_TOPICS) == held]


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


def _decision(rng: random.Random, data: Seeds) -> Made:
    options = core_questions.of("growth.decision")["decision"]["criteria"]
    # What was said before decides nothing; with few such lines a head would lean on them all the same.
    said = data.get("agent_lines", []) + [talk for topic in data["topics"].values() for talk in topic["talk"]]
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


def _facts(data: Seeds, topic: str, who: str) -> list[str]:
    return [fact.replace("{who}", who) for fact in data["topics"][topic]["facts"]]


def _grounded(rng: random.Random, data: Seeds) -> Made:
    templates = _grounded_by_template(rng, data)
    while True:
        yield (
            _supported(rng, data["support"]) if "support" in data and rng.random() < 0.5 else next(templates)
        )


def _supported(rng: random.Random, support: list[Any]) -> Row:
    """A line in other words than its evidence, or one that goes beyond it."""
    evidence, *lines = rng.choice(support)
    label = rng.choice(["true", "false"])
    others = [text for other in rng.sample(support, 2) if other[0] != evidence for text in other[0][:1]]
    state = {
        "line": rng.choice(lines[label == "false"]),
        "evidence": rng.sample(found := [*evidence, *others], len(found)),
    }
    return Row("growth.grounded", state, label, {}, is_test(evidence[0]), "en", evidence[0])


def _grounded_by_template(rng: random.Random, data: Seeds) -> Made:
    people = data["people"]
    verbs = ["I remember that ", "This week I learned that ", "I noticed that ", "I now know that ", ""]
    while True:
        who, other = rng.sample(people, 2)
        part, pool = _topics(rng, data)
        topics = rng.sample(pool, 3)
        facts = [rng.choice(_facts(data, topic, who)) for topic in topics]
        kind = rng.choice(["same", "same", "same", "other_person", "other_fact", "negated", "more"])
        foreign = _facts(data, rng.choice(pool), who)
        others = [fact for fact in _facts(data, topics[0], who) + foreign if fact not in facts]
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


def _filled(rng: random.Random, template: Any, fill: Mapping[str, list[str]]) -> Any:
    """A template with its slots filled, the same way throughout."""
    text = json.dumps(template, ensure_ascii=False)
    for slot, values in fill.items():
        text = text.replace("{" + slot + "}", rng.choice(values))
    return json.loads(text)


def _told(action: str, arguments: Any) -> str:
    return f"{action}: {json.dumps(arguments, ensure_ascii=False)}"


def _allow(rng: random.Random, data: Seeds) -> Made:
    actions, fill = data["actions"], data["fill"]
    templates = [(label, one) for label in actions for one in actions[label]]
    said = {"yes": ("allowed",), "no": ("denied", "denied", "should have been asked")}
    while True:
        base = rng.choice(["yes", "no"])
        template = rng.choice(actions[base])
        action, arguments = _filled(rng, template, fill)
        earlier = []
        for _ in range(rng.choice([0, 0, 1, 2])):
            kind, other = rng.choice(templates)
            name, given = _filled(rng, other, fill)
            if name != action:
                earlier.append(f"{rng.choice(said[kind])}: {_told(name, given)}")
        label = base
        if rng.random() < 0.3:
            label = rng.choice(["yes", "no"])
            earlier.append(f"{rng.choice(said[label])}: {_told(action, arguments)}")
        rng.shuffle(earlier)
        state = {"action": _told(action, arguments), "diff": "", "similar": earlier}
        right = "true" if label == "yes" else "false"
        yield Row(
            "approvals.allow", state, right, {}, is_test(json.dumps(template)), "en", json.dumps(template)
        )


def _progress(rng: random.Random, data: Seeds) -> Made:
    turns, good, bad = data["turns"], data["results"]["good"], data["results"]["bad"]

    def call(step: str, result: str) -> str:
        tool, _, rest = step.partition(" ")
        given = rest if is_plain else json.dumps({rng.choice(["on", "query", "path"]): rest})
        return f"{tool} {given} -> {result}"

    while True:
        request, is_plain = rng.choice(list(turns)), rng.random() < 0.3
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


def _candidate(rng: random.Random, data: Seeds) -> Made:
    by_topic = _candidate_by_topic(rng, data)
    while True:
        yield (
            _bearing(rng, data["relevance"]) if "relevance" in data and rng.random() < 0.5 else next(by_topic)
        )


def _bearing(rng: random.Random, relevance: list[list[str]]) -> Row:
    """A memory with talk it bears on, or with talk that shares a word, a theme or nothing with it."""
    memory, bears, shares = rng.choice(relevance)
    label = rng.choice(["true", "false"])
    talk = bears
    if label == "false":
        talk = shares if rng.random() < 0.6 else rng.choice(rng.choice(relevance)[1:])
    if label == "false" and talk == bears:
        talk = shares
    state = {"memory": memory, "talk": _noisy(rng, talk)}
    language = "en" if memory.isascii() else "other"
    return Row("context.candidate", state, label, {}, is_test(memory), language, memory)


def _candidate_by_topic(rng: random.Random, data: Seeds) -> Made:
    people, topics = data["people"], data["topics"]
    while True:
        part, pool = _topics(rng, data)
        topic = rng.choice(pool)
        is_related = rng.random() < 0.5
        about = topic if is_related else rng.choice([other for other in pool if other != topic])
        memory = rng.choice(_facts(data, topic, rng.choice(people)))
        language = rng.choice(["en", "en", "en", "de", "ja", "zh", "es", "ru"])
        talk = rng.choice(topics[about]["talk"] if language == "en" else topics[about][language])
        state = {"talk": _noisy(rng, talk), "memory": memory}
        yield Row("context.candidate", state, "true" if is_related else "false", {}, part, language, topic)


def _toolkit(rng: random.Random, data: Seeds) -> Made:
    kits = dict(data["kits"])
    talk = kits.pop("chat")
    none = "None of them is needed."
    while True:
        names = rng.sample(list(kits), rng.randint(2, len(kits)))
        options = {name: kits[name][0] for name in names} | {"none": none}
        label = rng.choice([*names, "none"])
        source = talk if label == "none" else kits[label]
        prompt = rng.choice(source[1:])
        language = "en" if source.index(prompt) <= N_ENGLISH_KIT else "other"
        state = {"message": _noisy(rng, prompt), "toolkits": {name: kits[name][0] for name in names}}
        yield Row("toolkit.suggest", state, label, options, is_test(prompt), language, prompt)


def _act(rng: random.Random, data: Seeds) -> Made:
    while True:
        label = rng.choice(["yes", "no"])
        phrase = rng.choice(data["act"][label])
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
