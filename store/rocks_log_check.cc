// How the files of a RocksEventLog are compared with what was written, beside a service.
#include <rocksdb/file_checksum.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "domain/try.h"
#include "store/file_descriptor.h"
#include "store/rocks_log_state.h"

namespace signalbox {
namespace {

constexpr std::size_t part_bytes = 1024 * 1024;

// Returns the file's checksum as RocksDB records it; "" once `go_on` returns false.
Stored<std::string> file_checksum(const std::filesystem::path& file,
                                  const std::function<bool()>& go_on) {
  // A FIFO in its place holds up nobody.
  const FileDescriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!opened) return tl::unexpected(system_error("open", file));
  const auto generator =
      rocksdb::GetFileChecksumGenCrc32cFactory()->CreateFileChecksumGenerator({});
  std::vector<char> part(part_bytes);
  for (;;) {
    const ssize_t read = ::read(opened.get(), part.data(), part.size());
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return tl::unexpected(system_error("read", file));
    if (read == 0) break;
    generator->Update(part.data(), static_cast<std::size_t>(read));
    if (!go_on()) return std::string();
  }
  generator->Finalize();
  return generator->GetChecksum();
}

}  // namespace

Stored<void> RocksEventLog::check_files(const std::function<bool()>& go_on) const {
  // The log can be closed and opened again while a file is read.
  const auto recorded = [this]() -> Stored<std::map<std::filesystem::path, std::string>> {
    const std::shared_lock reading(state_->mutex);
    if (state_->database != nullptr) return state_->database->checksums();
    return store_failure(StoreError::Kind::io, "the log is closed, so its files can't be compared",
                         log_directory(state_->data).string());
  };
  std::optional<StoreError> damaged;
  std::optional<StoreError> unreadable;
  const auto files = TRY(recorded());
  for (const auto& [file, checksum] : files) {
    auto found = file_checksum(file, go_on);
    if (found && found->empty()) return {};
    if (found && *found == checksum) continue;
    const auto now = TRY(recorded());
    if (!now.contains(file)) continue;  // it was deleted meanwhile
    std::error_code ignored;
    const bool is_missing = !found && !std::filesystem::exists(file, ignored) && !ignored;
    if (!found && !is_missing) {
      if (!unreadable) unreadable = std::move(found.error());
    } else if (!damaged) {
      damaged = StoreError{
          StoreError::Kind::damaged,
          file.string() + (is_missing ? " is missing" : " isn't as it was written"), file.string()};
    }
  }
  if (damaged) return tl::unexpected(*std::move(damaged));
  if (unreadable) return tl::unexpected(*std::move(unreadable));
  return {};
}

}  // namespace signalbox
