#include "tests/simulation/log_copy.h"

#include <span>
#include <system_error>

#include "domain/try.h"
#include "store/rocks_event_log.h"

namespace signalbox::simulation {

Stored<void> copy_log(const EventLog& log, const std::filesystem::path& data_directory) {
  std::error_code ignored;  // opening says what is wrong
  std::filesystem::create_directories(data_directory, ignored);
  const auto copy = TRY(RocksEventLog::open(data_directory, {}));
  if (copy->tail() != 0) return store_failure(StoreError::Kind::io, "there is a log already");
  while (copy->tail() < log.tail()) {
    const auto commit = TRY(log.read_commit(copy->tail() + 1));
    const AppendResult appended = copy->append(copy->tail(), std::span(&commit, 1));
    if (appended.status != AppendStatus::ok) {
      return store_failure(StoreError::Kind::io, appended.message);
    }
  }
  return copy->close();
}

}  // namespace signalbox::simulation
