"""`REPLIES`: what language models and their hosts really send, each with how it must end.

Every entry asks for an object with the key `self_growth`. `outcome` says what one such answer is worth:

* `ok`: used at once; `value` is what `self_growth` then says.
* `retry`: the one stricter retry is made; twice, it ends as `bad_shape` (`cut` where both hit the limit).
* any reason of `synth.llm.reasons`: the call ends so, without a retry.

`problem` is what the parser names (for `retry`), '' where it reads the text and only the shape is refused.
`DIARY` holds entries that `GOOD` is grounded in. Replies are in the form `ScriptedHost` takes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

DIARY = (
    "Jay and I walked to the lighthouse before the storm. He carried the broken radio the whole way.",
    "Repaired the radio with copper wire from the greenhouse. Jay laughed: it only played weather reports.",
    "Ana sent seeds of blue poppies; we planted them beside the greenhouse door.",
)
GOOD = (
    "I carried the broken radio with Jay to the lighthouse, and I learned to like repairing it slowly "
    "with copper wire. When Ana sent blue poppies I noticed that I want to plant things beside the "
    "greenhouse door."
)


@dataclass(frozen=True)
class Malformed:
    """One answer. `reply` is a content string or a dict for `ScriptedHost`."""

    name: str
    reply: str | dict[str, Any]
    outcome: str
    problem: str = ""
    value: str = GOOD

    @property
    def text(self) -> str | None:
        """The content, where the oddity is in the text and not in the HTTP answer."""
        if isinstance(self.reply, str):
            return self.reply
        return None


def _object(**more: Any) -> str:
    return json.dumps({"self_growth": GOOD, **more}, ensure_ascii=False)


def _ok(name: str, reply: str | dict[str, Any], value: str = GOOD) -> Malformed:
    return Malformed(name, reply, "ok", value=value)


def _retry(name: str, reply: str | dict[str, Any], problem: str) -> Malformed:
    return Malformed(name, reply, "retry", problem)


J = _object(likes=["radios"], dislikes=[])
_SMART = f"{{“self_growth”: “{GOOD}”, “likes”: [“radios”]}}"
_TICKS = GOOD + " I wrote ```not a fence``` and `code`."
_CURLY = GOOD + " “Quoted”, } ] , ] and {braces}."

READ_AT_ONCE = (
    _ok("plain", J),
    _ok("only the key", _object()),
    _ok("json fence", f"```json\n{J}\n```"),
    _ok("upper case fence", f"```JSON\n{J}\n```"),
    _ok("bare fence", f"```\n{J}\n```"),
    _ok("tilde fence", f"~~~json\n{J}\n~~~"),
    _ok("fence never closed", f"```json\n{J}"),
    _ok("prose before", f"Here is my reflection:\n\n{J}"),
    _ok("prose after", f"{J}\n\nLet me know if I should change anything!"),
    _ok("prose around a fence", f"Sure.\n```json\n{J}\n```\nDone."),
    _ok("a brace in the prose", f"I open with {{ and close later. {J}"),
    _ok("a placeholder in the prose", f"Dear {{name}}, {J}"),
    _ok("byte order mark", "\ufeff" + J),
    _ok("single-item list", f"[{J}]"),
    _ok("list of two", f'[{J}, {{"self_growth": "second"}}]'),
    _ok("list never closed", f"[{J}"),
    _ok("closed think block", f"<think>I should write JSON.</think>{J}"),
    _ok("draft in a think block", f'<think>{{"self_growth": "draft"}}</think>\n{J}'),
    _ok("empty object in a think block", f"<think>{{}}</think>{J}"),
    _ok("think block without its opening tag", f'Maybe {{"self_growth": "draft"}}?\n</think>\n{J}'),
    _ok("thinking tag in upper case", f"<THINKING>hm</THINKING>{J}"),
    _ok("two think blocks", f"<think>a</think><think>b</think>{J}"),
    _ok("bash block first", f'```bash\necho \'{{"self_growth": "no"}}\'\n```\n{J}'),
    _ok("empty object first", f"{{}} {J}"),
    _ok("other object first", f'{{"mood": "calm"}}\n{J}'),
    _ok("trailing comma in the object", J[:-1] + ",}"),
    _ok("trailing comma in a list", _object(likes=["radios"]).replace('"radios"]', '"radios",]')),
    _ok("trailing commas over lines", f'{{\n "self_growth": {json.dumps(GOOD)},\n "likes": ["a",\n ],\n}}'),
    _ok("typographic quotes", _SMART),
    _ok("german quotes", f"{{„self_growth“: „{GOOD}“}}"),
    _ok("guillemets", f"{{«self_growth»: «{GOOD}»}}"),
    _ok("typographic keys only", f"{{“self_growth”: {json.dumps(GOOD)}}}"),
    _ok("backticks in a string", json.dumps({"self_growth": _TICKS}), _TICKS),
    _ok("look-alikes in a string", json.dumps({"self_growth": _CURLY}), _CURLY),
    _ok("escaped look-alikes", json.dumps({"self_growth": _CURLY}, ensure_ascii=True), _CURLY),
    _ok("look-alikes beside a trailing comma", json.dumps({"self_growth": _CURLY})[:-1] + ",}", _CURLY),
    _ok("raw line break in a string", f'{{"self_growth": "{GOOD}\nAnd more."}}', f"{GOOD}\nAnd more."),
    _ok("NUL in a string", f'{{"self_growth": "{GOOD}\\u0000"}}', GOOD + "\ufffd"),
    _ok("lone surrogate in a string", f'{{"self_growth": "{GOOD}\\ud83d"}}', GOOD + "\ufffd"),
    _ok("surrogate pair", f'{{"self_growth": "{GOOD} \\ud83d\\ude00"}}', GOOD + " \U0001f600"),
    _ok("key twice", f'{{"self_growth": "old", "self_growth": {json.dumps(GOOD)}}}'),
    _ok("huge number beside", f'{{"n": {"9" * 10_000}, "self_growth": {json.dumps(GOOD)}}}'),
    _ok("overflowing float beside", f'{{"n": 1e999, "self_growth": {json.dumps(GOOD)}}}'),
    _ok("two objects, first wins", f'{J}\n{{"self_growth": "other"}}'),
    _ok("extra keys", _object(mood="calm", reasons={"a": [1, 2]})),
    _ok("space around", f"\n\n   {J}  \r\n"),
    _ok("windows line ends", J.replace(', "', ',\r\n"')),
)
WRONG_TEXT = (
    _retry("sorry", "I'm sorry, I can't do that.", "no_object"),
    _retry("blank", "   \n", "empty"),
    _retry("empty object", "{}", "missing_keys"),
    _retry("other keys", '{"reflection": "I walked."}', "missing_keys"),
    _retry("wrapped in another object", f'{{"result": {J}}}', "missing_keys"),
    _retry("single quotes", f"{{'self_growth': '{GOOD}'}}", "single_quotes"),
    _retry("python repr", repr({"self_growth": GOOD, "likes": None}), "single_quotes"),
    _retry("python words", f'{{"self_growth": {json.dumps(GOOD)}, "likes": None}}', "python_repr"),
    _retry("line comment", f'{{"self_growth": {json.dumps(GOOD)} // mine\n}}', "comments"),
    _retry("block comment", f'{{/* mine */ "self_growth": {json.dumps(GOOD)}}}', "comments"),
    _retry("hash comment", f'{{"self_growth": {json.dumps(GOOD)} # mine\n}}', "comments"),
    _retry("unquoted keys", f"{{self_growth: {json.dumps(GOOD)}}}", "unquoted_keys"),
    _retry("number as a key", f'{{1: 2, "self_growth": {json.dumps(GOOD)}}}', "unquoted_keys"),
    _retry("yaml", f"self_growth: {GOOD}\nlikes:\n  - radios", "yaml"),
    _retry("json in a string", json.dumps(J), "json_in_string"),
    _retry("no opening brace", J[1:], "missing_brace"),
    _retry("no closing brace", J[:-1], "cut"),
    _retry("cut in a string", J[:60], "cut"),
    _retry("cut after a colon", '{"self_growth":', "cut"),
    _retry("cut at once", "{", "cut"),
    _retry("cut inside a fence", f"```json\n{J[:50]}", "cut"),
    _retry("think block never closed", f"<think>Let me see. {J}", "cut"),
    _retry("think block only", f"<think>{J}</think>", "no_object"),
    _retry("missing comma", J.replace(', "likes"', ' "likes"'), "broken"),
    _retry("double comma", J.replace(', "likes"', ',, "likes"'), "broken"),
    _retry("unescaped quotes", '{"self_growth": "He said "hi" to me"}', "broken"),
    _retry("NaN", f'{{"self_growth": {json.dumps(GOOD)}, "n": NaN}}', "not_a_number"),
    _retry("minus infinity", f'{{"self_growth": {json.dumps(GOOD)}, "n": -Infinity}}', "not_a_number"),
    _retry("nested too deeply", f'{{"self_growth": {"[" * 200}{"]" * 200}}}', "too_deep"),
    _retry("nested without end", '{"a":' * 50_000, "too_deep"),
    _retry("bash block only", f"```bash\n{J}\n```", "no_object"),
    _retry("a list of strings", '["I walked", "I learned"]', "no_object"),
    _retry("a bare string", json.dumps(GOOD), "no_object"),
    _retry("html entities", J.replace('"', "&quot;"), "no_object"),
    _retry("braces without end", "{" * 100_000, "cut"),
    _retry("quotes without end", '"' * 100_000, "no_object"),
)
WRONG_SHAPE = (
    _retry("self_growth is a list", '{"self_growth": ["I walked"]}', ""),
    _retry("self_growth is an object", '{"self_growth": {"text": "I walked"}}', ""),
    _retry("self_growth is null", '{"self_growth": null}', ""),
    _retry("self_growth is a number", '{"self_growth": 7}', ""),
    _retry("self_growth is true", '{"self_growth": true}', ""),
    _retry("self_growth is blank", '{"self_growth": " \\n\\t"}', ""),
    _retry("self_growth is far too long", json.dumps({"self_growth": (GOOD + " ") * 20}), ""),
)
_EVENTS = "".join(
    f"data: {json.dumps({'choices': [{'delta': {'content': piece}, 'finish_reason': None}]})}\n\n"
    for piece in (J[:40], J[40:])
)
_SSE = {"Content-Type": "text/event-stream"}
WRONG_ANSWER = (
    _ok("content as a list of parts", {"message": {"content": [{"type": "text", "text": J}]}}),
    _ok("stream nobody asked for", {"raw": f"{_EVENTS}data: [DONE]\n\n", "headers": _SSE}),
    _ok("no usage", {"content": J, "usage": None}),
    _ok("finish reason null", {"content": J, "finish_reason": None}),
    _ok("content and a refusal", {"content": J, "message": {"refusal": "no"}}),
    _retry("stream cut short", {"raw": _EVENTS, "headers": _SSE}, "cut"),
    _retry("finish reason length", {"content": J[:-9], "finish_reason": "length"}, "cut"),
    _retry("complete but finish reason length", {"content": J, "finish_reason": "length"}, "cut"),
    _retry("finish reason max_tokens", {"content": J, "finish_reason": "max_tokens"}, "cut"),
    _retry("empty content", {"content": ""}, "empty"),
    _retry("null content", {"content": None}, "empty"),
    _retry("tool calls only", {"content": None, "message": {"tool_calls": [{"id": "1"}]}}, "empty"),
    _retry("content is a number", {"message": {"content": 7}}, "empty"),
    _retry("no choices", {"body": {"choices": []}}, "empty"),
    _retry("choices is null", {"body": {"choices": None}}, "empty"),
    _retry("message is null", {"body": {"choices": [{"message": None}]}}, "empty"),
    Malformed("refusal field", {"content": None, "message": {"refusal": "I can't."}}, "content_filter"),
    Malformed("content filter", {"content": "", "finish_reason": "content_filter"}, "content_filter"),
    Malformed("html with status 200", {"raw": "<!doctype html><p>Log in</p>"}, "llm_refused"),
    Malformed("empty body with status 200", {"raw": ""}, "llm_refused"),
    Malformed("a JSON list with status 200", {"raw": "[]"}, "llm_refused"),
    Malformed("error with status 200", {"body": {"error": {"message": "no such model"}}}, "llm_refused"),
    Malformed("busy with status 200", {"body": {"error": {"code": 429, "message": ""}}}, "llm_overloaded"),
    Malformed("status 401", {"status": 401, "content": "bad key"}, "llm_refused"),
    Malformed("status 404", {"status": 404, "raw": "<html>404</html>"}, "llm_refused"),
    Malformed("redirect", {"status": 307, "headers": {"Location": "http://127.0.0.1:9/"}}, "llm_refused"),
    Malformed("status 429", {"status": 429, "headers": {"Retry-After": "7"}}, "llm_overloaded"),
    Malformed("status 503", {"status": 503}, "llm_overloaded"),
    Malformed("reset halfway", {"content": J, "drop": "mid"}, "llm_unreachable"),
    Malformed("closed without an answer", {"drop": "before"}, "llm_unreachable"),
    Malformed("body shorter than announced", {"content": J, "cut": True}, "llm_unreachable"),
)
REPLIES: tuple[Malformed, ...] = (*READ_AT_ONCE, *WRONG_TEXT, *WRONG_SHAPE, *WRONG_ANSWER)
