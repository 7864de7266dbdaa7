#include "tests/store/redacted_log.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "domain/free_text.h"
#include "tests/fixtures/file_content.h"
#include "tests/store/log_directory.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {

void append_secret(EventLog& log) {
  Commit commit = sample_commit(log.tail() + 1, 3);
  commit[1] = sample_record(log.tail() + 2, RunEvent(RunCanceled{secret_text}));
  if (log.append(log.tail(), {&commit, 1}).status != AppendStatus::ok) {
    throw std::runtime_error("the log took no record");
  }
}

Redaction redaction_of_secret(Position tail, Position position) {
  Redaction redaction;
  redaction.position = position;
  redaction.replacement = RunEvent(RunCanceled{std::string(blanked_text)});
  PayloadRedacted event;
  event.redacted_position = position;
  event.event = RunCanceled::tag.name;
  event.fields = {"reason"};
  event.reason = "it had a key in it";
  redaction.note = sample_record(tail + 1, AccessEvent(event));
  return redaction;
}

AppendResult redact_secret(EventLog& log, Position position) {
  const auto result = log.redact(log.tail(), redaction_of_secret(log.tail(), position));
  if (!result) throw std::runtime_error(result.error().message);
  return *result;
}

std::string files_with_secret(const std::filesystem::path& directory, std::string_view text) {
  std::string names;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory)) {
    if (file.is_regular_file() && content_of(file.path()).find(text) != std::string::npos) {
      names += file.path().string() + "\n";
    }
  }
  return names;
}

RandomSource counted_salts() {
  return [next = std::uint8_t{0}](std::span<std::byte> out) mutable {
    std::ranges::fill(out, static_cast<std::byte>(++next));
  };
}

}  // namespace signalbox::test
