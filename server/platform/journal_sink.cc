#include "server/platform/journal_sink.h"

#include <sys/stat.h>
#include <sys/uio.h>
#include <syslog.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "server/platform/systemd_library.h"
#include "server/text/printable_text.h"

namespace signalbox {
namespace {

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

}  // namespace

bool stderr_is_the_journal() {
  const char* const named = std::getenv("JOURNAL_STREAM");
  struct stat found {};
  if (named == nullptr || ::fstat(2, &found) != 0) return false;
  return std::to_string(found.st_dev) + ":" + std::to_string(found.st_ino) == named;
}

void JournalSink::sink_it_(const spdlog::details::log_msg& message) {
  // `journalctl --output=cat` writes messages as they are.
  const std::string text = printable_lines({message.payload.data(), message.payload.size()});
  const int priority = syslog_priority(message.level);
  std::vector<std::string> entries{"MESSAGE=" + text, "PRIORITY=" + std::to_string(priority),
                                   "SYSLOG_IDENTIFIER=signalbox"};
  for (const auto& [name, value] : fields_()) entries.push_back(name + "=" + value);
  std::vector<iovec> vectors;
  for (std::string& entry : entries) vectors.push_back({entry.data(), entry.size()});
  if (::access(journal_socket, W_OK) == 0 && systemd_library() &&
      systemd_library()->journal_sendv(vectors.data(), static_cast<int>(vectors.size())) == 0) {
    return;
  }
  // A program that reads stderr instead of the journal may understand the prefixes of sd-daemon(3).
  std::string line = "<" + std::to_string(priority) + ">";
  line += printable(text);
  for (const auto& [name, value] : fields_()) line += " " + name + "=" + printable(value);
  line.push_back('\n');
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace signalbox
