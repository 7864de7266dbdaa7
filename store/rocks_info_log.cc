#include "store/rocks_info_log.h"

#include <fcntl.h>
#include <rocksdb/env.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <mutex>

#include "store/file_descriptor.h"

namespace signalbox {
namespace {

constexpr std::size_t log_bytes_max = 1024 * 1024;
constexpr std::size_t line_bytes_max = 4096;

class RocksInfoLog final : public rocksdb::Logger {
 public:
  explicit RocksInfoLog(FileDescriptor file)
      : Logger(rocksdb::InfoLogLevel::WARN_LEVEL), file_(std::move(file)) {}

  using Logger::Logv;
  // Called on any thread.
  void Logv(const char* format, va_list arguments) override {
    std::array<char, line_bytes_max> line;
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    ::gmtime_r(&now, &utc);
    std::size_t size = std::strftime(line.data(), line.size(), "%FT%TZ ", &utc);
    const int wanted = std::vsnprintf(line.data() + size, line.size() - size, format, arguments);
    if (wanted < 0) return;
    size = std::min(size + static_cast<std::size_t>(wanted), line.size() - 1);
    if (line[size - 1] != '\n') line[size++] = '\n';

    const std::lock_guard lock(mutex_);
    if (written_ + size > log_bytes_max) return;
    const ssize_t written = ::write(file_.get(), line.data(), size);
    if (written > 0) written_ += static_cast<std::size_t>(written);
  }

 private:
  FileDescriptor file_;
  std::mutex mutex_;
  std::size_t written_ = 0;
};

}  // namespace

std::shared_ptr<rocksdb::Logger> rocks_info_log(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / "LOG";
  static_cast<void>(std::rename(file.c_str(), (directory / "LOG.old").c_str()));
  return std::make_shared<RocksInfoLog>(FileDescriptor(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600)));
}

}  // namespace signalbox
