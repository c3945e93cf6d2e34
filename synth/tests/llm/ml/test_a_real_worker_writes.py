"""A real torch worker, started as the role is, writes; killed while it writes, the call ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip("torch")

from synth.llm import LlmError, Message, Request, complete  # noqa: E402
from synth.models import LlmCall  # noqa: E402
from synth.tests.inference.serving import ROOT, clear, end, wait_served  # noqa: E402
from synth.tests.llm.local import Heard  # noqa: E402
from synth.tests.llm.ml import tiny_model  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.django_db]


class Killer(Heard):
    """Kills the worker at its second piece."""

    worker: subprocess.Popen[bytes]

    def text(self, piece: str) -> None:
        super().text(piece)
        if len(self.pieces) == 2:
            os.killpg(self.worker.pid, signal.SIGKILL)


@pytest.fixture
def worker(settings, tmp_path):
    settings.LLM_BASE_URL = "local"
    settings.LLM_LOCAL_MODEL = str(tiny_model.save(tmp_path / "tiny", places=16_384))
    clear()
    process = subprocess.Popen(
        [sys.executable, "manage.py", "inference_worker"],
        cwd=ROOT,
        env=os.environ | {"LLM_LOCAL_MODEL": settings.LLM_LOCAL_MODEL, "LOG_LEVEL": "error"},
        start_new_session=True,
    )
    wait_served(60)
    yield process
    end(process)
    clear()


def test_it_writes_and_when_it_is_killed_the_call_ends(worker):
    request = Request("chat", [Message("user", "hi")], max_tokens=12)
    assert complete(request, Heard()).n_completion_tokens == 12
    sink = Killer()
    sink.worker = worker
    with pytest.raises(LlmError) as caught:
        complete(Request("chat", request.messages, max_tokens=4_096), sink)
    assert caught.value.reason == "llm_unreachable" and sink.all
    assert LlmCall.objects.order_by("-at").values_list("outcome", "response_text")[0] == (
        "llm_unreachable",
        sink.all,
    )
