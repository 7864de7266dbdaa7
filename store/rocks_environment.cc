#include "store/rocks_environment.h"

#include <fcntl.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <string>
#include <system_error>

#include "store/file_descriptor.h"

namespace signalbox {
namespace {

constexpr mode_t private_file = 0600;
constexpr mode_t private_directory = 0700;

// A file has RocksDB's own mode for the moment between its creation and its chmod(). The directory
// that it is in has mode 0700 by then, so nobody else reaches it.
class PrivateFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  using rocksdb::FileSystemWrapper::FileSystemWrapper;

  [[nodiscard]] const char* Name() const override { return "PrivateFileSystem"; }

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    return with_mode(FileSystemWrapper::NewWritableFile(path, options, file, debug), path);
  }
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* debug) override {
    return with_mode(FileSystemWrapper::ReopenWritableFile(path, options, file, debug), path);
  }
  rocksdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext* debug) override {
    return with_mode(FileSystemWrapper::ReuseWritableFile(path, old_path, options, file, debug),
                     path);
  }
  rocksdb::IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    return with_mode(FileSystemWrapper::NewRandomRWFile(path, options, file, debug), path);
  }
  rocksdb::IOStatus LockFile(const std::string& path, const rocksdb::IOOptions& options,
                             rocksdb::FileLock** lock, rocksdb::IODebugContext* debug) override {
    return with_mode(FileSystemWrapper::LockFile(path, options, lock, debug), path);
  }
  rocksdb::IOStatus CreateDir(const std::string& path, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override {
    return with_mode(FileSystemWrapper::CreateDir(path, options, debug), path, private_directory);
  }
  rocksdb::IOStatus CreateDirIfMissing(const std::string& path, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* debug) override {
    return with_mode(FileSystemWrapper::CreateDirIfMissing(path, options, debug), path,
                     private_directory);
  }

 private:
  // A chmod() that fails isn't a failure of the database: its files are in a private directory.
  static rocksdb::IOStatus with_mode(rocksdb::IOStatus status, const std::string& path,
                                     mode_t mode = private_file) {
    if (status.ok()) (void)!::chmod(path.c_str(), mode);
    return status;
  }
};

constexpr int tables_a_thread = 16;
constexpr int opening_threads_max = 16;

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

std::unique_ptr<rocksdb::Env> private_env() {
  return rocksdb::NewCompositeEnv(
      std::make_shared<PrivateFileSystem>(rocksdb::FileSystem::Default()));
}

std::shared_ptr<rocksdb::Logger> rocks_info_log(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / "LOG";
  static_cast<void>(std::rename(file.c_str(), (directory / "LOG.old").c_str()));
  return std::make_shared<RocksInfoLog>(FileDescriptor(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600)));
}

int table_opening_threads(const std::filesystem::path& directory) {
  int tables = 0;
  std::error_code failed;  // then RocksDB says what is wrong with the directory
  for (std::filesystem::directory_iterator each(directory, failed), end; !failed && each != end;
       each.increment(failed)) {
    if (each->path().extension() != ".sst") continue;
    if (++tables == tables_a_thread * opening_threads_max) break;
  }
  return std::max(1, tables / tables_a_thread);
}

}  // namespace signalbox
