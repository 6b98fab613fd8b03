"""socketserver: a line for a line, a thread for each connection."""

import signal
import socketserver
import sys
import threading

from answers import NotThereError, answer


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            path, _, body = line.decode().rstrip("\n").partition(" ")
            try:
                text = answer(path, body.encode())
            except (NotThereError, RuntimeError) as error:
                text = f"{type(error).__name__} {error}".encode()
            self.wfile.write(text + b"\n")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
print(server.server_address[1], flush=True)
server.serve_forever()
server.server_close()
print("stopped")
sys.exit(5)
