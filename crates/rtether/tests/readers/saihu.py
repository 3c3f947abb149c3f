"""Lets Saihu's xTFA bound the plant of each folder, and prints the delays as JSON, one line for each.

Arguments: the folder with Saihu's package, and the folders."""

import contextlib
import json
import os
import sys

saihu, *folders = sys.argv[1:]
sys.path.insert(0, saihu)
with contextlib.redirect_stdout(sys.stderr):
    from saihu.interface import TSN_Analyzer

for folder in folders:
    with contextlib.redirect_stdout(sys.stderr):
        analyzer = TSN_Analyzer(os.path.join(folder, "packets.json"), temp_path=folder)
        analyzer.analyze_xtfa()
    delays = analyzer.results[-1].flow_delays if analyzer.results else {}
    print(json.dumps(delays))
