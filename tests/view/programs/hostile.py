"""A program whose names and values try to be markup, scripts, control characters, and very long."""

import threading

NAMES = [
    "<img src=x onerror=document.title='broken'>",
    "<script>document.title='broken'</script>",
    "\u202egnitirw ni sdrawkcab\u2066",
    "bell\x07null\x01escape\x1b[31mred",
    "javascript:document.title='broken'",
    "'\"><b id=broken>bold</b>",
    "x" * 300,
    "\u200b\ufeff",
]


def make(name):
    def call(value):
        return value

    call.__code__ = call.__code__.replace(co_name=name, co_qualname=name)
    return call


def run():
    for name in NAMES:
        make(name)(name)
    make("long")("y" * 1_000_000)
    try:
        fail("<b id=broken>")
    except ValueError:
        pass


def fail(text):
    raise ValueError(text)


thread = threading.Thread(target=run, name="<i id=broken>")
thread.start()
thread.join()
run()
