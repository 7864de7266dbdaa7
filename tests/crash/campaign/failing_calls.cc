// Makes the n-th system call that writes below some paths fail, in a program that is started with
// this library in LD_PRELOAD. strace counts the calls of each thread for itself and knows paths
// only one by one; this counts all of them together, whatever the files are called.
//
//   SIGNALBOX_FAIL_UNDER    absolute paths, separated by colons: these and what lies below them
//   SIGNALBOX_FAIL_AT       the call that fails, counted from 1
//   SIGNALBOX_FAIL_ERRNO    its errno, a number
//   SIGNALBOX_FAIL_LASTING  if set, all later calls fail as well
//   SIGNALBOX_FAIL_REPORT   a file that gets a line for each call that failed: number, call, path
//
// The variables are removed from the environment, so only the program itself is affected and not
// what it starts.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

template <class Function>
Function* next_of(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// What fails, read from the environment once; unchanged afterwards, but for the count.
class Fault {
 public:
  Fault() {
    const std::string paths = take("SIGNALBOX_FAIL_UNDER");
    for (std::size_t begin = 0; begin < paths.size();) {
      const std::size_t end = std::min(paths.find(':', begin), paths.size());
      if (end > begin) under_.push_back(paths.substr(begin, end - begin));
      begin = end + 1;
    }
    at_ = std::atol(take("SIGNALBOX_FAIL_AT").c_str());
    errno_ = std::atoi(take("SIGNALBOX_FAIL_ERRNO").c_str());
    lasting_ = !take("SIGNALBOX_FAIL_LASTING").empty();
    const std::string report = take("SIGNALBOX_FAIL_REPORT");
    (void)take("LD_PRELOAD");
    if (!report.empty()) {
      report_ = next_of<int(const char*, int, ...)>("open")(
          report.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
  }

  // Returns whether a call on this path fails, and sets errno then. A full disk doesn't keep from
  // writing what needs no space.
  bool strikes(const char* call, std::string_view path, bool needs_space = true) {
    if (under_.empty() || at_ <= 0 || !is_watched(path)) return false;
    if (errno_ == ENOSPC && !needs_space) return false;
    const long number = ++count_;
    if (lasting_ ? number < at_ : number != at_) return false;
    char line[512];
    const int size = std::snprintf(line, sizeof line, "%ld %s %.*s\n", number, call,
                                   static_cast<int>(path.size()), path.data());
    if (report_ >= 0 && size > 0) {
      static auto* const write_out = next_of<ssize_t(int, const void*, std::size_t)>("write");
      const auto bytes = std::min(static_cast<std::size_t>(size), sizeof line - 1);
      if (write_out(report_, line, bytes) < 0) std::abort();
    }
    errno = errno_;
    return true;
  }

  bool strikes(const char* call, int descriptor, bool needs_space = true) {
    if (under_.empty() || at_ <= 0) return false;
    const int before = errno;
    char link[64];
    (void)std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    char path[4096];
    const ssize_t size = ::readlink(link, path, sizeof path);
    errno = before;
    if (size <= 0) return false;
    return strikes(call, std::string_view(path, static_cast<std::size_t>(size)), needs_space);
  }

 private:
  static std::string take(const char* name) {
    const char* value = std::getenv(name);
    std::string taken = value == nullptr ? "" : value;
    ::unsetenv(name);
    return taken;
  }
  [[nodiscard]] bool is_watched(std::string_view path) const {
    for (const std::string& each : under_) {
      if (path.substr(0, each.size()) != each) continue;
      if (path.size() == each.size() || path[each.size()] == '/') return true;
    }
    return false;
  }

  std::vector<std::string> under_;
  long at_ = 0;
  int errno_ = 0;
  bool lasting_ = false;
  int report_ = -1;
  std::atomic<long> count_ = 0;
};

// Never destroyed: files are written after the last destructor.
Fault& fault() {
  static auto* const one = new Fault;
  return *one;
}

// Before the first thread, since it changes the environment.
__attribute__((constructor)) void read_environment() { (void)fault(); }

// Returns the path that a call means which takes a directory and a path.
std::string path_at(int directory, const char* path) {
  if (path[0] == '/' || directory == AT_FDCWD) return path;
  char link[64];
  (void)std::snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
  char found[4096];
  const ssize_t size = ::readlink(link, found, sizeof found);
  if (size <= 0) return path;
  return std::string(found, static_cast<std::size_t>(size)) + "/" + path;
}

bool writes(int flags) { return (flags & (O_CREAT | O_TRUNC | O_WRONLY | O_RDWR)) != 0; }
bool takes_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

}  // namespace

// Takes the optional mode of an open call.
#define TAKE_MODE(flags)              \
  mode_t mode = 0;                    \
  if (takes_mode(flags)) {            \
    va_list arguments;                \
    va_start(arguments, flags);       \
    mode = va_arg(arguments, mode_t); \
    va_end(arguments);                \
  }

extern "C" {

int open(const char* path, int flags, ...) {
  static auto* const real = next_of<int(const char*, int, ...)>("open");
  TAKE_MODE(flags)
  if (writes(flags) && fault().strikes("open", path)) return -1;
  return real(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  static auto* const real = next_of<int(const char*, int, ...)>("open64");
  TAKE_MODE(flags)
  if (writes(flags) && fault().strikes("open", path)) return -1;
  return real(path, flags, mode);
}
int openat(int directory, const char* path, int flags, ...) {
  static auto* const real = next_of<int(int, const char*, int, ...)>("openat");
  TAKE_MODE(flags)
  if (writes(flags) && fault().strikes("openat", path_at(directory, path))) return -1;
  return real(directory, path, flags, mode);
}
int openat64(int directory, const char* path, int flags, ...) {
  static auto* const real = next_of<int(int, const char*, int, ...)>("openat64");
  TAKE_MODE(flags)
  if (writes(flags) && fault().strikes("openat", path_at(directory, path))) return -1;
  return real(directory, path, flags, mode);
}

// C's streams write past the calls below, so a failed opening stands for all of their writes.
FILE* fopen(const char* path, const char* mode) {
  static auto* const real = next_of<FILE*(const char*, const char*)>("fopen");
  if (std::strpbrk(mode, "wa+") != nullptr && fault().strikes("fopen", path)) return nullptr;
  return real(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  static auto* const real = next_of<FILE*(const char*, const char*)>("fopen64");
  if (std::strpbrk(mode, "wa+") != nullptr && fault().strikes("fopen", path)) return nullptr;
  return real(path, mode);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static auto* const real = next_of<ssize_t(int, const void*, size_t)>("write");
  return fault().strikes("write", descriptor) ? -1 : real(descriptor, bytes, size);
}
ssize_t writev(int descriptor, const struct iovec* parts, int count) {
  static auto* const real = next_of<ssize_t(int, const struct iovec*, int)>("writev");
  return fault().strikes("writev", descriptor) ? -1 : real(descriptor, parts, count);
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t place) {
  static auto* const real = next_of<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return fault().strikes("pwrite", descriptor) ? -1 : real(descriptor, bytes, size, place);
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t place) {
  static auto* const real = next_of<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  return fault().strikes("pwrite", descriptor) ? -1 : real(descriptor, bytes, size, place);
}
ssize_t copy_file_range(int from, off64_t* from_place, int to, off64_t* to_place, size_t size,
                        unsigned int flags) {
  static auto* const real =
      next_of<ssize_t(int, off64_t*, int, off64_t*, size_t, unsigned int)>("copy_file_range");
  if (fault().strikes("copy_file_range", to)) return -1;
  return real(from, from_place, to, to_place, size, flags);
}

// Many file systems allocate the space of written bytes only at a sync.
int fsync(int descriptor) {
  static auto* const real = next_of<int(int)>("fsync");
  return fault().strikes("fsync", descriptor) ? -1 : real(descriptor);
}
int fdatasync(int descriptor) {
  static auto* const real = next_of<int(int)>("fdatasync");
  return fault().strikes("fdatasync", descriptor) ? -1 : real(descriptor);
}
int syncfs(int descriptor) noexcept {
  static auto* const real = next_of<int(int)>("syncfs");
  return fault().strikes("syncfs", descriptor) ? -1 : real(descriptor);
}
int fallocate(int descriptor, int mode, off_t place, off_t size) {
  static auto* const real = next_of<int(int, int, off_t, off_t)>("fallocate");
  return fault().strikes("fallocate", descriptor) ? -1 : real(descriptor, mode, place, size);
}
int ftruncate(int descriptor, off_t size) noexcept {
  static auto* const real = next_of<int(int, off_t)>("ftruncate");
  return fault().strikes("ftruncate", descriptor, false) ? -1 : real(descriptor, size);
}
int ftruncate64(int descriptor, off64_t size) noexcept {
  static auto* const real = next_of<int(int, off64_t)>("ftruncate64");
  return fault().strikes("ftruncate", descriptor, false) ? -1 : real(descriptor, size);
}

int rename(const char* from, const char* to) noexcept {
  static auto* const real = next_of<int(const char*, const char*)>("rename");
  return fault().strikes("rename", to) ? -1 : real(from, to);
}
int renameat(int from_at, const char* from, int to_at, const char* to) noexcept {
  static auto* const real = next_of<int(int, const char*, int, const char*)>("renameat");
  if (fault().strikes("renameat", path_at(to_at, to))) return -1;
  return real(from_at, from, to_at, to);
}
int renameat2(int from_at, const char* from, int to_at, const char* to,
              unsigned int flags) noexcept {
  static auto* const real =
      next_of<int(int, const char*, int, const char*, unsigned int)>("renameat2");
  if (fault().strikes("renameat2", path_at(to_at, to))) return -1;
  return real(from_at, from, to_at, to, flags);
}
int link(const char* from, const char* to) noexcept {
  static auto* const real = next_of<int(const char*, const char*)>("link");
  return fault().strikes("link", to) ? -1 : real(from, to);
}
int linkat(int from_at, const char* from, int to_at, const char* to, int flags) noexcept {
  static auto* const real = next_of<int(int, const char*, int, const char*, int)>("linkat");
  if (fault().strikes("linkat", path_at(to_at, to))) return -1;
  return real(from_at, from, to_at, to, flags);
}
int symlink(const char* target, const char* path) noexcept {
  static auto* const real = next_of<int(const char*, const char*)>("symlink");
  return fault().strikes("symlink", path) ? -1 : real(target, path);
}
int mkdir(const char* path, mode_t mode) noexcept {
  static auto* const real = next_of<int(const char*, mode_t)>("mkdir");
  return fault().strikes("mkdir", path) ? -1 : real(path, mode);
}
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  static auto* const real = next_of<int(int, const char*, mode_t)>("mkdirat");
  return fault().strikes("mkdirat", path_at(directory, path)) ? -1 : real(directory, path, mode);
}
int unlink(const char* path) noexcept {
  static auto* const real = next_of<int(const char*)>("unlink");
  return fault().strikes("unlink", path, false) ? -1 : real(path);
}
int unlinkat(int directory, const char* path, int flags) noexcept {
  static auto* const real = next_of<int(int, const char*, int)>("unlinkat");
  if (fault().strikes("unlinkat", path_at(directory, path), false)) return -1;
  return real(directory, path, flags);
}

}  // extern "C"
