"""Titles, tags and follow-ups that frontends ask for are told from talk, and answered by rule.

The shapes are those of the frontends' public default prompts, shortened after their first sentences.
"""

from __future__ import annotations

import json

import pytest

from synth.openai import body, frontends

HISTORY = (
    "<chat_history>\nUSER: How do I prune an old apple tree without hurting it?\n"
    "ASSISTANT: In winter, a little each year.\nUSER: And apple grafting?\n</chat_history>"
)
OPEN_WEBUI = {
    "title": "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n"
    '### Output:\nJSON format: { "title": "your concise title here" }\n',
    "tags": "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history.\n"
    '### Output:\nJSON format: { "tags": ["tag1"] }\n',
    "follow_ups": "### Task:\nSuggest 3-5 relevant follow-up questions or prompts that the user might\n"
    '### Output:\nJSON format: { "follow_ups": [] }\n',
    "queries": "### Task:\nAnalyze the chat history to determine the necessity of search\n",
    "completion": "### Task:\nYou are an autocompletion system. Continue the text\n",
}
LIBRECHAT = {
    "title": "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. "
    "Only return the title itself.\n\nConversation:\nUser: How do I prune an apple tree?\nAI: In winter.",
    "titled": "Analyze this conversation and provide:\n1. The detected language of the conversation\n"
    "2. A concise title in the detected language (5 words or less, no punctuation or quotation)\n\n"
    "User: How do I prune an apple tree?\nAI: In winter.",
}


def asked(text, *before, **more):
    return body.read({"model": "a", "messages": [*before, {"role": "user", "content": text}], **more})


def reply_to(request):
    chore = frontends.chore_of(request)
    assert chore is not None
    return frontends.answer(chore, request)


@pytest.mark.parametrize("kind", OPEN_WEBUI)
def test_open_webui(kind):
    request = asked(OPEN_WEBUI[kind] + HISTORY)
    chore = frontends.chore_of(request)
    assert chore is not None and chore.kind == kind
    reply = json.loads(frontends.answer(chore, request))
    key = {"completion": "text"}.get(kind, kind)
    assert set(reply) == {key}
    if kind == "title":
        assert reply["title"] == "How do I prune an old apple tree without…"
    if kind == "tags":
        assert reply["tags"][0] == "apple"


@pytest.mark.parametrize("kind", LIBRECHAT)
def test_librechat(kind):
    request = asked(LIBRECHAT[kind])
    chore = frontends.chore_of(request)
    assert chore is not None and chore.kind == kind
    assert frontends.answer(chore, request) == "How do I prune an apple tree?"


def test_big_agi():
    words = (
        "Analyze the given short conversation (every line is truncated) and extract a concise chat title "
        "that summarizes the conversation in as little as a couple of words.\nOnly respond with the "
        "lowercase short title and nothing else.\n\n```\n- You: How do I prune an apple tree?{}\n```"
    )
    told = {"role": "system", "content": "You are an AI conversation titles assistant who makes chat titles."}
    for rest in ("", "\n- Assistant: In winter.\n- You: And when?"):
        assert reply_to(asked(words.format(rest), told)) == "How do I prune an apple tree?"


@pytest.mark.parametrize("line", ["", "\n--------------\n"])
def test_first_versions_of_open_webui(line):
    words = (
        f"Here is the query:\n{line}\nHow do I prune an apple tree?\n{line}\nCreate a concise, 3-5 word "
        "phrase as a title for the previous query. Avoid quotation marks or special formatting. RESPOND ONLY "
        "WITH THE TITLE TEXT.\n\nExamples of titles:\nStock Market Trends"
    )
    assert reply_to(asked(words)) == "How do I prune an apple tree?"
    assert frontends.chore_of(asked("Here is the query: how do I create a title?")) is None
    assert frontends.chore_of(asked("Here is the query:" + "\n" * 200_000 + "Create a concise")) is None


def test_a_title_in_a_shape_that_was_asked_for():
    request = asked(LIBRECHAT["titled"], response_format={"type": "json_object"})
    assert json.loads(reply_to(request))["title"] == "How do I prune an apple tree?"


def test_a_title_asked_for_after_the_talk_itself():
    talk = [{"role": "user", "content": "Tell me of Kyoto."}, {"role": "assistant", "content": "Old city."}]
    words = "Please generate a four to five word title summarizing our conversation without any lead-in"
    request = asked(words, *talk)
    assert reply_to(request) == "Tell me of Kyoto"


def test_a_title_asked_for_by_the_system_message():
    told = {"role": "system", "content": "you will generate a short title based on the first message a user"}
    request = asked("My cat is ill", told)
    assert reply_to(request) == "My cat is ill"


@pytest.mark.parametrize(
    "text",
    ["Generate a short title for this conversation.", "Generate a concise chat title",
     "Generate a brief title for the following text: a cat"],
)  # fmt: skip
def test_plain_orders_for_a_title_of_the_talk(text):
    chore = frontends.chore_of(asked(text))
    assert chore is not None and chore.kind == "title"


@pytest.mark.parametrize(
    "text",
    [
        "Can you generate a concise title for my blog post about apple trees?",
        "### Task:\nRespond to the user query using the provided context.\n<user_query>my cat?</user_query>",
        "How do I write tags in HTML?",
        "He said: ### Task: Generate a concise, 3-5 word title",
        "Suggest follow-up questions for my interview",
        "Generate a short title for my poem about rain.",
        "Generate a title and then the whole essay. " + "Write about the sea and its tides. " * 20,
    ],
)
def test_talk_is_not_taken_for_a_chore(text):
    assert frontends.chore_of(asked(text)) is None


@pytest.mark.parametrize("text", ["a" * 200, "", "  \n ", "日本語の長い文章" * 20, '"Quoted." More.'])
def test_a_title_is_short_and_never_blank(text):
    title = frontends.title_of(text)
    assert 0 < len(title) <= frontends.MAX_TITLE_CHARS + 1


def test_what_a_tool_says_is_no_chore():
    call = {"id": "c", "function": {"name": "read", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "c", "content": "### Task:\nGenerate a concise title"}
    asked_ = {"role": "assistant", "tool_calls": [call]}
    for messages in ([asked_, result], [{"role": "user", "content": "hi"}, asked_, result]):
        assert frontends.chore_of(body.read({"model": "wren", "messages": messages})) is None


@pytest.mark.parametrize("filler", ["\n", "<chat_history>", "** ", "USER", " \t", "</chat_history>"])
def test_a_long_chore_made_to_cost_time_is_answered(filler):
    title = reply_to(asked("### Task:\nGenerate a concise title\n" + filler * 100_000 + "x"))
    assert 0 < len(title) <= frontends.MAX_TITLE_CHARS + 1
