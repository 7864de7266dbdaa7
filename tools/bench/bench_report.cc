#include "tools/bench/bench_report.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <thread>

#include <sys/utsname.h>
#include <boost/json/array.hpp>

#include "server/platform/program_version.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/text_table.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string line_of(const char* file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    const auto value = line.find_first_not_of(" \t", line.find(':') + 1);
    return value == std::string::npos ? std::string() : line.substr(value);
  }
  return {};
}

json::object machine() {
  json::object facts;
  facts["processors"] = std::thread::hardware_concurrency();
  facts["processor"] = line_of("/proc/cpuinfo", "model name");
  facts["memory"] = line_of("/proc/meminfo", "MemTotal");
  utsname system{};
  if (uname(&system) == 0) facts["kernel"] = std::string(system.sysname) + " " + system.release;
  facts["version"] = program_version();
  return facts;
}

// Formats three significant digits, which is the precision of such a measurement.
std::string number_text(double value) {
  char text[32];
  if (value >= 1e6) {
    std::snprintf(text, sizeof text, "%.2f million", value / 1e6);
  } else {
    const int decimals = value >= 100 || value == std::floor(value) ? 0 : value >= 10 ? 1 : 2;
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
  }
  return text;
}

double value_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

}  // namespace

bool Measured::met() const {
  switch (bound) {
    case Bound::none:
      return true;
    case Bound::at_least:
      return value >= target;
    case Bound::at_most:
      return value <= target;
  }
  return true;
}

Measured measured(std::string name, std::vector<double> rounds, std::string unit,
                  std::string what) {
  const double value = median(rounds);
  return {std::move(name),       value, std::move(unit),  std::move(what),
          Measured::Bound::none, 0,     std::move(rounds)};
}

Measured at_least(double target, Measured measured) {
  measured.bound = Measured::Bound::at_least;
  measured.target = target;
  return measured;
}

Measured at_most(double target, Measured measured) {
  measured.bound = Measured::Bound::at_most;
  measured.target = target;
  return measured;
}

json::object bench_json(const std::vector<Measured>& measurements) {
  json::array array;
  bool all_met = true;
  for (const Measured& each : measurements) {
    json::object object;
    object["name"] = each.name;
    object["value"] = each.value;
    object["unit"] = each.unit;
    object["what"] = each.what;
    if (each.bound != Measured::Bound::none) {
      object["target"] = each.target;
      object["target_is"] = each.bound == Measured::Bound::at_least ? "at_least" : "at_most";
      object["met"] = each.met();
      all_met = all_met && each.met();
    }
    object["rounds"] = json::array(each.rounds.begin(), each.rounds.end());
    array.push_back(std::move(object));
  }
  return {{"machine", machine()}, {"measurements", std::move(array)}, {"targets_met", all_met}};
}

std::string view_bench(const json::object& result, const Terminal& terminal) {
  const json::object& facts = object_at(result, "machine");
  std::string text = text_at(facts, "processors") + " × " + text_at(facts, "processor") + ", " +
                     text_at(facts, "memory") + ", " + text_at(facts, "kernel") + "\n\n";
  TextTable table({{"measured"}, {"value", TextTable::Align::right}, {"unit"}, {"target"}, {""}});
  for (const json::value& each : array_at(result, "measurements")) {
    const json::object& object = each.get_object();
    const bool has_target = object.contains("target");
    const bool met = true_at(object, "met");
    const std::string sign = text_at(object, "target_is") == "at_least" ? "≥ " : "≤ ";
    table.add({{text_at(object, "what")},
               {number_text(value_at(object, "value")), Style::strong},
               {text_at(object, "unit")},
               {has_target ? sign + number_text(value_at(object, "target")) : ""},
               {!has_target ? ""
                : met       ? "met"
                            : "missed",
                met ? Style::good : Style::bad}});
  }
  return text + table.text(terminal);
}

}  // namespace signalbox
