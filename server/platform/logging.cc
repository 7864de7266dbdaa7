#include "server/platform/logging.h"

#include <chrono>
#include <utility>
#include <vector>

#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "server/platform/journal_sink.h"
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

}  // namespace

std::shared_ptr<spdlog::logger> make_logger(const std::string& level, const std::string& format) {
  spdlog::sink_ptr sink;
  if (format == "journal" || (format == "auto" && stderr_is_the_journal())) {
    sink = std::make_shared<JournalSink>([] { return line_fields(/*for_journal=*/true); });
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
