"""Imports modules, each once, and does no work: programs that end after their start-up.

Usage: start_up.py [PROCESSES]
"""

import importlib
import subprocess
import sys

MODULES = """
    argparse asyncio concurrent.futures ctypes dataclasses decimal email.mime.text fractions http.server
    importlib.metadata json logging.config multiprocessing.pool pathlib pdb pickle sqlite3 ssl statistics
    tarfile tempfile tomllib unittest.mock urllib.request uuid xml.dom.minidom xml.etree.ElementTree
    xmlrpc.client zipfile zoneinfo
"""

for name in MODULES.split():
    importlib.import_module(name)
for _ in range(int(sys.argv[1]) - 1 if len(sys.argv) > 1 else 0):
    subprocess.run([sys.executable, __file__], check=True)
