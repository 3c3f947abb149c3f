"""`survey.py [--mutate N] CERTIFICATE...`: checks certificates and says in one line of JSON what comes of
it; with N, changes that many things so that less is claimed, each of which must be rejected."""

import collections
import copy
import json
import random
import sys

from plants import SCHEMA, Checker, Plant, Result, check, words
from rtether_verify import reading
from rtether_verify.check import words as words_of
from rtether_verify.reading import Malformed, Node
from rtether_verify.rules import RULES

assert SCHEMA and words is words_of


def needs(document):
    """Returns what each claim needs, by visit, as the checker finds it."""
    top = Node(document, "certificate")
    _, _, plant, flows, streams = top.members("schema", "rtether", "scenario", "flows", "streams")
    checker = Checker(Plant(plant), Result())
    checker.read(flows)
    checker.run()
    found = []
    for server in checker.ways.servers.values():
        if server.rule is None:
            continue
        loads = checker._loads(server)
        for load in loads:
            load.enough = 0
        for queue in {load.queue for load in loads}:
            own = [visit for visit in server.members if visit.queue == queue]
            for visit, need in zip(own, RULES[server.rule](queue, loads, server) or [None] * len(own)):
                claim = checker.claims[visit.number]
                if checker.lacks[visit.number] is None and need is not None:
                    need = max(need - checker._behind(server, visit), 0)
                    found.append((visit, claim.delay, need))
    return found


def mutations(document, dice):
    """Returns one change by which less is claimed, and its name."""
    tight = [visit for visit, delay, need in needs(document) if delay == need and need > 0]
    flows = document["flows"]
    whole = [own for own in flows if own["visits"]]
    kind = dice.choice(["delay", "flow", "source", "visit", "rule", "jitter", "sum"])
    if kind == "delay" and tight:
        visit = dice.choice(tight)
        for own in flows[visit.flow]["visits"]:
            if (own["to"], own["way"], own["at"]) == (visit.copy, visit.way, list(visit.server)):
                own["delay"] -= 1
                return f"delay of {flows[visit.flow]['flow']} at {words(visit.server)} one below"
    if kind == "flow" and flows:
        gone = dice.randrange(len(flows))
        return f"claims of {flows.pop(gone)['flow']} left out"
    if kind == "source":
        at = dice.randrange(len(flows))
        traffic = document["scenario"]["flows"][at]["traffic"]
        for name in ("period", "gap"):
            if traffic.get(name, 0) > 1 and flows[at]["visits"] and flows[at]["visits"][0]["arrivals"]:
                flows[at]["visits"][0]["arrivals"]["period"] += 1
                return f"source of {flows[at]['flow']} shrunk"
    if kind == "visit" and whole:
        own = dice.choice(whole)
        gone = own["visits"].pop(dice.randrange(len(own["visits"])))
        return f"visit of {own['flow']} at {words(gone['at'])} dropped"
    if kind in ("rule", "jitter") and whole:
        own = dice.choice(dice.choice(whole)["visits"])
        if kind == "rule" and own["rule"] is not None:
            own["rule"] = dice.choice([word for word in RULES if word != own["rule"]])
            return f"rule at {words(own['at'])} exchanged"
        if kind == "jitter" and own["arrivals"] is not None and own["arrivals"]["jitter"] > 0:
            own["arrivals"]["jitter"] -= 1
            return f"jitter at {words(own['at'])} one below"
    sums = [own for own in document["streams"] if own["bound"]]
    if kind == "sum" and sums:
        own = dice.choice(sums)
        own["bound"] -= 1
        return f"sum of {own['flow']} one below"
    return None


def is_rejected(document):
    try:
        return bool(check(document).failures)
    except Malformed:
        return True


def main(arguments):
    count = 0
    if arguments[:1] == ["--mutate"]:
        count, arguments = int(arguments[1]), arguments[2:]
    total, lacks, failures, survived = collections.Counter(), collections.Counter(), [], []
    dice = random.Random(1)
    for path in arguments:
        document = reading.load(path)
        try:
            result = check(copy.deepcopy(document))
        except Malformed as error:
            failures.append(f"{path}: {error}")
            continue
        for own in result.failures:
            place = words(own.visit.server) if own.visit is not None else ""
            failures.append(f"{path}: {own.flow} {place}: {own.why}: claimed {own.claim}, needed {own.need}")
        bounded = [own for own in result.streams if own.proved is not None]
        total.update(files=1, bounded=len(bounded), certified=sum(own.lacks is None for own in bounded))
        total.update(unconditional=0 if result.may_drop or result.failures else 1)
        lacks.update(own.lacks for own in bounded if own.lacks is not None)
        if count:
            for _ in range(count):
                changed = copy.deepcopy(document)
                what = mutations(changed, dice)
                if what is not None:
                    total.update(mutations=1)
                    if not is_rejected(changed):
                        survived.append(f"{path}: {what}")
        elif not result.failures:
            found = needs(document)
            total.update(claims=len(found), tight=sum(delay == need for _, delay, need in found))
    print(json.dumps({**total, "lacks": dict(lacks), "failures": failures, "survived": survived}))


if __name__ == "__main__":
    main(sys.argv[1:])
