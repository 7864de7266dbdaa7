#include "server/git/git_names.h"

#include <algorithm>

#include "server/text/separated_text.h"

namespace signalbox {
namespace {

constexpr std::size_t sha1_digits = 40;
constexpr std::size_t sha256_digits = 64;

bool is_name_part(std::string_view part) {
  return !part.empty() && part.front() != '.' && !part.ends_with(".lock");
}

}  // namespace

bool is_object_id(std::string_view text) {
  return (text.size() == sha1_digits || text.size() == sha256_digits) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_branch_name(std::string_view name) {
  const bool has_bad_letter = std::any_of(name.begin(), name.end(), [](char letter) {
    return static_cast<unsigned char>(letter) <= ' ' || letter == '\x7f' ||
           std::string_view("~^:?*[\\").find(letter) != std::string_view::npos;
  });
  if (name.empty() || has_bad_letter || name.front() == '-' || name.ends_with('.')) return false;
  if (name.find("..") != std::string_view::npos || name.find("@{") != std::string_view::npos) {
    return false;
  }
  for (;;) {
    const std::size_t slash = name.find('/');
    if (!is_name_part(name.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

std::vector<std::string> commit_query(const std::string& name) {
  return {"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"};
}

std::string listed_commit(std::string_view lines, const std::string& ref) {
  while (!lines.empty()) {
    std::string_view line = take_until(lines, '\n');
    const std::string_view commit = take_until(line, '\t');
    if (line == ref && is_object_id(commit)) return std::string(commit);
  }
  return {};
}

}  // namespace signalbox
