"""`manage.py up` with small stand-ins for the four roles: real stores, real supervisor, quick start.

Run as a program by the process-tree tests. The worker stand-in forks a child that ignores SIGTERM.
"""

from __future__ import annotations

import sys

from synth.stack import up
from synth.stack.home import StackError
from synth.stack.roles import ROLES, Role

WEB = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'ok')
    def log_message(self, *args): pass
http.server.ThreadingHTTPServer(("{bind}", {port}), Handler).serve_forever()
"""
STUBBORN = """
import os, signal, time
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True: time.sleep(1)
"""


def role(name: str, code: str) -> Role:
    """A stand-in that runs `code`, with `name` to be seen in its command line."""
    return Role(name, "a stand-in", ("python", "-c", code, f"dummy-{name}"), (), grace_s=3)


def main() -> int:
    """Replace the table of roles, skip migrations, run `up`."""
    ROLES.clear()
    for name, code in (("web", WEB), ("worker", STUBBORN), ("beat", STUBBORN)):
        ROLES[name] = role(name, code)
    up.Up.migrate = up.Up.seed = lambda self: True  # type: ignore[method-assign]
    return up.main([])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except StackError as error:
        sys.exit(str(error))
