#include "server/git/git_listing.h"

#include <utility>

#include "server/platform/atomic_file.h"

namespace signalbox {

tl::expected<std::string, std::string> git_listing(const std::filesystem::path& directory,
                                                   std::vector<std::string> arguments,
                                                   GitOptions options,
                                                   const std::filesystem::path& scratch,
                                                   std::size_t bytes_max) {
  const auto file = nameless_file(scratch);
  if (!file) return tl::unexpected(file.error().message);
  options.output_descriptor = file->get();
  const GitOutcome listed = git(directory, std::move(arguments), options);
  if (!listed.ok) return tl::unexpected(listed.message);
  auto text = read_regular_file(file->get(), scratch / "the output of git", bytes_max);
  if (!text) return tl::unexpected(text.error().message);
  return *std::move(text);
}

}  // namespace signalbox
