"""Lets tools of Saihu bound the plant of each folder, and prints the delays in seconds as JSON, one
line for each: tool, flow, delay.

Arguments: the folder with Saihu's package, and the folders. With a path of lp_solve in
RTETHER_LP_SOLVE panco is among the tools."""

import contextlib
import json
import os
import sys

saihu, *folders = map(os.path.abspath, sys.argv[1:])
sys.path.insert(0, saihu)
solver = os.environ.get("RTETHER_LP_SOLVE")
if solver:
    os.environ["PATH"] = os.path.dirname(solver) + os.pathsep + os.environ["PATH"]
with contextlib.redirect_stdout(sys.stderr):
    from saihu.interface import TSN_Analyzer

UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
# The separated flow, and linear programs of its way (PLP).
PANCO = ["SFA", "PLP"] if solver else []


def delays(result):
    scale = UNITS[result.time_unit]
    return {flow: delay * scale for flow, delay in result.flow_delays.items()}


for folder in folders:
    # Panco leaves its linear programs in the working folder.
    os.chdir(folder)
    found = {}
    with contextlib.redirect_stdout(sys.stderr):
        analyzer = TSN_Analyzer(os.path.join(folder, "packets.json"), temp_path=folder)
        analyzer.analyze_xtfa()
        found["xTFA"] = delays(analyzer.results[-1]) if analyzer.results else {}
        for method in PANCO:
            # What knows no packets reads the other file.
            analyzer = TSN_Analyzer(os.path.join(folder, "fluid.json"), temp_path=folder)
            analyzer.analyze_panco(methods=[method])
            found["panco " + method] = delays(analyzer.results[-1]) if analyzer.results else {}
    print(json.dumps(found))
