"""wsgiref: a WSGI application, one request after the other."""

import signal
import sys
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

from answers import NotThereError, answer


class Handler(WSGIRequestHandler):
    def log_message(self, *_):
        pass


def app(environ, start_response):
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    try:
        status, text = "200 OK", answer(environ["PATH_INFO"], body)
    except NotThereError as error:
        status, text = "404 Not Found", str(error).encode()
    except RuntimeError as error:
        status, text = "500 Internal Server Error", str(error).encode()
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", str(len(text)))])
    yield text


server = make_server("127.0.0.1", 0, app, handler_class=Handler)
server.socket.listen(64)
signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
print(server.server_port, flush=True)
server.serve_forever()
server.server_close()
print("stopped")
sys.exit(5)
