#include "store/private_env.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <sys/stat.h>

#include <string>

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

}  // namespace

std::unique_ptr<rocksdb::Env> private_env() {
  return rocksdb::NewCompositeEnv(
      std::make_shared<PrivateFileSystem>(rocksdb::FileSystem::Default()));
}

}  // namespace signalbox
