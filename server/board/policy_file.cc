#include "server/board/policy_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include <boost/describe/enum_from_string.hpp>

#include "domain/try.h"
#include "server/board/policy_keys.h"
#include "server/text/separated_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr std::size_t shown_text_bytes_max = 64;

constexpr std::array<std::string_view, 3> words_for_on = {"true", "yes", "on"};
constexpr std::array<std::string_view, 3> words_for_off = {"false", "no", "off"};

using Done = tl::expected<void, LineError>;

tl::unexpected<LineError> refuse(std::size_t line, std::string message) {
  return tl::unexpected(LineError{line, std::move(message)});
}

void warn(std::vector<LineError>* warnings, LineError warning) {
  if (warnings != nullptr && warnings->size() < policy_warnings_max) {
    warnings->push_back(std::move(warning));
  }
}

std::string shown(std::string_view text) {
  return "\"" + shortened(with_replacements(text), shown_text_bytes_max) + "\"";
}

// Returns the text without surrounding blanks, quotes and Markdown's marks of emphasis and code.
std::string_view bare(std::string_view text) { return trimmed(text, " \t*_`\""); }

// "2 (over all projects)" is 2.
std::string_view without_note(std::string_view text) {
  return bare(text.substr(0, text.find('(')));
}

// Returns the offset of the colon between key and value; npos if there is none. A colon in a URL or
// in a parenthesized note doesn't count.
std::size_t colon_of(std::string_view text) {
  for (std::size_t at = text.find_first_of(":("); at != std::string_view::npos;
       at = text.find_first_of(":(", at + 1)) {
    if (text[at] == ':') {
      if (!text.substr(at).starts_with("://")) return at;
    } else if (const std::size_t end = text.find(')', at); end != std::string_view::npos) {
      at = end;
    }
  }
  return std::string_view::npos;
}

std::string all_names() {
  std::string names;
  for (const PolicyKey& key : policy_keys()) {
    names += (names.empty() ? "" : ", ") + std::string(key.name);
  }
  return names;
}

std::string how_to_write(const PolicyKey& key) {
  const std::string name = key.name;
  if (key.is_word()) return "write \"- " + name + ": approve\", \"allow\" or \"refuse\"";
  if (key.is_toggle()) return "write \"- [x] " + name + "\" or \"- [ ] " + name + "\"";
  return "write \"- " + name + ": N\" with a whole number N from 1 to " + std::to_string(key.max);
}

// An item of a policy's section, split into its parts.
struct Entry {
  std::size_t line = 0;
  std::optional<bool> is_checked;         // nullopt: it has no box
  std::string_view key;                   // as written
  std::optional<std::string_view> value;  // after the colon
};

tl::unexpected<LineError> unknown_key(const Entry& entry) {
  std::string message = shown(entry.key) + " is not a key of a policy; ";
  if (const PolicyKey* nearest = nearest_policy_key(entry.key)) {
    message += how_to_write(*nearest);
  } else {
    message += "the keys are " + all_names();
  }
  return refuse(entry.line, message + " (for a note, leave out box and colon)");
}

std::optional<bool> toggle_of(std::string_view value) {
  const std::string word = policy_letters(value);
  if (word.size() != value.size()) return std::nullopt;
  const auto is = [&word](std::string_view other) { return word == other; };
  if (std::any_of(words_for_on.begin(), words_for_on.end(), is)) return true;
  if (std::any_of(words_for_off.begin(), words_for_off.end(), is)) return false;
  return std::nullopt;
}

Done set_toggle(const Entry& entry, const PolicyKey& key, bool& field) {
  const auto toggle = entry.value ? toggle_of(*entry.value) : entry.is_checked;
  if (!toggle) {
    return refuse(entry.line, std::string(key.name) + " is on or off, not " + shown(*entry.value) +
                                  "; " + how_to_write(key));
  }
  if (entry.is_checked && *entry.is_checked != *toggle) {
    return refuse(entry.line, std::string(key.name) + "'s box says one thing and " +
                                  shown(*entry.value) + " another; " + how_to_write(key));
  }
  field = *toggle;
  return {};
}

