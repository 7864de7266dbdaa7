// Checks that documents link only to existing files and to headings in them. Doesn't check web
// addresses.
#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/scenarios/child_process.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Returns the document without fenced blocks and `code`, in which brackets are no links.
std::string prose_of(const fs::path& document) {
  std::istringstream lines(content_of(document));
  std::string prose;
  bool fenced = false;
  for (std::string line; std::getline(lines, line);) {
    const bool fence = line.starts_with("```");
    if (fence) fenced = !fenced;
    if (!fence && !fenced) prose += std::regex_replace(line, std::regex("`[^`]*`"), "code") + "\n";
  }
  return prose;
}

// Returns the anchors of the document's headings, as GitHub makes them.
std::set<std::string> anchors_of(const fs::path& document) {
  std::istringstream lines(content_of(document));
  std::set<std::string> anchors;
  bool fenced = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) fenced = !fenced;
    if (fenced || !line.starts_with('#')) continue;
    std::string anchor;
    for (const char each : line.substr(line.find_first_not_of("# "))) {
      const auto byte = static_cast<unsigned char>(each);
      if (each == ' ') anchor += '-';
      if (std::isalnum(byte) != 0 || each == '-' || each == '_' || byte >= 0x80) {
        anchor += static_cast<char>(std::tolower(byte));
      }
    }
    std::string unique = anchor;
    for (int times = 1; !anchors.insert(unique).second; ++times) {
      unique = anchor + "-" + std::to_string(times);
    }
  }
  return anchors;
}

std::vector<std::string> links_of(const fs::path& document) {
  const std::string prose = prose_of(document);
  const std::regex link(R"(\]\(([^)\s]+)\))");
  std::vector<std::string> links;
  for (std::sregex_iterator each(prose.begin(), prose.end(), link), end; each != end; ++each) {
    links.push_back((*each)[1].str());
  }
  return links;
}

// Returns why the link leads nowhere, or "".
std::string link_problem(const fs::path& document, const std::string& link) {
  if (link.starts_with("https://") || link.starts_with("http://")) return {};
  const std::size_t hash = link.find('#');
  const std::string path = link.substr(0, hash);
  const fs::path target = path.empty() ? document : document.parent_path() / path;
  if (!fs::exists(target)) return link + ": there is no such file";
  if (hash == std::string::npos) return {};
  if (anchors_of(target).contains(link.substr(hash + 1))) return {};
  return link + ": there is no such heading";
}

std::vector<fs::path> linked_documents() {
  const fs::path source = SIGNALBOX_SOURCE_DIR;
  std::vector<fs::path> found = {source / "README.md"};
  for (const char* folder : {"domain", "store", "projections", "server", "tools", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source / folder)) {
      if (entry.path().extension() == ".md") found.push_back(entry.path());
    }
  }
  return found;
}

TEST(Readme, LinksBetweenDocumentsLeadSomewhere) {
  std::size_t links = 0;
  for (const fs::path& document : linked_documents()) {
    for (const std::string& link : links_of(document)) {
      ++links;
      EXPECT_EQ(link_problem(document, link), "") << "in " << document;
    }
  }
  EXPECT_GT(links, 50u) << "links are no longer found";
}

TEST(Readme, ALinkThatLeadsNowhereIsNoticed) {
  const fs::path readme = fs::path(SIGNALBOX_SOURCE_DIR) / "README.md";
  EXPECT_EQ(link_problem(readme, "#install"), "");
  EXPECT_NE(link_problem(readme, "#instal"), "");
  EXPECT_NE(link_problem(readme, "tools/GUIDES.md"), "");
  EXPECT_EQ(link_problem(readme, "tools/GUIDE.md#why-doesnt-it-move"), "");
}

}  // namespace
}  // namespace signalbox
