// PROTOCOL.md names each key of a result that the OpenRPC document describes: in the section of the
// method, or in one that this section refers to.
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "tests/scenarios/described_call.h"

namespace signalbox {
namespace {

namespace json = boost::json;
using Names = std::set<std::string>;

// Files and moments are said once for all methods. An event as a CloudEvent is in its own
// specification and in AUDIT.md, and what a runner gets in the sources of the runner.
const Names said_once = {"files_error", "as_of", "position", "replayed", "next_cursor"};
const Names left_out_methods = {"audit.records", "runner.exchange"};

std::map<std::string, std::string> written_sections() {
  std::ifstream file(SIGNALBOX_SOURCE_DIR "/server/PROTOCOL.md");
  std::map<std::string, std::string> sections;
  std::string name;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) name.clear();
    if (line.starts_with("### ")) name = line.substr(4);
    if (!name.empty()) sections[name] += line + "\n";
  }
  return sections;
}

// Adds the section of the method, and those of all methods that it names.
void add_sections(const std::map<std::string, std::string>& sections, const std::string& method,
                  Names& known, std::string& text) {
  const auto section = sections.find(method);
  if (section == sections.end() || !known.insert(method).second) return;
  text += section->second;
  static const std::regex name(R"([`\[]([a-z_]+\.[a-z_]+)[`\]])");
  const std::string& written = section->second;
  for (std::sregex_iterator each(written.begin(), written.end(), name), end; each != end; ++each) {
    add_sections(sections, (*each)[1], known, text);
  }
  for (const auto& [linked, unused] : sections) {
    std::string anchor = "(#" + linked + ")";
    std::erase(anchor, '.');
    if (written.find(anchor) != std::string::npos) add_sections(sections, linked, known, text);
  }
}

// Adds the keys of what the schema describes. A pipeline is described where a run is started.
void add_keys(const json::value& schema, Names& known, Names& keys) {
  if (!schema.is_object()) return;
  const json::object& object = schema.as_object();
  if (const json::value* const reference = object.if_contains("$ref")) {
    const std::string path(reference->as_string());
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name == "Pipeline" || !known.insert(name).second) return;
    return add_keys(openrpc::document().at("components").at("schemas").at(name), known, keys);
  }
  if (const json::value* const properties = object.if_contains("properties")) {
    for (const auto& each : properties->as_object()) {
      keys.insert(each.key());
      add_keys(each.value(), known, keys);
    }
  }
  for (const char* inner : {"items", "additionalProperties"}) {
    if (const json::value* const each = object.if_contains(inner)) add_keys(*each, known, keys);
  }
  for (const char* several : {"anyOf", "allOf", "oneOf"}) {
    const json::value* const choices = object.if_contains(several);
    if (choices == nullptr) continue;
    for (const json::value& each : choices->as_array()) add_keys(each, known, keys);
  }
}

bool has_word(const std::string& text, const std::string& word) {
  const auto is_part = [&text](std::size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    if (!is_part(at - 1) && !is_part(at + word.size())) return true;
  }
  return false;
}

TEST(OpenrpcResults, EachKeyIsInTheProtocol) {  // M4
  const auto sections = written_sections();
  for (const json::value& method : openrpc::document().at("methods").as_array()) {
    const std::string name(method.at("name").as_string());
    if (left_out_methods.contains(name)) continue;
    std::string text;
    Names referred;
    add_sections(sections, name, referred, text);
    Names known;
    Names keys;
    add_keys(method.at("result").at("schema"), known, keys);
    for (const std::string& key : keys) {
      EXPECT_TRUE(said_once.contains(key) || has_word(text, key)) << name << ": " << key;
    }
  }
}

}  // namespace
}  // namespace signalbox
