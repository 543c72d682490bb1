# SPDX-License-Identifier: MIT
"""Arguments that are no arrays: what they must be, in words."""
import operator
import os

from ._library import BadArgument


def whole(value, name, least=0, most=(1 << 63) - 1):
    """A whole number; None: the least."""
    try:
        number = least if value is None else operator.index(value)
    except TypeError:
        raise BadArgument(f"{name}={value!r}: give a whole number", 6) from None
    if not least <= number <= most:
        raise BadArgument(f"{name}={number}: give a number from {least} to {most}", 6)
    return number


def numbers(value, name, count):
    """`count` numbers as floats; one alone stands for all."""
    try:
        value = value.tolist() if hasattr(value, "tolist") else value
        found = [float(v) for v in value] if hasattr(value, "__len__") and not isinstance(value, str) else [float(value)] * count
    except (TypeError, ValueError, OverflowError):
        raise BadArgument(f"{name}={value!r}: give a number{f', or {count} of them' if count > 1 else ''}", 6) from None
    if len(found) != count:
        raise BadArgument(f"{name} has {len(found)} numbers: give one{f', or {count}' if count > 1 else ''}", 6)
    return found


def number(value, name):
    return numbers(value, name, 1)[0]


def path_bytes(path):
    """The name of a file as C has it."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise BadArgument(f"{path!r}: a name with a zero byte", 6)
    return name


def text_bytes(value, name):
    if not isinstance(value, str) or "\0" in value:
        raise BadArgument(f"{name}={value!r}: give a text", 6)
    return value.encode()
