"""Cycles of claims that take no time, which the induction excludes."""


def wheels(ways):
    """Returns the visits that close a cycle of places, each followed by the next without any time."""
    steps, state, found = {}, {}, []
    for visit in ways.visits:
        if visit.parent is not None and visit.least == 0:
            steps.setdefault(tuple(ways.visits[visit.parent].server), []).append(visit)
    for first in steps:
        stack = [] if first in state else [(first, iter(steps[first]))]
        state.setdefault(first, "open")
        while stack:
            name, rest = stack[-1]
            visit = next(rest, None)
            if visit is None:
                state[name] = "done"
                stack.pop()
                continue
            behind = tuple(visit.server)
            if state.get(behind) == "open":
                found.append(visit)
            elif behind not in state:
                state[behind] = "open"
                stack.append((behind, iter(steps.get(behind, ()))))
    return found
