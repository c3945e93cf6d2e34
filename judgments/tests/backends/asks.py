"""Asks the backend tests share."""

from judgments.questions import Ask, Question

KEY = "sk-test-0123456789abcdef"
NOUL = Question("n", "noul", "Is it urgent?")
CHOICE = Question("café-1", "choice", "Which?", {"Café": "x", "Tee": None, "Größe": ["y"]})
SCORE = Question("s", "score", "How much?", ["low", "mid", "high"])
ASK = Ask("jev-latest", "The printer burns.", (NOUL, CHOICE, SCORE))
JUST_NOUL = Ask("jev-latest", "s", (NOUL,))


def good(noul=0.9):
    """A System One reply to `JUST_NOUL`."""
    return {
        "model": "host-1",
        "answers": {"n": {"type": "noul", "noul": noul}},
        "usage": {"input_tokens": 4, "output_tokens": 1},
    }
