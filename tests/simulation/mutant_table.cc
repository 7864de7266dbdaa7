#include "tests/simulation/mutant_table.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/simulation/found_seeds.h"

namespace signalbox::simulation {
namespace {

bool is_comment(const std::string& line) { return line.empty() || line.front() == '#'; }

std::vector<std::string> lines_of_table(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("can't read " + path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::optional<MutantFinding> row_of(const std::string& line) {
  std::istringstream words(line);
  std::string name;
  MutantFinding row;
  if (!(words >> name >> row.seed) || !std::getline(words >> std::ws, row.part)) {
    return std::nullopt;
  }
  const std::optional<Mutant> mutant = mutant_of(name);
  if (!mutant || *mutant == Mutant::none) return std::nullopt;
  row.mutant = *mutant;
  return row;
}

void note_other(const SimulationResult& result, std::vector<std::string>& others) {
  if (!result.violation) return;
  std::string kind = kind_of(*result.violation);
  if (std::find(others.begin(), others.end(), kind) == others.end()) {
    others.push_back(std::move(kind));
  }
}

}  // namespace

std::vector<MutantFinding> read_mutant_table(const std::string& path) {
  std::vector<MutantFinding> rows;
  const std::vector<std::string> lines = lines_of_table(path);
  for (std::size_t index = 0; index < lines.size(); ++index) {
    if (is_comment(lines[index])) continue;
    auto row = row_of(lines[index]);
    if (!row) {
      throw std::runtime_error(path + ":" + std::to_string(index + 1) +
                               ": expected `mutant seed part of the violation`");
    }
    rows.push_back(std::move(*row));
  }
  return rows;
}

std::string mutant_line(const MutantFinding& row) {
  std::array<char, 64> columns{};
  std::snprintf(columns.data(), columns.size(), "%-25s %4llu  ", name_of(row.mutant),
                static_cast<unsigned long long>(row.seed));
  return columns.data() + row.part;
}

void write_mutant_seeds(const std::string& path, const std::vector<MutantFinding>& rows) {
  std::string text;
  for (const std::string& line : lines_of_table(path)) {
    const auto known = is_comment(line) ? std::nullopt : row_of(line);
    const auto place = std::find_if(rows.begin(), rows.end(), [&known](const MutantFinding& row) {
      return known && row.mutant == known->mutant;
    });
    text += (place == rows.end() ? line : mutant_line(*place)) + "\n";
  }
  std::ofstream file(path, std::ios::trunc);
  file << text << std::flush;
  if (!file) throw std::runtime_error("can't write " + path);
}

SimulationOptions mutant_options(const MutantFinding& row, std::uint64_t seed) {
  SimulationOptions options;
  options.mutant = row.mutant;
  options.seed = seed;
  if (is_of_cell(row.mutant)) {
    options.servers = cell_servers;
    options.steps = cell_steps;
  }
  return options;
}

bool is_found(const MutantFinding& row, const SimulationResult& result) {
  return result.violation && result.violation->find(row.part) != std::string::npos;
}

MutantSearch search_mutant(const MutantFinding& row) {
  MutantSearch search;
  const auto try_seed = [&row, &search](std::uint64_t seed) {
    const SimulationOptions options = mutant_options(row, seed);
    announce(options);
    search.result = simulate(options);
    if (is_found(row, search.result)) {
      search.seed = seed;
    } else {
      note_other(search.result, search.others);
    }
    return search.seed.has_value();
  };
  if (row.seed != 0 && try_seed(row.seed)) return search;
  for (std::uint64_t seed = 1; seed <= mutant_seeds_max; ++seed) {
    if (try_seed(seed)) break;
  }
  return search;
}

}  // namespace signalbox::simulation
