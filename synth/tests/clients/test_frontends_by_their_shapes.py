"""Requests shaped as Open WebUI, LibreChat and SillyTavern send them, by their documentation and defaults."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow


def post(world, body, **headers):
    return world.http().post("/v1/chat/completions", json={"model": "synth/wren", **body}, headers=headers)


def streamed(answer):
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = [line[6:] for line in answer.text.split("\n\n") if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    chunks = [json.loads(line) for line in lines[:-1]]
    return "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])


def n_dialogues(world):
    return len(world.http().get("/api/dialogues/").json()["results"])


def test_open_webui_talks_titles_tags_and_follows_up(world):
    world.scripts["open-webui asks"] = "An answer."
    before = n_dialogues(world)
    talk = [{"role": "user", "content": "open-webui asks"}]
    body = {
        "stream": True, "stream_options": {"include_usage": True}, "messages": talk,
        "params": {}, "features": {"web_search": False}, "metadata": {"chat_id": "x"},
        "options": {"num_ctx": 4096},
    }  # fmt: skip
    headers = {"X-OpenWebUI-User-Name": "Pia", "X-OpenWebUI-Chat-Id": "x"}
    text = streamed(post(world, body, **headers))
    assert text == "An answer." and n_dialogues(world) == before + 1
    history = "<chat_history>\nUSER: open-webui asks\nASSISTANT: An answer.\n</chat_history>"
    chores = {
        "title": "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat.\n",
        "tags": "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history,\n",
        "follow_ups": "### Task:\nSuggest 3-5 relevant follow-up questions or prompts that the user might\n",
    }
    asked = len(world.host.requests)
    for key, words in chores.items():
        chore = {"stream": False, "messages": [{"role": "user", "content": f"{words}JSON\n{history}"}]}
        reply = post(world, {**chore, "max_completion_tokens": 1000}).json()
        assert set(json.loads(reply["choices"][0]["message"]["content"])) == {key}
    assert (n_dialogues(world), len(world.host.requests)) == (before + 1, asked)
    talk += [{"role": "assistant", "content": text}, {"role": "user", "content": "open-webui asks more"}]
    streamed(post(world, {**body, "messages": talk}))
    assert n_dialogues(world) == before + 1


def test_librechat_names_its_conversation_without_a_trace(world):
    world.scripts["librechat asks"] = "Yes."
    before = n_dialogues(world)
    body = {
        "stream": True, "user": "65f0", "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0,
        "messages": [
            {"role": "system", "content": "The current date is today."},
            {"role": "user", "content": [{"type": "text", "text": "librechat asks"}]},
        ],
    }  # fmt: skip
    assert streamed(post(world, body)) == "Yes."
    words = (
        "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. "
        "Only return the title itself.\n\nConversation:\nUser: librechat asks\nAI: Yes."
    )
    title = post(world, {"messages": [{"role": "user", "content": words}], "stream": False}).json()
    assert title["choices"][0]["message"]["content"] == "librechat asks"
    assert n_dialogues(world) == before + 1


def test_sillytavern_sends_instructions_around_the_talk(world):
    world.scripts["silly asks"] = "Silly answer."
    body = {
        "stream": True, "temperature": 1, "frequency_penalty": 0, "presence_penalty": 0, "top_p": 1,
        "max_tokens": 300, "stop": ["\nPia:"], "seed": -1, "logit_bias": {}, "n": 1,
        "messages": [
            {"role": "system", "content": "Write Wren's next reply."},
            {"role": "system", "content": "[Start a new Chat]"},
            {"role": "assistant", "content": "Hello, stranger."},
            {"role": "user", "content": "silly asks"},
            {"role": "system", "content": "[Stay in character]"},
        ],
    }  # fmt: skip
    assert streamed(post(world, body)) == "Silly answer."
    (sent,) = world.prompts("silly asks")
    whole = json.dumps(sent)
    assert whole.count("Hello, stranger.") == 1 and whole.count("[Stay in character]") == 1
    assert sent[0]["role"] == "system" and [m["role"] for m in sent].count("system") == 1
