"""`survey.py [--second NODE] [--mutate N] CERTIFICATE...`: checks certificates and says in one line of JSON
what comes of it; with N, changes that many things so that less is claimed, each of which must be rejected.
With NODE, the second checker is asked about the same documents."""

import collections
import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile

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
        # Where something comes from a place without a rule, a claim that fails is not certified.
        if server.rule is None or checker._lack_of(server) is not None:
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


def verdict(document):
    """Returns whether a document is rejected, and the streams that it certifies, or only if nothing is
    dropped."""
    try:
        result = check(document)
    except Malformed:
        return True, set()
    held = {(own.flow, own.listener) for own in result.streams if own.lacks is None and own.bound is not None}
    return bool(result.failures), held


class Second:
    """The checker in `verify/second`, which was written from the page of the format alone."""

    def __init__(self, node):
        self.node, self.own, self.counts, self.differ = node, [], collections.Counter(), []
        self.folder = tempfile.TemporaryDirectory()

    def ask(self, document, what, held_before=None):
        """Keeps a document for it, maybe with the streams that were certified before a change."""
        if self.node is not None:
            path = pathlib.Path(self.folder.name, f"{len(self.own)}.json")
            path.write_text(json.dumps(document), encoding="utf-8")
            rejected, held = verdict(document)
            self.own.append((str(path), what, rejected, held if held_before is None else held_before))

    def compare(self):
        """Runs it on all of them. A flaw at a place for which it has no rule it cannot see, and certifies what
        does not rest on it; whatever it certifies must be certified here, before the change."""
        if not self.own:
            return {}
        script = pathlib.Path(__file__).resolve().parent.parent / "second" / "check.mjs"
        ended = subprocess.run([self.node, str(script), *(own[0] for own in self.own)], stdout=subprocess.PIPE)
        said = [json.loads(line) for line in ended.stdout.splitlines()]
        assert len(said) == len(self.own), f"{len(said)} answers to {len(self.own)} documents"
        for (_, what, rejected, held), answer in zip(self.own, said):
            is_no = answer["verdict"] in ("rejected", "error")
            other = {(own["flow"], own["to"]) for own in answer.get("streams", ())
                     if own["verdict"] in ("certified", "only if")}
            if rejected == is_no:
                self.counts["rejected" if rejected else "accepted"] += 1
                self.counts["streams"] += len(other & held)
                # It may see that a place is not full where this one gives up.
                self.counts["more"] += len(other - held)
            elif rejected and answer["verdict"] == "not certified" and other <= held:
                self.counts["beyond"] += 1
            else:
                self.differ.append(f"{what}: {answer['verdict']}, {answer.get('failures', ())[:1]}")
        self.folder.cleanup()
        return {"second": {**self.counts, "differ": self.differ}}


def main(arguments):
    count, node = 0, None
    if arguments[:1] == ["--second"]:
        node, arguments = arguments[1], arguments[2:]
    second = Second(node)
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
        if not count:
            second.ask(document, path)
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
                    second.ask(changed, f"{path}: {what}", verdict(document)[1])
                    if not verdict(changed)[0]:
                        survived.append(f"{path}: {what}")
        elif not result.failures:
            found = needs(document)
            total.update(claims=len(found), tight=sum(delay == need for _, delay, need in found))
    found = {**total, "lacks": dict(lacks), "failures": failures, "survived": survived, **second.compare()}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
