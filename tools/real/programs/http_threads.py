"""http.server, a thread for each connection."""

import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from answers import NotThereError, answer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, body=b""):
        try:
            status, text = 200, answer(self.path, body)
        except NotThereError as error:
            status, text = 404, str(error).encode()
        except RuntimeError as error:
            status, text = 500, str(error).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        self.reply()

    def do_POST(self):
        self.reply(self.rfile.read(int(self.headers["Content-Length"])))

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
print(server.server_address[1], flush=True)
server.serve_forever()
server.server_close()
print("stopped")
sys.exit(5)
