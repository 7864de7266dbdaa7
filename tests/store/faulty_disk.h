// A disk for RocksDB that fails as a test wishes: no space or an I/O error, at writes and syncs.
#pragma once

#include <atomic>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

namespace signalbox::test {

// How writes to the disk fail, until it is set to none.
enum class WriteFault { none, append_fails, append_is_cut_short, sync_fails };

// Shows a fault by its name, where googletest would show bytes.
inline void PrintTo(WriteFault fault, std::ostream* out) {
  switch (fault) {
    case WriteFault::none:
      *out << "none";
      return;
    case WriteFault::append_fails:
      *out << "append_fails";
      return;
    case WriteFault::append_is_cut_short:
      *out << "append_is_cut_short";
      return;
    case WriteFault::sync_fails:
      *out << "sync_fails";
      return;
  }
}

// How a disk fails now.
struct DiskState {
  std::atomic<WriteFault> fault = WriteFault::none;
  rocksdb::IOStatus status = rocksdb::IOStatus::NoSpace("as the test wishes");
};

class FaultyFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultyFile(std::unique_ptr<rocksdb::FSWritableFile> file, DiskState& disk)
      : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk) {}

  using FSWritableFileOwnerWrapper::Append;
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* context) override {
    if (disk_.fault == WriteFault::append_fails) return disk_.status;
    if (disk_.fault == WriteFault::append_is_cut_short) {
      const rocksdb::Slice half(data.data(), data.size() / 2);
      const auto written = FSWritableFileOwnerWrapper::Append(half, options, context);
      return written.ok() ? disk_.status : written;
    }
    return FSWritableFileOwnerWrapper::Append(data, options, context);
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* context) override {
    if (disk_.fault != WriteFault::none) return disk_.status;
    return FSWritableFileOwnerWrapper::Sync(options, context);
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* context) override {
    if (disk_.fault != WriteFault::none) return disk_.status;
    return FSWritableFileOwnerWrapper::Fsync(options, context);
  }

 private:
  DiskState& disk_;
};

class FaultyFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit FaultyFileSystem(DiskState& disk)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), disk_(disk) {}

  const char* Name() const override { return "FaultyFileSystem"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* context) override {
    if (disk_.fault != WriteFault::none) return disk_.status;
    const auto opened = FileSystemWrapper::NewWritableFile(name, options, file, context);
    if (opened.ok()) *file = std::make_unique<FaultyFile>(std::move(*file), disk_);
    return opened;
  }

 private:
  DiskState& disk_;
};

// The disk: set `fault`, and `status` for another error than a lack of space.
struct FaultyDisk : DiskState {
  // Returns what a log is opened with to be on this disk.
  [[nodiscard]] rocksdb::Env* env() const { return env_.get(); }

 private:
  std::unique_ptr<rocksdb::Env> env_ =
      rocksdb::NewCompositeEnv(std::make_shared<FaultyFileSystem>(*this));
};

}  // namespace signalbox::test
