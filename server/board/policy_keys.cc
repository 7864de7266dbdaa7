#include "server/board/policy_keys.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace signalbox {
namespace {

constexpr std::size_t compared_letters_max = 64;

constexpr std::array keys = {
    PolicyKey{"Constraints", "maxConcurrentAgents", &Policy::max_concurrent_agents,
              policy_agents_max},
    PolicyKey{"Constraints", "maxConcurrentAgentsPerProject",
              &Policy::max_concurrent_agents_per_project, policy_agents_max},
    PolicyKey{"Constraints", "blockedRetryMinutes", &Policy::blocked_retry_minutes,
              policy_retry_minutes_max},
    PolicyKey{"Constraints", "maxAttempts", &Policy::max_attempts, policy_attempts_max},
    PolicyKey{"Constraints", "agentTimeoutMinutes", &Policy::agent_timeout_minutes,
              policy_agent_timeout_minutes_max},
    PolicyKey{"Builder", "processBacklog", &Policy::process_backlog, 0},
    PolicyKey{"Builder", "retryBlocked", &Policy::retry_blocked, 0},
    PolicyKey{"Synthesizer", "mergeVerified", &Policy::merge_verified, 0},
    PolicyKey{"Synthesizer", "checksChanged", &Policy::checks_changed, 0},
    PolicyKey{"Notifications", "websocketEvents", &Policy::websocket_events, 0},
};

// Returns the Levenshtein distance: the number of letters to add, remove or replace.
std::size_t edit_distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::span<const PolicyKey> policy_keys() { return keys; }

std::string policy_letters(std::string_view text) {
  std::string letters;
  for (const char letter : text) {
    if (letter >= 'a' && letter <= 'z') letters += letter;
    if (letter >= 'A' && letter <= 'Z') letters += static_cast<char>(letter - 'A' + 'a');
  }
  return letters;
}

const PolicyKey* find_policy_key(std::string_view text) {
  const bool is_plain = std::none_of(text.begin(), text.end(), [](char letter) {
    return static_cast<unsigned char>(letter) >= 0x80 || (letter >= '0' && letter <= '9');
  });
  if (!is_plain) return nullptr;  // policy_letters() would drop digits or letters outside ASCII
  const std::string letters = policy_letters(text);
  const auto found = std::find_if(keys.begin(), keys.end(), [&letters](const PolicyKey& key) {
    return policy_letters(key.name) == letters;
  });
  return found == keys.end() ? nullptr : &*found;
}

const PolicyKey* nearest_policy_key(std::string_view text) {
  const std::string letters = policy_letters(text).substr(0, compared_letters_max);
  const PolicyKey* nearest = nullptr;
  std::size_t fewest = letters.size();
  for (const PolicyKey& key : keys) {
    const std::string name = policy_letters(key.name);
    const std::size_t changes = edit_distance(letters, name);
    if (changes < fewest && changes <= name.size() / 2) {
      nearest = &key;
      fewest = changes;
    }
  }
  return nearest;
}

bool is_policy_section(std::string_view heading) {
  const std::string letters = policy_letters(heading);
  return std::any_of(keys.begin(), keys.end(), [&letters](const PolicyKey& key) {
    return policy_letters(key.section) == letters;
  });
}

bool is_notification_section(std::string_view heading) {
  return policy_letters(heading) == "notifications";
}

}  // namespace signalbox