Done set_word(const Entry& entry, const PolicyKey& key, ChecksChanged& field) {
  const std::string_view word = entry.value.value_or("");
  const std::string letters = policy_letters(word);
  if (letters.size() == word.size() && boost::describe::enum_from_string(letters.c_str(), field)) {
    return {};
  }
  const std::string problem =
      word.empty() ? "its word is missing" : shown(word) + " is none of its words";
  return refuse(entry.line, std::string(key.name) + ": " + problem + "; " + how_to_write(key));
}

template <class Number>
Done set_number(const Entry& entry, const PolicyKey& key, Number& field) {
  const std::string_view digits = entry.value.value_or("");
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    const std::string problem =
        entry.value ? shown(digits) + " is not a whole number" : "its number is missing";
    return refuse(entry.line, std::string(key.name) + ": " + problem + "; " + how_to_write(key));
  }
  const auto number = whole_number<std::int64_t>(digits);
  if (!number || *number < 1 || *number > key.max) {
    return refuse(entry.line, std::string(key.name) + ": " + shown(digits) + " is out of range; " +
                                  how_to_write(key));
  }
  field = static_cast<Number>(*number);
  return {};
}

Done set_field(const Entry& entry, const PolicyKey& key, Policy& policy) {
  const auto set = [&](auto field) -> Done {
    if constexpr (std::is_same_v<decltype(field), bool Policy::*>) {
      return set_toggle(entry, key, policy.*field);
    } else if constexpr (std::is_same_v<decltype(field), ChecksChanged Policy::*>) {
      return set_word(entry, key, policy.*field);
    } else {
      return set_number(entry, key, policy.*field);
    }
  };
  return std::visit(set, key.field);
}

// The policy as far as it was parsed.
struct Reading {
  Policy policy;
  std::map<const PolicyKey*, std::size_t> lines;  // the line of each key that was set
};

// Returns the parts of an item; nullopt if it is a note, not a key.
tl::expected<std::optional<Entry>, LineError> entry_of(const MarkdownItem& item) {
  const std::string_view text = item.text;
  const std::size_t colon = colon_of(text);
  const bool has_colon = colon != std::string_view::npos;
  Entry entry{item.line, std::nullopt, bare(text.substr(0, colon)), std::nullopt};
  if (item.box) {
    const std::string& mark = *item.box;
    const bool is_reference =
        !mark.empty() && mark.find_first_not_of("0123456789^") == std::string::npos;
    if (is_reference) return std::optional<Entry>();
    if (!mark.empty() && mark != "x" && mark != "X") {
      return refuse(item.line, "a box is [x] or [ ], not [" + with_replacements(mark) + "]");
    }
    entry.is_checked = !mark.empty();
  }
  if (has_colon) entry.value = without_note(text.substr(colon + 1));
  if (entry.value && entry.value->empty() && item.box) entry.value.reset();
  if (!item.box && !has_colon) return std::optional<Entry>();
  return std::optional<Entry>(entry);
}

Done read_entry(const Entry& entry, Reading& reading) {
  const PolicyKey* key = find_policy_key(without_note(entry.key));
  if (key == nullptr) return unknown_key(entry);
  if (!key->is_toggle() && entry.is_checked == false) {
    Policy ignored;
    return set_field(entry, *key, ignored);
  }
  const auto [earlier, is_first] = reading.lines.emplace(key, entry.line);
  if (!is_first) {
    return refuse(entry.line, std::string(key->name) + " is said in line " +
                                  std::to_string(earlier->second) +
                                  " already; remove one of the two");
  }
  return set_field(entry, *key, reading.policy);
}

// Returns whether the key keeps the service from acting when it is off.
bool is_permission(const PolicyKey& key) {
  return key.is_toggle() && !is_notification_section(key.section);
}

