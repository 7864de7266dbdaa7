#include "server/platform/machine_id.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <system_error>

#include <boost/describe/class.hpp>
#include <boost/json/serialize.hpp>

#include "domain/ids.h"
#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/platform/atomic_file.h"
#include "server/platform/stored_json.h"
#include "store/durable_file.h"
#include "store/file_descriptor.h"
#include "store/random_source.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "machine_id";
constexpr std::size_t system_id_bytes_max = 4096;

// The file's content.
struct MachineFile {
  std::string schema = "machine.v1";
  std::string id;
  std::uint64_t inode = 0;  // of this file
  std::uint64_t device = 0;
  // Of this file, ns since the epoch: the inode of a removed file is used again. Earlier versions
  // didn't write it, and not every file system says it.
  std::optional<std::int64_t> born_at_ns;
  std::string directory;  // resolved
  std::string system;     // digest of /etc/machine-id, which programs shall not pass on; or empty
  std::optional<Position> since;  // MachineId::since; earlier versions didn't write it
};
BOOST_DESCRIBE_STRUCT(MachineFile, (),
                      (schema, id, inode, device, born_at_ns, directory, system, since))

std::string system_id() {
  const auto text = read_regular_file("/etc/machine-id", system_id_bytes_max);
  return text && !text->empty() ? to_hex(sha256("signalbox " + *text)) : std::string();
}

std::string resolved_text(const fs::path& directory) {
  std::error_code error;
  const fs::path resolved = fs::canonical(directory, error);
  return (error ? directory : resolved).string();
}

std::string random_id() {
  Uuid uuid{};
  secure_random()(std::as_writable_bytes(std::span(uuid.bytes)));
  return to_string(uuid);
}

// Returns when an open file, or with AT_FDCWD the one at the path, was made, if that is known.
std::optional<std::int64_t> birth_of(int descriptor, const char* path) {
  struct statx status {};
  const int flags = AT_SYMLINK_NOFOLLOW | (*path == '\0' ? AT_EMPTY_PATH : 0);
  if (::statx(descriptor, path, flags, STATX_BTIME, &status) != 0) return std::nullopt;
  if ((status.stx_mask & STATX_BTIME) == 0) return std::nullopt;
  return status.stx_btime.tv_sec * ns_per_s + status.stx_btime.tv_nsec;
}

// The file knows its own inode, so it is written under another name and then renamed.
Stored<void> write_new(const fs::path& path, MachineFile content) {
  const fs::path fresh = path.string() + ".new";
  std::error_code ignored;
  fs::remove(fresh, ignored);
  const FileDescriptor file(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return tl::unexpected(system_error("create", fresh));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return tl::unexpected(system_error("look at", fresh));
  content.inode = status.st_ino;
  content.device = status.st_dev;
  content.born_at_ns = birth_of(file.get(), "");
  const std::string text = boost::json::serialize(to_json(content)) + "\n";
  const ssize_t written = ::write(file.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size())) {
    if (written >= 0) errno = ENOSPC;
    return tl::unexpected(system_error("write", fresh));
  }
  if (::fsync(file.get()) != 0) return tl::unexpected(system_error("sync", fresh));
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    return tl::unexpected(system_error("rename", fresh));
  }
  return sync_directory(path.parent_path());
}

}  // namespace

Stored<MachineId> machine_id(const fs::path& data, Position position) {
  const fs::path path = data / file_name;
  // A newer version may have written it, with fields of its own.
  const auto known = read_stored_json<MachineFile>(path, UnknownFields::left_out);
  const bool may_be_replaced = known || known.error().kind == StoreError::Kind::not_found ||
                               known.error().kind == StoreError::Kind::damaged;
  if (!may_be_replaced) return tl::unexpected(known.error());
  MachineFile now;
  now.directory = resolved_text(data);
  now.system = system_id();
  MachineId result;
  if (known) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return tl::unexpected(system_error("look at", path));
    const bool is_original =
        known->inode == status.st_ino && known->system == now.system &&
        (known->device == status.st_dev || known->directory == now.directory) &&
        (!known->born_at_ns || known->born_at_ns == birth_of(AT_FDCWD, path.c_str()));
    if (is_original && parse_uuid(known->id)) {
      now.id = known->id;
      now.since = known->since;
      // A new file at each start, so that one from a backup is never like the one that it replaces.
      // A full disk keeps nobody from starting.
      (void)write_new(path, std::move(now));
      return MachineId{known->id, {}, {}, known->since.value_or(0)};
    }
    result.copied_from = known->id;
  } else if (known.error().kind == StoreError::Kind::damaged) {
    result.replaced = known.error().message;
  }
  now.id = random_id();
  result.id = now.id;
  result.since = position;
  now.since = position;
  TRY(write_new(path, std::move(now)));
  return result;
}

}  // namespace signalbox
