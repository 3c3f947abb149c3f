"""`mutate.py`: does a test notice each small mistake in the checker? Makes one at a time, runs the tests that
execute its line until one fails, and prints a summary as JSON; those that no test noticed survive.

What changes nothing that a test could see stands in `equivalent.csv`, each with its reason. Runs on POSIX.
"""

import argparse
import ast
import collections
import csv
import gc
import importlib.abc
import importlib.util
import json
import os
import pathlib
import random
import resource
import select
import signal
import sys
import time
import types
import unittest

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parent / "rtether_verify"
EXCLUDED = TESTS / "equivalent.csv"
#: Seconds of processor time for one test, those of a clock for all, and octets of memory, after which a mutant
#: hangs.
CPU, WALL, MEMORY = 0.6, 300, 2 << 30
#: Calls of a function whose lines are followed.
TRACED = 50

OTHERS = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}
SIGNS = {ast.Add: ast.Sub, ast.Sub: ast.Add}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


class Mutant:
    """One change: `node` is replaced by `other`."""

    def __init__(self, file, text, node, other, owner, statement):
        self.file, self.line, self.text = file, node.lineno, text
        self.node, self.other, self.statement = node, other, statement
        #: Class and definition of the function, None if it runs when the module is read.
        self.owner = owner
        self.change = f"{shown(node)} -> {shown(other)}"

    def key(self):
        return self.file, self.text, self.change

    def function(self):
        """Returns file and first line of the function."""
        own = self.owner[1]
        return self.file, min([own.lineno] + [each.lineno for each in own.decorator_list])


def shown(node):
    return " ".join(ast.unparse(node).split())


def changes(node):
    """Returns what stands in the place of a node in its mutants."""
    if isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            for other in OTHERS[type(op)]:
                yield ast.Compare(node.left, node.ops[:at] + [other()] + node.ops[at + 1:], node.comparators)
    elif isinstance(node, ast.BinOp):
        if type(node.op) in SIGNS:
            yield ast.BinOp(node.left, SIGNS[type(node.op)](), node.right)
        yield node.left
        if not isinstance(node.op, (ast.Sub, ast.FloorDiv, ast.RShift, ast.Mod)):
            yield node.right
        if isinstance(node.op, (ast.FloorDiv, ast.RShift)):
            # Rounds the other way.
            below = ast.BinOp(ast.UnaryOp(ast.USub(), node.left), node.op, node.right)
            yield ast.UnaryOp(ast.USub(), below)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for at in range(len(node.values)):
            rest = node.values[:at] + node.values[at + 1:]
            yield ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0]
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, int):
            yield ast.Constant(node.value + 1)
            yield ast.Constant(node.value - 1)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
        yield ast.Call(ast.Name(CALLS[node.func.id], ast.Load()), node.args, node.keywords)
    elif isinstance(node, ast.AugAssign):
        if type(node.op) in SIGNS:
            yield ast.AugAssign(node.target, SIGNS[type(node.op)](), node.value)
        yield ast.Pass()
    elif isinstance(node, (ast.Continue, ast.Break, ast.Return, ast.Raise)):
        yield ast.Pass()
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()


def mutants(path):
    """Returns all mutants of a file in the order of its lines."""
    source = path.read_text(encoding="utf-8")
    lines, found = source.splitlines(), []

    def visit(node, statement=None, owner=None, function=None, kind=None):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            statement = range(node.lineno, body[0].lineno if body else node.end_lineno + 1)
        for other in () if is_last(node, function) else changes(node):
            found.append(Mutant(path.name, lines[node.lineno - 1].strip(), node, other, owner, statement))
        if isinstance(node, ast.FunctionDef):
            # Defaults belong to the outer function.
            visit(node.args, statement, owner, function, kind)
            for child in node.body:
                visit(child, statement, owner or (kind, node), node, kind)
            return
        for child in ast.iter_child_nodes(node):
            visit(child, statement, owner, function, node.name if isinstance(node, ast.ClassDef) else kind)

    tree = ast.parse(source)
    visit(tree)
    again = collections.Counter()
    for own in found:
        # The same change of the same text is numbered, so that each has a name.
        key = own.key()
        again[key] += 1
        if again[key] > 1:
            own.change += f" ({again[key]})"
    return tree, found


def is_last(node, function):
    """Returns whether a return without a value ends a function anyway, or one with a value is no early one."""
    return isinstance(node, ast.Return) and function is not None and function.body[-1] is node


class Replaced(ast.NodeTransformer):
    def __init__(self, node, other):
        self.node, self.other = node, other

    def visit(self, node):
        if node is self.node:
            return ast.copy_location(self.other, node)
        return self.generic_visit(node)


class Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module of the checker from other code."""

    def __init__(self, name, code):
        self.name, self.code = name, code

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == self.name else None

    def exec_module(self, module):
        exec(self.code, module.__dict__)

    def get_code(self, name):
        return self.code


def put(mutant, tree, known):
    """Puts a mutant in the place of its function, or of its module; returns the tests."""
    name = f"rtether_verify.{mutant.file[:-3]}"
    if mutant.owner is not None:
        # The function alone, which is much less to compile.
        kind, own = mutant.owner
        code = compiled(mutant, ast.Module([own], []))
        holder = sys.modules[name] if kind is None else getattr(sys.modules[name], kind)
        getattr(holder, own.name).__code__ = next(
            each for each in code.co_consts if isinstance(each, types.CodeType) and each.co_name == own.name)
        return known
    for other in list(sys.modules):
        if other.startswith(("rtether_verify", "plants", "test_")):
            del sys.modules[other]
    sys.meta_path.insert(0, Loader(name, compiled(mutant, tree)))
    return tests()


def compiled(mutant, tree):
    tree = Replaced(mutant.node, mutant.other).visit(tree)
    return compile(ast.fix_missing_locations(tree), str(ROOT / mutant.file), "exec")


def tests():
    """Returns all tests by their names."""
    found, left = {}, [unittest.defaultTestLoader.discover(str(TESTS))]
    while left:
        own = left.pop()
        if isinstance(own, unittest.TestSuite):
            left.extend(own)
        else:
            found[own.id()] = own
    return found


def fails(test):
    result = unittest.TestResult()
    # What takes longer ends by the signal.
    signal.setitimer(signal.ITIMER_PROF, CPU * (30 if sys.gettrace() else 1))
    test.run(result)
    signal.setitimer(signal.ITIMER_PROF, 0)
    return not result.wasSuccessful()


def in_child(work):
    """Runs work in a process of its own; returns its number and where its answer comes."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    os.close(reader)
    null = os.open(os.devnull, os.O_RDWR)
    for own in (0, 1, 2):
        os.dup2(null, own)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        text = work()
    except Exception as error:
        text = f"the import: {error!r}"
    with os.fdopen(writer, "wb") as out:
        out.write(json.dumps(text).encode())
    os._exit(0)


def traced(test):
    """Returns whether a test passes, how much of the checker it executes, functions called more often than
    their lines were followed, and lines."""
    root, ours, calls, lines = str(ROOT), {}, collections.Counter(), set()

    def line(frame, event, _):
        lines.add((frame.f_code, frame.f_lineno))
        return line

    def call(frame, event, _):
        code = frame.f_code
        if code not in ours:
            ours[code] = code.co_filename.startswith(root)
        if not ours[code]:
            return None
        calls[code] += 1
        return line if calls[code] <= TRACED else None

    sys.settrace(call)
    is_failed = fails(test)
    sys.settrace(None)
    place = lambda code, at: (os.path.basename(code.co_filename), at)
    often = {place(code, code.co_firstlineno) for code, count in calls.items() if count > TRACED}
    return not is_failed, sum(calls.values()), sorted(often), sorted({place(*own) for own in lines})


def coverage(known):
    """Returns what each test executes, the tests with least work first."""
    child, reader = in_child(lambda: {name: traced(test) for name, test in sorted(known.items())})
    with os.fdopen(reader, "rb") as out:
        found = json.loads(out.read() or '"the clock"')
    os.waitpid(child, 0)
    failed = found if isinstance(found, str) else [name for name, own in found.items() if not own[0]]
    if failed:
        sys.exit(f"without a mutant fails: {failed}")
    order = sorted(found, key=lambda name: (found[name][1], name))
    return {name: tuple({tuple(own) for own in part} for part in found[name][2:]) for name in order}


