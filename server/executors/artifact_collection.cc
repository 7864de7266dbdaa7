#include "server/executors/artifact_collection.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/platform/atomic_file.h"
#include "server/text/utf8_text.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

class Collection {
 public:
  Collection(ArtifactStore& store, std::size_t artifacts_max, const std::set<std::string>& reserved)
      : store_(store), artifacts_max_(artifacts_max), reserved_(reserved) {}

  Stored<void> add_directory(const FileDescriptor& directory, const std::string& prefix,
                             std::size_t depth);
  CollectedArtifacts take() { return std::move(collected_); }

 private:
  Stored<void> add_entry(int directory, const std::string& entry, const std::string& name,
                         std::size_t depth);
  Stored<void> add_file(const FileDescriptor& file, const std::string& name);
  void leave_out(const std::string& name, const std::string& why) {
    collected_.left_out.push_back(with_replacements(name) + " (" + why + ")");
  }

  ArtifactStore& store_;
  std::size_t artifacts_max_;
  const std::set<std::string>& reserved_;
  std::size_t entries_ = 0;
  std::uint64_t bytes_ = 0;
  CollectedArtifacts collected_;
};

Stored<void> Collection::add_directory(const FileDescriptor& directory, const std::string& prefix,
                                       std::size_t depth) {
  // closedir() closes its descriptor, so it gets a duplicate.
  const int descriptor = ::fcntl(directory.get(), F_DUPFD_CLOEXEC, 0);
  const std::unique_ptr<DIR, CloseDirectory> listing(::fdopendir(descriptor));
  if (!listing) return tl::unexpected(system_error("list", prefix));
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (prefix.empty() && name == "result.json") continue;
    if (++entries_ > collected_entries_max) {
      leave_out(prefix + "…", "more than " + std::to_string(collected_entries_max) + " files");
      break;
    }
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    auto added = add_entry(::dirfd(listing.get()), name, prefix + name, depth);
    if (!added) return added;
  }
  return {};
}

Stored<void> Collection::add_entry(int directory, const std::string& entry, const std::string& name,
                                   std::size_t depth) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  FileDescriptor opened(
      ::openat(directory, entry.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!opened || ::fstat(opened.get(), &status) != 0) {
    leave_out(name, errno == ELOOP ? "a symbolic link" : "cannot be opened");
    return {};
  }
  if (S_ISDIR(status.st_mode)) {
    if (depth < collected_depth_max) return add_directory(opened, name + "/", depth + 1);
    leave_out(name, "too deep");
    return {};
  }
  if (!S_ISREG(status.st_mode)) {
    leave_out(name, "not a regular file");
    return {};
  }
  return add_file(opened, name);
}

Stored<void> Collection::add_file(const FileDescriptor& file, const std::string& name) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return tl::unexpected(system_error("look at", name));
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (name.size() > limits::name_bytes_max || !is_utf8(name)) {
    leave_out(name, "its name is not UTF-8 of at most " + std::to_string(limits::name_bytes_max) +
                        " bytes");
  } else if (reserved_.contains(name)) {
    leave_out(name, "the name is reserved");
  } else if (collected_.artifacts.size() >= artifacts_max_) {
    leave_out(name, "more than " + std::to_string(artifacts_max_) + " files");
  } else if (bytes > limits::artifact_bytes_max) {
    leave_out(name, "larger than " + std::to_string(limits::artifact_bytes_max) + " bytes");
  } else if (bytes_ + bytes > collected_bytes_max) {
    leave_out(name, "more than " + std::to_string(collected_bytes_max) + " bytes in all");
  } else {
    const auto content = TRY(read_regular_file(file.get(), name, limits::artifact_bytes_max));
    auto artifact = TRY(store_.put(name, media_type_of(name), content));
    bytes_ += artifact.bytes;
    collected_.artifacts.push_back(std::move(artifact));
  }
  return {};
}

}  // namespace

Stored<CollectedArtifacts> collect_artifacts(ArtifactStore& store,
                                             const std::filesystem::path& directory,
                                             std::size_t artifacts_max,
                                             const std::set<std::string>& reserved) {
  FileDescriptor root(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) {
    // The job may have removed the directory, replaced it, or mounted a file system over it that
    // nobody serves any more (ENOTCONN); that isn't an error of the server.
    const bool gone = errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EACCES ||
                      errno == ENOTCONN;
    if (gone) return CollectedArtifacts{};
    return tl::unexpected(system_error("open", directory));
  }
  Collection collection(store, artifacts_max, reserved);
  TRY(collection.add_directory(root, "", 0));
  return collection.take();
}

std::string media_type_of(const std::string& name) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 20> types{{
      {".md", "text/markdown"},        {".txt", "text/plain"},        {".log", "text/plain"},
      {".patch", "text/x-diff"},       {".diff", "text/x-diff"},      {".json", "application/json"},
      {".jsonl", "application/jsonl"}, {".html", "text/html"},        {".csv", "text/csv"},
      {".xml", "application/xml"},     {".toml", "application/toml"}, {".yaml", "application/yaml"},
      {".yml", "application/yaml"},    {".pdf", "application/pdf"},   {".png", "image/png"},
      {".jpg", "image/jpeg"},          {".svg", "image/svg+xml"},     {".zip", "application/zip"},
      {".gz", "application/gzip"},     {".tar", "application/x-tar"},
  }};
  for (const auto& [ending, type] : types) {
    if (name.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}

}  // namespace signalbox
