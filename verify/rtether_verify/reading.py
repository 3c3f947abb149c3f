"""Reads JSON strictly: whole numbers only, no member twice, none that the format does not have."""

import json

#: The largest file in octets, the largest number (in picoseconds 53 days), the longest list.
FILE_MAX, NUMBER_MAX, LIST_MAX = 1 << 29, 1 << 62, 1 << 24


class Malformed(Exception):
    """What cannot be read, and where."""


def load(path):
    """Returns the document in a file."""
    try:
        with open(path, "rb") as file:
            data = file.read(FILE_MAX + 1)
    except OSError as error:
        raise Malformed(f"{path}: {error.strerror or error}; give the path of a certificate") from None
    if len(data) > FILE_MAX:
        raise Malformed(f"{path}: more than {FILE_MAX} octets; split the plant")
    return parse(data, path)


def parse(data, name):
    """Returns the document in these octets."""
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_members, parse_float=_no_float,
                          parse_constant=_no_float)
    except json.JSONDecodeError as error:
        raise Malformed(f"{name}:{error.lineno}:{error.colno}: {error.msg}") from None
    except RecursionError:
        raise Malformed(f"{name}: nested too deeply") from None
    except (Malformed, ValueError) as error:
        raise Malformed(f"{name}: {error}") from None


def _members(pairs):
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Malformed(f"member `{twice}` stands twice in one object")
    return members


def _no_float(text):
    raise Malformed(f"`{text}` is no whole number; all numbers of a certificate are")


class Node:
    """A value of a document with its place, from which only what the format has can be taken."""

    def __init__(self, value, place):
        self.value, self.place = value, place

    def fail(self, why):
        raise Malformed(f"{self.place}: {why}")

    def members(self, *names):
        """Returns these members, which must be all there are."""
        if not isinstance(self.value, dict):
            self.fail("not an object")
        for name in names:
            if name not in self.value:
                self.fail(f"member `{name}` is missing")
        if len(self.value) > len(names):
            other = next(name for name in self.value if name not in names)
            self.fail(f"member `{other}` is not in the format")
        return [Node(self.value[name], f"{self.place}.{name}") for name in names]

    def record(self, kind, *readers):
        """Returns a named tuple of the members that are called like its fields."""
        return kind(*(read(part) for read, part in zip(readers, self.members(*kind._fields))))

    def word(self, among):
        """Returns the member `kind`, one of some words."""
        if not isinstance(self.value, dict):
            self.fail("not an object")
        return Node(self.value.get("kind"), f"{self.place}.kind").text(among)

    def items(self, most=LIST_MAX, least=0):
        """Returns the items of a list."""
        if not isinstance(self.value, list) or not least <= len(self.value) <= most:
            self.fail(f"not a list of {least} to {most} items")
        return [Node(value, f"{self.place}[{at}]") for at, value in enumerate(self.value)]

    def number(self, least=0, most=NUMBER_MAX):
        """Returns a whole number between two ends."""
        if type(self.value) is not int or not least <= self.value <= most:
            self.fail(f"not a whole number from {least} to {most}")
        return self.value

    def flag(self):
        """Returns true or false."""
        if type(self.value) is not bool:
            self.fail("not true or false")
        return self.value

    def text(self, among=None):
        """Returns a text, one of some if they are given."""
        if not isinstance(self.value, str) or (among is not None and self.value not in among):
            self.fail("not a text" + (f" among {', '.join(among)}" if among else ""))
        return self.value


def number(least=0, most=NUMBER_MAX):
    """Returns a reader of whole numbers."""
    return lambda node: node.number(least, most)


def maybe(read):
    """Returns a reader of null, which is None, or of what `read` reads."""
    return lambda node: None if node.value is None else read(node)


def each(read, most=LIST_MAX, least=0):
    """Returns a reader of lists."""
    return lambda node: [read(item) for item in node.items(most, least)]


def among(*words):
    """Returns a reader of one of some words."""
    return lambda node: node.text(words)
