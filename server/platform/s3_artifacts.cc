#include "server/platform/s3_artifacts.h"

#include <utility>

#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/limits.h"
#include "server/platform/atomic_file.h"
#include "server/platform/clock.h"
#include "server/text/printable_text.h"
#include "store/durable_file.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

constexpr std::size_t keys_per_page = 1000;
// Pages of one of the 256 parts of the store: a quarter of a thousand million blobs in all. A store
// that never comes to an end stops here.
constexpr std::size_t pages_max = 1000;
constexpr const char* owner_name = "owner";
constexpr std::size_t owner_bytes_max = 4096;
// A blob as old as this is stored anew instead of being taken for stored.
constexpr std::int64_t renewed_after_ns = unnamed_artifact_ms_min / 2 * ns_per_ms;

// Returns whether a blob is young enough to be taken for stored as it is.
bool is_fresh(std::int64_t modified_ns) {
  return modified_ns > SystemClock().wall_ns() - renewed_after_ns;
}

tl::unexpected<StoreError> damaged_blob(const std::string& location) {
  return store_failure(StoreError::Kind::damaged,
                       "the content of " + location + " is not what was stored", location);
}

std::string_view id_of_owner(std::string_view owner) { return owner.substr(0, owner.find(' ')); }

}  // namespace

S3Artifacts::S3Artifacts(S3Settings settings, std::filesystem::path scratch)
    : client_(std::move(settings)), scratch_(std::move(scratch)) {}

std::string S3Artifacts::key_of(const Digest& sha256) const {
  const std::string hex = to_hex(sha256);
  return client_.settings().prefix + "sha256/" + hex.substr(0, 2) + "/" + hex.substr(2);
}

std::string S3Artifacts::location_of(const Digest& sha256) const {
  return client_.url_of(key_of(sha256));
}

Stored<std::optional<S3Object>> S3Artifacts::find(const Digest& sha256) const {
  const std::string key = key_of(sha256);
  auto listing = TRY(client_.list(key, 1));
  if (listing.objects.empty() || listing.objects.front().key != key) return std::nullopt;
  return std::move(listing.objects.front());
}

Stored<std::optional<std::uint64_t>> S3Artifacts::size_of(const Digest& sha256) const {
  const auto found = TRY(find(sha256));
  return found ? std::optional(found->bytes) : std::nullopt;
}

Stored<std::string> S3Artifacts::get(const Digest& sha256) const {
  std::string content;
  TRY(client_.get(key_of(sha256), [&content](std::string_view part) {
    content += part;
    return content.size() <= limits::artifact_bytes_max;
  }));
  if (signalbox::sha256(content) != sha256) return damaged_blob(location_of(sha256));
  return content;
}

Stored<void> S3Artifacts::scan(const Digest& sha256,
                               const std::function<void(std::string_view part)>& take) const {
  Sha256 hash;
  std::uint64_t taken = 0;
  TRY(client_.get(key_of(sha256), [&](std::string_view part) {
    taken += part.size();
    if (taken > limits::artifact_bytes_max) return false;
    hash.update(part);
    take(part);
    return true;
  }));
  if (hash.finish() != sha256) return damaged_blob(location_of(sha256));
  return {};
}

Stored<bool> S3Artifacts::is_intact(const Digest& sha256) const {
  Sha256 hash;
  const auto read = client_.get(key_of(sha256), [&hash](std::string_view part) {
    hash.update(part);
    return true;
  });
  if (!read && read.error().kind == StoreError::Kind::not_found) return false;
  if (!read) return tl::unexpected(read.error());
  return hash.finish() == sha256;
}

Stored<std::string> S3Artifacts::get_part(const Digest& sha256, std::uint64_t offset,
                                          std::uint64_t bytes) const {
  std::string content;
  if (bytes == 0) return content;
  TRY(client_.get_range(key_of(sha256), offset, bytes, [&content, bytes](std::string_view part) {
    content += part;
    return content.size() <= bytes;
  }));
  if (content.size() != bytes) return damaged_blob(location_of(sha256));
  return content;
}