// Looks at an item of another section, in which no key counts, although its writer may have meant
// it: what a permission forbids there would happen, so that is refused. Of any other setting that
// isn't in force there is a warning. A text that no key has as its value is prose.
Done check_elsewhere(const MarkdownItem& item, const Reading& reading,
                     std::vector<LineError>* warnings) {
  const auto entry = entry_of(item);
  if (!entry || !*entry) return {};
  const PolicyKey* key = find_policy_key(without_note((*entry)->key));
  if (key == nullptr || (!key->is_toggle() && (*entry)->is_checked == false)) return {};
  Policy meant = reading.policy;
  if (!set_field(**entry, *key, meant) || meant == reading.policy) return {};
  const std::string heading =
      item.heading.empty() ? "above all headings" : "under " + shown(item.heading);
  std::string message = std::string(key->name) + " stands " + heading +
                        ", where it doesn't count; move it under " + key->section;
  if (is_permission(*key) && !reading.lines.contains(key)) return refuse(item.line, message);
  warn(warnings, {item.line, std::move(message)});
  return {};
}

// Returns the parts of a line of which none counts, if it may have been meant as a setting: with a
// colon, an equals sign or a blank before a value; nullopt for prose.
std::optional<Entry> meant_entry(const MarkdownItem& line) {
  constexpr std::size_t value_bytes_max = 16;
  std::string_view text = line.text;
  while (text.ends_with(',') || text.ends_with(';')) text.remove_suffix(1);
  std::size_t end = colon_of(text);
  if (end == std::string_view::npos) end = text.find('=');
  if (end == std::string_view::npos) end = text.find_last_of(" \t");
  if (end == std::string_view::npos) return std::nullopt;
  Entry entry{line.line, std::nullopt, bare(text.substr(0, end)),
              without_note(text.substr(end + 1))};
  if (entry.value->empty() || entry.value->size() > value_bytes_max) return std::nullopt;
  return entry;
}

// Looks at a line of which nothing is read, although its writer may have meant it: one outside of a
// list, or an item without box and colon. As in check_elsewhere(), a permission that is off only
// there is refused, unless the line belongs to a note; a setting that isn't in force is a warning,
// under a heading of the policy also if its key is misspelt.
Done check_unread(const MarkdownItem& line, const Reading& reading,
                  std::vector<LineError>* warnings) {
  const auto entry = meant_entry(line);
  if (!entry || line.box == "") return {};
  const PolicyKey* key = find_policy_key(without_note(entry->key));
  const bool is_known = key != nullptr;
  const bool is_assignment = line.text.find_first_of(":=") != std::string::npos;
  if (!is_known && is_assignment && is_policy_section(line.heading)) {
    key = nearest_policy_key(entry->key);
  }
  if (key == nullptr) return {};
  Policy meant = reading.policy;
  if (!set_field(*entry, *key, meant) || meant == reading.policy) return {};
  std::string message = shown(line.text) +
                        " isn't in force, since it is no item of a list with a colon; " +
                        how_to_write(*key) + " under " + key->section;
  const bool forbids = is_known && is_permission(*key) && !reading.lines.contains(key);
  if (forbids && !line.is_nested) return refuse(line.line, message);
  warn(warnings, {line.line, std::move(message)});
  return {};
}

}  // namespace

tl::expected<Policy, LineError> parse_policy_file(std::string_view text,
                                                  std::vector<LineError>* warnings) {
  if (text.size() > policy_file_bytes_max) {
    return refuse(0, "the file has " + std::to_string(text.size()) + " bytes; at most " +
                         std::to_string(policy_file_bytes_max) + " are read");
  }
  std::vector<MarkdownItem> unread;
  const auto items = TRY(markdown_items(text, &unread));
  Reading reading;
  for (const MarkdownItem& item : items) {
    if (!is_policy_section(item.heading)) continue;
    const auto entry = TRY(entry_of(item));
    if (!entry) {
      if (!item.box) unread.push_back(item);
      continue;
    }
    const bool is_known = find_policy_key(without_note(entry->key)) != nullptr;
    if (!is_known && is_notification_section(item.heading)) {
      warn(warnings, unknown_key(*entry).value());
      continue;
    }
    TRY(read_entry(*entry, reading));
  }
  for (const MarkdownItem& item : items) {
    if (!is_policy_section(item.heading)) TRY(check_elsewhere(item, reading, warnings));
  }
  for (const MarkdownItem& line : unread) TRY(check_unread(line, reading, warnings));
  return reading.policy;
}

}  // namespace signalbox
