"""Lets a tool of Saihu compute bounds of an exported plant, and prints what it took and the bounds.

usage: analyze.py FOLDER TOOL NETWORK OURS LIMIT

FOLDER is `src` of a checkout of Saihu, TOOL one of xtfa, linear, panco-TFA, panco-SFA and panco-PLP,
NETWORK a file of `rtether export --to saihu`, OURS the JSON of `rtether bound`. Prints CPU seconds with
those of the solver, MiB, and least and median of its bounds as parts of ours. Killed after LIMIT
seconds by the clock.
"""

import contextlib
import io
import json
import os
import resource
import signal
import statistics
import sys
import tempfile


def main():
    folder, tool, network, ours, limit = sys.argv[1:]
    network, ours = os.path.abspath(network), os.path.abspath(ours)
    sys.path.insert(0, os.path.abspath(folder))
    # Solvers are processes of its group, too.
    os.setpgrp()
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGKILL))
    signal.alarm(int(limit))

    from saihu.interface import TSN_Analyzer

    with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stdout(io.StringIO()) as said:
        analyzer = TSN_Analyzer(network, temp_path=scratch + "/")
        os.chdir(scratch)
        if tool == "xtfa":
            analyzer.analyze_xtfa()
        elif tool == "linear":
            analyzer.analyze_linear()
        else:
            analyzer.analyze_panco(methods=[tool.removeprefix("panco-")])
    if not analyzer.results:
        sys.exit(f"{tool} has no result: {said.getvalue()[-400:]}")
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    result = analyzer.results[0]
    scale = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[result.time_unit]
    with open(ours) as file:
        streams = json.load(file)["streams"]
    own = {f"{one['name']} > {one['listener']}": one["bound_ns"] / 1e9 for one in streams}
    parts = [bound * scale / own[name] for name, bound in result.flow_delays.items()]
    cpu_s = sum(one.ru_utime + one.ru_stime for one in used)
    mib = max(one.ru_maxrss for one in used) / 1024
    print(f"{cpu_s:.2f},{mib:.0f},{min(parts):.3f},{statistics.median(parts):.3f}")


if __name__ == "__main__":
    main()