Stored<OpenedBlob> S3Artifacts::open(const Digest& sha256, std::uint64_t bytes) const {
  Sha256 hash;
  auto copied = TRY(copy(location_of(sha256), bytes, [&](const S3Client::Sink& sink) {
    return client_.get(key_of(sha256), [&](std::string_view part) {
      hash.update(part);
      return sink(part);
    });
  }));
  if (hash.finish() != sha256) return damaged_blob(location_of(sha256));
  return copied;
}

Stored<OpenedBlob> S3Artifacts::open_part(const Digest& sha256, std::uint64_t offset,
                                          std::uint64_t bytes) const {
  return copy(location_of(sha256), bytes, [&](const S3Client::Sink& sink) -> Stored<void> {
    if (bytes == 0) return {};
    return client_.get_range(key_of(sha256), offset, bytes, sink);
  });
}

Stored<OpenedBlob> S3Artifacts::copy(
    const std::string& location, std::uint64_t bytes,
    const std::function<Stored<void>(const S3Client::Sink& sink)>& read) const {
  // The place counts from here on, whatever becomes of the copy.
  const std::shared_ptr<void> place(copies_.get(), [copies = copies_](void*) { --*copies; });
  if (++*copies_ > limits::artifact_copies_max) {
    return store_failure(StoreError::Kind::away,
                         "too many artifacts are being downloaded; try again soon", location);
  }
  TRY(make_directories(scratch_));
  FileDescriptor file = TRY(nameless_file(scratch_));
  std::uint64_t copied = 0;
  bool is_written = true;
  StoreError write_error;
  const auto done = read([&](std::string_view part) {
    copied += part.size();
    if (copied > bytes) return false;
    is_written = write_all(file, part);
    if (!is_written) write_error = system_error("write a copy of " + location + " in", scratch_);
    return is_written;
  });
  if (!is_written) return tl::unexpected(write_error);
  if (!done) return tl::unexpected(done.error());
  if (copied != bytes) return damaged_blob(location);
  return OpenedBlob{std::move(file), place};
}

Stored<void> S3Artifacts::put_content(const Digest& sha256, std::string_view content) {
  turns_.begin_put(sha256);
  auto stored = store(sha256, content);
  turns_.end_put(sha256);
  return stored;
}

Stored<void> S3Artifacts::store(const Digest& sha256, std::string_view content) {
  const std::string key = key_of(sha256);
  const auto put = TRY(client_.put(key, sha256, content, /*only_if_absent=*/true));
  if (put == S3Client::Put::created) return {};
  const auto found = TRY(find(sha256));
  const bool is_same = found && found->bytes == content.size();
  if (is_same && is_fresh(found->modified_ns) && TRY(is_intact(sha256))) return {};
  TRY(client_.put(key, sha256, content, /*only_if_absent=*/false));
  return {};
}

Stored<bool> S3Artifacts::confirm(const Digest& sha256, std::uint64_t bytes) {
  turns_.begin_put(sha256);
  auto confirmed = check(sha256, bytes);
  turns_.end_put(sha256);
  return confirmed;
}

Stored<bool> S3Artifacts::check(const Digest& sha256, std::uint64_t bytes) {
  const std::string key = key_of(sha256);
  auto found = TRY(client_.head(key));
  if (found && !found->bytes) {
    const auto listed = TRY(find(sha256));
    if (!listed) return false;
    found->bytes = listed->bytes;
    found->modified_ns = listed->modified_ns;
  }
  if (!found || found->bytes != bytes) return false;
  if (found->sha256 ? *found->sha256 != sha256 : !TRY(is_intact(sha256))) return false;
  if (is_fresh(found->modified_ns)) return true;
  const auto content = get(sha256);
  if (!content && content.error().kind == StoreError::Kind::damaged) return false;
  if (!content && content.error().kind == StoreError::Kind::not_found) return false;
  if (!content) return tl::unexpected(content.error());
  TRY(client_.put(key, sha256, *content, /*only_if_absent=*/false));
  return true;
}

