"""Runs `funcgraph record WORDS...` in this process. Prints {"recorder_s": S}: the recorder's CPU time.

Usage: recorder_cpu.py WORDS...
"""

import json
import resource
import sys

from funcgraph import cli

status = cli.main(["record", *sys.argv[1:]])
own = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"recorder_s": own.ru_utime + own.ru_stime}))
sys.exit(status)
