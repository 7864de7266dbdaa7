#include "server/rpc/uploads.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/platform/atomic_file.h"
#include "store/durable_file.h"
#include "store/file_descriptor.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

// Returns how many bytes the file has after the piece, or without it if it begins elsewhere.
Stored<std::uint64_t> append(const std::filesystem::path& path, const UploadPiece& piece) {
  // O_NONBLOCK: a FIFO that a job put there isn't waited for.
  const int begin = O_NONBLOCK | (piece.offset == 0 ? O_TRUNC : 0);
  const FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | begin, 0600));
  if (!file) return tl::unexpected(system_error("create", path));
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return tl::unexpected(system_error("read", path));
  const auto size = static_cast<std::uint64_t>(found.st_size);
  if (size != piece.offset) return size;
  std::string_view left = piece.content;
  auto at = static_cast<off_t>(piece.offset);
  while (!left.empty()) {
    const ssize_t written = ::pwrite(file.get(), left.data(), left.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return tl::unexpected(system_error("write", path));
    at += written;
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  return piece.offset + piece.content.size();
}

}  // namespace

Stored<UploadProgress> add_upload_piece(const std::filesystem::path& directory,
                                        ArtifactStore& artifacts, const UploadPiece& piece) {
  if (piece.offset == 0 && TRY(artifacts.confirm(piece.sha256, piece.bytes))) {
    return UploadProgress{true, false, piece.bytes};
  }
  // It only asks. What an earlier upload has left there goes with the first piece.
  if (piece.offset == 0 && piece.content.empty() && piece.bytes > 0) return UploadProgress{};
  TRY(make_directories(directory));
  const std::filesystem::path path = directory / to_hex(sha256(piece.runner)).substr(0, 32);
  const std::uint64_t size = TRY(append(path, piece));
  if (size != piece.bytes) return UploadProgress{false, false, size > piece.bytes ? 0 : size};
  const std::string content = TRY(read_regular_file(path, limits::artifact_bytes_max));
  const bool is_it = sha256(content) == piece.sha256;
  if (is_it) TRY(artifacts.put_content(piece.sha256, content));
  ::unlink(path.c_str());
  return UploadProgress{is_it, !is_it, is_it ? piece.bytes : 0};
}

}  // namespace signalbox
