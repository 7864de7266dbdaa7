// The client's own book of a sweep: every command before it is sent, and its answer when it came.
// It lives in the test, which isn't killed; what the log says is held against it.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

namespace signalbox::test {

struct SentCommand {
  std::string method;
  boost::json::object params;
};

struct AnsweredCommand {
  std::string command_id;
  SentCommand command;
  boost::json::object answer;
};

// Any thread.
class SweepRecord {
 public:
  void sent(const std::string& command_id, const SentCommand& command) {
    const std::lock_guard lock(mutex_);
    sent_.emplace(command_id, command);
  }
  void answered(const std::string& command_id, boost::json::object answer) {
    const std::lock_guard lock(mutex_);
    answered_.push_back({command_id, sent_.at(command_id), std::move(answer)});
  }
  // A command that is sent again because its answer never came, or was this error.
  void repeated(const std::string& code) {
    const std::lock_guard lock(mutex_);
    ++repeated_[code];
  }

  [[nodiscard]] std::optional<SentCommand> find_sent(const std::string& command_id) const {
    const std::lock_guard lock(mutex_);
    const auto place = sent_.find(command_id);
    if (place == sent_.end()) return std::nullopt;
    return place->second;
  }
  // From the `from`-th on, in the order in which they came.
  [[nodiscard]] std::vector<AnsweredCommand> answers_from(std::size_t from) const {
    const std::lock_guard lock(mutex_);
    return {answered_.begin() + static_cast<std::ptrdiff_t>(from), answered_.end()};
  }
  [[nodiscard]] std::size_t sent_count() const {
    const std::lock_guard lock(mutex_);
    return sent_.size();
  }
  [[nodiscard]] std::size_t repeated_count() const {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (const auto& [code, times] : repeated_) count += times;
    return count;
  }
  // Because of this error; "" for no answer.
  [[nodiscard]] std::size_t repeated_count(const std::string& code) const {
    const std::lock_guard lock(mutex_);
    const auto place = repeated_.find(code);
    return place == repeated_.end() ? 0 : place->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, SentCommand> sent_;
  std::vector<AnsweredCommand> answered_;
  std::map<std::string, std::size_t> repeated_;
};

}  // namespace signalbox::test
