#include "tests/power_loss/power_loss_disk.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "domain/check.h"
#include "tests/fixtures/file_content.h"

namespace signalbox::test {
namespace {

using Kind = DiskOperation::Kind;

// Returns libc's function of this name, which ours replaces.
template <class Function>
Function* next_of(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// Returns how many bytes of a failing write reach the file nevertheless; the part varies with
// `seed`.
std::size_t part_of(std::size_t size, std::size_t seed) { return size * (seed % 4) / 4; }

}  // namespace

// The state that the replaced functions share: the watched disks, and the open descriptors on them.
// One lock around each call keeps the journal in the order of the operations.
class SystemCalls {
 public:
  // Never destroyed: descriptors are closed after the last destructor.
  static SystemCalls& all() {
    static auto* const calls = new SystemCalls;
    return *calls;
  }

  void attach(WatchedDisk& disk) {
    const std::lock_guard lock(mutex_);
    disks_.push_back(&disk);
  }
  void detach(WatchedDisk& disk) {
    const std::lock_guard lock(mutex_);
    std::erase(disks_, &disk);
    std::erase_if(open_, [&disk](const auto& each) { return each.second.disk == &disk; });
  }
  std::mutex& mutex() { return mutex_; }

  int open(const char* path, int flags, mode_t mode) {
    static auto* const real = next_of<int(const char*, int, ...)>("open");
    const std::lock_guard lock(mutex_);
    auto [disk, name] = place_of(path);
    if (disk == nullptr) return real(path, flags, mode);
    const auto known = disk->files_.find(name);
    const bool is_there = known != disk->files_.end();
    const bool creates = (flags & O_CREAT) != 0 && !is_there;
    if (creates && failed(*disk, true)) return -1;
    const int descriptor = real(path, flags, mode);
    if (descriptor < 0) return descriptor;
    Open opened{disk, is_there ? known->second : -1, name};
    if (creates) {
      opened.file = disk->files_[name] = disk->files_count_++;
      disk->note({Kind::create, opened.file, name, {}, 0, {}});
    } else if (is_there && (flags & O_TRUNC) != 0) {
      disk->note({Kind::truncate, opened.file, {}, {}, 0, {}});
    }
    struct stat status {};
    if (::fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) opened.directory = true;
    open_.insert_or_assign(descriptor, std::move(opened));
    return descriptor;
  }

  int close(int descriptor) {
    static auto* const real = next_of<int(int)>("close");
    const std::lock_guard lock(mutex_);
    open_.erase(descriptor);
    return real(descriptor);
  }

  ssize_t write(int descriptor, const void* bytes, std::size_t size) {
    static auto* const real = next_of<ssize_t(int, const void*, std::size_t)>("write");
    const std::lock_guard lock(mutex_);
    const Open* file = file_of(descriptor);
    if (file == nullptr) return real(descriptor, bytes, size);
    const off_t place = ::lseek(descriptor, 0, SEEK_CUR);
    return noted_write(*file, bytes, size, place,
                       [&](std::size_t part) { return real(descriptor, bytes, part); });
  }

  ssize_t pwrite(int descriptor, const void* bytes, std::size_t size, off_t place) {
    static auto* const real = next_of<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
    const std::lock_guard lock(mutex_);
    const Open* file = file_of(descriptor);
    if (file == nullptr) return real(descriptor, bytes, size, place);
    return noted_write(*file, bytes, size, place,
                       [&](std::size_t part) { return real(descriptor, bytes, part, place); });
  }

  int truncate(int descriptor, off_t size) {
    static auto* const real = next_of<int(int, off_t)>("ftruncate");
    const std::lock_guard lock(mutex_);
    const Open* file = file_of(descriptor);
    if (file == nullptr) return real(descriptor, size);
    if (failed(*file->disk, false)) return -1;
    file->disk->note({Kind::truncate, file->file, {}, {}, static_cast<std::uint64_t>(size), {}});
    file->disk->unsynced_.erase(file->file);
    return real(descriptor, size);
  }

  // fsync or fdatasync: both make durable all that the log relies on.
  int sync(const char* name, int descriptor) {
    const std::lock_guard lock(mutex_);
    const auto place = open_.find(descriptor);
    if (place == open_.end()) {
      // While a disk is watched, no test relies on the durability of other files.
      return disks_.empty() ? next_of<int(int)>(name)(descriptor) : 0;
    }
    const Open& opened = place->second;
    if (opened.disk->lies_) return 0;
    // Many file systems allocate the space of written bytes only now.
    const bool fails = failed(*opened.disk, opened.disk->unsynced_.erase(opened.file) > 0);
    if (opened.directory) {
      if (!fails) opened.disk->note({Kind::sync_directory, -1, opened.path, {}, 0, {}});
    } else if (opened.file >= 0) {
      opened.disk->note({fails ? Kind::failed_sync : Kind::sync, opened.file, {}, {}, 0, {}});
    }
    return fails ? -1 : 0;
  }

