"""Imports modules, each once, and does no work: a program that ends after its start-up.

Usage: start_up.py
"""

import importlib

MODULES = """
    argparse asyncio concurrent.futures ctypes dataclasses decimal email.mime.text fractions http.server
    importlib.metadata json logging.config multiprocessing.pool pathlib pdb pickle sqlite3 ssl statistics
    tarfile tempfile tomllib unittest.mock urllib.request uuid xml.dom.minidom xml.etree.ElementTree
    xmlrpc.client zipfile zoneinfo
"""

for name in MODULES.split():
    importlib.import_module(name)
