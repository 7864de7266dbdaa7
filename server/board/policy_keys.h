// The keys of HEARTBEAT.md: their sections, ranges and fields. Policy documents their meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "domain/limits.h"
#include "domain/policy.h"

namespace signalbox {

inline constexpr std::size_t policy_file_bytes_max = 64 * 1024;
// Lines of one file about which there are warnings.
inline constexpr std::size_t policy_warnings_max = 32;

inline constexpr std::int64_t policy_agents_max = 1000;
inline constexpr std::int64_t policy_retry_minutes_max = 7LL * 24 * 60;
inline constexpr std::int64_t policy_attempts_max = 100;
inline constexpr std::int64_t policy_agent_timeout_minutes_max =
    limits::timeout_ms_max / (60 * 1000);

struct PolicyKey {
  using Field = std::variant<std::uint32_t Policy::*, std::int64_t Policy::*, bool Policy::*,
                             ChecksChanged Policy::*>;

  const char* section;
  const char* name;
  Field field;
  std::int64_t max;  // of a number, whose minimum is 1; 0 for a toggle or a word

  [[nodiscard]] bool is_toggle() const { return std::holds_alternative<bool Policy::*>(field); }
  [[nodiscard]] bool is_word() const {
    return std::holds_alternative<ChecksChanged Policy::*>(field);
  }
};

// Returns all keys, grouped by section.
std::span<const PolicyKey> policy_keys();

// Returns only the letters, in lower case: "Max concurrent agents" is "maxconcurrentagents".
std::string policy_letters(std::string_view text);

// Returns the key with this name, in any notation with the same letters; nullptr if there is none.
const PolicyKey* find_policy_key(std::string_view text);
// Returns the key with the smallest edit distance from `text`; nullptr if none is close.
const PolicyKey* nearest_policy_key(std::string_view text);
// Returns true if `heading` is one of the four sections that may have keys.
bool is_policy_section(std::string_view heading);
// Returns true if `heading` is the section Notifications, in which unknown keys are ignored.
bool is_notification_section(std::string_view heading);

}  // namespace signalbox