  // A call that promises nothing but may fail.
  template <class Call>
  int without_promise(int descriptor, const Call& call) {
    const std::lock_guard lock(mutex_);
    const Open* file = file_of(descriptor);
    if (file == nullptr) return call();
    if (failed(*file->disk, true)) return -1;
    file->disk->note({});
    return call();
  }

  int rename(const char* from, const char* to) {
    static auto* const real = next_of<int(const char*, const char*)>("rename");
    const std::lock_guard lock(mutex_);
    auto [disk, name] = place_of(from);
    if (disk == nullptr || !disk->files_.contains(name)) return real(from, to);
    auto [new_disk, new_name] = place_of(to);
    SIGNALBOX_CHECK(new_disk == disk);
    if (failed(*disk, false)) return -1;
    const int result = real(from, to);
    if (result != 0) return result;
    disk->files_[new_name] = disk->files_[name];
    disk->files_.erase(name);
    disk->note({Kind::rename, disk->files_[new_name], name, new_name, 0, {}});
    return 0;
  }

  int unlink(const char* path) {
    static auto* const real = next_of<int(const char*)>("unlink");
    const std::lock_guard lock(mutex_);
    auto [disk, name] = place_of(path);
    if (disk == nullptr || !disk->files_.contains(name)) return real(path);
    if (failed(*disk, false)) return -1;
    const int result = real(path);
    if (result != 0) return result;
    disk->note({Kind::remove, disk->files_[name], name, {}, 0, {}});
    disk->files_.erase(name);
    return 0;
  }

  int make_directory(const char* path, mode_t mode) {
    static auto* const real = next_of<int(const char*, mode_t)>("mkdir");
    const std::lock_guard lock(mutex_);
    auto [disk, name] = place_of(path);
    struct stat status {};
    if (disk == nullptr || ::stat(path, &status) == 0) return real(path, mode);
    if (failed(*disk, true)) return -1;
    const int result = real(path, mode);
    if (result == 0) disk->note({Kind::make_directory, -1, name, {}, 0, {}});
    return result;
  }

  bool any_disk() {
    const std::lock_guard lock(mutex_);
    return !disks_.empty();
  }
  bool on_a_disk(int descriptor) {
    const std::lock_guard lock(mutex_);
    return open_.contains(descriptor);
  }

 private:
  struct Open {
    WatchedDisk* disk = nullptr;
    int file = -1;  // -1: not a recorded file
    std::string path;
    bool directory = false;
  };

  std::pair<WatchedDisk*, std::string> place_of(std::string_view path) {
    for (WatchedDisk* disk : disks_) {
      const std::string& root = disk->root_.native();
      if (path == root) return {disk, ""};
      if (path.starts_with(root) && path.substr(root.size()).starts_with('/')) {
        std::string_view name = path.substr(root.size() + 1);
        while (name.ends_with('/')) name.remove_suffix(1);
        return {disk, std::string(name)};
      }
    }
    return {nullptr, ""};
  }

  const Open* file_of(int descriptor) {
    const auto place = open_.find(descriptor);
    return place == open_.end() || place->second.file < 0 ? nullptr : &place->second;
  }

  // Returns whether the operation fails, and sets errno then.
  static bool failed(WatchedDisk& disk, bool needs_space) {
    const int error = disk.strike(needs_space);
    if (error != 0) errno = error;
    return error != 0;
  }

  template <class Write>
  static ssize_t noted_write(const Open& file, const void* bytes, std::size_t size, off_t place,
                             const Write& real) {
    const bool fails = failed(*file.disk, true);
    const int error = errno;
    if (fails) size = part_of(size, file.disk->journal_.size());
    const ssize_t written = size == 0 && fails ? 0 : real(size);
    if (written > 0) {
      file.disk->unsynced_.insert(file.file);
      file.disk->note({Kind::write,
                       file.file,
                       {},
                       {},
                       static_cast<std::uint64_t>(place),
                       {static_cast<const char*>(bytes), static_cast<std::size_t>(written)}});
    }
    if (!fails) return written;
    errno = error;
    return -1;
  }

