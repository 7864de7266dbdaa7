#include "projections/manifest_length.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "store/directory_listing.h"
#include "store/durable_file.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

constexpr std::string_view note_name = "manifest-length";
constexpr std::string_view manifest_prefix = "MANIFEST-";
constexpr std::size_t small_file_bytes_max = 256;

// Returns the name of the MANIFEST that CURRENT points to; nullopt if it doesn't say.
std::optional<std::string> present_manifest(const std::filesystem::path& directory) {
  auto current = read_file(directory / "CURRENT", small_file_bytes_max);
  if (!current || !current->starts_with(manifest_prefix) || !current->ends_with('\n')) {
    return std::nullopt;
  }
  current->pop_back();
  return std::move(*current);
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> manifest_number(std::string_view name) {
  if (!name.starts_with(manifest_prefix)) return std::nullopt;
  return number_in(name.substr(manifest_prefix.size()));
}

bool has_tables(const std::filesystem::path& directory) {
  std::error_code ignored;
  for (const auto& file : list_directory(directory, ignored)) {
    if (file.path().extension() == ".sst") return true;
  }
  return false;
}

tl::unexpected<StoreError> damaged(const std::filesystem::path& file, const std::string& what) {
  return store_failure(StoreError::Kind::damaged, "the read models' " + file.string() + " " + what,
                       file.string());
}

}  // namespace

void note_manifest_length(const std::filesystem::path& directory) {
  const auto name = present_manifest(directory);
  std::error_code failed;
  const std::uintmax_t bytes =
      name ? std::filesystem::file_size(directory / *name, failed) : std::uintmax_t{0};
  if (!name || failed) return;
  const std::filesystem::path note = directory / note_name;
  const std::filesystem::path next = directory / (std::string(note_name) + ".tmp");
  const std::string text = *name + " " + std::to_string(bytes) + "\n";
  {
    const FileDescriptor file(
        ::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file || ::write(file.get(), text.data(), text.size()) != std::ssize(text)) return;
  }
  std::filesystem::rename(next, note, failed);
}

Stored<void> check_manifest_length(const std::filesystem::path& directory) {
  const auto note = read_file(directory / note_name, small_file_bytes_max);
  const auto name = present_manifest(directory);
  if (!name && (note || has_tables(directory))) {
    return damaged(directory / "CURRENT", "is missing or names no MANIFEST");
  }
  if (!note && note.error().kind == StoreError::Kind::not_found) return {};
  if (!note) return damaged(directory / note_name, "can't be read");

  const std::size_t space = note->find(' ');
  const auto noted_number = manifest_number(std::string_view(*note).substr(0, space));
  const auto bytes =
      space == std::string::npos || !note->ends_with('\n')
          ? std::nullopt
          : number_in(std::string_view(*note).substr(space + 1, note->size() - space - 2));
  const auto number = manifest_number(*name);
  if (!noted_number || !bytes || !number) return damaged(directory / note_name, "isn't a note");
  const std::filesystem::path manifest = directory / *name;
  if (*number < *noted_number) return damaged(manifest, "isn't the newest one");
  // A newer one was begun by an opening that a crash interrupted before it was noted.
  if (*number > *noted_number) return {};
  std::error_code failed;
  const std::uintmax_t present = std::filesystem::file_size(manifest, failed);
  if (failed) return damaged(manifest, "is missing");
  const std::uintmax_t noted = bytes.value();  // unchecked, it misleads g++ 12
  if (present < noted) {
    return damaged(manifest, "was cut from " + std::to_string(noted) + " bytes or more to " +
                                 std::to_string(present));
  }
  return {};
}

}  // namespace signalbox
