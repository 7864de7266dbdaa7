#include "store/wal_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "domain/try.h"
#include "store/crc32c.h"
#include "store/directory_listing.h"
#include "store/durable_file.h"
#include "store/file_descriptor.h"
#include "store/little_endian.h"

namespace signalbox {
namespace {

// The format, as RocksDB documents it ("Write Ahead Log File Format"): blocks of 32 KiB, in them
// fragments {masked CRC-32C of type and data, length, type, data}; fewer than 7 bytes at the end of
// a block are zero. A batch is one full fragment, or a first, any number of middle and a last one.
constexpr std::size_t block_bytes = 32 * 1024;
constexpr std::size_t header_bytes = 7;
constexpr std::size_t sequence_bytes = 8;
constexpr std::size_t count_bytes = 4;
// A file lasts for one memtable, 64 MiB, and the append that fills it. The largest is that of a
// drop: up to 8 KiB for each 256 records of which some are kept, which is 8 GiB for 268 million.
constexpr std::size_t wal_bytes_max = std::size_t{8} << 30;

enum FragmentType : std::uint8_t { full = 1, first = 2, middle = 3, last = 4 };

constexpr std::uint32_t masked(std::uint32_t crc) { return std::rotr(crc, 15) + 0xa282ead8U; }

struct Fragment {
  std::uint8_t type = 0;
  std::size_t bytes = 0;  // including the header
  std::string_view data;
};

// Returns the fragment at `offset` if it is complete and its checksum is right.
std::optional<Fragment> fragment_at(std::string_view file, std::size_t offset) {
  const std::size_t block_end = std::min(file.size(), (offset / block_bytes + 1) * block_bytes);
  if (offset + header_bytes > block_end) return std::nullopt;
  const char* header = file.data() + offset;
  Fragment fragment;
  fragment.type = read_integer<std::uint8_t>(header + 6);
  fragment.bytes = header_bytes + read_integer<std::uint16_t>(header + 4);
  if (fragment.type < full || fragment.type > last) return std::nullopt;
  if (offset + fragment.bytes > block_end) return std::nullopt;
  fragment.data = file.substr(offset + header_bytes, fragment.bytes - header_bytes);
  if (read_integer<std::uint32_t>(header) !=
      masked(crc32c(file.substr(offset + 6, 1 + fragment.data.size())))) {
    return std::nullopt;
  }
  return fragment;
}

struct Batch {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint64_t sequence = 0;  // of the batch's first record
  std::uint64_t next_sequence = 0;
};

// Returns the batch at `offset` if it is complete. `offset` may lie in the zeros that end a block.
std::optional<Batch> batch_at(std::string_view file, std::size_t offset) {
  Batch batch{offset, offset, 0, 0};
  std::string header;  // the end of a block can split it
  bool begun = false;
  for (;;) {
    const std::size_t block_left = block_bytes - batch.end % block_bytes;
    if (block_left < header_bytes) batch.end += block_left;
    const auto fragment = fragment_at(file, batch.end);
    if (!fragment) return std::nullopt;
    const bool begins = fragment->type == full || fragment->type == first;
    if (begins == begun) return std::nullopt;
    begun = true;
    header += fragment->data.substr(0, sequence_bytes + count_bytes - header.size());
    batch.end += fragment->bytes;
    if (fragment->type == first || fragment->type == middle) continue;
    if (header.size() < sequence_bytes + count_bytes) return std::nullopt;
    batch.sequence = read_integer<std::uint64_t>(header.data());
    batch.next_sequence =
        batch.sequence + read_integer<std::uint32_t>(header.data() + sequence_bytes);
    return batch;
  }
}

// Returns the data of a batch that batch_at() found.
std::string data_of(std::string_view file, const Batch& batch) {
  std::string data;
  for (std::size_t offset = batch.begin; offset < batch.end;) {
    const std::size_t block_left = block_bytes - offset % block_bytes;
    if (block_left < header_bytes) offset += block_left;
    const auto fragment = fragment_at(file, offset);
    if (!fragment) break;
    data += fragment->data;
    offset += fragment->bytes;
  }
  return data;
}

// Returns whether a batch begins anywhere from `offset` on. The end of the unreadable batch isn't
// known, so every offset is tried; a checksum matches by chance once in four billion times.
bool batch_begins_after(std::string_view file, std::size_t offset) {
  for (; offset + header_bytes <= file.size(); ++offset) {
    const auto fragment = fragment_at(file, offset);
    if (fragment && (fragment->type == full || fragment->type == first) &&
        fragment->data.size() >= sequence_bytes + count_bytes) {
      return true;
    }
  }
  return false;
}

// Returns the files, oldest first: RocksDB numbers them, with leading zeros.
Stored<std::vector<std::filesystem::path>> wal_files(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  for (const auto& file : list_directory(directory, failed)) {
    if (file.path().extension() == ".log") files.push_back(file.path());
  }
  if (failed) {
    errno = failed.value();
    return tl::unexpected(system_error("list", directory));
  }
  std::ranges::sort(files);
  return files;
}

StoreError damaged_batch(const std::filesystem::path& file, std::size_t offset) {
  StoreError error;
  error.kind = StoreError::Kind::damaged;
  error.message = file.string() + " is damaged at byte " + std::to_string(offset) +
                  ": a batch can't be read, though later ones follow it";
  error.file = file.string();
  return error;
}

StoreError out_of_sequence(const std::filesystem::path& file, const std::string& what) {
  StoreError error;
  error.kind = StoreError::Kind::damaged;
  error.message = "the write-ahead log " + file.string() + " " + what + ". Nothing was deleted";
  error.file = file.string();
  return error;
}

// Truncates the file to `bytes` and syncs it.
Stored<void> cut(const std::filesystem::path& path, std::size_t bytes) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 ||
      ::fsync(file.get()) != 0) {
    return tl::unexpected(system_error("cut", path));
  }
  return {};
}

