// An spdlog sink that writes lines as entries of the systemd journal, with fields. It writes to
// stderr where there is no journal.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/sinks/base_sink.h>

namespace signalbox {

// Returns whether file descriptor 2 is the stream that JOURNAL_STREAM names (systemd.exec(5)).
bool stderr_is_the_journal();

class JournalSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // Returns the journal fields of the line being written. Called on the logging thread.
  using Fields = std::function<std::vector<std::pair<std::string, std::string>>()>;
  explicit JournalSink(Fields fields) : fields_(std::move(fields)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

 private:
  const Fields fields_;
};

}  // namespace signalbox
