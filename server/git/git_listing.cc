#include "server/git/git_listing.h"

#include <unistd.h>

#include <system_error>
#include <utility>

#include "server/platform/atomic_file.h"

namespace signalbox {

tl::expected<std::string, std::string> git_listing(const std::filesystem::path& directory,
                                                   std::vector<std::string> arguments,
                                                   GitOptions options,
                                                   const std::filesystem::path& scratch) {
  options.output_file = scratch / ("git-listing-" + std::to_string(::getpid()));
  const GitOutcome listed = git(directory, std::move(arguments), options);
  auto text = read_regular_file(options.output_file, git_listing_bytes_max);
  std::error_code ignored;
  std::filesystem::remove(options.output_file, ignored);
  if (!listed.ok) return tl::unexpected(listed.message);
  if (!text) return tl::unexpected(text.error().message);
  return *std::move(text);
}

}  // namespace signalbox