// Truncates a torn batch, and makes the last complete one durable by writing it again where it is:
// after a sync that failed, Linux takes the pages for clean, so a later sync of them succeeds and
// does nothing. Each append is a batch with a sync, and none follows one that failed, so only the
// last batch is in doubt.
Stored<void> settle(const TornTail::File& wal) {
  const FileDescriptor file(::open(wal.path.c_str(), O_RDWR | O_CLOEXEC));
  std::string batch(wal.whole_bytes - wal.last_batch_begin, '\0');
  const auto place = static_cast<off_t>(wal.last_batch_begin);
  const auto bytes = static_cast<ssize_t>(batch.size());
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(wal.whole_bytes)) != 0 ||
      ::pread(file.get(), batch.data(), batch.size(), place) != bytes ||
      ::pwrite(file.get(), batch.data(), batch.size(), place) != bytes ||
      ::fsync(file.get()) != 0) {
    return tl::unexpected(system_error("cut", wal.path));
  }
  return {};
}

}  // namespace

Stored<TornTail> inspect_wal_files(const std::filesystem::path& directory) {
  const auto files = TRY(wal_files(directory));
  TornTail torn;
  std::uint64_t next_sequence = 0;  // 0: no batch yet
  for (const std::filesystem::path& path : files) {
    const auto file = TRY(read_file(path, wal_bytes_max));
    const std::string_view bytes = file;
    std::size_t end = 0;
    std::optional<Batch> last;
    while (const auto batch = batch_at(bytes, end)) {
      // A new file is begun either when every append to the one before was complete, or after a
      // failed append, whose sequence numbers the next successful one then reuses.
      if (end == 0 && next_sequence != batch->sequence) {
        const auto before = std::ranges::find(torn.files, true, &TornTail::File::torn);
        if (before != torn.files.end()) {
          return tl::unexpected(damaged_batch(before->path, before->whole_bytes));
        }
      }
      if (end == 0 && next_sequence > batch->sequence) {
        return tl::unexpected(
            out_of_sequence(path, "repeats what the file before it has: it is a copy"));
      }
      // A power loss may bring back a file that was deleted, and not those after it. So what is
      // before a gap isn't needed if the tables reach the file after it, which the caller checks.
      if (torn.first_sequence == 0 || (end == 0 && next_sequence != batch->sequence)) {
        torn.first_sequence = batch->sequence;
      }
      end = batch->end;
      next_sequence = batch->next_sequence;
      last = batch;
    }
    if (last) torn.last_batch = data_of(bytes, *last);
    torn.files.push_back({path, end, last ? last->begin : end, end < bytes.size()});
    if (end == bytes.size()) continue;
    if (batch_begins_after(bytes, end + 1)) return tl::unexpected(damaged_batch(path, end));
    torn.bytes += bytes.size() - end;
  }
  return torn;
}

Stored<void> for_each_batch(const std::filesystem::path& directory,
                            const std::function<void(const std::string& batch)>& each) {
  const auto files = TRY(wal_files(directory));
  for (const std::filesystem::path& path : files) {
    const auto bytes = TRY(read_file(path, wal_bytes_max));
    std::size_t end = 0;
    while (const auto batch = batch_at(bytes, end)) {
      each(data_of(bytes, *batch));
      end = batch->end;
    }
  }
  return {};
}

Stored<void> cut_torn_tail(const TornTail& wal) {
  for (const TornTail::File& file : wal.files) TRY(settle(file));
  return {};
}

Stored<void> cut_wal_files_after(const std::filesystem::path& directory,
                                 std::uint64_t last_sequence) {
  const auto files = TRY(wal_files(directory));
  for (const std::filesystem::path& path : files) {
    const auto bytes = TRY(read_file(path, wal_bytes_max));
    std::size_t end = 0;
    auto batch = batch_at(bytes, end);
    for (; batch && batch->sequence <= last_sequence; batch = batch_at(bytes, end)) {
      end = batch->end;
    }
    TRY(cut(path, end));
  }
  return {};
}

}  // namespace signalbox
