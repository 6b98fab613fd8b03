"""Flask on werkzeug's server, with a template, a thread for each request."""

import logging
import signal
import sys
import threading

from answers import NotThereError, answer
from flask import Flask, render_template_string, request
from werkzeug.serving import make_server

app = Flask("answers")
logging.disable(logging.CRITICAL)


@app.get("/work/<int:number>")
def work(number):
    text = answer(f"work/{number}").decode()
    return render_template_string("{% for c in text.split(',') %}{{ c | upper }}\n{% endfor %}", text=text)


@app.post("/echo")
def echo():
    return answer("echo", request.get_data())


@app.get("/boom/<number>")
def boom(number):
    return answer(f"boom/{number}")


@app.errorhandler(NotThereError)
def not_there(error):
    return str(error), 404


server = make_server("127.0.0.1", 0, app, threaded=True)
signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
print(server.port, flush=True)
server.serve_forever()
print("stopped")
sys.exit(5)
