#!/usr/bin/env python3
"""Checks that BEHAVIOURS.md and the tests agree, in both directions.

A test must name every built row, every id that a test source names must be a row, and no two rows
may share an id. Prints each violation; exits 1 if there is one.

    tests/behaviours_check.py [DIRECTORY]   checks DIRECTORY instead of the folder of this file
"""
import pathlib
import re
import sys

TESTS = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
TESTS = TESTS if TESTS.is_dir() else TESTS.parent
DOCUMENT = TESTS / "BEHAVIOURS.md"

# Parts of the document by heading: True if a test has to name each of their rows.
PARTS = {"# Built": True, "# Not built yet": False}

ID = r"[A-Z]\d{1,2}"
ROW = re.compile(rf"\| ({ID}) \| (.*) \|$")
TEST = re.compile(r"(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(|export async function ")
# A comment that names the rows which a test proves: `L3`, `L3, L4`, `L3, L4: why`.
PROVES = re.compile(rf"({ID}(?:, {ID})*)(?:: .*)?$")

problems = []


def read_rows():
    """Returns {id: True if it is built}. Reports rows that are malformed, misplaced or repeated."""
    rows = {}
    is_built = None
    for number, line in enumerate(DOCUMENT.read_text().split("\n"), 1):
        where = f"BEHAVIOURS.md:{number}"
        if line.startswith("# "):
            is_built = PARTS.get(line)
        elif line.startswith("| ") and not line.startswith("| id |"):
            match = ROW.match(line)
            if not match:
                problems.append(f"{where}: no row of the form `| L3 | behaviour |`")
            elif is_built is None:
                problems.append(f"{where}: {match[1]} stands in none of the parts {', '.join(PARTS)}")
            elif match[1] in rows:
                problems.append(f"{where}: there is a row {match[1]} already")
            else:
                rows[match[1]] = is_built
    return rows


def comment_of(line):
    """Returns the text of the comment in a line of C++, or "". A URL in a string isn't a comment."""
    match = re.search(r"(?<![:\w\"])//\s*(.*)$", line)
    return match[1] if match else ""


def proved_ids(lines, index):
    """Returns the ids that the test at lines[index] proves, from comments at and above its name."""
    comments = [lines[index]]
    last = index  # a long name spans several lines
    while "{" not in lines[last] and last + 1 < len(lines):
        last += 1
        comments.append(lines[last])
    above = index - 1
    while above >= 0 and lines[above].startswith("//"):
        comments.append(lines[above])
        above -= 1
    found = set()
    for comment in comments:
        match = PROVES.match(comment_of(comment))
        if match:
            found.update(match[1].split(", "))
    return found


def check():
    rows = read_rows()
    chapters = "".join(sorted({row[0] for row in rows}))
    named_anywhere = re.compile(rf"\b[{chapters}]\d{{1,2}}\b") if chapters else re.compile(r"(?!)")
    proved = set()
    for path in sorted(path for kind in ("*.cc", "*.h", "*.mjs") for path in TESTS.rglob(kind)):
        lines = path.read_text().split("\n")
        for number, line in enumerate(lines, 1):
            for name in named_anywhere.findall(comment_of(line)):
                if name not in rows:
                    problems.append(f"{path.relative_to(TESTS)}:{number}: BEHAVIOURS.md has no row {name}")
            if TEST.match(line):
                proved.update(proved_ids(lines, number - 1))
    for row, is_built in rows.items():
        if is_built and row not in proved:
            problems.append(f"BEHAVIOURS.md: no test names {row}; write `// {row}` at the one that proves it")
    for name in sorted(proved - set(rows)):
        if name[0] not in chapters:  # the others are reported with their line
            problems.append(f"a test names {name}, and BEHAVIOURS.md has no chapter {name[0]}")
    return rows


rows = check()
built = sum(rows.values())
print("\n".join(problems) if problems else f"behaviours: ok ({built} built, {len(rows) - built} planned)")
sys.exit(1 if problems else 0)
