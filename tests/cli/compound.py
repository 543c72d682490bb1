# SPDX-License-Identifier: MIT
"""A small writer of compound files (OLE2), as scanners of Zeiss make them: streams by their paths, short ones in small sectors."""
import struct

FREE, END, TABLE, LISTS = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFC
SMALL, CUTOFF = 64, 4096


def chain(table, numbers):
    for here, following in zip(numbers, [*numbers[1:], END]):
        table[here] = following


def tree(members):
    """The root of a balanced tree of entries, in the order of the format: by length, then by letter."""
    if not members:
        return FREE
    middle = len(members) // 2
    members[middle]["left"], members[middle]["right"] = tree(members[:middle]), tree(members[middle + 1:])
    return members[middle]["number"]


def entries_of(streams):
    entries = [{"name": "Root Entry", "kind": 5, "data": b"", "children": []}]
    folders = {"": entries[0]}
    for path, data in streams.items():
        *parents, name = path.split("/")
        for depth in range(1, len(parents) + 1):
            where = "/".join(parents[:depth])
            if where not in folders:
                folders[where] = {"name": parents[depth - 1], "kind": 1, "data": b"", "children": []}
                folders["/".join(parents[:depth - 1])]["children"].append(folders[where])
                entries.append(folders[where])
        entries.append({"name": name, "kind": 2, "data": data, "children": []})
        folders["/".join(parents)]["children"].append(entries[-1])
    for number, entry in enumerate(entries):
        entry.update(number=number, left=FREE, right=FREE, start=END, size=len(entry["data"]))
    for entry in entries:
        entry["child"] = tree(sorted(entry["children"], key=lambda e: (len(e["name"]), e["name"].upper())))
    return entries


def compound(streams, version=3, scatter=False):
    """The bytes of a file with these streams. scatter: the sectors of long streams lie mixed, not in a row."""
    size = 512 if version == 3 else 4096
    sectors, table = [], {}

    def put(data, mixed=False):
        pieces = [data[at:at + size].ljust(size, b"\0") for at in range(0, len(data), size)]
        numbers = list(range(len(sectors), len(sectors) + len(pieces)))
        order = numbers[::2] + numbers[1::2] if mixed else numbers
        sectors.extend([b""] * len(pieces))
        for number, piece in zip(order, pieces):
            sectors[number] = piece
        chain(table, order)
        return order[0] if order else END

    entries, small, small_table = entries_of(streams), b"", {}
    for entry in entries[1:]:
        if entry["size"] >= CUTOFF:
            entry["start"] = put(entry["data"], scatter)
        elif entry["size"]:
            first, count = len(small) // SMALL, -(-entry["size"] // SMALL)
            small += entry["data"].ljust(count * SMALL, b"\0")
            chain(small_table, list(range(first, first + count)))
            entry["start"] = first
    entries[0]["size"], entries[0]["start"] = len(small), put(small, scatter)
    numbers = [small_table[i] for i in range(len(small) // SMALL)]
    small_first = put(struct.pack(f"<{len(numbers)}I", *numbers).ljust(-(-4 * len(numbers) // size) * size, b"\xff"))
    raw = b""
    for e in entries:
        name = e["name"].encode("utf-16-le") + b"\0\0"
        raw += name.ljust(64, b"\0") + struct.pack("<HBBIII16sI16sIQ", len(name), e["kind"], 1, e["left"], e["right"], e["child"], b"", 0, b"", e["start"], e["size"])
    directory = put(raw)
    each = size // 4
    lists = tables = 0
    while (len(sectors) + tables + lists) > tables * each or tables > 109 + lists * (each - 1):
        tables += (len(sectors) + tables + lists) > tables * each
        lists += tables > 109 + lists * (each - 1)
    first_table, first_list = len(sectors), len(sectors) + tables
    table.update({first_table + i: TABLE for i in range(tables)} | {first_list + i: LISTS for i in range(lists)})
    numbers = [table.get(i, FREE) for i in range(tables * each)]
    places = [first_table + i for i in range(tables)]
    body = b"".join(sectors) + struct.pack(f"<{len(numbers)}I", *numbers)
    for i in range(lists):
        part = places[109 + i * (each - 1):109 + (i + 1) * (each - 1)]
        body += struct.pack(f"<{each}I", *part, *[FREE] * (each - 1 - len(part)), first_list + i + 1 if i + 1 < lists else END)
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, version, 0xFFFE, 9 if version == 3 else 12, 6) + bytes(6)
    head += struct.pack("<IIIIIIIII", 0, tables, directory, 0, CUTOFF, small_first, -(-4 * len(small_table) // size), first_list if lists else END, lists)
    head += struct.pack("<109I", *(places[:109] + [FREE] * (109 - len(places[:109]))))
    return head.ljust(size, b"\0") + body
