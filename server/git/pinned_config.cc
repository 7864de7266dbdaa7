#include "server/git/pinned_config.h"

#include <algorithm>
#include <array>

#include "server/git/path_facts.h"
#include "server/text/separated_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

// A key, split at its first and its last dot: "remote", "origin.example", "url".
struct Key {
  std::string section;
  std::string subsection;  // keeps its case
  std::string name;
  bool has_subsection = false;
};

Key split(std::string_view key) {
  const std::size_t first = key.find('.');
  const std::size_t last = key.rfind('.');
  if (first == std::string_view::npos) return {};
  Key parts{lower_case(key.substr(0, first)), {}, lower_case(key.substr(last + 1)), false};
  if (first != last) {
    parts.subsection = key.substr(first + 1, last - first - 1);
    parts.has_subsection = true;
  }
  return parts;
}

template <std::size_t Size>
bool is_one_of(std::string_view word, const std::array<std::string_view, Size>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Programs that only a person at a terminal needs, redirections of the repository itself, and files
// that would be read later. core.hooksPath is pinned apart from the others (pinned_repository.h).
bool is_never_pinned(const Key& key) {
  static constexpr std::array<std::string_view, 18> sections{
      "alias",     "pager",   "browser",   "man",         "help",     "web",
      "gui",       "guitool", "instaweb",  "interactive", "difftool", "mergetool",
      "sendemail", "include", "includeif", "protocol",    "trailer",  "sequence"};
  static constexpr std::array<std::string_view, 9> core{"fsmonitor",
                                                        "worktree",
                                                        "gitproxy",
                                                        "pager",
                                                        "editor",
                                                        "askpass",
                                                        "hookspath",
                                                        "alternaterefscommand",
                                                        "alternaterefsprefixes"};
  static constexpr std::array<std::string_view, 3> diff{"command", "textconv", "external"};
  // A remote that is mirrored takes no push of a single branch.
  static constexpr std::array<std::string_view, 4> remote{"uploadpack", "receivepack", "vcs",
                                                          "mirror"};
  if (is_one_of(key.section, sections)) return true;
  if (key.section == "core") return is_one_of(key.name, core);
  if (key.section == "diff") return is_one_of(key.name, diff) || key.name == "submodule";
  if (key.section == "remote") return is_one_of(key.name, remote);
  if (key.section == "uploadpack") return key.name == "packobjectshook";
  if (key.section == "submodule") return key.has_subsection && key.name == "update";
  if (key.section == "extensions") return key.name == "worktreeconfig";
  return false;
}

// Programs and redirections that repositories have for good reasons.
bool names_program(const Key& key) {
  static constexpr std::array<std::string_view, 6> sections{"filter", "credential", "gpg",
                                                            "url",    "http",       "lfs"};
  if (is_one_of(key.section, sections)) return true;
  if (key.section == "core") return key.name == "sshcommand";
  if (key.section == "merge") return key.name == "driver";
  if (key.section == "commit" || key.section == "tag") return key.name == "gpgsign";
  if (key.section == "push") return key.name == "gpgsign";
  return false;
}

// The programs of git-lfs, as it sets them up itself: they name nothing else, and without them git
// would take each file that LFS keeps for a changed one.
bool is_filter_of_lfs(std::string_view entry) {
  static constexpr std::array<std::string_view, 4> entries{
      "filter.lfs.clean\ngit-lfs clean -- %f", "filter.lfs.smudge\ngit-lfs smudge -- %f",
      "filter.lfs.process\ngit-lfs filter-process", "filter.lfs.required\ntrue"};
  return is_one_of(entry, entries);
}

bool is_place_of_remote(const Key& key) {
  return key.section == "remote" && (key.name == "url" || key.name == "pushurl");
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '\n') {
      result += "\\n";
      continue;
    }
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter;
  }
  return result + '"';
}

// In a subsection, git knows no escape for a line end; such a name can't be in a file either.
std::string header_of(const Key& key) {
  if (!key.has_subsection) return '[' + key.section + "]\n";
  return '[' + key.section + ' ' + in_quotes(key.subsection) + "]\n";
}

// Calls `take(key, entry)` for each entry of `git config --list -z`: "key\nvalue", or "key".
template <class Take>
void for_each_entry(std::string_view listed, Take&& take) {
  while (!listed.empty()) {
    const std::string_view entry = take_until(listed, '\0');
    take(entry.substr(0, entry.find('\n')), entry);
  }
}

}  // namespace

bool is_pinned_key(std::string_view key, ConfigTrust trust) {
  const Key parts = split(key);
  if (parts.section.empty() || parts.name.empty()) return false;
  if (is_never_pinned(parts)) return false;
  return trust == ConfigTrust::owners || !names_program(parts);
}

std::vector<std::string> programs_of_config(std::string_view listed) {
  std::vector<std::string> entries;
  for_each_entry(listed, [&entries](std::string_view key, std::string_view entry) {
    const Key parts = split(key);
    const bool is_hooks_path = parts.section == "core" && parts.name == "hookspath";
    if (is_hooks_path || is_place_of_remote(parts) || is_never_pinned(parts) ||
        names_program(parts)) {
      entries.push_back(with_replacements(entry));
    }
  });
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::string location_of_remote(const std::filesystem::path& repository, const std::string& url) {
  const bool is_path = url.substr(0, url.find('/')).find(':') == std::string::npos;
  if (url.empty() || !is_path || url.front() == '/') return url;
  const std::filesystem::path meant = repository / url;
  // As the kernel finds it: after a link, ".." isn't the directory that the link is in.
  return has_target(meant) ? resolved_path(meant).string() : url;
}

std::string pinned_config_text(std::string_view listed, ConfigTrust trust,
                               const std::filesystem::path& repository) {
  std::string text;
  for_each_entry(listed, [&](std::string_view key, std::string_view entry) {
    if (!is_pinned_key(key, trust) && !is_filter_of_lfs(entry)) return;
    const Key parts = split(key);
    text += header_of(parts) + '\t' + parts.name;
    // A key without a value, which means true, has no line end.
    if (key.size() < entry.size()) {
      std::string value(entry.substr(key.size() + 1));
      if (is_place_of_remote(parts)) value = location_of_remote(repository, value);
      text += " = " + in_quotes(value);
    }
    text += '\n';
  });
  return text;
}

}  // namespace signalbox
