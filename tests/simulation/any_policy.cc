#include "tests/simulation/any_policy.h"

namespace signalbox::simulation {
namespace {

// Written by hand, in one of the ways in which people do: not by what the service writes with.
class Text {
 public:
  void line(const std::string& text) {
    text_ += text + "\n";
    ++lines_;
  }
  void section(const char* name) { line(std::string("## ") + name); }
  void number(const char* key, const char* words, std::int64_t value, bool in_words) {
    line(in_words ? std::string("- [x] ") + words + ": " + std::to_string(value)
                  : std::string("- ") + key + ": " + std::to_string(value));
  }
  void toggle(const char* key, bool on) { line(std::string(on ? "- [x] " : "- [ ] ") + key); }

  [[nodiscard]] std::uint32_t lines() const { return lines_; }
  [[nodiscard]] const std::string& whole() const { return text_; }

 private:
  std::string text_;
  std::uint32_t lines_ = 0;
};

PolicyDraft written(const Policy& policy, bool in_words, bool slips) {
  PolicyDraft draft;
  draft.policy = policy;
  Text text;
  text.line("# How we work");
  text.section("Constraints");
  text.number("maxConcurrentAgents", "Max concurrent agents", policy.max_concurrent_agents,
              in_words);
  text.number("maxConcurrentAgentsPerProject", "Max concurrent agents per project",
              policy.max_concurrent_agents_per_project, in_words);
  text.number("blockedRetryMinutes", "Blocked retry minutes", policy.blocked_retry_minutes,
              in_words);
  if (slips) {
    text.line("- maxAttempts: as many as it takes");
    draft.bad_line = text.lines();
  } else {
    text.number("maxAttempts", "Max attempts", policy.max_attempts, in_words);
  }
  text.section("Builder");
  text.toggle("processBacklog", policy.process_backlog);
  text.toggle("retryBlocked", policy.retry_blocked);
  text.section("Synthesizer");
  text.toggle("mergeVerified", policy.merge_verified);
  draft.text = text.whole();
  return draft;
}

}  // namespace

PolicyDraft any_policy(SeededRandom& random) {
  Policy policy;
  policy.max_concurrent_agents = static_cast<std::uint32_t>(random.between(1, 4));
  policy.max_concurrent_agents_per_project = static_cast<std::uint32_t>(random.between(1, 3));
  policy.blocked_retry_minutes = 1;
  policy.max_attempts = static_cast<std::uint32_t>(random.between(1, 3));
  policy.process_backlog = !random.one_in(6);
  policy.retry_blocked = !random.one_in(6);
  policy.merge_verified = !random.one_in(6);
  return written(policy, random.one_in(2), random.one_in(5));
}

PolicyDraft calm_policy() {
  Policy policy;
  policy.max_concurrent_agents = 4;
  policy.max_concurrent_agents_per_project = 3;
  policy.blocked_retry_minutes = 1;
  return written(policy, /*in_words=*/false, /*slips=*/false);
}

}  // namespace signalbox::simulation