class Runs:
    """Runs the tests of mutants, first those that killed others like them."""

    def __init__(self, trees, known):
        self.trees, self.known, self.covered = trees, known, coverage(known)
        self.killers = collections.defaultdict(collections.Counter)

    def names(self, mutant):
        """Returns the tests that may execute a mutant, the most likely to fail first."""
        names = list(self.covered)
        if mutant.owner is not None:
            lines = {(mutant.file, line) for line in mutant.statement}
            names = [name for name in names if lines & self.covered[name][1]] + [
                name for name in names
                if not lines & self.covered[name][1] and mutant.function() in self.covered[name][0]]
        near, far = (self.killers[own] for own in self.likes(mutant))
        return sorted(names, key=lambda name: (-near[name], -far[name]))

    @staticmethod
    def likes(mutant):
        return mutant.function() if mutant.owner is not None else None, mutant.file

    def start(self, mutant):
        """Starts the tests of a mutant; returns None if no test executes it."""
        names = self.names(mutant)

        def work():
            now = put(mutant, self.trees[mutant.file], self.known)
            return next((name for name in names if name not in now or fails(now[name])), None)

        return in_child(work) if names else None

    def end(self, mutant, reader, child, is_late):
        """Returns which test killed a mutant, or None."""
        if is_late:
            os.kill(child, signal.SIGKILL)
        with os.fdopen(reader, "rb") as out:
            data = out.read()
        os.waitpid(child, 0)
        killer = json.loads(data) if data else "the clock"
        for own in self.likes(mutant):
            self.killers[own][killer] += 1
        return killer

    def all(self, chosen, jobs):
        """Returns which test killed each mutant, or None."""
        killed, running, left = {}, {}, list(enumerate(chosen))[::-1]
        while left or running:
            while left and len(running) < jobs:
                at, mutant = left.pop()
                begun = self.start(mutant)
                if begun is None:
                    killed[at] = None
                    tell(mutant)
                else:
                    running[begun[1]] = (at, begun[0], time.monotonic())
                if at % 50 == 0:
                    print(f"{at} of {len(chosen)} mutants, {sum(own is None for own in killed.values())} survive",
                          file=sys.stderr)
            ready = select.select(list(running), [], [], 1)[0] if running else []
            late = {own for own, (_, _, since) in running.items() if time.monotonic() - since > WALL} - set(ready)
            for reader in [*ready, *late]:
                at, child, _ = running.pop(reader)
                killed[at] = self.end(chosen[at], reader, child, reader in late)
                if killed[at] is None:
                    tell(chosen[at])
        return [killed[at] for at in range(len(chosen))]


def tell(mutant):
    print(f"survived: {mutant.file}:{mutant.line}: {mutant.change}", file=sys.stderr)


def excluded(known):
    """Returns what `equivalent.csv` excludes; each row must be a mutant and have a reason."""
    if not EXCLUDED.exists():
        return set()
    with open(EXCLUDED, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    keys, found = {own.key() for own in known}, set()
    for row in rows:
        key = row["file"], row["text"], row["change"]
        if key not in keys or not row["reason"] or key in found:
            sys.exit(f"{EXCLUDED.name}: no mutant, no reason, or twice: {key}")
        found.add(key)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", help="files of the checker, else all")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at the same time")
    parser.add_argument("--seed", type=int, default=1, help="of the choice by --limit")
    parser.add_argument("--limit", type=int, help="number of mutants, chosen by chance")
    parser.add_argument("--again", help="summary of a run whose survivors alone are tried")
    parser.add_argument("--list", action="store_true", help="list the mutants only")
    given = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of sets of texts would differ from run to run.
        os.execve(sys.executable, [sys.executable] + sys.argv, {**os.environ, "PYTHONHASHSEED": "0"})
    trees, known = {}, []
    for path in sorted(ROOT.glob("*.py")):
        trees[path.name], found = mutants(path)
        known += found
    gone = excluded(known)
    chosen = [own for own in known if own.key() not in gone]
    if given.files:
        names = {os.path.basename(name) for name in given.files}
        chosen = [own for own in chosen if own.file in names]
    if given.again:
        with open(given.again, encoding="utf-8") as file:
            keys = {(own["file"], own["text"], own["change"]) for own in json.load(file)["survived"]}
        chosen = [own for own in chosen if own.key() in keys]
    if given.limit is not None and given.limit < len(chosen):
        at = sorted(random.Random(given.seed).sample(range(len(chosen)), given.limit))
        chosen = [chosen[own] for own in at]
    if given.list:
        for own in chosen:
            print(f"{own.file}:{own.line}: {own.change}")
        return 0
    sys.path[:0] = [str(TESTS), str(ROOT.parent)]
    all_tests = tests()
    # What children share is not copied to count references.
    gc.freeze()
    killed = Runs(trees, all_tests).all(chosen, given.jobs)
    survived = [own for own, by in zip(chosen, killed) if by is None]
    summary = {
        "mutants": len(chosen), "killed": len(chosen) - len(survived), "excluded": len(gone),
        "hung": sum(by == "the clock" for by in killed),
        "survived": [{"file": own.file, "line": own.line, "text": own.text, "change": own.change}
                     for own in survived],
    }
    print(json.dumps(summary, indent=1))
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
