"""The command: prints what a certificate shows of each stream."""

import argparse
import sys

from rtether_verify import reading
from rtether_verify.check import check, words
from rtether_verify.reading import Malformed

#: Failures and places that are listed; the others are counted.
SHOWN, PLACES = 20, 6


def time(ps):
    """Returns a time as it is shown, exactly."""
    if ps is None:
        return "nothing"
    whole, rest = divmod(ps, 10**6)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") + " us"


def claim_words(claim):
    """Returns what is claimed in words."""
    if claim is None or type(claim) is int:
        return time(claim)
    if hasattr(claim, "delay"):
        return time(claim.delay)
    return f"{claim.burst} every {time(claim.period)} with jitter {time(claim.jitter)}"


def report(result, out):
    """Prints a result; returns the exit code."""
    for failure in result.failures[:SHOWN]:
        place = f" at {words(failure.visit.server)}" if failure.visit is not None else ""
        to = f" ({failure.visit.way} to {failure.visit.copy or 'all'})" if failure.visit is not None else ""
        flow = f"flow `{failure.flow}`" if failure.flow is not None else "the certificate"
        print(f"REJECTED {flow}{to}{place}: {failure.why}", file=out)
        if failure.claim is not None or failure.need is not None:
            print(f"         claimed {claim_words(failure.claim)}, needed {claim_words(failure.need)}",
                  file=out)
    more = len(result.failures) - SHOWN
    if more > 0:
        print(f"REJECTED {more} further claims", file=out)
    if result.failures:
        print(f"FAIL. {len(result.failures)} claims do not hold; nothing is certified.", file=out)
        return 1
    word = "only if        " if result.may_drop else "certified      "
    for own in result.streams:
        stream = f"`{own.flow}` to {own.listener}"
        if own.lacks is None:
            less = f"; proved {time(own.proved)}" if own.proved != own.bound else ""
            print(f"{word}{stream}: {time(own.bound)}{less}", file=out)
        elif own.proved is None:
            print(f"no bound       {stream}", file=out)
        else:
            print(f"not certified  {stream}: {own.lacks}; proved {time(own.proved)}", file=out)
    bounds = [own for own in result.streams if own.lacks is None or own.proved is not None]
    certified, condition = sum(own.lacks is None for own in bounds), ""
    if result.may_drop:
        more = f" and {len(result.may_drop) - PLACES} further places" if len(result.may_drop) > PLACES else ""
        print(f"only if nothing is dropped at: {', '.join(result.may_drop[:PLACES])}{more}", file=out)
        certified, condition = 0, f", {certified} only if nothing is dropped"
    else:
        print("no memory overflows", file=out)
    is_whole = 0 < certified == len(bounds)
    print(f"{'PASS' if is_whole else 'PART'}. {certified} of {len(bounds)} bounds certified{condition}.", file=out)
    return 0 if is_whole else 3


def main(arguments=None):
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="rtether-verify", description="Checks a certificate of bounds on delays over Ethernet.",
        epilog="Exit codes: 0 all bounds certified, 1 a claim does not hold, 3 some bounds not "
               "certified, or only if nothing is dropped, 2 the file cannot be read.",
    )
    parser.add_argument("certificate", help="file of `rtether bound --certificate`")
    parser.add_argument("--scenario", help="plant as JSON: reject certificates of another one")
    given = parser.parse_args(arguments)
    try:
        scenario = reading.load(given.scenario) if given.scenario else None
        result = check(reading.load(given.certificate), scenario)
    except Malformed as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return report(result, sys.stdout)
