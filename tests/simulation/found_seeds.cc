#include "tests/simulation/found_seeds.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

namespace signalbox::simulation {
namespace {

constexpr std::size_t found_violation_bytes_max = 160;

bool is_of_id(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-'; }

// Returns a text without line ends that fits in a line of the file.
std::string shortened(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() > found_violation_bytes_max) text.resize(found_violation_bytes_max);
  return text;
}

}  // namespace

std::vector<FoundSeed> read_found_seeds(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("can't read " + path);
  std::vector<FoundSeed> seeds;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    FoundSeed found;
    char mark = 0;
    if (!(words >> found.seed >> found.steps >> found.servers >> mark) || mark != '#') {
      throw std::runtime_error(path + ":" + std::to_string(number) +
                               ": expected `seed steps servers # what it found`");
    }
    std::getline(words >> std::ws, found.violation);
    seeds.push_back(std::move(found));
  }
  return seeds;
}

std::string found_seed_line(const SimulationOptions& options, const std::string& violation) {
  return std::to_string(options.seed) + " " + std::to_string(options.steps) + " " +
         std::to_string(options.servers) + "  # " + shortened(violation) + "\n";
}

std::string kind_of(const std::string& violation) {
  std::string kind;
  for (auto place = violation.begin(); place != violation.end();) {
    const auto end = std::find_if_not(place, violation.end(), is_of_id);
    // A word such as "dead" has letters of an id and no digit.
    if (std::any_of(place, end, [](char c) { return c >= '0' && c <= '9'; })) {
      kind += '#';
    } else {
      kind.append(place, end);
    }
    if (end == violation.end()) break;
    kind += *end;
    place = end + 1;
  }
  return kind;
}

bool keep_found_seed(const std::string& path, const SimulationOptions& options,
                     const std::string& violation) {
  std::vector<FoundSeed> known;
  try {
    known = read_found_seeds(path);
  } catch (const std::runtime_error&) {
    return false;
  }
  const std::string kind = kind_of(shortened(violation));
  std::size_t of_kind = 0;
  for (const FoundSeed& found : known) {
    if (found.seed == options.seed && found.steps == options.steps &&
        found.servers == options.servers) {
      return false;
    }
    of_kind += kind_of(found.violation) == kind ? 1 : 0;
  }
  if (of_kind >= found_seeds_of_a_kind_max) return false;
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return false;
  // One write, so that lines of several processes don't mix.
  const std::string line = found_seed_line(options, violation);
  const auto written = write(file, line.data(), line.size());
  close(file);
  return written == static_cast<ssize_t>(line.size());
}

std::uint64_t fresh_seed(std::optional<std::uint64_t> chosen) {
  constexpr std::uint64_t chosen_seeds_max = 1'000'000'000;
  if (!chosen) {
    std::random_device device;
    chosen = device() * std::uint64_t{200} + device() % 200;
  }
  return chosen_seeds_max + *chosen;
}

}  // namespace signalbox::simulation
