#include "server/logging.h"

#include <chrono>

#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "server/rpc/time_text.h"

namespace signalbox {
namespace {

std::int64_t utc_ns(const spdlog::details::log_msg& message) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(message.time.time_since_epoch())
      .count();
}

void append(spdlog::memory_buf_t& out, std::string_view text) {
  out.append(text.data(), text.data() + text.size());
}

// spdlog's patterns don't escape, and a message may hold what a job said.
class JsonLines final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto level = spdlog::level::to_string_view(message.level);
    boost::json::object line;
    line["time"] = format_time(utc_ns(message));
    line["level"] = boost::json::string_view(level.data(), level.size());
    line["message"] = boost::json::string_view(message.payload.data(), message.payload.size());
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
    for (const char c : message.payload) out.push_back(c == '\n' ? ' ' : c);  // a line is one event
    append(out, "\n");
  }
  [[nodiscard]] std::unique_ptr<formatter> clone() const override {
    return std::make_unique<TextLines>();
  }
};

}  // namespace

std::shared_ptr<spdlog::logger> make_logger(const std::string& level, const std::string& format) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  if (format == "json") {
    sink->set_formatter(std::make_unique<JsonLines>());
  } else {
    sink->set_formatter(std::make_unique<TextLines>());
  }
  auto logger = std::make_shared<spdlog::logger>("signalbox", std::move(sink));
  logger->set_level(spdlog::level::from_str(level));
  return logger;
}

}  // namespace signalbox
