#include "server/platform/service_artifacts.h"

#include <utility>

#include "domain/try.h"

namespace signalbox {
namespace {

// Returns what `there` gives, unless it has nothing and what is here is damaged.
template <class T>
Stored<T> in_either(Stored<T> here, const std::function<Stored<T>()>& there) {
  if (here) return here;
  Stored<T> found = there();
  const auto is_missing = [](const Stored<T>& blob) {
    return !blob && blob.error().kind == StoreError::Kind::not_found;
  };
  return is_missing(found) && !is_missing(here) ? std::move(here) : std::move(found);
}

}  // namespace

ServiceArtifacts::ServiceArtifacts(std::filesystem::path directory,
                                   std::optional<S3Settings> objects)
    : directory_(directory) {
  if (objects) objects_.emplace(*std::move(objects), std::move(directory));
}

Stored<void> ServiceArtifacts::put_content(const Digest& sha256, std::string_view content) {
  if (objects_) return objects_->put_content(sha256, content);
  return directory_.put_content(sha256, content);
}

// What only the directory has is stored anew, where put() would.
Stored<bool> ServiceArtifacts::confirm(const Digest& sha256, std::uint64_t bytes) {
  if (!objects_) return directory_.confirm(sha256, bytes);
  if (TRY(objects_->confirm(sha256, bytes))) return true;
  const auto here = directory_.get(sha256);
  if (!here || here->size() != bytes) return false;
  TRY(objects_->put_content(sha256, *here));
  return true;
}

Stored<std::optional<UploadUrl>> ServiceArtifacts::upload_url(const Digest& sha256,
                                                              std::uint64_t bytes,
                                                              std::int64_t wall_ns) {
  if (!objects_) return std::nullopt;
  return objects_->upload_url(sha256, bytes, wall_ns);
}

Stored<Artifact> ServiceArtifacts::put_here(const std::string& name, const std::string& media_type,
                                            std::string_view content) {
  return directory_.put(name, media_type, content);
}

// The directory is asked first: it answers while no store of objects does.
Stored<std::string> ServiceArtifacts::get(const Digest& sha256) const {
  auto here = directory_.get(sha256);
  if (!objects_) return here;
  return in_either<std::string>(std::move(here), [&] { return objects_->get(sha256); });
}

// The store of objects is asked first: what is scanned was uploaded there, and nothing of a damaged
// copy in the directory may be taken before it.
Stored<void> ServiceArtifacts::scan(const Digest& sha256,
                                    const std::function<void(std::string_view part)>& take) const {
  if (!objects_) return directory_.scan(sha256, take);
  auto there = objects_->scan(sha256, take);
  const bool is_missing = !there && there.error().kind == StoreError::Kind::not_found;
  return is_missing ? directory_.scan(sha256, take) : std::move(there);
}

Stored<OpenedBlob> ServiceArtifacts::open(const Digest& sha256, std::uint64_t bytes) const {
  auto here = directory_.open(sha256, bytes);
  if (!objects_) return here;
  return in_either<OpenedBlob>(std::move(here), [&] { return objects_->open(sha256, bytes); });
}

Stored<std::string> ServiceArtifacts::get_part(const Digest& sha256, std::uint64_t offset,
                                               std::uint64_t bytes) const {
  auto here = directory_.get_part(sha256, offset, bytes);
  if (!objects_) return here;
  return in_either<std::string>(std::move(here),
                                [&] { return objects_->get_part(sha256, offset, bytes); });
}

Stored<OpenedBlob> ServiceArtifacts::open_part(const Digest& sha256, std::uint64_t offset,
                                               std::uint64_t bytes) const {
  auto here = directory_.open_part(sha256, offset, bytes);
  if (!objects_) return here;
  return in_either<OpenedBlob>(std::move(here),
                               [&] { return objects_->open_part(sha256, offset, bytes); });
}

Stored<std::optional<std::uint64_t>> ServiceArtifacts::size_of(const Digest& sha256) const {
  const auto here = TRY(directory_.size_of(sha256));
  return here || !objects_ ? here : objects_->size_of(sha256);
}

std::string ServiceArtifacts::location_of(const Digest& sha256) const {
  const bool is_elsewhere = objects_ && !directory_.has(sha256).value_or(false);
  return is_elsewhere ? objects_->location_of(sha256) : directory_.location_of(sha256);
}

Stored<void> ServiceArtifacts::claim_removals(const std::string& owner) {
  return objects_ ? objects_->claim_removals(owner) : Stored<void>();
}

Stored<void> ServiceArtifacts::list(std::uint8_t first,
                                    const std::function<bool(const KeptBlob&)>& visit) const {
  bool goes_on = true;
  TRY(directory_.list(first, [&](const KeptBlob& blob) { return goes_on = visit(blob); }));
  if (objects_ && goes_on) return objects_->list(first, visit);
  return {};
}

Stored<std::uint64_t> ServiceArtifacts::remove_older(const Digest& sha256, std::int64_t before_ns) {
  const auto here = TRY(directory_.remove_older(sha256, before_ns));
  if (!objects_) return here;
  return here + TRY(objects_->remove_older(sha256, before_ns));
}

Stored<std::uint64_t> ServiceArtifacts::remove_unfinished(std::uint8_t first,
                                                          std::int64_t before_ns) {
  return directory_.remove_unfinished(first, before_ns);
}

}  // namespace signalbox
