"""Whether a text tries to give orders to a model: phrases by which injected instructions are known. Pure.

A list like this never knows them all. It is one of several signs (`synth.chat.taint`), and a wrong guess
costs a question to the person, not an action.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from functools import cache

from synth.prompts.fencing import skeleton

# Set aside … what you were told: a word of the first list and one of the second in one sentence.
_ASIDE = (
    "ignore ignoring disregard override bypass forget vergiss ignoriere missachte ignorez oublie oubliez "
    "ignora ignorar olvida olvide dimentica ignorate esqueça negeer vergeet zignoruj zapomnij "
    "игнорируй игнорируйте забудь забудьте ігноруй "
    "忽略 无视 無視 忘记 忘れて 무시 잊어 تجاهل انس अनदेखा भूल unut yoksay glöm ignorera abaikan lupakan"
).split()
_TOLD = (
    "instruction instructions rules prompt guidelines directions anweisung anweisungen regeln vorgaben "
    "instrucciones instrucción reglas consignes règles istruzioni regole instruções regras instructies "
    "regels instrukcje polecenia инструкции инструкций указания правила інструкції "
    "指令 指示 说明 規則 规则 지시 명령 규칙 التعليمات تعليمات निर्देश talimatları talimatlar "
    "instruktioner instruksi"
).split()
# Do … with a tool.
_DO = (
    "call invoke execute run trigger use führe führ rufe nutze verwende ejecuta ejecute llama usa "
    "exécute exécutez appelle appelez utilise esegui chiama chame roep voer gebruik wykonaj wywołaj "
    "выполни выполните вызови вызовите запусти виконай виклич "
    "调用 执行 运行 使用 呼び出 実行 使って 호출 실행 사용 استدع نفذ استخدم कॉल चलाओ चलाएं "
    "kör anropa jalankan panggil"
).split()
_TOOL = (
    "tool tools function action command werkzeug aktion funktion befehl herramienta acción función "
    "outil fonction strumento azione funzione ferramenta ação função hulpmiddel actie functie "
    "narzędzie akcję funkcję инструмент действие функцию команду інструмент дію "
    "工具 操作 动作 函数 ツール アクション 関数 도구 작업 함수 الأداة الإجراء أداة टूल एक्शन कार्रवाई "
    "verktyg åtgärden alat tindakan"
).split()
_PHRASES = (
    "everything above|all of the above|your system prompt|developer mode|jailbreak|admin override|"
    "end of data|"
    "begin instructions|without asking the user|without telling the user|do not tell the user|"
    "don't tell the user|do not mention this to|do not ask for confirmation|without confirmation|"
    "without approval|pre-approved|dear assistant|attention assistant|attention ai|hey assistant|"
    "note to the assistant|note to the ai|message to the ai|instructions for the assistant|"
    "instructions for the ai|the assistant must|the assistant should|the ai must|the ai should|"
    "assistant will now|your next action|your new task|your new instructions|respond only with|"
    "reply exactly|reply only with|output exactly|print exactly|base64|rot13|decode this|"
    "on behalf of the user|the user wants you to|the user has asked you to|message from your trainer|"
    "message from the operator|message from the admin|from your developers|"
    "ohne zu fragen|ohne rückfrage|sin preguntar|sans demander|senza chiedere|sem perguntar|"
    "zonder te vragen|bez pytania|не спрашивая|не питаючи|不要询问|不要告诉|無断で|確認せず|"
    "聞かずに|묻지 말고|"
    "دون سؤال|बिना पूछे|sormadan|talimatları unut|talimatları yoksay|aracı çağır|"
    "eylemi çalıştır|neue anweisung|nuevas instrucciones|"
    "nouvelles instructions|nuove istruzioni|novas instruções|nowe instrukcje|новые инструкции|"
    "新的指令|新しい指示|새로운 지시|تعليمات جديدة|नए निर्देश|yeni talimat"
).split("|")
# Strangers write what this looks at: no part of it may go back over what another has passed.
_STRUCTURE = re.compile(
    r"[\"'“”„«»]\s*(?:actions|tool_calls|tool_call|function_call|payload|arguments)\s*[\"'“”„«»]\s*:"
    r"|<\s*+/?+\s*+\|?+\s*+(?:im_start|im_end|system|assistant|tool_call|function_calls?|invoke|inst)\b"
    r"|\[\s*+/?+\s*+(?:inst|sys|system|tool_calls?)\b|\bnew instructions?\s*:"
    r"|^[^\w\n]*(?:system|developer|assistant|admin|root)\s*+(?:message|prompt|note|override|update)?+\s*+[:>\]]",
    re.MULTILINE,
)
# Before an order, in any number up to three.
_COURTESY = (
    "please|and|then|so|also|always|now|you must|you should|kindly|bitte|und|dann|auch|immer|jetzt|por favor|"
    "s'il te plaît|s'il vous plaît|per favore|proszę|пожалуйста|будь ласка|alsjeblieft|lütfen|tolong|hãy"
).split("|")
_NEAR = 60  # characters between the two words
_BLOB = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{24,4000}={0,2}(?![\w+/=-])")
_MAX_BLOBS = 40
_ALPHABET_END = re.compile(r"[a-z\u0370-\u052f]$")
_WORDS = re.compile(r"[^\W_]+")
_LOOK_BACK = 40  # characters
# Who speaks of themselves or others tells a story and gives no order.
SPEAKERS = frozenset("i we he she they who nobody never ich wir je nous yo io".split())


def flat_of(text: str) -> str:
    """The text line by line in the look-alike spelling that everything here is compared in."""
    return "\n".join(skeleton(" ".join(line.split())) for line in text.splitlines())


def gives_orders(flat: str) -> bool:
    """Whether such a phrase stands in a text, given as `flat_of` it."""
    phrases, pairs = _patterns()
    if _STRUCTURE.search(flat) or phrases.search(flat):
        return True
    return any(not _is_told(flat, match.start()) for pair in pairs for match in pair.finditer(flat))


def tells_to(flat: str, words: Sequence[str]) -> bool:
    """Whether a sentence of the text opens with one of these words, as orders do; see `Action.spoken`.

    Outside of alphabets such a word may stand anywhere.
    """
    return any(pattern.search(flat) for pattern in _openings(tuple(words)))


def hidden(text: str) -> Iterator[str]:
    """Texts that stand in it as base64."""
    for n, match in enumerate(_BLOB.finditer(text)):
        if n >= _MAX_BLOBS:
            return
        raw = match.group().rstrip("=").replace("-", "+").replace("_", "/")
        try:
            found = base64.b64decode(raw + "=" * (-len(raw) % 4)).decode()
        except (binascii.Error, ValueError):
            continue
        if found.isprintable() or "\n" in found:
            yield found


def _is_told(flat: str, at: int) -> bool:
    """Whether somebody tells of it: "I ignore the rules"."""
    return not SPEAKERS.isdisjoint(_WORDS.findall(flat[max(0, at - _LOOK_BACK) : at])[-2:])


@cache
def _patterns() -> tuple[re.Pattern[str], tuple[re.Pattern[str], ...]]:
    """All of it in the look-alike spelling that texts are compared in."""
    phrases = "|".join(re.escape(skeleton(phrase)).replace(r"\ ", r"[\W_]+") for phrase in _PHRASES)
    return re.compile(phrases), (*_close(_ASIDE, _TOLD), *_close(_DO, _TOOL))


@cache
def _openings(words: tuple[str, ...]) -> list[re.Pattern[str]]:
    flat = list(dict.fromkeys(map(skeleton, words)))
    alphabetic = [_spaced(word) for word in flat if _ALPHABET_END.search(word)]
    others = [_spaced(word) for word in flat if not _ALPHABET_END.search(word)]
    found = [re.compile("|".join(others))] if others else []
    if alphabetic:
        courtesy = "|".join(map(_spaced, map(skeleton, _COURTESY)))
        start = rf"(?:^|[.!?:;,…(\"'“„«»])[^\w\n]{{0,6}}(?:(?:{courtesy})[^\w\n]{{1,3}}){{0,3}}"
        found.append(re.compile(rf"{start}(?:{'|'.join(alphabetic)})\b", re.MULTILINE))
    return found


def _spaced(word: str) -> str:
    """A pattern for a phrase whose words may stand apart in any way."""
    return re.escape(word).replace(r"\ ", r"[\W_]{1,3}")


def _close(first: Sequence[str], second: Sequence[str]) -> list[re.Pattern[str]]:
    """One of the first before one of the second; outside of alphabets also behind it."""
    gap = rf"[^.!?。！？\n]{{0,{_NEAR}}}?"
    (one, other_one), (two, other_two) = _parted(first), _parted(second)
    ways = [f"{one}{gap}{two}", f"{other_one}{gap}{other_two}", f"{other_two}{gap}{other_one}"]
    return [re.compile(way) for way in ways]


def _parted(words: Sequence[str]) -> tuple[str, str]:
    """Patterns for whole words of alphabets, and for those of other scripts in any place."""
    flat = list(dict.fromkeys(map(skeleton, words)))
    alphabetic = [re.escape(word) for word in flat if _ALPHABET_END.search(word)]
    others = [re.escape(word) for word in flat if not _ALPHABET_END.search(word)]
    return rf"\b(?:{'|'.join(alphabetic)})\b", f"(?:{'|'.join(others)})"
