#!/usr/bin/env python3
"""Checks that each "can't" of the threat model in server/OPERATING.md is shown by tests.

tests/threat_model.txt has a line for each part of a "can't", which end with `;` in the table: who,
the part, and the tests that fail if it is wrong. Each of them must exist, and so must each part.
Prints each violation; exits 1 if there is one.

    tests/threat_model_check.py [DIRECTORY]   checks DIRECTORY instead of the repository of this file
    tests/threat_model_check.py --parts       prints the parts, one a line, as the file has them
"""
import pathlib
import re
import sys

WORDS = sys.argv[1:]
ROOT = next((pathlib.Path(word).resolve() for word in WORDS if not word.startswith("--")),
            pathlib.Path(__file__).resolve().parent.parent)
PAGE = ROOT / "server/OPERATING.md"
TABLE = ROOT / "tests/threat_model.txt"

TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),\s*(\w+)", re.M)
SCENE = re.compile(r"^export (?:async )?function (\w+)", re.M)

problems = []


def plain(text):
    """Returns Markdown as text: links as their words, nothing in backquotes, and one space between words."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(text.replace("`", "").split())


def parts_of_page():
    """Returns (who, part) of each "can't", in the order of the page."""
    chapter = PAGE.read_text().split("\n## Threat model\n", 1)[1].split("\n### ", 1)[0]
    found = []
    for line in chapter.split("\n"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) < 2 or cells[0] in ("who", "---"):
            continue
        who = plain(cells[0])
        found += [(who, part.strip()) for part in plain(cells[1]).split(";")]
    return found


def tests_of_tree():
    """Returns the names of all tests: Suite.Name of C++, and file.mjs:scene of the console."""
    names = set()
    for path in (ROOT / "tests").rglob("*_test.cc"):
        names.update(f"{suite}.{name}" for suite, name in TEST.findall(path.read_text()))
    for path in (ROOT / "tests/console").rglob("*.mjs"):
        names.update(f"{path.name}:{name}" for name in SCENE.findall(path.read_text()))
    return names


def check():
    known = tests_of_tree()
    parts = parts_of_page()
    shown = {}
    for number, line in enumerate(TABLE.read_text().split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        where = f"threat_model.txt:{number}"
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 3:
            problems.append(f"{where}: no line of the form `who | part | Suite.Test, …`")
            continue
        key = (cells[0], cells[1])
        if key in shown:
            problems.append(f"{where}: there is such a line already")
        if key not in parts:
            problems.append(f"{where}: OPERATING.md doesn't say of {cells[0]!r}: {cells[1]!r}")
        shown[key] = [name.strip() for name in cells[2].split(",") if name.strip()]
        if not shown[key]:
            problems.append(f"{where}: no test shows it")
        for name in shown[key]:
            if name not in known:
                problems.append(f"{where}: there is no test {name}")
    for who, part in parts:
        if (who, part) not in shown:
            problems.append(f"OPERATING.md, Threat model: no line in threat_model.txt for {who!r}: {part!r}")
    return len(parts), len({name for names in shown.values() for name in names})


if "--parts" in WORDS:
    print("\n".join(f"{who} | {part} | " for who, part in parts_of_page()))
    sys.exit(0)
parts, tests = check()
print("\n".join(problems) if problems else f"threat model: ok ({parts} parts, shown by {tests} tests)")
sys.exit(1 if problems else 0)
