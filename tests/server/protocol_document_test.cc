// Compares PROTOCOL.md with the code: the methods and their params, the errors and their numbers,
// the limits and their names.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

using Names = std::set<std::string>;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(std::string(SIGNALBOX_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(file) << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Returns each "### method" with the first column of its "| param |" table.
std::map<std::string, Names> documented_methods() {
  std::map<std::string, Names> methods;
  std::string method;
  bool in_table = false;
  for (const std::string& line : lines_of("server/PROTOCOL.md")) {
    if (line.starts_with("### ")) {
      method = line.substr(4);
      EXPECT_TRUE(methods.emplace(method, Names{}).second) << method << " is there twice";
    }
    if (line.starts_with("| param |")) in_table = true;
    if (!line.starts_with("|")) in_table = false;
    std::smatch found;
    static const std::regex row(R"(\| `(\w+)` \|.*)");
    if (in_table && std::regex_match(line, found, row)) {
      EXPECT_TRUE(methods[method].insert(found[1]).second) << method << " " << found[1];
    }
  }
  return methods;
}

TEST(ProtocolDocument, HasEveryMethodWithItsParams) {
  RpcSite site;
  std::map<std::string, Names> methods;
  for (const Method& method : site.dispatcher.methods()) {
    Names& params = methods[std::string(method.name)];
    for (const auto& param : method.params->fields) params.emplace(param.name);
  }
  EXPECT_GT(methods.size(), 10U);
  EXPECT_EQ(methods, documented_methods());
}

TEST(ProtocolDocument, SaysOfEachMethodWhetherItMutates) {
  RpcSite site;
  std::map<std::string, bool> documented;
  std::string method;
  for (const std::string& line : lines_of("server/PROTOCOL.md")) {
    if (line.starts_with("### ")) method = line.substr(4);
    if (!method.empty()) documented[method] |= line.find("Mutating.") != std::string::npos;
  }
  for (const Method& each : site.dispatcher.methods()) {
    EXPECT_EQ(each.mutates, documented[std::string(each.name)]) << each.name;
  }
}

// The table under "Who may what" has each method in the row of the least role that it needs.
TEST(ProtocolDocument, SaysOfEachMethodWhoMay) {
  RpcSite site;
  std::map<std::string, std::string> documented;
  bool in_table = false;
  static const std::regex row(R"(\| `?(\w+)`? \|(.*)\|)");
  static const std::regex name(R"(`(\w+\.\w+)`)");
  for (const std::string& line : lines_of("server/PROTOCOL.md")) {
    if (line.starts_with("| role | methods |")) in_table = true;
    if (!line.starts_with("|")) in_table = false;
    std::smatch found;
    if (!in_table || !std::regex_match(line, found, row)) continue;
    const std::string role = found[1];
    const std::string names = found[2];
    for (std::sregex_iterator each(names.begin(), names.end(), name), end; each != end; ++each) {
      EXPECT_TRUE(documented.emplace((*each)[1], role).second) << (*each)[1] << " is there twice";
    }
  }
  std::map<std::string, std::string> needed;
  for (const Method& method : site.dispatcher.methods()) {
    needed[std::string(method.name)] = method.needs ? name_of(*method.needs) : "anybody";
  }
  EXPECT_EQ(needed, documented);
}

TEST(ProtocolDocument, HasEveryErrorWithItsNumber) {
  std::map<std::string, int> documented;
  static const std::regex row(R"(\| `([A-Z_]+)` \| (-\d+) \|.*)");
  for (const std::string& line : lines_of("server/PROTOCOL.md")) {
    std::smatch found;
    if (std::regex_match(line, found, row)) documented[found[1]] = std::stoi(found[2]);
  }
  std::map<std::string, int> codes;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<ErrorCode>>(
      [&](auto each) { codes[each.name] = static_cast<int>(each.value); });
  EXPECT_EQ(codes, documented);
}

TEST(ProtocolDocument, ServerLimitsTellsEveryLimitThereIs) {
  RpcSite site;
  const auto answer = site.ask("server.limits");
  const auto& reported = answer.at("result").as_object();
  static const std::regex constant(R"(inline constexpr [\w:]+ (\w+) =.*)");
  Names declared;
  for (const char* path :
       {"domain/limits.h", "server/limits.h", "server/rpc/page_limit.h", "server/rpc/claim_queue.h",
        "server/rpc/lock_queue.h", "server/rpc/step_queue.h", "server/board/policy_keys.h",
        "server/followers/traces/trace_limits.h", "projections/trace_span.h"}) {
    for (const std::string& line : lines_of(path)) {
      std::smatch found;
      if (std::regex_match(line, found, constant)) declared.insert(found[1]);
    }
  }
  declared.erase("query_weight");        // derived from two others
  declared.erase("lock_file_pause_ms");  // between two tries
  EXPECT_GT(declared.size(), 25U);
  for (const std::string& name : declared) EXPECT_TRUE(reported.contains(name)) << name;
  for (const auto& each : reported) {
    const std::string name(each.key());
    if (name == "position") continue;
    EXPECT_TRUE(name.ends_with("_max") || name.ends_with("_min") || name.ends_with("_default"))
        << name;
    EXPECT_GT(each.value().as_int64(), 0) << name;
  }
}

// Traces go to another service, so all that they tell has to be known.
TEST(ProtocolDocument, NamesEachAttributeOfATrace) {
  std::string written;
  bool is_in_section = false;
  for (const std::string& line : lines_of("server/PROTOCOL.md")) {
    if (line.starts_with("## ")) is_in_section = line == "## Traces";
    if (is_in_section) written += line + "\n";
  }
  static const std::regex attribute(R"re("signalbox\.([a-z_.]+[a-z]))re");
  std::size_t named = 0;
  for (const std::string& line : lines_of("projections/run_trace.cc")) {
    for (std::sregex_iterator each(line.begin(), line.end(), attribute), end; each != end; ++each) {
      const std::string name = (*each)[1];
      const bool is_family = name == "label" || name.starts_with("usage.");
      EXPECT_TRUE(is_family || written.find(name + "`") != std::string::npos) << name;
      ++named;
    }
  }
  EXPECT_GT(named, 30U);
}

TEST(OperatingDocument, SaysWhatToDoAboutEachAlert) {
  std::string table;
  for (const std::string& line : lines_of("server/OPERATING.md")) {
    if (line.starts_with("| `Signalbox")) table += line + "\n";
  }
  std::size_t alerts = 0;
  for (const std::string& line : lines_of("server/rpc/metrics/alerts.yaml")) {
    const std::size_t at = line.find("- alert: ");
    if (at == std::string::npos) continue;
    ++alerts;
    const std::string name = line.substr(at + 9);
    EXPECT_NE(table.find("`" + name + "`"), std::string::npos) << name;
  }
  EXPECT_GT(alerts, 20U);
}

}  // namespace
}  // namespace signalbox
