"""`timefem run --watch`: a page that follows a solve, served to this machine only."""

import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ..errors import InputError
from ..late import Late
from ..problems.common.watching import watching

scenes = Late("timefem.solution.drawing.scene")
viewer = Late("timefem.solution.drawing.viewer")

EVERY = 0.5  # seconds between two looks
LAST_LOOK = 3.0  # seconds after the end in which a page can fetch the whole motion
FOLLOW = """<script>
let known = "";
state.time = last;
setInterval(async () => {
  const text = await (await fetch("scene")).text();
  if (text && text !== known) { known = text; follow(JSON.parse(text)); }
}, 700);
</script>"""
PARTS, WHOLE = "The first elements are not solved yet.", "The motion is shown when all of it is solved."
WAITING = """<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="1"><title>timefem</title>
<p>{}</p>"""


class Watcher:
    """What was solved last, and the server that shows it on http://127.0.0.1:PORT/."""

    def __init__(self, at_once=False):
        self.page = self.scene = ""
        self.waiting = WAITING.format(WHOLE if at_once else PARTS)
        self.looked = 0.0
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __call__(self, look):
        if time.monotonic() - self.looked >= EVERY:
            self.take(look())

    def take(self, solution):
        """Show a solution from now on."""
        if solution is None or len(solution.t) < 2:
            return
        try:
            self.scene = viewer.scene_data(scenes.make_scene(solution))
            self.page = self.page or viewer.viewer_page(solution).replace("</body>", FOLLOW + "</body>")
        except InputError:  # nothing that has a place in space
            self.page = WAITING.format("There is nothing to draw.")
        self.looked = time.monotonic()

    def _handler(watcher):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                host = self.headers.get("Host", "")
                if host.partition(":")[0] not in ("127.0.0.1", "localhost"):  # a page of elsewhere under another name
                    return self.send_error(403)
                if self.path not in ("/", "/scene"):
                    return self.send_error(404)
                data = (watcher.scene if self.path == "/scene" else watcher.page or watcher.waiting).encode()
                self.send_response(200)
                self.send_header("Content-Type", ("application/json" if self.path == "/scene" else "text/html")
                                 + "; charset=utf-8")
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(data)
                watcher.asked = time.monotonic()

            def log_message(self, *arguments):
                pass
        watcher.asked = 0.0
        return Handler


@contextmanager
def watched(at_once=False):
    """Context whose solves can be watched; `take` of its `Watcher` shows the result.

    Parameters
    ----------
    at_once : bool
        Whether all of the motion is solved at once, so that there is nothing to see before; the user is told.
    """
    watcher = Watcher(at_once)
    print(f"timefem: watch the solve at {watcher.address}" + at_once * f" ({WHOLE[0].lower()}{WHOLE[1:-1]})",
          file=sys.stderr, flush=True)
    try:
        with watching(watcher):
            yield watcher
        end = time.monotonic()
        while end - watcher.asked < LAST_LOOK and watcher.asked < end and time.monotonic() - end < LAST_LOOK:
            time.sleep(0.05)  # a page is open and has not seen the end
    finally:
        watcher.server.shutdown()
        watcher.server.server_close()