Stored<std::optional<UploadUrl>> S3Artifacts::upload_url(const Digest& sha256, std::uint64_t bytes,
                                                         std::int64_t wall_ns) {
  return client_.upload_url(key_of(sha256), sha256, bytes, wall_ns);
}

Stored<std::string> S3Artifacts::noted_owner() const {
  std::string noted;
  const auto read =
      client_.get(client_.settings().prefix + owner_name, [&noted](std::string_view part) {
        noted += part;
        return noted.size() <= owner_bytes_max;
      });
  if (!read && read.error().kind != StoreError::Kind::not_found)
    return tl::unexpected(read.error());
  return read ? noted : std::string();
}

Stored<void> S3Artifacts::claim_removals(const std::string& owner) {
  const std::string key = client_.settings().prefix + owner_name;
  std::string noted = TRY(noted_owner());
  if (noted.empty()) {
    TRY(client_.put(key, sha256(owner), owner, /*only_if_absent=*/true));
    noted = TRY(noted_owner());  // another service may have been faster
  }
  if (id_of_owner(noted) == id_of_owner(owner)) return {};
  const std::string location = client_.url_of(key);
  return store_failure(
      StoreError::Kind::denied,
      "what stays in the store is decided by another service, as " + location + " says (" +
          printable(noted) +
          "), so nothing is removed from it: give each service a prefix of its own; if that one is "
          "gone, or was this one before it was moved or restored, remove this object",
      location);
}

Stored<void> S3Artifacts::list(std::uint8_t first,
                               const std::function<bool(const KeptBlob&)>& visit) const {
  constexpr const char* digits = "0123456789abcdef";
  const std::string begin{digits[first / 16], digits[first % 16]};
  const std::string folder = client_.settings().prefix + "sha256/" + begin + "/";
  std::string token;
  for (std::size_t page = 0; page < pages_max; ++page) {
    const S3Listing listing = TRY(client_.list(folder, keys_per_page, token));
    for (const S3Object& object : listing.objects) {
      const auto digest = parse_digest(begin + object.key.substr(folder.size()));
      if (digest && !visit({*digest, object.modified_ns, object.bytes})) return {};
    }
    token = listing.next_token;
    if (token.empty()) return {};
  }
  return {};
}

Stored<std::uint64_t> S3Artifacts::remove_older(const Digest& sha256, std::int64_t before_ns) {
  if (!turns_.begin_removal(sha256)) return 0;
  const auto remove = [&]() -> Stored<std::uint64_t> {
    const auto found = TRY(find(sha256));
    if (!found || found->modified_ns >= before_ns) return 0;
    TRY(client_.remove(key_of(sha256)));
    return found->bytes;
  };
  auto removed = remove();
  turns_.end_removal(sha256);
  return removed;
}

void S3Artifacts::Turns::begin_put(const Digest& sha256) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !removals_.contains(sha256); });
  ++puts_[sha256];
}

void S3Artifacts::Turns::end_put(const Digest& sha256) {
  const std::lock_guard lock(mutex_);
  const auto place = puts_.find(sha256);
  if (--place->second == 0) puts_.erase(place);
}

bool S3Artifacts::Turns::begin_removal(const Digest& sha256) {
  const std::lock_guard lock(mutex_);
  if (puts_.contains(sha256)) return false;
  return removals_.insert(sha256).second;
}

void S3Artifacts::Turns::end_removal(const Digest& sha256) {
  {
    const std::lock_guard lock(mutex_);
    removals_.erase(sha256);
  }
  changed_.notify_all();
}

}  // namespace signalbox
