"""What frontends ask on their own account: titles, tags, follow-up questions. Answered by rule, at once.

Such requests are no talk with the agent: they leave no trace and cost no model call. They are known by the
instructions the frontends send (as their documentation and default settings show them), never by a topic.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass

from synth.openai.body import Asked
from synth.text.words import tokens

MAX_TITLE_CHARS = 48
# These look at messages of any size: none may look twice at the same stretch of one.
_HISTORY = re.compile(r"<(/?)chat_history>", re.IGNORECASE)
_TURN = re.compile(r"^[ \t]*(?:\|\|>[ \t]*|- )?\**(?:USER|User|user|Human|You)\**[ \t]*:\s*", re.MULTILINE)
_NEXT = re.compile(
    r"^[ \t]*(?:\|\|>[ \t]*|- )?\**(?:ASSISTANT|Assistant|assistant|Response|AI|Model)\**[ \t]*:",
    re.MULTILINE,
)
_QUERY = re.compile(
    r"\A\s*Here is the query:(.*?)Create a concise,? [\d-]+ word phrase as a title for the previous",
    re.DOTALL,
)
_WORD_EDGE = re.compile(r"\s+\S*$")


@dataclass(frozen=True)
class Chore:
    """A request of the frontend itself.

    `kind`: title, titled (a title with its language), tags, follow_ups, queries, completion, emoji or image.
    """

    kind: str
    is_json: bool


# Each is the beginning, or a characteristic stretch, of a frontend's own instruction.
_SIGNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE | re.DOTALL))
    for kind, pattern in (
        # Open WebUI: every task prompt begins with this heading.
        ("title", r"\A\s*###\s*Task:\s*Generate a concise.{0,80}?\btitle\b"),
        ("tags", r"\A\s*###\s*Task:\s*Generate\s+\d.{0,40}?\btags\b"),
        ("follow_ups", r"\A\s*###\s*Task:\s*Suggest.{0,60}?\bfollow-?up\b"),
        ("queries", r"\A\s*###\s*Task:\s*Analyze the chat history to determine the necessity"),
        ("completion", r"\A\s*###\s*Task:\s*You are an autocompletion system"),
        ("image", r"\A\s*###\s*Task:\s*Generate a detailed prompt for an?m? image"),
        ("emoji", r"\A\s*Your task is to reflect the speaker's likely facial expression"),
        ("title", r"\A\s*Create a concise,? [\d-]+ word (?:phrase|title).{0,160}\b(?:title|header)\b"),
        ("title", _QUERY.pattern),  # its first versions, and what was made after them
        # LibreChat.
        ("title", r"\A\s*(?:Please |)(?:provide|generate|write) a concise,? 5-word-or-less title\b"),
        (
            "titled",
            r"\A\s*Analyze this conversation and provide:.{0,120}detected language.{0,80}concise title",
        ),
        ("title", r"\A\s*Please generate a concise title \(max \d+ characters\) for a conversation"),
        ("title", r"\A\s*Write a concise title for this conversation in (?:the given|the same) language"),
        # big-AGI.
        ("title", r"\A\s*Analyze the given short conversation.{0,40}? and extract a concise chat title\b"),
        # NextChat, Chatbox, LobeChat, Better ChatGPT, AI SDK templates.
        ("title", r"\A\s*Please generate a four to five word title summarizing our conversation"),
        ("title", r"\A\s*Based on the chat history, give this conversation a name"),
        ("title", r"\A\s*Generate a title in less than \d+ words for the following (?:message|conversation)"),
        ("title", r"\A\s*You are a professional conversation summarizer\b.{0,80}\btitle\b"),
        ("title", r"\A\s*(?:-\s*)?you will generate a short title based on the first message"),
        (
            "title",
            r"\A\s*Generate a (?:short|concise|brief) (?:(?:chat|conversation) title\b"
            r"|title\b.{0,80}\b(?:chat|conversation|dialogue|discussion|messages?|following)\b).{0,200}\Z",
        ),
    )
)


def chore_of(asked: Asked) -> Chore | None:
    """The frontend's own request this is, or None for talk.

    Only an instruction that begins a message counts; what tools say is never one.
    """
    if asked.messages[-1].role != "user":
        return None
    candidates = [asked.messages[-1].text]
    if len(asked.messages) == 1 and asked.system:
        candidates.append(asked.system)
    for text in candidates:
        for kind, sign in _SIGNS:
            if sign.search(text):
                wants_json = bool(asked.tools) or isinstance(asked.raw.get("response_format"), dict)
                return Chore(kind, is_json=wants_json or bool(re.search(r"\bJSON\b", text)))
    return None


def answer(chore: Chore, asked: Asked) -> str:
    """The reply, as the frontend will read it."""
    first, whole = _talk(asked)
    if chore.kind in ("title", "titled"):
        title = title_of(first)
        if chore.kind == "titled" and chore.is_json:
            return json.dumps({"language": "und", "title": title}, ensure_ascii=False)
        return json.dumps({"title": title}, ensure_ascii=False) if chore.is_json else title
    empty = {
        "tags": {"tags": tags_of(whole)},
        "follow_ups": {"follow_ups": []},
        "queries": {"queries": []},
        "completion": {"text": ""},
        "image": {"prompt": title_of(first)},
    }
    if chore.kind == "emoji":
        return "💬"
    return json.dumps(empty[chore.kind], ensure_ascii=False)


def title_of(text: str) -> str:
    """The first words of what somebody wrote, cut between words."""
    line = " ".join(text.split()).strip(" \"'“”„«»#*-`")
    sentence = re.split(r"(?<=[.!?。！？])\s*", line, maxsplit=1)[0].rstrip(".。")
    if len(sentence) <= MAX_TITLE_CHARS:
        return sentence or "New chat"
    cut = sentence[:MAX_TITLE_CHARS]
    return (_WORD_EDGE.sub("", cut) or cut).rstrip(" ,;:") + "…"


def tags_of(text: str, limit: int = 3) -> list[str]:
    """The words used most, longer ones first among equals."""
    words = [word for word in tokens(text) if len(word) > 3 and word.isalpha()]
    ranked = sorted(Counter(words).items(), key=lambda item: (-item[1], -len(item[0]), item[0]))
    return [word for word, _ in ranked[:limit]]


def _talk(asked: Asked) -> tuple[str, str]:
    """What the person wrote first, and all of the talk: of the history in the request, else its messages."""
    last = asked.messages[-1].text
    if found := _QUERY.match(last):
        return found[1], found[1]
    history = _history(last)
    if history is not None or _TURN.search(last):
        whole = history if history is not None else last[_start(last) :]
        said = _TURN.split(whole, maxsplit=1)
        first = _NEXT.split(said[1], maxsplit=1)[0] if len(said) > 1 else whole
        return first.strip(), whole
    users = [m.text for m in asked.messages if m.role == "user"]
    talk = users[:-1] or users
    return talk[0], "\n".join(talk)


def _history(text: str) -> str | None:
    """What stands between the first mark of a history and the next that ends one."""
    start = None
    for mark in _HISTORY.finditer(text):
        if start is None and not mark[1]:
            start = mark.end()
        elif start is not None and mark[1]:
            return text[start : mark.start()]
    return None


def _start(text: str) -> int:
    match = _TURN.search(text)
    return match.start() if match else 0
