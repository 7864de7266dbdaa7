#include "server/platform/logging.h"

#include <sys/stat.h>
#include <sys/uio.h>
#include <syslog.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include <spdlog/formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "server/platform/systemd_library.h"
#include "server/text/printable_text.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

// The subject of the line that this thread is writing. spdlog's messages have no custom fields, but
// its sinks run on the logging thread, so they can read the subject here.
thread_local const LogSubject* line_subject = nullptr;

using LineFields = std::vector<std::pair<std::string, std::string>>;

// Returns the subject's fields under short names or under the journal's names.
LineFields line_fields(bool for_journal) {
  LineFields fields;
  if (line_subject == nullptr) return fields;
  const auto add = [&](const char* name, const char* journal_name, std::string value) {
    fields.emplace_back(for_journal ? journal_name : name, std::move(value));
  };
  if (!line_subject->run_id.is_nil()) {
    add("run", "SIGNALBOX_RUN", to_string(line_subject->run_id));
  }
  if (!line_subject->station.empty()) {
    add("station", "SIGNALBOX_STATION", std::string(line_subject->station));
  }
  if (!line_subject->span_id.is_nil()) {
    add("span", "SIGNALBOX_SPAN", to_string(line_subject->span_id));
  }
  if (line_subject->position != 0) {
    add("position", "SIGNALBOX_POSITION", std::to_string(line_subject->position));
  }
  return fields;
}

std::int64_t utc_ns(const spdlog::details::log_msg& message) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(message.time.time_since_epoch())
      .count();
}

void append(spdlog::memory_buf_t& out, std::string_view text) {
  out.append(text.data(), text.data() + text.size());
}

// spdlog's patterns don't escape JSON, and a message may contain a job's output.
class JsonLines final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto level = spdlog::level::to_string_view(message.level);
    boost::json::object line;
    line["time"] = format_time(utc_ns(message));
    line["level"] = boost::json::string_view(level.data(), level.size());
    line["message"] = boost::json::string_view(message.payload.data(), message.payload.size());
    for (const auto& [name, value] : line_fields(/*for_journal=*/false)) line[name] = value;
    append(out, boost::json::serialize(line));
    append(out, "\n");
  }
  [[nodiscard]] std::unique_ptr<formatter> clone() const override {
    return std::make_unique<JsonLines>();
  }
};

class TextLines final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto level = spdlog::level::to_string_view(message.level);
    append(out, format_time(utc_ns(message)).substr(0, 23));
    append(out, "Z ");
    append(out, {level.data(), level.size()});
    append(out, ": ");
    // One message stays one line, and what is in it of others does nothing to a terminal.
    append(out, printable({message.payload.data(), message.payload.size()}));
    for (const auto& [name, value] : line_fields(/*for_journal=*/false)) {
      append(out, " " + name + "=" + printable(value));
    }
    append(out, "\n");
  }
  [[nodiscard]] std::unique_ptr<formatter> clone() const override {
    return std::make_unique<TextLines>();
  }
};

// Without this socket, sd_journal_sendv() reports success although nothing is written.
constexpr const char* journal_socket = "/run/systemd/journal/socket";

int syslog_priority(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::critical:
      return LOG_CRIT;
    case spdlog::level::err:
      return LOG_ERR;
    case spdlog::level::warn:
      return LOG_WARNING;
    case spdlog::level::info:
      return LOG_INFO;
    default:
      return LOG_DEBUG;
  }
}

// Returns whether file descriptor 2 is the stream that JOURNAL_STREAM names (systemd.exec(5)).
bool stderr_is_the_journal() {
  const char* const named = std::getenv("JOURNAL_STREAM");
  struct stat found {};
  if (named == nullptr || ::fstat(2, &found) != 0) return false;
  return std::to_string(found.st_dev) + ":" + std::to_string(found.st_ino) == named;
}

// Writes lines as entries of the systemd journal, with fields; to stderr where there is no journal.
class JournalSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const LineFields fields = line_fields(/*for_journal=*/true);
    // `journalctl --output=cat` writes messages as they are.
    const std::string text = printable_lines({message.payload.data(), message.payload.size()});
    const int priority = syslog_priority(message.level);
    std::vector<std::string> entries{"MESSAGE=" + text, "PRIORITY=" + std::to_string(priority),
                                     "SYSLOG_IDENTIFIER=signalbox"};
    for (const auto& [name, value] : fields) entries.push_back(name + "=" + value);
    std::vector<iovec> vectors;
    for (std::string& entry : entries) vectors.push_back({entry.data(), entry.size()});
    if (::access(journal_socket, W_OK) == 0 && systemd_library() &&
        systemd_library()->journal_sendv(vectors.data(), static_cast<int>(vectors.size())) == 0) {
      return;
    }
    // A program that reads stderr instead of the journal may understand the prefixes of
    // sd-daemon(3).
    std::string line = "<" + std::to_string(priority) + ">";
    line += printable(text);
    for (const auto& [name, value] : fields) line += " " + name + "=" + printable(value);
    line.push_back('\n');
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
  void flush_() override {}
};

}  // namespace

std::shared_ptr<spdlog::logger> make_logger(const std::string& level, const std::string& format) {
  spdlog::sink_ptr sink;
  if (format == "journal" || (format == "auto" && stderr_is_the_journal())) {
    sink = std::make_shared<JournalSink>();
  } else {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    if (format == "json") {
      sink->set_formatter(std::make_unique<JsonLines>());
    } else {
      sink->set_formatter(std::make_unique<TextLines>());
    }
  }
  auto logger = std::make_shared<spdlog::logger>("signalbox", std::move(sink));
  logger->set_level(spdlog::level::from_str(level));
  return logger;
}

void log_about(spdlog::logger& logger, spdlog::level::level_enum level, const LogSubject& subject,
               std::string_view text) {
  if (!logger.should_log(level)) return;
  line_subject = &subject;
  // Not as a format: that would compile fmt's whole formatting here.
  logger.log(level, spdlog::string_view_t(text.data(), text.size()));
  line_subject = nullptr;
}

}  // namespace signalbox