  std::mutex mutex_;
  std::vector<WatchedDisk*> disks_;
  std::unordered_map<int, Open> open_;
};

WatchedDisk::WatchedDisk(std::filesystem::path root) : root_(std::move(root)) {
  adopt(root_);
  began_ = journal_.size();
  SystemCalls::all().attach(*this);
}

WatchedDisk::~WatchedDisk() { SystemCalls::all().detach(*this); }

void WatchedDisk::adopt(const std::filesystem::path& directory) {
  for (const auto& each : std::filesystem::directory_iterator(directory)) {
    const std::string name = each.path().lexically_relative(root_).native();
    if (each.is_directory()) {
      note({Kind::make_directory, -1, name, {}, 0, {}});
      adopt(each.path());
      continue;
    }
    const int file = files_[name] = files_count_++;
    note({Kind::create, file, name, {}, 0, {}});
    note({Kind::write, file, {}, {}, 0, content_of(each.path())});
    note({Kind::sync, file, {}, {}, 0, {}});
  }
  const auto name =
      directory == root_ ? std::filesystem::path() : directory.lexically_relative(root_);
  note({Kind::sync_directory, -1, name.native(), {}, 0, {}});
}

int WatchedDisk::strike(bool needs_space) {
  if (!fault_) return 0;
  if (until_fault_ > 1) {
    --until_fault_;
    return 0;
  }
  if (fault_->error == ENOSPC && !needs_space) return 0;
  const int error = fault_->error;
  if (!fault_->lasting) fault_.reset();
  ++faults_;
  return error;
}

void WatchedDisk::fail(DiskFault fault) {
  const std::lock_guard lock(SystemCalls::all().mutex());
  fault_ = fault;
  until_fault_ = fault.operation;
}

void WatchedDisk::heal() {
  const std::lock_guard lock(SystemCalls::all().mutex());
  fault_.reset();
}

void WatchedDisk::lie_about_syncs() {
  const std::lock_guard lock(SystemCalls::all().mutex());
  lies_ = true;
}

std::size_t WatchedDisk::operations() const {
  const std::lock_guard lock(SystemCalls::all().mutex());
  return journal_.size();
}

std::size_t WatchedDisk::faults() const {
  const std::lock_guard lock(SystemCalls::all().mutex());
  return faults_;
}

}  // namespace signalbox::test

// Replacements of libc's functions, for this program and the libraries it uses.
extern "C" {

using signalbox::test::SystemCalls;

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return SystemCalls::all().open(path, flags, mode);
}

int close(int descriptor) { return SystemCalls::all().close(descriptor); }

ssize_t write(int descriptor, const void* bytes, size_t size) {
  return SystemCalls::all().write(descriptor, bytes, size);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t place) {
  return SystemCalls::all().pwrite(descriptor, bytes, size, place);
}

int ftruncate(int descriptor, off_t size) noexcept {
  return SystemCalls::all().truncate(descriptor, size);
}

int fsync(int descriptor) { return SystemCalls::all().sync("fsync", descriptor); }
int fdatasync(int descriptor) { return SystemCalls::all().sync("fdatasync", descriptor); }

int fallocate(int descriptor, int mode, off_t place, off_t size) {
  static auto* const real = signalbox::test::next_of<int(int, int, off_t, off_t)>("fallocate");
  return SystemCalls::all().without_promise(descriptor,
                                            [&] { return real(descriptor, mode, place, size); });
}

int sync_file_range(int descriptor, off_t place, off_t size, unsigned int flags) {
  static auto* const real =
      signalbox::test::next_of<int(int, off_t, off_t, unsigned int)>("sync_file_range");
  // RocksDB calls it so to find out whether the call exists, and doesn't expect a disk error.
  if (flags == 0) return real(descriptor, place, size, flags);
  return SystemCalls::all().without_promise(descriptor,
                                            [&] { return real(descriptor, place, size, flags); });
}

int rename(const char* from, const char* to) noexcept {
  return SystemCalls::all().rename(from, to);
}
int unlink(const char* path) noexcept { return SystemCalls::all().unlink(path); }
int mkdir(const char* path, mode_t mode) noexcept {
  return SystemCalls::all().make_directory(path, mode);
}

// Shortens pauses: RocksDB sleeps for a second after a table that couldn't be written.
int usleep(useconds_t pause_us) {
  static auto* const real = signalbox::test::next_of<int(useconds_t)>("usleep");
  constexpr useconds_t pause_us_max = 1000;
  return real(SystemCalls::all().any_disk() ? std::min(pause_us, pause_us_max) : pause_us);
}

// Reports ext4 for watched files. On btrfs RocksDB doesn't sync directories, because it relies on
// stronger guarantees of that file system. Ours gives the guarantees of POSIX.
int fstatfs(int descriptor, struct statfs* status) noexcept {
  static auto* const real = signalbox::test::next_of<int(int, struct statfs*)>("fstatfs");
  const int result = real(descriptor, status);
  if (result == 0 && SystemCalls::all().on_a_disk(descriptor)) status->f_type = EXT4_SUPER_MAGIC;
  return result;
}

}  // extern "C"
