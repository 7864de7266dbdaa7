"""Checks the script itself: a small program does what each of its mutants says, and every source of the
product is understood."""
import pathlib
import subprocess
import tempfile

from build import Build
from generated import Generated
from operators import Maker
from tokens import Source

ENUMERATORS = {"Color": ["red", "green", "blue"]}
PROGRAM = """\
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>
namespace limits {
constexpr int names_max = 3;
}
enum class Color { red, green, blue };
namespace {
constexpr bool is_odd(int number) { return number % 2 == 1; }
static_assert(is_odd(3));
class Counter {
 public:
  explicit Counter(int begin) : count_{begin} {}
  void add(int by) { count_ += by; }
  int count_;
};
bool fits(int size) { return size < limits::names_max && size >= 0; }
Color after(Color color) {
  switch (color) {
    case Color::red:
      return Color::green;
    case Color::green:
    case Color::blue:
      break;
  }
  return Color::red;
}
std::vector<int> sorted(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return a > b; });
  return numbers;
}
std::string both(const std::string& a, const std::string& b) {
  if (const auto size = a.size(); size == 1) return a + b;
  return b.empty() ? a : "-";
}
}  // namespace
int main() {
  Counter counter(4);
  counter.add(2);
  const int least = std::min(counter.count_, 9);
  int sum = 0;
  for (int number : sorted({1, 2})) sum = sum * 3 + number;
  std::printf("%d %d %d ", fits(2), fits(3), static_cast<int>(after(Color::red)));
  std::printf("%d %d %s%s", least, sum, both("a", "b").c_str(), both("", "").c_str());
}
"""
ORIGINAL = "1 0 1 6 7 ab"
# What the program prints with some of the mutants.
EXPECTED = {
    "comparison: bool fits(int size) { return size <= limits::names_max && size >= 0; }": "1 1 1 6 7 ab",
    "and_or: bool fits(int size) { return size < limits::names_max || size >= 0; }": "1 1 1 6 7 ab",
    "operand: without size < limits::names_max &&": "1 1 1 6 7 ab",
    "operand: without && size >= 0": ORIGINAL,
    "limit: bool fits(int size) { return size < (limits::names_max + 1) && size >= 0; }": "1 1 1 6 7 ab",
    "limit: bool fits(int size) { return size < (limits::names_max - 1) && size >= 0; }": "0 0 1 6 7 ab",
    "early_return: fits() { return false; … }": "0 0 1 6 7 ab",
    "early_return: add() { return; … }": "1 0 1 4 7 ab",
    "early_return: sorted() { return {}; … }": "1 0 1 6 0 ab",
    "sign: void add(int by) { count_ -= by; }": "1 0 1 2 7 ab",
    "deleted: without counter.add(2);": "1 0 1 4 7 ab",
    "number: counter.add((2 + 1));": "1 0 1 7 7 ab",
    "enumerator: return Color::blue;": "1 0 2 6 7 ab",
    "deleted: without std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return a > b; });":
        "1 0 1 6 5 ab",
    "min_max: const int least = std::max(counter.count_, 9);": "1 0 1 9 7 ab",
    "sign: for (int number : sorted({1, 2})) sum = sum * 3 - number;": "1 0 1 6 -7 ab",
    "never: (size == 1) is false": "1 0 1 6 7 -",
    "negated: (size == 1) is negated": "1 0 1 6 7 -",
    "negated: return !(b.empty() ) ? a : \"-\";": "1 0 1 6 7 ab-",
}
# `a + b` of two strings has no difference.
REFUSED = {"sign: if (const auto size = a.size(); size == 1) return a - b;"}
# Nothing of these may be changed: a constant expression, a label, a member's initializer.
UNTOUCHED = ["constexpr", "static_assert", "case ", "count_{"]


def short(mutant):
    return mutant.key.removeprefix(f"{mutant.path}: ")


def run(root, compiler, product):
    """Prints what is wrong; returns 0 if nothing is."""
    wrong = [
        f"{path} has no mutants" for path, (source, mutants) in product.items()
        if not mutants and "return" in source.text
    ]
    for source, mutants in product.values():
        wrong += copy_problems(source, mutants)
    with tempfile.TemporaryDirectory(prefix="mutation-") as directory:
        wrong += program_problems(root, compiler, pathlib.Path(directory))
    print("\n".join(wrong) if wrong else "mutation: ok")
    return 1 if wrong else 0


def copy_problems(source, mutants):
    """Checks that every mutant is in the copy, on a line of its own."""
    for number, mutant in enumerate(mutants, 1):
        mutant.number = number
    owners = Generated(source, mutants).owners
    placed = {mutant.number for its in owners.values() for mutant in its}
    problems = [f"{source.path}:{mutant.line}: {mutant.key} isn't in the copy"
                for mutant in mutants if mutant.number not in placed]
    problems += [f"{source.path}: line {line} of the copy has several mutants"
                 for line, its in owners.items() if len(its) > 1]
    return problems + [f"{key} names two mutants of {source.path}"
                       for key in repeated(mutant.key for mutant in mutants)]


def repeated(keys):
    seen = set()
    return [key for key in keys if key in seen or seen.add(key)]


def program_problems(root, compiler, directory):
    """Builds the small program with its mutants and runs it with each."""
    source = Source("program.cc", PROGRAM)
    mutants = Maker(source, ENUMERATORS).mutants
    for number, mutant in enumerate(mutants, 1):
        mutant.number = number
    problems = [f"{mutant.key} may not be changed" for mutant in mutants
                if any(word in source.lines[mutant.line - 1] for word in UNTOUCHED)]
    by_name = {short(mutant): mutant for mutant in mutants}
    problems += [f"no mutant {name}" for name in [*EXPECTED, *REFUSED] if name not in by_name]
    build = Build(root, directory, 1, [])
    build.sources.mkdir()
    command = [compiler, "-std=c++20", f"-I{root}", "-w", "program.cc"]
    words = [*command[:-1], str(build.sources / "program.cc"), "-fsyntax-only"]
    build.directory.mkdir()
    kept = build._compiling(source, mutants, words)
    refused = {short(mutant) for mutant in mutants} - {short(mutant) for mutant in kept}
    if refused != REFUSED:
        problems.append(f"these don't compile: {sorted(refused)}")
    (build.sources / "program.cc").write_text(Generated(source, kept).text)
    subprocess.run([*command, "-o", "program"], cwd=build.sources, check=True)
    for name, expected in {"": ORIGINAL, **EXPECTED}.items():
        if name and name not in by_name:
            continue
        number = by_name[name].number if name else 0
        done = subprocess.run([build.sources / "program"], env={"SIGNALBOX_MUTANT": str(number)},
                              capture_output=True, text=True)
        if done.stdout != expected:
            problems.append(f"with {name or 'no mutant'}: {done.stdout!r}, not {expected!r}")
    return problems
