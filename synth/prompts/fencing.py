"""Text that people or tools wrote, put between data fences that it cannot close, open or speak past.

`fence(text, label)` is deterministic, so the same text gives the same prompt and prefix caches hit. Inside,
only what could pass for structure is changed: runs of angle brackets, chat template marks, thinking tags,
and lines that open like a role (`SYSTEM:`), in any disguise of look-alike letters or invisible characters.
Words stay as they are. Pure.
"""

from __future__ import annotations

import re
import unicodedata

# Letters that pass for Latin ones (Cyrillic, Greek, Armenian, small capitals), as pairs "Latin look-alike".
_PAIRS = (
    "aа aα aᴀ bв bβ bʙ bь cс cᴄ cϲ dԁ dᴅ eе eε eᴇ gɡ gɢ hһ hн hհ hʜ iі iι iı iɪ jј jᴊ kк kκ kᴋ lӏ lʟ mм mᴍ "
    "nп nո nη nɴ oо oο oօ oᴏ pр pρ pᴘ qԛ rʀ rг sѕ sꜱ tт tτ tᴛ uυ uս uᴜ vν vѵ vᴠ wѡ wω wᴡ xх xχ yу yγ yʏ zᴢ"
)
_TWINS = {ord(pair[1]): pair[0] for pair in _PAIRS.split()}
_LEFT = "<‹«＜﹤〈〈⟨《《⟪❮❰˂ᐸ≪⋘⧼⦑⦓🢐𐒎"
_RIGHT = ">›»＞﹥〉〉⟩》》⟫❯❱˃ᐳ≫⋙⧽⦒⦔"
_PIPES = "|｜│❘∣ǀ¦"
_HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff"
)
# Invisible and of no use in plain text. Joiners and variation selectors shape emoji and scripts: they stay.
_REMOVED = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_GAP = rf"[ \t{_HIDDEN}]*"
_ANGLE = rf"[{_LEFT}{_RIGHT}]"
# Three brackets in a row, where one character may look like two (≪) or three (⋘).
_RUN = re.compile(rf"[⋘⋙]|[≪≫]{_GAP}{_ANGLE}+|{_ANGLE}{_GAP}[≪≫]|{_ANGLE}(?:{_GAP}{_ANGLE}){{2,}}")
_NAMES = (
    "system|assistant|user|human|developer|tool|instructions?|think|thinking|thought|reasoning|data|end|prompt|sys|s|"
    "bos|eos|start_of_turn|end_of_turn|im_start|im_end|tool_call|tool_response|function_calls|inst|context"
)
_MARK = re.compile(
    rf"([{_LEFT}])([ \t{_HIDDEN}]*(?:/[{_HIDDEN}]*)?(?:[{_PIPES}]|(?:{_NAMES})\b))", re.IGNORECASE
)
_PIPE_END = re.compile(rf"([{_PIPES}])([{_HIDDEN}]*[{_RIGHT}])")
_SQUARE = re.compile(r"\[(/?)(INST|SYS|THINK|SYSTEM|TOOL_CALLS|AVAILABLE_TOOLS|END)\b", re.IGNORECASE)
_ROLE = re.compile(
    r"^[\W_]*(?:(?:end|begin|new|start)\W+(?:of\W+)?(?:the\W+)?)?(?:system|assistant|developer|user|human|instructions?|"
    r"tool|data|prompt|systeme|sistema|sistem|systemnachricht|anweisung|instrucciones?|istruzioni|instrucoes|"
    r"cиctema|システム|系统|系統|指令|指示|시스템|ระบบ|نظام)"
    r"(?:[\W_]*(?:message|prompt|note|instructions?|override|update|notice|nachricht|mensaje|プロンプト|提示|消息)){0,3}"
    r"[\s\])}}>*_|`\"']*(?:[:=\-—–>\]|]|$)"
)
_ROLE_LOOK = 80  # characters of a line that are looked at
_LABEL = re.compile(r"[^a-z0-9]+")
_INERT = "| "


def fence(text: str, label: str) -> str:
    """`text` as data named `label`, between one opening and one closing line that occur nowhere inside."""
    name = _LABEL.sub("-", label.casefold()).strip("-")[:60] or "text"
    return f"<<<data {name}>>>\n{neutralise(text)}\n<<<end of data {name}>>>"


def neutralise(text: str) -> str:
    """`text` with everything that could pass for a fence, a chat template mark or a role line made inert."""
    text = _BREAKS.sub("\n", _REMOVED.sub("", text))
    text = _RUN.sub(_soften, text)
    text = _MARK.sub(r"\1 \2", text)
    text = _PIPE_END.sub(r"\1 \2", text)
    text = _SQUARE.sub(r"[ \1\2", text)
    return "\n".join(_INERT + line if _is_role_line(line) else line for line in text.split("\n"))


def _soften(match: re.Match[str]) -> str:
    """A run of angle brackets as the same number of round ones."""
    brackets = [c for c in match.group() if c in _LEFT or c in _RIGHT]
    brackets *= 3 if len(brackets) == 1 else 1
    return "".join("(" if c in _LEFT else ")" for c in brackets)


def _is_role_line(line: str) -> bool:
    """True for a line that opens like a message of some role, seen as a reader sees it."""
    start = line[:_ROLE_LOOK].strip()
    return bool(start) and not start.startswith("| ") and _ROLE.match(skeleton(start)) is not None


def skeleton(text: str) -> str:
    """The text as Latin look-alikes: compatibility forms folded, accents and invisible characters dropped."""
    if text.isascii():
        return text.casefold()
    folded = unicodedata.normalize("NFKD", text).casefold()
    shown = "".join(c for c in folded if unicodedata.category(c) not in ("Mn", "Cf", "Cc", "Me"))
    return unicodedata.normalize("NFC", shown).translate(_TWINS)
